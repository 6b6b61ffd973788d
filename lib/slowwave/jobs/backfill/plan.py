"""The plan of a backfill: what a range means, what of it was read by which version, and what is still to be read.

Plans come in shards and pieces that every host cuts alike.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from os import fspath
from pathlib import Path
from typing import Any, Literal

import msgspec

from slowwave.context import Run
from slowwave.errors import NotFoundError, UnreadableError, UsageError, told
from slowwave.extraction.gates import MOST_ATTEMPTS, read_failures, read_refused, session_gates, stamp_of
from slowwave.extraction.job import UNTYPED
from slowwave.extraction.model.ledger import is_read
from slowwave.extraction.model.prompts import EXTRACTOR as MODEL
from slowwave.extraction.ranges import PartState, Recorded, is_known, ranges_of
from slowwave.extraction.selection import EXTRACTOR
from slowwave.extraction.session import rest_of, states_of
from slowwave.formats import parse_time
from slowwave.formats.sessions import StoredSession
from slowwave.jobs.backfill.folder import VERSION, Pace, Piece, Plan, Seed, Shard, Wanted, latest
from slowwave.jobs.parameters import BackfillParameters
from slowwave.jobs.story import MOST_ROWS, printable
from slowwave.memory import Candidate, iso, name_to_json
from slowwave.memory.candidates import read_candidates
from slowwave.observability.night import Night, history_path, read_nights
from slowwave.report import Item, Report, counted, number_of, readable
from slowwave.secrets import NAMELESS
from slowwave.settings import Settings
from slowwave.stores.catalogue import own_catalogue
from slowwave.stores.discovery import known_projects, list_sessions
from slowwave.stores.projects import Project, chosen_by

# Which sessions a range means: by project, dialect, id and the time of what happened in them.


def wanted_of(given: BackfillParameters) -> Wanted:
    """Return the range that parameters mean."""
    return Wanted(
        since=given.since,
        until=given.until,
        projects=tuple(filter(None, (given.project, *given.projects))),
        dialects=tuple(given.dialects),
        sessions=tuple(given.sessions),
        limit=given.limit,
        upgrade=given.upgrade,
        retry_failed=given.retry_failed,
    )


LastActivity = Callable[[StoredSession], datetime]


def chosen_sessions(run: Run, wanted: Wanted) -> tuple[list[Project], list[str]]:
    """Return the projects with those of their sessions that are in the range, and what discovery met.

    Raises UnreadableError: a store cannot be read at all; NotFoundError: no project, or none of the sessions that are
    named, is there; UsageError: the range ends before it begins.
    """
    if wanted.since and wanted.until and wanted.since > wanted.until:
        raise UsageError(f"the range ends ({wanted.until:%Y-%m-%d %H:%M}) before it begins; exchange since and until")
    found = known_projects(run.settings, run.environ)
    projects = _projects(found.projects, wanted.projects)
    last = last_activity(run.settings, run.environ) if wanted.since or wanted.until else None
    chosen = [_within(project, wanted, last) for project in projects]
    if wanted.sessions:
        _refuse_unknown(wanted.sessions, projects)
    return [project for project in chosen if project.sessions], [str(problem) for problem in found.problems]


def _projects(projects: Sequence[Project], texts: Sequence[str]) -> Sequence[Project]:
    if not texts:
        return projects
    named = [chosen_by(text, projects, lambda p: (p.key, p.root)) for text in texts]
    # two stores may hold projects of one name, in different folders
    chosen = {(project.key, project.root, project.memory) for of_text in named for project in of_text}
    return [project for project in projects if (project.key, project.root, project.memory) in chosen]


def _within(project: Project, wanted: Wanted, last: LastActivity | None) -> Project:
    sessions = tuple(
        session
        for session in project.sessions
        if (not wanted.dialects or session.dialect in wanted.dialects)
        and (not wanted.sessions or session.id in wanted.sessions)
        and (last is None or _is_between(last(session), wanted))
    )
    return msgspec.structs.replace(project, sessions=sessions)


def _is_between(at: datetime, wanted: Wanted) -> bool:
    return (wanted.since is None or at >= wanted.since) and (wanted.until is None or at <= wanted.until)


def last_activity(settings: Settings, environ: Mapping[str, str]) -> LastActivity:
    """Return what tells when something last happened in a session: its last message, else the time of its file.

    The time of a file alone is that of the last copy or restore.
    """
    with own_catalogue(settings, environ) as catalogue:
        rows = list_sessions(settings, environ, catalogue).rows
    times = {(row.id, row.path): row.last_activity for row in rows}

    def last(session: StoredSession) -> datetime:
        told = (times.get((session.id, fspath(path))) for path in reversed(session.files.paths))
        at = parse_time(next((time for time in told if time), None))
        return at or datetime.fromtimestamp(session.mtime_ns / 1e9, UTC)

    return last


def _refuse_unknown(sessions: Sequence[str], projects: Sequence[Project]) -> None:
    known = {session.id for project in projects for session in project.sessions}
    if missing := [one for one in sessions if one not in known]:
        raise NotFoundError(f"no session {', '.join(missing)} in the chosen projects; see slowwave sessions list")


# What was read of each session, and by which version.

Kind = Literal[
    "read",  # every byte, by the present version
    "older",  # an older version has read it
    "grown",  # a part of it is new
    "unread",
    "unasked",  # the miners have read it, the model that is set has not
    "failed",  # it could not be read, and will be tried again
    "given_up",  # it could not be read three times
    "refused",  # the gates would refuse it again
    "passed_over",  # nobody's words: sub-agents, schedules, hooks, copies
]
# what a backfill reads, beside those that it is asked for by name of their state
TO_READ: tuple[Kind, ...] = ("unread", "grown", "older", "unasked", "failed")
FAILED: tuple[Kind, ...] = ("failed", "given_up")


class State(msgspec.Struct, frozen=True):
    """How a session stands."""

    kind: Kind  # see :data:`Kind`
    version: str = ""  # the newest version of the miners that has read of it, or ""
    why: str = ""  # in words, where the kind alone does not tell


class Ledger:
    """What one memory folder knows of sessions. Raises UnreadableError: a file of it cannot be read."""

    def __init__(self, memory: Path, settings: Settings, now: datetime) -> None:
        candidates, ranges, self.problems = read_candidates(memory)
        self._settings = settings
        self._now = now
        self._ranges = Recorded(ranges)
        self._versions: dict[str, set[str]] = {}
        for one in ranges:
            self._versions.setdefault(one.session.id, set()).add(one.extractor)
        self._candidates: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            self._candidates.setdefault(candidate.session.id, []).append(candidate)
        self._refused = read_refused(memory)[0]
        self._failed = read_failures(memory)[0]
        self._model = f"{MODEL}:{settings.model.label}" if settings.model.is_set else ""

    def state(self, session: StoredSession, *, force: bool = False) -> State:
        """Return how a session stands; its bytes are only looked at where something was recorded of it.

        ``session``: the session. ``force``: what the gates refused does not count as refused. Raises UnreadableError: a
        file of it cannot be read.
        """
        name = name_to_json(session.id)
        if why := _passed_over(session):
            return State("passed_over", why=why)
        version = latest(self._by(name))
        if version == EXTRACTOR and self._is_all_read(session):
            is_asked = not self._model or is_read(session, self._model, self._ranges)
            return State("read" if is_asked else "unasked", version)
        failure = self._failed.get(name)
        if failure and (failure.stamp, failure.extractor) == (f"{session.size}:{session.mtime_ns}", EXTRACTOR):
            return State("given_up" if failure.attempts >= MOST_ATTEMPTS else "failed", version, failure.error)
        if not force and name in self._refused and (why := self._refusal(session)):
            return State("refused", version, why)
        return State("unread" if not version else "grown" if version == EXTRACTOR else "older", version)

    def read_at(self, session: StoredSession) -> str:
        """Return when the present version has read of a session last, "" where it has not."""
        return max((one.at for one in self._ranges.of(name_to_json(session.id), EXTRACTOR)), default="")

    def versions(self, session: StoredSession) -> list[str]:
        """Return which versions of which extractors are in the books of a session."""
        return sorted(self._by(name_to_json(session.id)))

    def seed(self, sessions: Sequence[StoredSession], *, retry: bool) -> Seed:
        """Return what is known of sessions; with ``retry`` it forgets that they failed."""
        names = list(dict.fromkeys(name_to_json(session.id) for session in sessions))
        return Seed(
            candidates=[c for name in names for c in self._candidates.get(name, ())],
            ranges=[r for name in names for v in sorted(self._by(name)) for r in self._ranges.of(name, v)],
            refused=[self._refused[name] for name in names if name in self._refused],
            failures=[] if retry else [self._failed[name] for name in names if name in self._failed],
        )

    def _by(self, name: str) -> set[str]:
        """Return which versions of which extractors have read of a session."""
        return self._versions.get(name, set())

    def _is_all_read(self, session: StoredSession) -> bool:
        if is_known(session, EXTRACTOR, self._ranges):
            return True
        every = all(ranges_of(path, session.id, EXTRACTOR, self._ranges) for path in session.files.paths)
        return every and not session.is_stream and not any(s.has_new for s in states_of(session, self._ranges))

    def _refusal(self, session: StoredSession) -> str:
        """Return why the gates would refuse these very bytes again, or ""."""
        refused = self._refused[name_to_json(session.id)]
        if refused.extractor != EXTRACTOR:
            return ""
        if session.is_stream:
            states = [PartState(session.files.paths[0], 0, 0, f"{session.size}:{session.mtime_ns}", rewritten=False)]
        else:
            states = states_of(session, self._ranges)
        if refused.stamp != stamp_of(states):
            return ""
        rested = rest_of(session, refused.progress, self._now)
        gates = session_gates(refused.progress, self._settings.extraction, project="", session="", rested=rested)
        return next((gate.reason.partition(": ")[2] for gate in gates if not gate.passed), "")


def _passed_over(session: StoredSession) -> str:
    """Return why nothing is ever taken from a session, or ""."""
    for is_so, why in (
        (session.kind == "subagent", "a sub-agent's"),
        (session.origin in UNTYPED, "begun by a schedule or a hook"),
        (session.source == "backup", "a client's copy"),
    ):
        if is_so:
            return why
    return ""


# The plan of a backfill: what of the range is still to be read, in shards and pieces that every host cuts alike.

SHARD_BYTES = 256_000_000
SHARD_SESSIONS = 5_000
# A kill or a Ctrl-C costs at most one piece for each worker: some seconds, whatever the pace. At a pace a piece is over
# each second, or with each session: who watches sees it go on, whatever process reads.
PIECE_BYTES = 16_000_000
PIECE_SESSIONS = 100
PIECE_S = 1


def plan_backfill(run: Run, given: BackfillParameters) -> tuple[Plan, list[Shard]]:
    """Return the plan of a run over a range, and its shards.

    Raises UnreadableError: a store cannot be read at all; NotFoundError: no project or session is the one that is asked
    for; UsageError: the range ends before it begins.
    """
    wanted = wanted_of(given)
    projects, warnings = chosen_sessions(run, wanted)
    counts: Counter[str] = Counter(sessions=sum(len(project.sessions) for project in projects))
    ledgers = {p.memory: Ledger(p.memory, run.settings, run.clock.now()) for p in projects}
    due: list[tuple[int, StoredSession]] = []
    for index, project in enumerate(projects):
        due += [(index, s) for s in _due(project, ledgers[project.memory], run, wanted, counts, warnings)]
    if wanted.limit and len(due) > wanted.limit:
        counts["beyond_limit"] += len(due) - wanted.limit
        last = last_activity(run.settings, run.environ)
        oldest = sorted(range(len(due)), key=lambda at: (last(due[at][1]), due[at][1].id, at))[: wanted.limit]
        due = [due[at] for at in sorted(oldest)]
    pace = Pace(given.sessions_per_second, given.mb_per_second)
    pieces = [
        msgspec.structs.replace(
            piece, seed=ledgers[projects[piece.project].memory].seed(piece.sessions, retry=wanted.retry_failed)
        )
        for piece in cut(due, **_of_pace(pace))
    ]
    shards = list(sharded(pieces))
    plan = Plan(
        v=VERSION,
        run_id=run.id,
        now=run.clock.now(),
        settings=run.settings,
        force=run.force,
        wanted=wanted,
        pace=pace,
        projects=[msgspec.structs.replace(project, sessions=()) for project in projects],
        shards=len(shards),
        pieces=len(pieces),
        sessions=len(due),
        bytes=sum(session.size for _, session in due),
        counts=dict(sorted(counts.items())),
        warnings=warnings,
        told=_led_on(run, wanted, [(s, ledgers[p.memory]) for p in projects for s in p.sessions], warnings)
        if not due
        else [],
    )
    return plan, shards


def first_words(plan: Plan) -> Report:
    """Return a report that says what a plan is about, and what of the range is not in it."""
    report = Report("backfill", plan.run_id)
    report.warnings = [NAMELESS(one) for one in plan.warnings]
    report.counts = {"projects": len(plan.projects), "in_range": plan.counts.get("sessions", 0)}
    report.counts |= {name: number for name, number in plan.counts.items() if name != "sessions" and number}
    report.memories = {project.key: str(project.memory) for project in plan.projects}
    if plan.sessions:
        size = f"{counted('sessions', plan.sessions)}, {readable(plan.bytes)}"
        report.items.append(Item(plan.run_id, "backfill", size))
    else:
        report.items += plan.told
        report.warnings.insert(0, _nothing_of(plan))
    return report


# so many runs that have read something are named
_MOST_RUNS = 3


def _led_on(run: Run, wanted: Wanted, every: Sequence[tuple[StoredSession, Ledger]], warnings: list[str]) -> list[Item]:
    """Return which runs have read what of a range in which nothing is left, and how it could go on.

    What cannot be looked at for it is added to ``warnings``.
    """
    from slowwave.jobs.status import unfinished  # noqa: PLC0415 - only where nothing is left

    read = [(session, at) for session, ledger in every if (at := ledger.read_at(session))]
    found: list[Item] = []
    nights = _history(run, warnings) if read else ()
    by = Counter(_reader(at, nights) for _, at in read)
    for reader, number in by.most_common(_MOST_RUNS):
        found.append(Item(run.id, "read", f"{counted('sessions', number)} by {reader}"))
    if len(by) > _MOST_RUNS:
        found.append(Item(run.id, "read", f"the others by {number_of(len(by) - _MOST_RUNS, 'more run')}"))
    if read and not (run.force or wanted.upgrade or wanted.retry_failed):
        size = readable(sum(session.size for session, _ in read))
        asks = "; the model is asked again" if run.settings.model.is_set else ""
        again = f"--force reads all of it again ({size}), and adds only facts that were not found before{asks}"
        found.append(Item(run.id, "again", f"{again}; what you rejected or dropped stays out"))
        how = "Ctrl-C stops it and keeps what was read; so does --pause, in another terminal; --resume goes on"
        found.append(Item(run.id, "pause", how))
    left, problems = unfinished(run.environ)
    warnings += problems
    for one in left:
        far = f"{one.read:,} of {counted('sessions', one.sessions)} read"
        found.append(Item(one.run_id, one.how, f"{one.run_id}: {far}; go on with {one.command}"))
    return found


# the jobs that read sessions
_READERS = ("nightly", "extract", "backfill")


def _history(run: Run, warnings: list[str]) -> Sequence[Night]:
    try:
        nights, problems = read_nights(run.environ)
    except OSError as error:
        warnings.append(told(error, history_path(run.environ)))
        return ()
    warnings += problems
    return [night for night in nights if night.job in _READERS]


def _reader(at: str, nights: Iterable[Night]) -> str:
    """Return the run that read something at a time, in words, as far as the history knows it."""
    night = next((n for n in nights if _begin_of(n) <= at <= iso(n.began + _lasted(n))), None)
    return f"{night.job} {night.run_id}" if night else f"a run of {at[:10]} that is not in the history"


def _begin_of(night: Night) -> str:
    """Return when a run began: a backfill that is gone on with keeps the time of its id for all that it reads."""
    began = parse_time(night.run_id.partition("-")[0])
    return iso(min(began, night.began) if began else night.began)


def _lasted(night: Night) -> timedelta:
    return timedelta(seconds=ceil(night.seconds))


def _nothing_of(plan: Plan) -> str:
    """Say why a plan has no session."""
    if not plan.counts.get("sessions"):
        return "the range holds no session; slowwave sessions list shows what there is, and when it was"
    if plan.wanted.retry_failed:
        return "no session of the range is left to try again: each could be read, or was never tried"
    if plan.wanted.upgrade:
        return f"no session of the range is left to read again: none was read by rules older than {EXTRACTOR}"
    if plan.force:
        return "nothing of the range can be read: slowwave run backfill --coverage says why"
    return "nothing of the range is left to read"


def _due(
    project: Project, ledger: Ledger, run: Run, wanted: Wanted, counts: Counter[str], warnings: list[str]
) -> Iterator[StoredSession]:
    """Yield the sessions of a project that are to be read, and count the others by what they are."""
    kinds = _kinds(wanted, force=run.force)
    for session in project.sessions:
        try:
            state = ledger.state(session, force=run.force)
        except UnreadableError as error:
            warnings.append(f"{project.key}: {error}")
            counts["unreadable"] += 1
            continue
        if state.kind in kinds:
            counts["forced"] += state.kind == "read"
            yield session
        else:
            counts[f"not_{state.kind}" if state.kind in TO_READ else state.kind] += 1


def _kinds(wanted: Wanted, *, force: bool) -> Sequence[Kind]:
    if wanted.retry_failed:
        return FAILED
    if wanted.upgrade:
        return ("older",)
    return (*TO_READ, "read") if force else TO_READ


def cut(
    due: Sequence[tuple[int, StoredSession]], *, most_sessions: int = PIECE_SESSIONS, enough_bytes: int = PIECE_BYTES
) -> Iterator[Piece]:
    """Yield the pieces of sessions that are given with their project's index, in order."""
    at = number = 0
    while at < len(due):
        project, taken, size = due[at][0], list[StoredSession](), 0
        while at < len(due) and due[at][0] == project and len(taken) < most_sessions and size < enough_bytes:
            taken.append(due[at][1])
            size += due[at][1].size
            at += 1
        yield Piece(number, project, taken)
        number += 1


