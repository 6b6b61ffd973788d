"""The plan of a backfill: what of the range is still to be read, in shards and pieces that every host cuts alike."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from slowwave.errors import UnreadableError
from slowwave.jobs.backfill.choosing import chosen_sessions, last_activity
from slowwave.jobs.backfill.model import VERSION, Pace, Piece, Plan, Shard, Wanted
from slowwave.jobs.backfill.states import FAILED, TO_READ, Kind, Ledger
from slowwave.jobs.run import Run
from slowwave.stores.model import Project, StoredSession

SHARD_BYTES = 256_000_000
SHARD_SESSIONS = 5_000
# A kill costs at most one piece for each worker: some seconds.
PIECE_BYTES = 16_000_000
PIECE_SESSIONS = 100


def plan_backfill(run: Run, wanted: Wanted, pace: Pace) -> tuple[Plan, list[Shard]]:
    """Return the plan of a run over a range, and its shards.

    Raises:
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project or session is the one that is asked for.
        UsageError: the range ends before it begins.
    """
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
    pieces = [
        msgspec.structs.replace(
            piece, seed=ledgers[projects[piece.project].memory].seed(piece.sessions, retry=wanted.retry_failed)
        )
        for piece in cut(due)
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
    )
    return plan, shards


def _due(
    project: Project, ledger: Ledger, run: Run, wanted: Wanted, counts: Counter[str], warnings: list[str]
) -> Iterator[StoredSession]:
    """Yield the sessions of a project that are to be read, and count the others by what they are."""
    kinds = _kinds(wanted)
    for session in project.sessions:
        try:
            state = ledger.state(session, force=run.force)
        except UnreadableError as error:
            warnings.append(f"{project.key}: {error}")
            counts["unreadable"] += 1
            continue
        if state.kind in kinds:
            yield session
        else:
            counts[f"not_{state.kind}" if state.kind in TO_READ else state.kind] += 1


def _kinds(wanted: Wanted) -> Sequence[Kind]:
    if wanted.retry_failed:
        return FAILED
    return ("older",) if wanted.upgrade else TO_READ


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
