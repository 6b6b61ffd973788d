"""How far a run is: whoever watches is told after every step, and a note tells of runs that were killed.

The one who watches is a context variable: the story of a job tells it the same way in this process and inside a flow,
and its functions need not hand it on.
"""

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Protocol

import msgspec

from slowwave.errors import UnreadableError
from slowwave.files import at_fault_point, atomic_write, file_bytes, private_folder, require_file, state_folder
from slowwave.locks import Owner, is_provably_dead, this_process
from slowwave.observability.night import STOPPED, Night, append_night, moment, read_nights
from slowwave.secrets import NAMELESS, logger_of

# what a person calls each step, without a scheduler and through Prefect; before the first one a run looks around
LOOK, REACH, START = "look", "reach_server", "start_server"
_WORDS = {
    LOOK: "looking for sessions",
    REACH: "reaching the Prefect server",
    START: "starting a Prefect server for this run (about ten seconds)",
    **dict.fromkeys(("extract", "extract_batch"), "reading sessions"),
    **dict.fromkeys(("hand_over", "hand_over_questions"), "handing questions to the model"),
    **dict.fromkeys(("consolidate", "consolidate_group"), "dreaming"),
    **dict.fromkeys(("end_dreaming", "propose_shared"), "sharing and delivering memories"),
    **dict.fromkeys(("compact", "compact_at_night", "compact_group"), "compacting long sessions"),
    **dict.fromkeys(
        ("retain_everywhere", "retain_at_night", "retain_sessions", "retain_at_the_end"),
        "looking for sessions to archive or tidy",
    ),
    **dict.fromkeys(("erase", "erase_group"), "taking secrets out of projects"),
    **dict.fromkeys(("finish_erasing", "erase_others"), "taking secrets out of everything else"),
    "read": "reading sessions",
    "land": "adding what was found",
}


def words(step: str) -> str:
    """Return what a person calls a step; one of another version keeps its name."""
    return _WORDS.get(step, step)


# how many seconds what is left of a step takes at the least, by how many of its things are done
LeftBy = Callable[[int], float]


class Watcher(Protocol):
    """Somebody who is told how far a run is."""

    def plan(self, step: str, total: int, left: LeftBy | None = None) -> None:
        """Take note that a step is about to go over so many things; ``left`` where somebody set a pace."""
        ...

    def done(self, step: str, what: str) -> None:
        """Take note that a step is over for one of them."""
        ...


class Nobody:
    """Watches nothing."""

    def plan(self, step: str, total: int, left: LeftBy | None = None) -> None:
        """Do nothing."""

    def done(self, step: str, what: str) -> None:
        """Do nothing."""


_watching: ContextVar[Watcher] = ContextVar("slowwave_watching", default=Nobody())  # noqa: B039 - it holds nothing


def watcher() -> Watcher:
    """Return who watches now."""
    return _watching.get()


@contextmanager
def watched_by(one: Watcher) -> Generator[None]:
    """Let somebody watch what is inside."""
    token = _watching.set(one)
    try:
        yield
    finally:
        _watching.reset(token)


# Runs that are at work, each with a note in the state folder: so one that was killed is told of as well.
#
# A note says which process does what and how far it is. It is written whole when its run begins, and from then on in
# place: its block is on the disk, so that a run can still say how it ended when there is no room for anything else. It
# goes when the run stands in the history. What is left is of a run at work, or of one that never came to its end.

VERSION = 1
SUFFIX = ".run.json"
# one page of memory: a write of it is whole or not at all for whoever kills the process
SIZE = 4096
_MOST_WORDS = 1500
# A run on another machine cannot be looked at. No step of it may take longer than four hours (tasks/).
SILENT_S = timedelta(hours=24).total_seconds()

log = logger_of(__name__)


class AtWork(msgspec.Struct, frozen=True, kw_only=True):
    """What the note of a run says."""

    v: int = VERSION  # version of the form
    job: str  # name of the job
    run_id: str  # id of the run
    at: str  # when it began, ISO time, as its own clock said
    owner: Owner  # the process
    partial: bool = False  # whether only chosen projects are worked on
    step: str = ""  # the step that it is in, "" before the first
    done: int = 0  # how much of the step is done
    of: int = 0  # how much there is to do
    seconds: float = 0.0  # how long it had been at work at its last sign
    sign: float = 0.0  # when that was, in seconds since 1970
    # why it ended before it was over, or how it ended where the history could not be written; "" while it works, and
    # for good where it was killed
    ended: str = ""
    by_person: bool = False  # whether somebody ended it, with Ctrl-C

    @property
    def where(self) -> str:
        """How far it is, in words."""
        return f"while {words(self.step)}, {self.done} of {self.of} done" if self.step else "before its first step"


def note_path(environ: Mapping[str, str], run_id: str) -> Path:
    """Return where the note of a run is."""
    return state_folder(environ) / "runs" / f"{run_id}{SUFFIX}"


def write_note(environ: Mapping[str, str], note: AtWork) -> Path:
    """Write the note of a run that begins, and return where it is."""
    path = note_path(environ, note.run_id)
    private_folder(path.parent)
    atomic_write(path, _page(note))
    return path


def begun(job: str, run_id: str, at: str, *, partial: bool = False) -> AtWork:
    """Return the note of a run that this process begins now."""
    now = time.time()
    return AtWork(job=job, run_id=run_id, at=at, partial=partial, owner=this_process(""), sign=now)


def change_note(path: Path, change: Callable[[AtWork], AtWork]) -> None:
    """Write a note anew in its place; one that is gone stays gone.

    Raises OSError: it cannot be read or written; msgspec.MsgspecError: it is damaged.
    """
    with suppress(FileNotFoundError):
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            require_file(path, os.fstat(fd))
            page = _page(change(msgspec.json.decode(os.pread(fd, SIZE, 0), type=AtWork)))
            at_fault_point("write", path)
            os.pwrite(fd, page, 0)
        finally:
            os.close(fd)


