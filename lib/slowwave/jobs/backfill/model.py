"""The data of a backfill: what is to be read, cut into shards and pieces, and what came of each piece."""

from datetime import datetime

import msgspec

from slowwave.extraction.failures import Failure
from slowwave.extraction.quarantine import Quarantined
from slowwave.extraction.remembered import Refused
from slowwave.memory.model import Candidate, ExtractedRange
from slowwave.settings import Settings
from slowwave.stores.model import Project, StoredSession

VERSION = 1


class Wanted(msgspec.Struct, frozen=True):
    """The range of a backfill; what is empty sets no limit.

    Attributes:
        since: something must have happened at this time or later.
        until: nothing may have happened after this time.
        projects: parts of keys or folders of projects.
        dialects: names of dialects.
        sessions: ids.
        limit: at most so many sessions, the oldest first.
        upgrade: only what an older version of an extractor has read.
        retry_failed: only what could not be read before.
    """

    since: datetime | None = None
    until: datetime | None = None
    projects: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    limit: int = 0
    upgrade: bool = False
    retry_failed: bool = False


class Pace(msgspec.Struct, frozen=True):
    """How fast the whole run may read; 0 sets no limit."""

    sessions: float = 0.0
    megabytes: float = 0.0


class Seed(msgspec.Struct, frozen=True):
    """What the memory folder knew of a piece's sessions when the run was planned.

    Attributes:
        candidates: of these sessions.
        ranges: of these sessions, by the present extractors.
        refused: what the gates were told when they refused them.
        failures: their last failures.
        changed: for sessions that an older version has read: the miners whose findings are new, by session id; None
            stands for all of them.
    """

    candidates: list[Candidate] = []
    ranges: list[ExtractedRange] = []
    refused: list[Refused] = []
    failures: list[Failure] = []
    changed: dict[str, list[str] | None] = {}


class Piece(msgspec.Struct, frozen=True):
    """What is read in one go and noted in one file: some sessions of one project, in their order.

    Attributes:
        number: counts all pieces of the run from 0.
        project: index in ``Plan.projects``.
        sessions: the sessions.
        seed: what was known of them.
    """

    number: int
    project: int
    sessions: list[StoredSession]
    seed: Seed = Seed()


class Shard(msgspec.Struct, frozen=True):
    """What one worker takes at once: up to 256 MB or 5,000 sessions, of one project or of many."""

    number: int
    pieces: list[Piece]


class Plan(msgspec.Struct, frozen=True):
    """A backfill; the shards stand in files of their own, so that a worker reads what it needs only.

    Attributes:
        v: of this form.
        run_id: id of the run.
        now: what time it is for the whole run, however often it is resumed.
        settings: the settings in force.
        force: whether the gates on length and tool calls are passed.
        wanted: the range.
        pace: how fast it may read.
        projects: the projects that sessions are read of, without their sessions.
        shards: how many there are.
        pieces: how many there are in all.
        sessions: to be read.
        bytes: in them.
        counts: what of the range is not to be read, and why.
        warnings: what discovery met.
    """

    v: int
    run_id: str
    now: datetime
    settings: Settings
    force: bool
    wanted: Wanted
    pace: Pace
    projects: list[Project]
    shards: int
    pieces: int
    sessions: int
    bytes: int
    counts: dict[str, int]
    warnings: list[str]


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What goes into a memory folder together: candidates and the ranges that they came from.

    Attributes:
        candidates: in the order in which they were said.
        ranges: the bytes that were read.
        quarantined: what was refused because it tries to steer an agent.
        is_mined: it is of the miners, whose commands count together with those of other sessions.
    """

    candidates: list[Candidate] = []
    ranges: list[ExtractedRange] = []
    quarantined: list[Quarantined] = []
    is_mined: bool = False


class Asked(msgspec.Struct):
    """What answers of a model cost in time, and what their questions were estimated to be.

    Attributes:
        answers: how many.
        prompt_tokens: of the questions, as they were estimated.
        seconds: from question to answer, added up.
    """

    answers: int = 0
    prompt_tokens: int = 0
    seconds: float = 0.0


class Result(msgspec.Struct):
    """What came of a piece; the seconds are the only part of it that another run would not repeat.

    Attributes:
        entries: in the order of the sessions.
        refused: sessions that the gates refused, with what they were told.
        failures: sessions that could not be read, by the file that remembers them.
        counts: the counters of its report.
        failed: the same failures in words.
        warnings: what else is to be told.
        unknown_types: records by a type that this version does not know.
        seconds: how long it took.
        cpu_seconds: of the processor.
        asked: of its answers.
    """

    entries: list[Entry] = []
    refused: list[Refused] = []
    failures: dict[str, list[Failure]] = {}
    counts: dict[str, int] = {}
    failed: list[str] = []
    warnings: list[str] = []
    unknown_types: dict[str, int] = {}
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    asked: Asked = msgspec.field(default_factory=Asked)