def _of_pace(pace: Pace) -> dict[str, int]:
    """Return how much a piece has at most that takes :data:`PIECE_S` seconds at a pace, as far as there is one."""
    found: dict[str, int] = {}
    if pace.sessions:
        found["most_sessions"] = min(PIECE_SESSIONS, max(1, int(pace.sessions * PIECE_S)))
    if pace.megabytes:
        found["enough_bytes"] = min(PIECE_BYTES, max(1, int(pace.megabytes * PIECE_S * 1e6)))
    return found


def sharded(
    pieces: Sequence[Piece], *, most_sessions: int = SHARD_SESSIONS, enough_bytes: int = SHARD_BYTES
) -> Iterator[Shard]:
    """Yield the shards of pieces, in order; a shard is full before the piece that would be too much for it."""
    taken: list[Piece] = []
    room, left, number = most_sessions, enough_bytes, 0
    for piece in pieces:
        size = sum(session.size for session in piece.sessions)
        if taken and (len(piece.sessions) > room or size > left):
            yield Shard(number, taken)
            taken, room, left, number = [], most_sessions, enough_bytes, number + 1
        taken.append(piece)
        room -= len(piece.sessions)
        left -= size
    if taken:
        yield Shard(number, taken)


# What of a range was read by which version: the answer to "is everything in?", and what an upgrade reads again.

