"""The job ``erase``: find secrets or subjects in transcripts and in what slowwave wrote, and take them out for good.

Planned first: a dry run changes nothing and shows places and kinds with fingerprints, never a value. Live sessions,
databases and dialects that are not written are refused with the reason. A journal of the hashes is written
before the first file, so that a run that was killed is finished by the next one. The second run finds nothing.
"""

import os
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from slowwave.errors import RefusedError, SlowwaveError
from slowwave.files import at_fault_point, fsync_folder
from slowwave.formats.claude.write import ClaimedWriter
from slowwave.formats.database import names_row
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import StoredSession
from slowwave.formats.writing import Target
from slowwave.journal import remove_leftovers
from slowwave.memory.candidates import read_candidates
from slowwave.memory.delivery.files import author_of, has_git, refresh, tracked
from slowwave.memory.delivery.hooks import prune_tables
from slowwave.memory.delivery.register import REFUSED, Placed, Register, placed_of, read_register
from slowwave.memory.delivery.sections import MARKDOWN, section_in
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.ledger import VERSION, Event, read_ledger
from slowwave.memory.model import Evidence, iso, name_from_json
from slowwave.memory.team import parsed, shared_files, shared_folder
from slowwave.memory.transaction import recover
from slowwave.report import Item, Report
from slowwave.retention.erase.eraser import Eraser
from slowwave.retention.erase.mask import marked
from slowwave.retention.erase.memory import OwnFile, apply_own, plan_own, with_event
from slowwave.retention.erase.transcripts import (
    FilePlan,
    Ranges,
    apply_file,
    left_by,
    plain_bytes,
    plan_file,
    planned_bytes,
    record_hashes,
    write_journal,
)
from slowwave.retention.holds import files_below, files_of, texts_in
from slowwave.retention.sessions import session_files
from slowwave.stores.model import Project
from slowwave.stores.removal import belongings_of
from slowwave.stores.writers import writer_for


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
        eraser.forbid(project, session)
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
        eraser.refuse(project, session.id, f"{reason}; it would go too, because it {along.reason}" if along else reason)
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
        reason = f"{reason}; it goes too, because it {across.along[session.id].reason}"
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
    if client_of(session.dialect).read_only:
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


# A memory folder, and other files of slowwave's own, in an erasure.


def erase_memory(project: str, memory: Path, eraser: Eraser, hashes: dict[str, str]) -> None:
    """Deal with a memory folder: what must go from it, and the hashes of what changed in transcripts."""
    if memory.is_dir():
        _erase_memory(project, memory, eraser, hashes)
    erase_from_delivered(memory, eraser)


def _erase_memory(project: str, memory: Path, eraser: Eraser, hashes: dict[str, str]) -> None:
    if not eraser.dry_run:
        recover(memory)  # what a killed transaction left are further names of the same files
        remove_leftovers(memory / OWN_FOLDER, below=True)
    gone = eraser.gone_from(memory)
    changed = plan_own(memory, eraser.what, hashes, gone=gone)
    # as a whole or not at all: without the ledger nobody would know the other lines that are to go
    if eraser.linked(project, *(one.path for one in changed if one.new != one.old)):
        return
    if any(one.new != one.old for one in changed):
        places = sum(len(one.places) for one in changed)
        reason = f"{eraser.what.noun} taken out: {places} places here, {len(hashes)} hashes of transcripts renewed"
        event = Event(v=VERSION, event="erase", dream="", at=iso(eraser.now), reason=reason, run=eraser.report.run_id)
        changed = with_event(memory, changed, event)
    write_own(project, memory, changed, eraser)
    if changed:
        eraser.forgot(project, gone)


def write_own(project: str, folder: Path, changed: list[OwnFile], eraser: Eraser) -> None:
    """Write files of slowwave's own, unless it is a dry run, and note what was in them."""
    moved: list[str] = []
    if changed and not eraser.dry_run:
        with eraser.rewriting(*(one.path for one in changed if one.new != one.old)) as before:
            moved = apply_own(folder, changed, is_memory=(folder / OWN_FOLDER).is_dir())
            for path in moved:
                del before[Path(path)]
        for path in moved:
            eraser.refuse(project, path, "somebody wrote to it meanwhile; run it again")
    for one in changed:
        if str(one.path) in moved:
            continue
        eraser.found(project, str(one.path), one.places)
        for reason in one.refused:
            eraser.refuse(project, str(one.path), reason)


# Memories in files that agents read, in an erasure: what goes from a memory folder goes from them as well.


