"""What all sessions of one run have in common, how it is told what became of each, and one run at a time for each."""

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TypeVar

from slowwave.compaction.book import file_of, folder_of
from slowwave.compaction.settings import Chosen, chosen_by_client
from slowwave.compaction.summary import Summarise
from slowwave.context import Clock
from slowwave.errors import LockHeldError
from slowwave.files import home_folder, private_folder
from slowwave.formats.sessions import StoredSession
from slowwave.locks import locked_file
from slowwave.report import Gate, Item, Report
from slowwave.settings import Settings

Flush = Callable[[StoredSession], Report]


@dataclass(slots=True)
class Compacting:
    """What all sessions of a run have in common."""

    project: str  # key of the project
    settings: Settings  # the settings in force
    clock: Clock  # what time it is
    environ: Mapping[str, str]  # the environment
    summarise: Summarise  # makes summaries
    flush: Flush  # saves the memories of a session first
    run_id: str = ""  # names the run
    force: bool = False  # compact what is not due, too, and what was undone or stopped; never a live session
    dry_run: bool = False  # plan and report, change nothing
    report: Report = field(default_factory=lambda: Report("compact"))  # what was done
    redact: Callable[[str], str] = str  # takes secrets out of whatever is written
    root: str = ""  # the folder that the project's sessions work in, or ""
    _chosen: dict[tuple[str, Path], Chosen] = field(default_factory=dict[tuple[str, Path], Chosen])

    @property
    def folder(self) -> Path:
        """Where the books are."""
        return folder_of(self.environ)

    @property
    def home(self) -> Path:
        """The home folder of the person whose sessions these are."""
        return home_folder(self.environ)

    def chosen(self, session: StoredSession) -> Chosen:
        """Return what a person set in the client of a session, read once for all sessions of a folder.

        Raises UsageError: as :func:`chosen_by_client`.
        """
        path = session.files.paths[0]
        place = (session.dialect, path.parent)
        if place not in self._chosen:
            self._chosen[place] = chosen_by_client(session.dialect, path, self.root)
        return self._chosen[place]

    def gate(self, gate: str, session: StoredSession, reason: str) -> bool:
        """Tell that a gate is closed for a session, and return False."""
        self.report.gates.append(Gate(gate, self.project, passed=False, reason=f"session {session.id}: {reason}"))
        return False

    def skip(self, gate: str, session: StoredSession, reason: str) -> None:
        """Tell why a session that was looked at is not compacted."""
        self.gate(gate, session, reason)
        self.report.items.append(Item(session.id, "skip", reason, self.project))
        self.report.count("skipped")

    def fail(self, session: StoredSession, message: str) -> None:
        """Tell what went wrong with a session."""
        self.report.failures.append(f"{self.project}: session {session.id}: {message}")
        self.report.items.append(Item(session.id, "failed", message, self.project))
        self.report.count("failed")


# One run at a time for one session: two that read its book at once would each forget what the other one did.

T = TypeVar("T")


@contextmanager
def alone(session: StoredSession, folder: Path, *, dry_run: bool = False) -> Generator[None]:
    """Hold the lock beside a session's book; it ends with the process, however that dies, and leaves no file behind.

    What a killed run left of it goes with the next one. Who holds the lock may remove its file: whoever opened it
    before looks the name up again, and then makes a new one.

    A dry run takes it only where something was done before, since it makes no folder. Raises LockHeldError: another run
    is at this session; OSError: the folder cannot be made.
    """
    if dry_run and not folder.is_dir():
        yield
        return
    private_folder(folder)
    path = file_of(folder, session.files.paths[0]).with_suffix(".lock")
    with ExitStack() as held:
        try:
            held.enter_context(locked_file(path, create=True, timeout_s=0))
        except LockHeldError as error:
            raise LockHeldError(f"session {session.id}: another run is working on it; nothing was changed") from error
        held.callback(path.unlink, missing_ok=True)
        yield


def one_at_a_time(work: Callable[[StoredSession, Compacting], T]) -> Callable[[StoredSession, Compacting], T]:
    """Let a piece of work begin only where no other run is at its session."""

    @wraps(work)
    def by_itself(session: StoredSession, run: Compacting) -> T:
        with alone(session, run.folder, dry_run=run.dry_run):
            return work(session, run)

    return by_itself
