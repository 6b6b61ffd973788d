"""What slowwave did to each session, beside the transcripts: appended compactions, failures in a row, what was undone.

One file a session under ``$XDG_STATE_HOME/slowwave/compactions/``. The compactions themselves stand in the transcripts;
without this file they stay, and can be explained and undone no longer. Memories come first: extraction reads a session
before its words are summarised away (``flush``).
"""

import hashlib
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import wraps
from itertools import count, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, TypeVar
from uuid import UUID

import msgspec

from slowwave.compaction.settings import Chosen, chosen_by_client, count_or
from slowwave.context import Clock
from slowwave.errors import LockHeldError, SlowwaveError, UnreadableError
from slowwave.files import home_folder, private_folder, state_folder
from slowwave.formats import fields_of
from slowwave.formats.changes import append_records
from slowwave.formats.lines import open_plain, open_regular
from slowwave.formats.openclaw.store import NAME, SessionEntry, compaction_config, read_store, update_entry
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import StoredSession
from slowwave.journal import Form, Journal, name_for
from slowwave.locks import locked_file
from slowwave.report import Gate, Item, Report
from slowwave.settings import Settings

if TYPE_CHECKING:
    from slowwave.compaction.summary import Summarise


class Dropped(NamedTuple):
    """A range of bytes in one part of a session; ``sha256`` is "" where only the place was noted."""

    part: int
    offset: int
    length: int
    sha256: str = ""


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """One compaction that slowwave appended."""

    id: str = ""  # names it on the command line
    run: str  # the run that did it
    path: str = ""  # the file that grew, or was made
    before: int | None = None  # its size before; None when it was made
    after: int = 0  # its size after
    sha256: str = ""  # of the bytes between
    mtime_ns: int = 0  # the time of the file before
    message: str = ""  # what the client calls the summary, "" where it has no name
    trigger: str  # why it was done
    tokens_before: int  # the context before
    tokens_after: int  # an estimate of the context after
    kept: int  # how many messages stay as they are
    summarised: int  # how many messages the summary stands for
    keep_from: str | None  # the first message that stays, None where none does
    dropped: list[Dropped]  # the bytes that the summary stands for, with their digests
    # ``ledger``, or ``model`` where a model told the summary's narrative, ``person`` where somebody wrote it; ``prune``
    # where only outputs of tools were cleared, whose bytes ``dropped`` names
    source: str = "ledger"
    # the share of the probes that the summary answers, by kind, and what it does not, with where that stands
    proof: dict[str, Any] = {}
    notes: list[str] = []  # what else there is to say about the summary


class Expected(msgspec.Struct, frozen=True):
    """What a client goes on from after a compaction."""

    summary: str  # the text that it sends first
    stays: str  # digest of what it sends behind that
    messages: int  # how many messages these are
    guess: int  # the size before, which has to become less
    planned: int  # the size that was planned
    is_whole: bool = False  # there is no new summary, these are all messages


class Pending(msgspec.Struct, frozen=True):
    """A compaction that was about to be appended: after a kill nobody else could tell whose the bytes are."""

    done: Appended  # what is noted once it is there
    expected: Expected  # what is looked at before


class Breaker(NamedTuple):
    """How compactions of one session went; never changed, every outcome gives a new one."""

    compactions: int = 0  # how many succeeded
    failures: int = 0  # how many failed since the last that succeeded
    # too many failed in a row; it stays open, since trying again at every turn costs a model call each
    is_open: bool = False

    def succeeded(self) -> "Breaker":
        """Return the breaker after a compaction."""
        return self._replace(compactions=self.compactions + 1, failures=0)

    def failed(self) -> "Breaker":
        """Return the breaker after a failure."""
        failures = self.failures + 1
        return self._replace(failures=failures, is_open=self.is_open or failures >= MOST_FAILURES)


