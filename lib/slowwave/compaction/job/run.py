"""What all sessions of one run have in common, and how it is told what became of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from slowwave.clock import Clock
from slowwave.compaction.job.book import folder_of
from slowwave.compaction.job.chosen import Chosen, chosen_by_client
from slowwave.compaction.job.summary import Summarise
from slowwave.places import home_folder
from slowwave.report import Gate, Item, Report
from slowwave.settings import Settings
from slowwave.stores.model import StoredSession

Flush = Callable[[StoredSession], Report]


@dataclass(slots=True)
class Compacting:
    """What all sessions of a run have in common.

    Attributes:
        project: key of the project.
        settings: the settings in force.
        clock: what time it is.
        environ: the environment.
        summarise: makes summaries.
        flush: saves the memories of a session first.
        run_id: names the run.
        force: compact what is not due, too, and what was undone or stopped; never a live session.
        dry_run: plan and report, change nothing.
        report: what was done.
        redact: takes secrets out of whatever is written.
        root: the folder that the project's sessions work in, or "".
    """

    project: str
    settings: Settings
    clock: Clock
    environ: Mapping[str, str]
    summarise: Summarise
    flush: Flush
    run_id: str = ""
    force: bool = False
    dry_run: bool = False
    report: Report = field(default_factory=lambda: Report("compact"))
    redact: Callable[[str], str] = str
    root: str = ""
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

        Raises:
            UsageError: as :func:`chosen_by_client`.
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