# what no version would take anything from
_NOTHING_THERE = ("refused", "passed_over")
_WORDS = {
    "read": "read by {version}",
    "older": "read by {version} only; --upgrade reads again what has changed since",
    "grown": "grown since {version} read them",
    "unread": "not read yet",
    "unasked": "read by {version}, not by the model that is set",
    "failed": "could not be read, and will be tried again",
    "given_up": "could not be read three times; --retry-failed tries again",
    "refused": "refused by the gates of extraction",
    "passed_over": "passed over: {why}",
    "unreadable": "cannot be opened",
}


def cover(run: Run, wanted: Wanted) -> Report:
    """Return a report that says how far a range was read; nothing is changed.

    Raises UnreadableError: a store cannot be read at all; NotFoundError: no project or session is the one that is asked
    for.
    """
    report = Report("backfill", run.id)
    projects, report.warnings = chosen_sessions(run, wanted)
    sizes: dict[tuple[str, str], list[int]] = {}  # of sessions, by project and state in words
    left = Counter[str]()
    for project in projects:
        for session, books, words, is_covered in _rows(project, run):
            if wanted.sessions:
                read_by = f"in the books: {', '.join(books) or 'nothing'}"
                report.items.append(Item(session.id, "session", f"{words}; {read_by}", project.key))
            left[words] += not is_covered
            sizes.setdefault((project.key, words), []).append(session.size)
    for (key, words), of in sizes.items():
        told = f"{counted('sessions', len(of))}, {readable(sum(of))}: {words}"
        report.items.append(Item(key, "coverage", told, key))
    every = sum(map(len, sizes.values()))
    report.counts = {"sessions": every, "covered": every - left.total(), "projects": len(projects)}
    # what was left out of the stores is in no percentage
    out = f"{len(report.warnings):,} more were left out of the stores, of whatever range (see the notes)"
    text = _sentence(every, left)
    report.items.append(Item("range", "covered", f"{text}; {out}" if report.warnings else text))
    return report