class Book(msgspec.Struct):
    """What is known of one session."""

    session: str  # its id
    dialect: str  # its dialect
    path: str  # its first file, links resolved
    compactions: list[Appended] = []  # those that stand, oldest first
    failures: int = 0  # failures in a row
    is_stopped: bool = False  # too many of them; it stays so until the content changes or a person compacts by hand
    error: str = ""  # the last failure
    failed_at: str = ""  # the content at the last failure
    undone_at: str = ""  # the content that a person went back to; it is not compacted again by itself
    flushed_at: str = ""  # the content whose memories were saved
    pending: Pending | None = None  # the compaction that is being appended, noted before the transcript is touched
    is_undoing: bool = False  # the last compaction is being taken back

    def breaker(self, stamp: str) -> Breaker:
        """Return the breaker as it stands for a content: failures of another content do not count."""
        if self.failed_at != stamp:
            return Breaker(len(self.compactions))
        return Breaker(len(self.compactions), self.failures, self.is_stopped)

    def fail(self, error: str, stamp: str) -> None:
        """Note a failure."""
        after = self.breaker(stamp).failed()
        self.failures, self.is_stopped, self.failed_at, self.error = after.failures, after.is_open, stamp, error

    def succeed(self, done: Appended) -> None:
        """Note a compaction that stands."""
        self.compactions = [*self.compactions, done]
        self.failures, self.is_stopped, self.failed_at, self.error, self.undone_at = 0, False, "", "", ""
        self.pending = None


_FORM = Form(Book, "is not a record of compactions", "move it away to start afresh")


def folder_of(environ: Mapping[str, str]) -> Path:
    """Return where the books are."""
    return state_folder(environ) / "compactions"


def read_book(folder: Path, session: str, dialect: str, path: Path) -> Book:
    """Return what is known of a session; nothing where nothing was done.

    Raises CorruptStateError: its file is damaged: that never counts as nothing done.
    """
    return _journal(folder).find(_name(path)) or Book(session, dialect, os.path.realpath(path))


def write_book(folder: Path, book: Book) -> None:
    """Write what is known of a session. Raises OSError: the folder cannot be written."""
    _journal(folder).intend(_name(Path(book.path)), book)


def all_books(folder: Path) -> list[Book]:
    """Return every book. Raises CorruptStateError: one is damaged."""
    return [book for _, book in _journal(folder).left()]


def file_of(folder: Path, path: Path) -> Path:
    """Return where the book of a session lies, whose first file is given."""
    return _journal(folder).place(_name(path))


def _journal(folder: Path) -> Journal[Book]:
    return Journal(folder, _FORM)


def _name(path: Path) -> str:
    return name_for(os.fsencode(os.path.realpath(path)))


# The bytes that a compaction stands for, with what proves later that they still are what was summarised.

_BLOCK_BYTES = 1 << 20
# Its bytes are what was summarised; they are not, or are gone; nobody noted what they were.
Condition = Literal["intact", "changed", "unknown"]


def digested(paths: Sequence[Path], ranges: Iterable[tuple[int, int, int]]) -> list[Dropped]:
    """Return ranges (part, offset and length), in order, with the digests of what stands there now."""
    found: list[Dropped] = []
    for part, places in groupby(sorted(ranges), key=lambda place: place[0]):
        with open_plain(paths[part]) as file:
            found += [Dropped(*place, _digest(file, *place[1:])) for place in places]
    return found


