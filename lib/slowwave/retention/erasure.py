"""The job ``erase``: find secrets or subjects in transcripts and in what slowwave wrote, and take them out for good.

Planned first: a dry run changes nothing and shows places and kinds with fingerprints, never a value. Live sessions,
databases and dialects that are not written are refused with the reason. A journal of the hashes is written
before the first file, so that a run that was killed is finished by the next one. The second run finds nothing.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from slowwave.dialects.rows import names_row
from slowwave.errors import SlowwaveError
from slowwave.memory.candidates import read_candidates
from slowwave.memory.ledger import read_ledger
from slowwave.memory.model import Evidence
from slowwave.memory.names import name_from_json
from slowwave.report import Item, Report
from slowwave.retention.beside import remove_leftovers, session_files
from slowwave.retention.delivered import erase_from_shared
from slowwave.retention.eraser import Eraser
from slowwave.retention.facts import files_below, files_of, texts_in
from slowwave.retention.journal import left_by, write_journal
from slowwave.retention.memories import erase_memory
from slowwave.retention.transcripts import (
    FilePlan,
    Ranges,
    apply_file,
    plain_bytes,
    plan_file,
    planned_bytes,
    record_hashes,
)
from slowwave.stores.belongings import belongings_of
from slowwave.stores.model import Project, StoredSession
from slowwave.stores.writing.base import Target
from slowwave.stores.writing.claimed import ClaimedWriter
from slowwave.stores.writing.registry import READ_ONLY, writer_for


def erase_project(project: Project, eraser: Eraser) -> Report:
    """Take what must go out of one project's sessions and its memory folder.

    Raises:
        CorruptStateError: the ledger or a journal is damaged.
        LockHeldError: another process kept the memory folder locked for too long.
        OSError: the state or memory folder cannot be written.
    """
    recorded = recorded_in(project.memory)
    hashes: dict[str, str] = {}
    seen: set[Path] = set()
    # a fork before what it came from
    depths = {name: one.depth for name, one in eraser.across.along.items()}
    for session in sorted(project.sessions, key=lambda one: depths.get(one.id, 0), reverse=True):
        eraser.report.count("sessions")
        hashes |= _session(project, session, eraser, recorded, seen)
    if not eraser.dry_run:
        for folder in {path.parent for path in seen if path.parent.is_dir()}:
            remove_leftovers(folder)
    erase_memory(project.key, project.memory, eraser, hashes)
    erase_from_shared(project, eraser)
    eraser.across.seen |= seen
    return eraser.report


def _session(
    project: Project, session: StoredSession, eraser: Eraser, recorded: Ranges, seen: set[Path]
) -> dict[str, str]:
    """Deal with the files of one session and return the hashes that changed."""
    first = session.files.paths[0]
    if not eraser.removed.isdisjoint((first, *first.parents)):
        return {}  # it went with the session that it belongs to
    reason = eraser.reason_against(project, session)
    if not session.in_database and (reason or session.id in eraser.across.sessions):
        eraser.look_into(texts_in(dict.fromkeys(files_of(session, eraser.home))))
    if session.in_database and eraser.what.keeps_length:
        # it shares its file with sessions of other projects, which are all looked at first
        kept = f"its session {session.id} is {reason}" if reason else ""
        eraser.across.databases[first] = eraser.across.databases.get(first, "") or kept
    if reason:
        _leave(project.key, session, reason, eraser)
        # nor is what its client keeps of it in its home
        seen.update(files_of(session, eraser.home))
        return {}
    if session.in_database:
        return {}
    if session.id in eraser.across.sessions:
        _whole(project.key, session, eraser)
        return {}
    hashes: dict[str, str] = {}
    for path in session_files(session):
        if path in seen:
            continue
        seen.add(path)
        try:
            hashes |= _file(project.key, session, path, eraser, recorded.get(path, ()))
        except SlowwaveError as error:
            eraser.refuse(project.key, str(path), str(error))
    return hashes


def _leave(project: str, session: StoredSession, reason: str, eraser: Eraser) -> None:
    """Note a session that stays, unless nobody asked for anything in it."""
    if eraser.what.is_sought or session.id in eraser.across.sessions:
        along = eraser.across.along.get(session.id)
        eraser.refuse(project, session.id, f"{reason}; it would go along, since it {along.reason}" if along else reason)
    eraser.across.sessions.discard(session.id)


def _whole(project: str, session: StoredSession, eraser: Eraser) -> None:
    """Remove a session with all that belongs to it."""
    across = eraser.across
    forks = [one.session.id for one in across.along.values() if one.needs == session.id]
    if left := next((fork for fork in forks if fork not in across.sessions), ""):
        eraser.refuse(project, session.id, f"session {left}, which came from it, stays and needs it")
        across.sessions.discard(session.id)
        return
    try:
        files = belongings_of(session, eraser.home).paths
        if eraser.linked(project, *files_below(files)):
            eraser.across.sessions.discard(session.id)
            return
        if not eraser.dry_run:
            files = tuple(Path(file.path) for file in eraser.remove(session).files)
    except SlowwaveError as error:
        eraser.refuse(project, session.id, str(error))
        eraser.across.sessions.discard(session.id)
        return
    eraser.removed |= set(files)
    eraser.report.count("sessions_found" if eraser.dry_run else "sessions_erased")
    reason = f"the whole session: {len(files)} files and folders"
    if session.id in across.along:
        reason = f"{reason}; it goes along, since it {across.along[session.id].reason}"
    eraser.report.items.append(Item(session.id, "goes" if eraser.dry_run else "erased", reason, project))


def _file(
    project: str, session: StoredSession, path: Path, eraser: Eraser, recorded: Sequence[tuple[int, int, str]]
) -> dict[str, str]:
    """Deal with one file of a session and return the hashes that changed, now or in a run that was killed."""
    before = {} if eraser.dry_run else left_by(eraser.journals, path)
    plan = plan_file(path, eraser.what)
    for wrong in plan.refused:
        eraser.refuse(project, str(path), wrong)
    if not plan.lines or eraser.linked(project, path):
        return before
    if not eraser.dry_run:
        old = plain_bytes(path)
        new = planned_bytes(old, plan)
        plan.hashes.update(record_hashes(old, new, recorded))
        write_journal(eraser.journals, path, new, plan.hashes)
        with _held(session, eraser):
            write_plan(plan, eraser)
    tell(project, plan, eraser)
    return {old: plan.hashes.get(now, now) for old, now in before.items()} | plan.hashes


def tell(project: str, plan: FilePlan, eraser: Eraser) -> None:
    """Note what was found in a file."""
    for line in plan.lines:
        eraser.found(project, f"{plan.path}:{line.number}", line.places)


def write_plan(plan: FilePlan, eraser: Eraser) -> None:
    """Replace a file as planned, and note its hashes.

    Raises:
        MovedError: it is not what the plan saw.
        LockHeldError: another process held its lock all the time.
        OSError: the disk is full.
    """
    with eraser.rewriting(plan.path):
        apply_file(plan)


@contextmanager
def _held(session: StoredSession, eraser: Eraser) -> Generator[None]:
    """Hold what a session's client locks."""
    path = session.files.paths[0]
    if session.dialect in READ_ONLY:
        yield  # files of a client that locks none
        return
    writer = writer_for(session.dialect, eraser.means)
    target = Target(session.id, path, session.files.paths, "", session.kind == "subagent")
    if session.source and path.suffix != ".jsonl":
        yield  # put aside by its client (OpenClaw), which writes there no more
    elif isinstance(writer, ClaimedWriter):
        # messages to sub-agents are refused, but this is none
        with ClaimedWriter.alone(writer, target):
            yield
    else:
        with writer.alone(target):
            yield


def recorded_in(memory: Path) -> Ranges:
    """Return what is recorded of every transcript."""
    candidates, ranges, _ = read_candidates(memory)
    pieces: list[Evidence] = [e for c in candidates for e in c.evidence]
    pieces += [e for event in read_ledger(memory) for e in event.evidence]
    every = {(name_from_json(e.path), e.offset, e.offset + e.length, e.sha256) for e in pieces}
    every |= {(name_from_json(r.session.path), r.start, r.stop, r.sha256) for r in ranges}
    grouped = groupby(sorted(every), key=lambda item: item[0])
    return {Path(path): [(start, stop, digest) for _, start, stop, digest in items] for path, items in grouped}


def recorded_rows(memory: Path) -> dict[Path, set[str]]:
    """Return which rows of databases a memory folder has evidence in, by their names."""
    pieces = [e for c in read_candidates(memory)[0] for e in c.evidence]
    pieces += [e for event in read_ledger(memory) for e in event.evidence]
    found: dict[Path, set[str]] = {}
    for piece in pieces:
        if names_row(piece.record):
            found.setdefault(Path(name_from_json(piece.path)), set()).add(piece.record)
    return found