def _rows(project: Project, run: Run) -> Iterator[tuple[StoredSession, list[str], str, bool]]:
    """Yield each session with the versions in its books, how it stands, and whether it is covered."""
    ledger = Ledger(project.memory, run.settings, run.clock.now())
    for session in project.sessions:
        books = ledger.versions(session)
        try:
            state = ledger.state(session)
        except UnreadableError:
            yield session, books, _WORDS["unreadable"], False
            continue
        words = _WORDS[state.kind].format(version=_read_by(state.version or EXTRACTOR), why=state.why)
        yield session, books, words, state.kind == "read" or state.kind in _NOTHING_THERE


def _read_by(version: str) -> str:
    """Return in words what read sessions: the rules of a version, or a model."""
    kind, _, number = version.partition("/")
    return f"the rules in version {number}" if kind == EXTRACTOR.partition("/")[0] else version


def _sentence(every: int, states: Counter[str]) -> str:
    """Say how much of a range is covered, rounded down to a tenth of a percent, and what is left of it."""
    left = states.total()
    if not every:
        return "the range holds no session"
    if not left:
        all_of = f"100 % of {counted('sessions', every)}"
        return f"{all_of}: every one was read by {_read_by(EXTRACTOR)}, or has nothing to read"
    parts = "; ".join(f"{number:,} {words}" for words, number in states.most_common() if number)
    are = "is" if left == 1 else "are"
    return f"{1000 * (every - left) // every / 10:.1f} % of {counted('sessions', every)}; {left:,} {are} left ({parts})"