def around(ranges: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return one range a part, from the first to the last byte: few enough to travel with the transcript."""
    stops: dict[int, tuple[int, int]] = {}
    for part, offset, length in ranges:
        start, stop = stops.get(part, (offset, 0))
        stops[part] = min(start, offset), max(stop, offset + length)
    return [(part, start, stop - start) for part, (start, stop) in sorted(stops.items())]


def conditions(paths: Sequence[Path], ranges: Sequence[Dropped]) -> list[Condition]:
    """Say of each range whether what was summarised can be read back there."""
    files: dict[int, BinaryIO | None] = {}
    try:
        return [_condition(_opened(paths, one.part, files), one) for one in ranges]
    finally:
        for file in files.values():
            if file is not None:
                file.close()


def _condition(file: BinaryIO | None, one: Dropped) -> Condition:
    if not one.sha256:
        return "unknown"
    return "intact" if file is not None and _digest(file, one.offset, one.length) == one.sha256 else "changed"


def _opened(paths: Sequence[Path], part: int, files: dict[int, BinaryIO | None]) -> BinaryIO | None:
    if part not in files:
        try:
            files[part] = open_plain(paths[part])
        except (IndexError, UnreadableError):
            files[part] = None
    return files[part]


def _digest(file: BinaryIO, offset: int, length: int) -> str:
    file.seek(offset)
    digest = hashlib.sha256()
    while length and (block := file.read(min(length, _BLOCK_BYTES))):
        digest.update(block)
        length -= len(block)
    return digest.hexdigest()


# The breaker that stops compacting a session after failures in a row (Cersei: ``AutoCompactState``).

MOST_FAILURES = 3


# Ids and times of what is appended, derived from the session itself: the same input leaves the same bytes.
_TAIL_BYTES = 4096


def content_stamp(paths: Sequence[Path]) -> str:
    """Return what changes whenever something is appended to one of these files, or its end is rewritten."""
    digest = hashlib.sha256()
    for path in paths:
        with open_regular(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            digest.update(b"%d\0%b\0" % (size, file.read()))
    return digest.hexdigest()[:32]


def ids_of(session: str, stamp: str) -> Callable[[], str]:
    """Return a maker of UUIDs that gives the same ones for the same content of the same session."""
    numbers = count(1)

    def make() -> str:
        seed = f"{session}\0{stamp}\0{next(numbers)}".encode(errors="replace")
        return str(UUID(bytes=hashlib.sha256(seed).digest()[:16], version=4))

    return make


def time_of(at: datetime | None, paths: Sequence[Path]) -> datetime:
    """Return the time of a compaction: that of the last message, else of the last change.

    A session that was compacted must not look as if somebody had worked in it.
    """
    return at or datetime.fromtimestamp(max(path.stat().st_mtime for path in paths), UTC)


# What all sessions of one run have in common, and how it is told what became of each.


Flush = Callable[[StoredSession], Report]


@dataclass(slots=True)
class Compacting:
    """What all sessions of a run have in common."""

    project: str  # key of the project
    settings: Settings  # the settings in force
    clock: Clock  # what time it is
    environ: Mapping[str, str]  # the environment
    summarise: "Summarise"  # makes summaries
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


def flush(session: StoredSession, stamp: str, run: Compacting, cwd: str, book: Book | None = None) -> None:
    """Save the memories of a session, once for one content of it.

    Args:
        session: the session.
        stamp: its content.
        run: what it is done with.
        cwd: the workspace, for Clawdbot's memory file of the day.
        book: what is known of the session; read where it is not given.

    Raises SlowwaveError: the memory folder is locked, or damaged; OSError: it cannot be written.
    """
    book = book or read_book(run.folder, session.id, session.dialect, session.files.paths[0])
    if run.dry_run or book.flushed_at == stamp:
        return
    saved = run.flush(session)
    run.report.warnings += [*saved.warnings, *saved.failures]
    facts = [item for item in saved.items if item.action == "candidate"]
    run.report.items += facts
    if client_of(session.dialect).compacting.has_counters:
        _as_client(session, run, cwd, [fact.text for fact in facts])
    run.report.count("flushed")
    run.report.count("candidates", saved.counts.get("candidates", 0))
    book.flushed_at = stamp
    write_book(run.folder, book)


def _as_client(session: StoredSession, run: Compacting, cwd: str, facts: Sequence[str]) -> None:
    """Save memories where the client would have its agent do it, unless it would not."""
    transcript, now = session.files.paths[0], run.clock.now()
    if reason := flush_refusal(transcript, session.id):
        run.report.items.append(Item(session.id, "skip", f"no memory file of the day: {reason}", run.project))
        return
    path = save_memories(cwd, facts, now)
    if path is not None:
        run.report.items.append(Item(str(path), "memories", "saved before a compaction", run.project))
    noted(session, run, lambda: note_flush(transcript, session.id, now))


def noted(session: StoredSession, run: Compacting, note: Callable[[], None]) -> None:
    """Note something in the client's own list of sessions; the transcript counts, so that a failure is only told."""
    try:
        note()
    except (SlowwaveError, OSError) as error:
        run.report.warnings.append(f"session {session.id}: its counters were not noted: {error}")


# What Clawdbot and OpenClaw expect of a compaction beside the transcript: the day's memory file and the counters.
#
# Source: seed 004 and ``agent-runner-memory.ts`` of Clawdbot 2026.1.27. The counters stand in ``sessions.json``: a
# flush notes the cycle that it was for, a compaction begins the next one. ``updatedAt`` stays, since resets are
# reckoned by it.

MEMORY = "memory"


def soft_tokens(session: StoredSession) -> int:
    """Return how many tokens below the trigger memories are saved: as the client's settings say, else the seed's.

    Settings that cannot be read say nothing here; :func:`flush_refusal` tells of them when there is something to save.
    """
    if not client_of(session.dialect).compacting.has_counters:
        return SOFT_THRESHOLD_TOKENS
    try:
        found = soft_threshold(compaction_config(session.files.paths[0]))
    except UnreadableError:
        found = None
    return SOFT_THRESHOLD_TOKENS if found is None else found


def flush_refusal(transcript: Path, session: str) -> str:
    """Return why the client would not save memories now, "" when it would; also where its files cannot be read."""
    try:
        if soft_threshold(compaction_config(transcript)) is None:
            return "memoryFlush is turned off in the client's settings"
        _, entry = _listed(transcript, session)
    except UnreadableError as error:
        return str(error)
    if entry is not None and has_flushed(_fields(entry)):
        return "done already since the last compaction"
    return ""


def save_memories(workspace: str, facts: Sequence[str], now: datetime) -> Path | None:
    """Add facts to the workspace's memory file of the day, those that it does not hold; nothing else in it changes.

    Returns the file, or None: there is no such workspace, or nothing new to add. Raises LockHeldError: another process
    held its lock all the time; OSError: the folder cannot be made, or the disk is full.
    """
    if not workspace or not facts or not Path(workspace).is_dir():
        return None
    path = Path(workspace) / MEMORY / f"{now.astimezone():%Y-%m-%d}.md"
    held = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    lines = [f"- {' '.join(fact.split())}" for fact in facts]
    new = [line for line in dict.fromkeys(lines) if line not in held]
    if not new:
        return None
    private_folder(path.parent)
    append_records(path, lambda: [line.encode("utf-8", "replace") for line in new], create=True)
    return path


def note_flush(transcript: Path, session: str, now: datetime) -> None:
    """Note in ``sessions.json`` that the memories of a session were saved in this cycle.

    Raises UnreadableError, LockHeldError, LockLostError, MovedError: as :func:`update_entry`.
    """
    _note(transcript, session, lambda entry: flushed(_fields(entry), at_ms=int(now.timestamp() * 1000)))


def note_compaction(transcript: Path, session: str) -> None:
    """Count a compaction in ``sessions.json``, with which the next cycle begins.

    Raises UnreadableError, LockHeldError, LockLostError, MovedError: as :func:`update_entry`.
    """
    _note(transcript, session, lambda entry: {"compactionCount": int(entry.number("compactionCount") or 0) + 1})


def _note(transcript: Path, session: str, patch: Callable[[SessionEntry], Mapping[str, object]]) -> None:
    key, entry = _listed(transcript, session)
    if entry is not None:
        update_entry(transcript.parent / NAME, key, patch, 0)


def _listed(transcript: Path, session: str) -> tuple[str, SessionEntry | None]:
    found = read_store(transcript.parent / NAME).items()
    return next(((key, entry) for key, entry in found if entry.text("sessionId") == session), ("", None))


def _fields(entry: SessionEntry) -> Mapping[str, object]:
    return {name: entry.number(name) for name in ("compactionCount", "memoryFlushCompactionCount")}


# When a session's memories are saved before a compaction summarises it away, and what the client's settings say to it.
#
# Source: ``memory-flush.ts`` of Clawdbot 2026.1.27 and seed 004. Once per compaction cycle, when the context is within
# a soft threshold of what would compact it. The client reckons with the size that it noted after the last turn, so that
# one huge turn jumps over the threshold; here the transcript itself is measured.

SOFT_THRESHOLD_TOKENS = 4_000


def soft_threshold(compaction: Mapping[str, object]) -> int | None:
    """Return the tokens in ``memoryFlush`` of the client's ``compaction`` settings, None where it is turned off.

    A number that is none or below 0 stands for the default.
    """
    flush = fields_of(compaction.get("memoryFlush"))
    if flush.get("enabled") is False:
        return None
    return count_or(flush.get("softThresholdTokens"), SOFT_THRESHOLD_TOKENS)


def has_flushed(entry: Mapping[str, object]) -> bool:
    """Say whether a flush ran in this compaction cycle, by the session's entry in ``sessions.json``."""
    done = entry.get("memoryFlushCompactionCount")
    return isinstance(done, int | float) and done == (entry.get("compactionCount") or 0)


def flushed(entry: Mapping[str, object], *, at_ms: int) -> dict[str, object]:
    """Return the fields to note in an entry after a flush."""
    return {"memoryFlushAt": at_ms, "memoryFlushCompactionCount": count_or(entry.get("compactionCount"), 0)}
