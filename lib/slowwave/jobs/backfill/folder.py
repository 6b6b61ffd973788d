"""The folder of a backfill: its plan, its shards, what came of each piece, what landed, and whether it shall pause.

The data come first: what is to be read, cut into shards and pieces, and what came of each piece.

It lies under the state folder, or wherever ``backfills`` there is a link to: with workers on several hosts, on storage
that all of them see. Every file in it is written whole and renamed, so a kill leaves what was there before.
"""

import json
import shutil
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from slowwave.errors import CorruptStateError, LockHeldError, NotFoundError
from slowwave.extraction.candidates import Quarantined
from slowwave.extraction.gates import Failure, Refused
from slowwave.files import atomic_write, file_bytes, private_folder, state_folder
from slowwave.formats.sessions import StoredSession
from slowwave.jobs.portions import packed, unpacked
from slowwave.journal import Form, read_note
from slowwave.locks import is_locked, locked_file
from slowwave.memory import Candidate, ExtractedRange
from slowwave.report import Item
from slowwave.settings import Settings
from slowwave.stores.projects import Project

VERSION = 1
# of so many sessions it is told why they were passed over, of more only how many they are
MOST_LATER = 10


class Wanted(msgspec.Struct, frozen=True):
    """The range of a backfill; what is empty sets no limit."""

    since: datetime | None = None  # something must have happened at this time or later
    until: datetime | None = None  # nothing may have happened after this time
    projects: tuple[str, ...] = ()  # parts of keys or folders of projects
    dialects: tuple[str, ...] = ()  # names of dialects
    sessions: tuple[str, ...] = ()  # ids
    limit: int = 0  # at most so many sessions, the oldest first
    upgrade: bool = False  # only what an older version of an extractor has read
    retry_failed: bool = False  # only what could not be read before


class Pace(msgspec.Struct, frozen=True):
    """How fast the whole run may read; 0 sets no limit."""

    sessions: float = 0.0  # a second
    megabytes: float = 0.0  # a second

    def seconds(self, size: int) -> float:
        """Return how long it makes the next session wait behind one of so many bytes."""
        by_bytes = size / (self.megabytes * 1e6) if self.megabytes else 0.0
        return max(1 / self.sessions if self.sessions else 0.0, by_bytes)

    def left_of(self, sizes: Sequence[int]) -> Callable[[int], float] | None:
        """Return what tells how long it makes the rest of some sessions take at the least; None without a limit."""
        if not (self.sessions or self.megabytes):
            return None
        # behind the last one nobody waits
        after = list(accumulate(self.seconds(size) for size in reversed(sizes[:-1])))
        return lambda done: after[-max(1, done)] if max(1, done) <= len(after) else 0.0


class Seed(msgspec.Struct, frozen=True):
    """What the memory folder knew of a piece's sessions when the run was planned."""

    candidates: list[Candidate] = []  # of these sessions
    ranges: list[ExtractedRange] = []  # of these sessions, by the present extractors
    refused: list[Refused] = []  # what the gates were told when they refused them
    failures: list[Failure] = []  # their last failures


class Piece(msgspec.Struct, frozen=True):
    """What is read in one go and noted in one file: some sessions of one project, in their order."""

    number: int  # counts all pieces of the run from 0
    project: int  # index in ``Plan.projects``
    sessions: list[StoredSession]
    seed: Seed = Seed()  # what was known of them


class Shard(msgspec.Struct, frozen=True):
    """What one worker takes at once: up to 256 MB or 5,000 sessions, of one project or of many."""

    number: int
    pieces: list[Piece]