def end_note(path: Path, why: str, *, by_person: bool = False) -> None:
    """Note why a run ended, and whether somebody ended it; what cannot be noted is logged: the run has more to say."""
    words = NAMELESS(" ".join(why.split()))[:_MOST_WORDS].encode("utf-8", "backslashreplace").decode()
    try:
        ended = words or "without a word"
        change_note(path, lambda note: msgspec.structs.replace(note, ended=ended, by_person=by_person))
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("%s: cannot be written (%s)", path, error)


def _page(note: AtWork) -> bytes:
    data = msgspec.json.encode(note)
    if len(data) >= SIZE:
        data = msgspec.json.encode(msgspec.structs.replace(note, ended=note.ended[: _MOST_WORDS // 6]))
    return data.ljust(SIZE - 1) + b"\n"


class Noting:
    """Notes how far a run is, and tells whoever else watches."""

    def __init__(self, path: Path, other: Watcher, timer: Callable[[], float] = time.monotonic) -> None:
        """Begin to count the time."""
        self._path, self._other, self._timer, self._began = path, other, timer, timer()
        self._is_broken = False
        # steps may take turns: a backfill reads and lands
        self._steps: dict[str, tuple[int, int]] = {}

    def plan(self, step: str, total: int, left: LeftBy | None = None) -> None:
        """Note what begins, or keep it for later while another step is under way."""
        is_next = all(done >= of for done, of in self._steps.values())
        self._steps[step] = 0, total
        if is_next:
            self._note(step, 0, total)
        self._other.plan(step, total, left)

    def done(self, step: str, what: str) -> None:
        """Note that one more is done."""
        done, of = self._steps.get(step, (0, 0))
        self._note(step, done + 1, of)
        self._other.done(step, what)

    def _note(self, step: str, done: int, of: int) -> None:
        self._steps[step] = done, of
        if self._is_broken:
            return
        seconds, sign = round(self._timer() - self._began, 3), time.time()
        now = {"step": step, "done": done, "of": of, "seconds": seconds, "sign": sign}
        try:
            change_note(self._path, lambda note: msgspec.structs.replace(note, **now))
        except (OSError, msgspec.MsgspecError, UnreadableError) as error:
            self._is_broken = True
            log.warning("%s: how far the run is cannot be noted any more (%s)", self._path, error)


def read_notes(environ: Mapping[str, str]) -> tuple[list[AtWork], list[str]]:
    """Return the notes by the time at which their runs began, and what could not be read."""
    notes: list[tuple[datetime, AtWork]] = []
    problems: list[str] = []
    for path in sorted((state_folder(environ) / "runs").glob(f"*{SUFFIX}")):
        try:
            note = msgspec.json.decode(file_bytes(path), type=AtWork)
            notes.append((moment(note.at), note))
        except FileNotFoundError:
            continue  # it has come to its end this moment
        except (OSError, ValueError, UnreadableError) as error:
            problems.append(f"{path}: tells nothing of its run ({error}); remove it")
    return [note for _, note in sorted(notes, key=itemgetter(0))], problems


def over_because(note: AtWork, wall: Callable[[], float] = time.time) -> str:
    """Return why a run is over that never came to its end, or "" when it is, or may be, at work."""
    if note.ended:
        return note.ended
    owner = note.owner
    if is_provably_dead(owner):
        return f"its process {owner.pid} is gone: it was killed, or the machine had no memory left"
    here = this_process("")
    if owner.host == here.host and owner.boot != here.boot:
        return "the machine was restarted meanwhile"
    silent = wall() - note.sign
    is_elsewhere = (owner.host, owner.pid_namespace) != (here.host, here.pid_namespace)
    if is_elsewhere and silent > SILENT_S:
        return f"no sign of process {owner.pid} on {owner.host} for {silent / 3600:.0f} h"
    return ""


def stopped(note: AtWork, why: str, found_by: str = "") -> Night:
    """Return what the history says of a run that never came to its end."""
    resumes = note.job == "backfill"
    remedy = (
        f"continue with slowwave run backfill --resume {note.run_id}" if resumes else "the next run does what it left"
    )
    night = Night(
        job=note.job,
        run_id=note.run_id,
        at=note.at,
        seconds=note.seconds,
        outcome=STOPPED,
        partial=note.partial,
        found_by=found_by,
    )
    if note.by_person:
        return msgspec.structs.replace(night, ended=f"{note.job} was ended with Ctrl-C {note.where}; {remedy}")
    failures = [f"{note.job} stopped {note.where}: {why}; {remedy}"]
    return msgspec.structs.replace(night, failed=1, failures=failures)


def overdue(environ: Mapping[str, str]) -> Iterator[tuple[AtWork, str]]:
    """Yield each run that is over and never came to its end, and why."""
    for note in read_notes(environ)[0]:
        if why := over_because(note):
            yield note, why


def settle(environ: Mapping[str, str], found_by: str) -> list[Night]:
    """Put every run that never came to its end into the history, and return what was put there."""
    found: list[Night] = []
    over = list(overdue(environ))
    # the history grows with every night, and most nights nothing was stopped
    known = {(night.run_id, night.at) for night in read_nights(environ)[0]} if over else set[tuple[str, str]]()
    for note, why in over:
        night = stopped(note, why, found_by)
        # killed right behind its line in the history
        if (night.run_id, night.at) not in known:
            append_night(environ, night)
            found.append(night)
        note_path(environ, note.run_id).unlink(missing_ok=True)
    return found