# What became of a range, in numbers that add up: each of its sessions is in one of these, in the order in which it is
# told.

_NOT_ASKED = ", which was not asked for"
_SHARES = {
    name: (one, several or one)
    for name, one, several in (
        ("extracted", "of them was read", "of them were read"),
        ("would_read", "of them would be read", ""),
        ("read", "had been read by a night or an earlier backfill", ""),
        ("unchanged", "had nothing new for the rules", ""),
        ("skipped_by_gate", "is not ready yet: a night reads it later", "are not ready yet: a night reads them later"),
        ("would_wait", "is not ready yet: a night reads it later", "are not ready yet: a night reads them later"),
        (
            "refused",
            "was not ready when it was last looked at (too short, or in use)",
            "were not ready when they were last looked at (too short, or in use)",
        ),
        (
            "moved",
            "has changed since it was planned, and waits for the next night",
            "have changed since they were planned, and wait for the next night",
        ),
        ("passed_over", "holds no words of a person", "hold no words of a person"),
        ("failed", "could not be read", ""),
        ("given_up", "could not be read three times (--retry-failed)", ""),
        ("unreadable", "cannot be opened", ""),
        ("not_unread", f"has something new{_NOT_ASKED}", f"have something new{_NOT_ASKED}"),
        ("not_grown", f"has something new{_NOT_ASKED}", f"have something new{_NOT_ASKED}"),
        ("not_older", f"was read by an older version{_NOT_ASKED}", f"were read by an older version{_NOT_ASKED}"),
        (
            "not_unasked",
            f"was read by the rules and not by the model{_NOT_ASKED}",
            f"were read by the rules and not by the model{_NOT_ASKED}",
        ),
        ("not_failed", f"could not be read{_NOT_ASKED}", ""),
        ("beyond_limit", "is beyond the limit", "are beyond the limit"),
        ("not_added", "was read, and is added when it goes on", "were read, and are added when it goes on"),
        ("left", "is left", "are left"),
        ("others", "was left out: erased, or gone", "were left out: erased, or gone"),
    )
}
# and what else there is to say: of sessions that were read, of what they gave, and of what was taken back
_BESIDES = {
    name: (one, several or one)
    for name, one, several in (
        ("read_again", "of those read had been read by an older version", ""),
        (
            "forced",
            "of them had been read before, and is read again (--force)",
            "of them had been read before, and are read again (--force)",
        ),
        ("read_meanwhile", "of those read was also read by another run", "of those read were also read by another run"),
        ("candidates", "fact was noted", "facts were noted"),
        (
            "about_erased",
            "fact was about something that was erased meanwhile, and is left out",
            "facts were about something that was erased meanwhile, and are left out",
        ),
        ("model_answers", "answer of the model", "answers of the model"),
        ("rolled_back", "project from which it was taken back", "projects from which it was taken back"),
    )
}