def erase_from_delivered(memory: Path, eraser: Eraser) -> None:
    """Write anew what was delivered of a memory folder, once what must go is out of the folder.

    Raises:
        CorruptStateError: the register of deliveries, or the ledger, is damaged.
        LockHeldError: somebody else delivers.
        OSError: the data folder cannot be written.
    """
    if not eraser.dry_run:
        prune_tables(memory, (), eraser.environ)
    register = read_register(eraser.environ)
    placed = placed_of(memory, register) if register is not None else {}
    if not placed:
        return
    paths = {Path(name_from_json(name)): one for name, one in placed.items()}
    seen = {path: _look_into(path, one, eraser) for path, one in paths.items()}
    # until it is carried out, what goes stands in the ledger still
    gone = eraser.gone_from(memory) if eraser.dry_run else None
    without: Collection[str] = gone.memories if gone is not None else ()
    with eraser.rewriting(*(() if eraser.dry_run else paths)):
        items = refresh(memory, eraser.settings, eraser.environ, dry_run=eraser.dry_run, without=without)
    for item in items:
        path = Path(item.target)
        if item.action != REFUSED and not seen.get(path):
            action = "found" if eraser.dry_run else "replaced"
            eraser.report.items.append(Item(item.target, action, "written anew without what goes", item.project))
        elif item.action == REFUSED and not seen.get(path) and path in paths:
            eraser.refuse(item.project, item.target, item.reason)
    if not eraser.dry_run:
        for path, one in paths.items():
            if _hits(path, eraser):
                reason = "somebody changed what is between the markers, and it names a subject; change it yourself"
                eraser.refuse(one.project, str(path), reason)


def erase_from_lost(memories: Collection[Path], eraser: Eraser) -> None:
    """Do the same for what was delivered of memory folders that are not there any more; the errors are the same."""
    if not eraser.dry_run:
        prune_tables(None, (), eraser.environ)
    register = read_register(eraser.environ) or Register()
    known = {memory.resolve() for memory in memories}
    lost = {Path(name_from_json(one.memory)).resolve() for one in register.files.values()} - known
    for memory in sorted(lost):
        erase_from_delivered(memory, eraser)


def erase_from_shared(project: Project, eraser: Eraser) -> None:
    """Take out of a repository the files of this person's shared memories that hold what must go.

    Those of others stay, since their nights would write them again, and so does what is in git's history.

    Raises:
        OSError: a file cannot be read or removed.
    """
    try:
        folder = shared_folder(project.root, eraser.settings.memory.shared)
        files = shared_files(folder) if folder is not None else {}
        hits = {name: found.places for name, data in files.items() if (found := marked(data, eraser.what)).places}
        author = author_of(Path(project.root), eraser.environ) if hits else ""
    except SlowwaveError as error:
        eraser.refuse(project.key, project.root, str(error))
        return
    for name, places in hits.items():
        assert folder is not None
        path = folder / name
        eraser.found(project.key, str(path), places)
        if _author_in(name, files[name]) not in ("", author):
            eraser.refuse(project.key, str(path), "another author shared it; ask them to erase it as well")
            continue
        if not eraser.dry_run:
            with eraser.rewriting(path):
                at_fault_point("unlink", path)
                path.unlink()
                fsync_folder(folder)
        eraser.refuse(project.key, str(path), "what was committed of it stays in the history; commit that it is gone")


def _author_in(name: str, data: bytes) -> str:
    try:
        return parsed(name, data).author
    except ValueError:
        return ""


def _look_into(path: Path, placed: Placed, eraser: Eraser) -> bool:
    """Say whether a section holds what must go, and note it."""
    section = _section(path)
    found = marked(section, eraser.what).places if section else ()
    if not found:
        return False
    eraser.found(placed.project, str(path), found)
    root = Path(name_from_json(placed.root))
    try:
        name = os.path.relpath(path, root.resolve())
        if has_git(root) and tracked(root, [name], eraser.environ):
            raise RefusedError(f"{path}: git tracks it, and what was committed stays in its history")
    except SlowwaveError as error:
        eraser.refuse(placed.project, str(path), str(error))
    return True


def _hits(path: Path, eraser: Eraser) -> bool:
    section = _section(path)
    return bool(section and eraser.what.hits(section))


def _section(path: Path) -> bytes | None:
    try:
        return section_in(path, MARKDOWN)
    except RefusedError:
        return path.read_bytes()  # what of it is slowwave's is unclear, so all of it counts