class Plan(msgspec.Struct, frozen=True):
    """A backfill; the shards stand in files of their own, so that a worker reads what it needs only."""

    v: int  # of this form
    run_id: str
    now: datetime  # what time it is for the whole run, however often it is resumed
    settings: Settings
    force: bool  # whether the gates on length and tool calls are passed
    wanted: Wanted  # the range
    pace: Pace  # how fast it may read
    projects: list[Project]  # the projects that sessions are read of, without their sessions
    shards: int  # how many there are
    pieces: int  # how many there are in all
    sessions: int  # to be read
    bytes: int  # in them
    counts: dict[str, int]  # what of the range is not to be read, and why
    warnings: list[str]  # what discovery met
    told: list[Item] = []  # where nothing is to be read: which runs have read it, and how it could go on


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What goes into a memory folder together: candidates and the ranges that they came from."""

    candidates: list[Candidate] = []  # in the order in which they were said
    ranges: list[ExtractedRange] = []  # the bytes that were read
    quarantined: list[Quarantined] = []  # what was refused because it tries to steer an agent
    is_mined: bool = False  # it is of the miners, whose commands count together with those of other sessions


class Asked(msgspec.Struct):
    """What answers of a model cost in time, and what their questions were estimated to be."""

    answers: int = 0  # how many
    prompt_tokens: int = 0  # of the questions, as they were estimated
    seconds: float = 0.0  # from question to answer, added up


class Result(msgspec.Struct):
    """What came of a piece; how long its answers took is the only part of it that another run would not repeat."""

    entries: list[Entry] = []  # in the order of the sessions
    refused: list[Refused] = []  # sessions that the gates refused, with what they were told
    failures: dict[str, list[Failure]] = {}  # sessions that could not be read, by the file that remembers them
    counts: dict[str, int] = {}  # the counters of its report
    failed: list[str] = []  # the same failures in words
    later: list[str] = []  # sessions that were passed over, and why; of many the first few
    warnings: list[str] = []  # what else is to be told
    unknown_types: dict[str, int] = {}  # records by a type that this version does not know
    asked: Asked = msgspec.field(default_factory=Asked)  # of its answers


T = TypeVar("T")

_RESULT = Form(Result, "is not the result of a piece", "delete it and resume the backfill: it is read again")

Standing = Literal["rolled-back", "rolling-back", "done", "failed"]
# the first that is noted counts
STANDINGS: tuple[Standing, ...] = ("rolled-back", "rolling-back", "done", "failed")


def backfills_folder(environ: Mapping[str, str]) -> Path:
    """Return where the backfills of this user are."""
    return state_folder(environ) / "backfills"


class Folder:
    """One backfill on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, run_id: str, environ: Mapping[str, str]) -> "Folder":
        """Return the folder of a run that is there. Raises NotFoundError: there is none."""
        folder = cls(backfills_folder(environ) / run_id)
        if not run_id or not (folder.path / "plan.json").is_file():
            there = sorted(p.parent.name for p in backfills_folder(environ).glob("*/plan.json"))
            raise NotFoundError(f"no backfill {run_id!r}; there are: {', '.join(there[-8:]) or 'none'}")
        return folder

    def write(self, plan: Plan, shards: list[Shard]) -> None:
        """Write a new run; the plan comes last, so that a run without it is none.

        Raises OSError: the state folder cannot be written.
        """
        for name in ("shards", "pieces", "landed"):
            private_folder(self.path / name)
        for shard in shards:
            atomic_write(self._shard(shard.number), packed(shard))
        atomic_write(self.path / "plan.json", packed(plan))

    def plan(self) -> Plan:
        """Return the plan. Raises CorruptStateError: it does not parse, or a newer version wrote it."""
        return _parsed(self.path / "plan.json", Plan)

    def shard(self, number: int) -> Shard:
        """Return a shard. Raises CorruptStateError: it does not parse."""
        return _parsed(self._shard(number), Shard)

    def has(self, piece: int) -> bool:
        """Say whether a piece was read."""
        return self._piece(piece).exists()

    def write_result(self, piece: int, result: Result) -> None:
        """Note what came of a piece."""
        atomic_write(self._piece(piece), msgspec.json.encode(result))

    def result(self, piece: int) -> Result:
        """Return what came of a piece. Raises CorruptStateError: its file is damaged."""
        result = read_note(self._piece(piece), _RESULT)
        if result is None:
            raise CorruptStateError(self._piece(piece), "is not there", "resume the backfill: it is read again")
        return result

    def answers(self, piece: int) -> Path:
        """Return where the answers of a model about a piece are kept until the piece is written."""
        return self.path / "pieces" / f"{piece:07}.answers.jsonl"

    def deaths(self, piece: int) -> Path:
        """Return where it is noted what killed the processes that read a piece."""
        return self.path / "pieces" / f"{piece:07}.deaths"

    def landed(self, name: str) -> Path:
        """Return where it is noted what a landing wrote."""
        return self.path / "landed" / name

    def pause(self) -> None:
        """Let every worker stop after the session that it reads."""
        atomic_write(self.path / "pause", b"paused\n")

    def unpause(self) -> None:
        """Let workers go on."""
        (self.path / "pause").unlink(missing_ok=True)

    @property
    def is_paused(self) -> bool:
        """Whether somebody asked for a pause; anybody may put a file of that name there."""
        return (self.path / "pause").exists()

    @property
    def standing(self) -> str:
        """What became of the run: rolled-back, rolling-back (a part is taken back), done, failed, or ""."""
        return next((name for name in STANDINGS if (self.path / name).exists()), "")

    def note(self, standing: Standing, data: bytes = b"\n") -> None:
        """Note what became of the run."""
        atomic_write(self.path / standing, data)

    def forget(self, standing: Standing) -> None:
        """Remove what was noted before."""
        (self.path / standing).unlink(missing_ok=True)

    def said(self, standing: Standing) -> str:
        """Return the words that were noted with a standing."""
        return file_bytes(self.path / standing).decode("utf-8").strip()

    def drop_work(self) -> None:
        """Remove shards and results of a run that nobody will resume."""
        for name in ("shards", "pieces"):
            shutil.rmtree(self.path / name, ignore_errors=True)

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keep a second process from leading the same run; workers need no lock.

        Raises LockHeldError: one leads it already.
        """
        with ExitStack() as held:
            try:
                held.enter_context(locked_file(self._lock, create=True, timeout_s=0))
            except LockHeldError as error:
                raise LockHeldError(
                    f"backfill {self.path.name}: another process is working on it; pause it first"
                ) from error
            yield

    def is_led(self) -> bool:
        """Say whether a process leads the run now."""
        return is_locked(self._lock)

    @property
    def _lock(self) -> Path:
        return self.path / "lead.lock"

    def _shard(self, number: int) -> Path:
        return self.path / "shards" / f"{number:05}.json"

    def _piece(self, number: int) -> Path:
        return self.path / "pieces" / f"{number:07}.json"


def the_one(action: Literal["resume", "pause"], environ: Mapping[str, str]) -> str:
    """Return the id of the only backfill that can be paused, or gone on with.

    Raises:
        NotFoundError: there is none, or there are several.
    """
    plans = sorted(backfills_folder(environ).glob("*/plan.json"))
    open_ones = [folder for folder in (Folder(path.parent) for path in plans) if folder.standing in ("", "failed")]
    found = [folder.path.name for folder in open_ones if folder.is_led() == (action == "pause")]
    if len(found) != 1:
        what = "at work" if action == "pause" else "unfinished"
        told = f"several backfills are {what}; name one: {', '.join(found)}" if found else f"no backfill is {what}"
        raise NotFoundError(told)
    return found[0]


def left_of(run: Folder, plan: Plan) -> int:
    """Return how many sessions of a run are still to be read."""
    return len(sizes_left(run, plan))


def sizes_left(run: Folder, plan: Plan) -> list[int]:
    """Return the sizes of the sessions of a run that are still to be read, in their order."""
    left = {number for number in range(plan.pieces) if not run.has(number)}
    shards = (run.shard(number) for number in range(plan.shards)) if left else ()
    pieces = (piece for shard in shards for piece in shard.pieces if piece.number in left)
    return [session.size for piece in pieces for session in piece.sessions]


def _parsed(path: Path, kind: type[T]) -> T:
    try:
        tree = json.loads(file_bytes(path))
        if (form := tree.get("v", VERSION)) > VERSION:
            raise CorruptStateError(path, f"was written by a newer slowwave (form {form})", "use that one")
        return unpacked(tree, kind)
    except (OSError, ValueError, AttributeError) as error:
        raise CorruptStateError(path, f"is not part of a backfill ({error})", "start a new backfill") from error


# What the questions of earlier backfills to a model came to: what a preview goes by.

MOST = 50


class Past(msgspec.Struct, frozen=True, omit_defaults=True):
    """One backfill with a model that came to its end."""

    run_id: str
    model: str  # name of the model
    prompt_tokens: int = 0  # as the server counted them
    foreseen_prompt_tokens: int = 0  # as they were estimated before
    completion_tokens: int = 0  # of the answers
    answers: int = 0  # how many
    model_seconds: float = 0.0  # of answers, added up


_PAST = Form(list[Past], "is not a list of past runs", "delete it: it only helps previews")


def note_answers(run: Folder, plan: Plan, environ: Mapping[str, str]) -> None:
    """Note what the questions of a run came to, once; its pieces are still there.

    Raises CorruptStateError: the run's files are damaged; OSError: the state folder cannot be written.
    """
    past = past_runs(environ)
    if any(one.run_id == plan.run_id for one in past):
        return
    results = [run.result(piece.number) for number in range(plan.shards) for piece in run.shard(number).pieces]
    counts = [result.counts for result in results]
    new = Past(
        run_id=plan.run_id,
        model=plan.settings.model.label,
        prompt_tokens=sum(one.get("model_prompt_tokens", 0) for one in counts),
        foreseen_prompt_tokens=sum(result.asked.prompt_tokens for result in results),
        completion_tokens=sum(one.get("model_completion_tokens", 0) for one in counts),
        answers=sum(result.asked.answers for result in results),
        model_seconds=round(sum(result.asked.seconds for result in results), 3),
    )
    atomic_write(_path(environ), msgspec.json.encode([*past, new][-MOST:]))


def past_runs(environ: Mapping[str, str]) -> list[Past]:
    """Return the backfills with a model that came to their end, oldest first.

    Raises CorruptStateError: the file is damaged.
    """
    return read_note(_path(environ), _PAST) or []


def _path(environ: Mapping[str, str]) -> Path:
    return backfills_folder(environ) / "past.json"


# Which version of the miners has read something.


def order_of(extractor: str) -> int:
    """Return the number of a version of the miners; -1 for another extractor."""
    name, _, number = extractor.partition("/")
    return int(number) if name == "offline" and number.isdecimal() else -1


def latest(extractors: Iterable[str]) -> str:
    """Return the newest version of the miners among extractors, or ""."""
    found = [one for one in extractors if order_of(one) >= 0]
    return max(found, key=order_of, default="")