def tally_of(counts: Mapping[str, int], before: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """Yield the numbers of a backfill in words: the range, what became of its sessions, which adds up to it, and more.

    ``counts``: those of all parts of the run. ``before``: what of them stood before this part.
    """
    shares, whole = dict(counts), counts.get("in_range", 0)
    if "bytes" in counts:  # of a preview
        shares["would_read"] = counts.get("sessions", 0) - counts.get("would_wait", 0)
    shares["others"] = whole - sum(shares.get(name, 0) for name in _SHARES)
    if whole:
        yield whole, "session is in the range" if whole == 1 else "sessions are in the range"
    for words, of in ((_SHARES, shares), (_BESIDES, counts)):
        for name, forms in words.items():
            if (number := of.get(name, 0)) > 0:
                earlier = before.get(name, 0) if name not in ("left", "not_added") else 0
                now = f": {number - earlier:,} now, {earlier:,} before" if earlier else ""
                yield number, f"{forms[number != 1]}{now}"


def table_of(report: Report) -> list[dict[str, Any]]:
    """Return what a report of a backfill says, as rows of a table: its items, then its numbers."""
    rows = [
        {"about": printable(i.project or i.target), "what": i.action, "text": printable(i.reason)} for i in report.items
    ]
    rows += ({"about": "range", "what": f"{n:,}", "text": told} for n, told in tally_of(report.counts, report.before))
    return rows[:MOST_ROWS]


def note_versions(report: Report, shards: Iterable[Shard]) -> None:
    """Put into a report, by version and oldest first, the sessions that an older version of the miners has read."""
    rows: dict[str, list[int]] = {}
    for piece in (piece for shard in shards for piece in shard.pieces):
        by: dict[str, list[str]] = {}
        for one in piece.seed.ranges:
            by.setdefault(one.session.id, []).append(one.extractor)
        for session in piece.sessions:
            version = latest(by.get(name_to_json(session.id), ()))
            if version not in ("", EXTRACTOR):
                rows.setdefault(version, []).append(session.size)
    for version, sizes in sorted(rows.items()):
        number = f"{counted('sessions', len(sizes))}, {readable(sum(sizes))}"
        why = "all miners changed since; they are read again, and what is new is added"
        report.items.append(Item(version, "version", f"{version}: {number}: {why}"))
        report.count("read_again", len(sizes))
