"""The job ``erase``: find secrets or subjects in all of a machine, by project and beside them; take them out.

Planned first: a dry run changes nothing and shows places and kinds with fingerprints, never a value. Live sessions,
databases and dialects that are not written are refused with the reason. A journal of the hashes is written before the
first file, so that a run that was killed is finished by the next one. The second run finds nothing.
"""

import json
import os
import sqlite3
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from slowwave.errors import RefusedError, SlowwaveError
from slowwave.files import (
    archive_folder,
    at_fault_point,
    data_folder,
    fsync_folder,
    home_folder,
    scheduler_folder,
    state_folder,
)
from slowwave.formats.claude.write import ClaimedWriter
from slowwave.formats.database import names_row, row_in
from slowwave.formats.lines import PACKED
from slowwave.formats.notes import Note
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import StoredSession
from slowwave.formats.writing import Target
from slowwave.locks import remove_leftovers
from slowwave.memory import Evidence, iso, name_from_json
from slowwave.memory.candidates import read_candidates
from slowwave.memory.delivery import REFUSED, Placed, Register, placed_of, read_register
from slowwave.memory.delivery.files import author_of, has_git, refresh, tracked
from slowwave.memory.delivery.hooks import prune_tables
from slowwave.memory.delivery.sections import MARKDOWN, section_in
from slowwave.memory.folder import OWN_FOLDER
from slowwave.memory.ledger import VERSION, Event, read_ledger
from slowwave.memory.team import parsed, shared_files, shared_folder
from slowwave.memory.transaction import recover
from slowwave.quantities import counted
from slowwave.report import Item, Report
from slowwave.retention.erase import Eraser
from slowwave.retention.erase.mask import STUCK, Place, marked, overwritten
from slowwave.retention.erase.memory import OwnFile, apply_own, caches, plan_own, with_event
from slowwave.retention.erase.places import (
    bytes_hold,
    clean_database,
    database_files,
    erase_from_home_file,
    erase_from_homes,
    erase_from_logs,
    found_in_database,
    homes,
    is_database,
    look_into_names,
    look_into_rest,
    memories_in,
    note_left_out,
    refuse_on_their_way,
    roots_of,
)
from slowwave.retention.erase.subjects import What
from slowwave.retention.erase.transcripts import (
    Ranges,
    free_from_trash,
    has_journal,
    hashes_of_rows,
    in_archive,
    in_trash,
    leave_archive,
    left_by,
    plain_bytes,
    plan_file,
    planned_bytes,
    put_by,
    record_hashes,
    records_put_by,
    settle,
    standing,
    write_journal,
    write_parts_journal,
)
from slowwave.retention.holds import (
    Facts,
    Fleet,
    Hold,
    facts_of,
    files_below,
    files_of,
    held_by,
    held_reason,
    session_files,
    texts_in,
)
from slowwave.stores.archive.pack import Pack, PackedSession, rewrite
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.projects import Project
from slowwave.stores.roots import writer_for
from slowwave.stores.trash import belongings_of, ids_in, trash_folder, trash_items


def erase_project(project: Project, eraser: Eraser) -> Report:
    """Take what must go out of one project's sessions and its memory folder.

    Raises CorruptStateError: the ledger or a journal is damaged; LockHeldError: another process kept the memory folder
    locked for too long; OSError: the state or memory folder cannot be written.
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
        with _held_by_client(session, eraser):
            eraser.write(plan)
    eraser.tell(project, plan)
    return {old: plan.hashes.get(now, now) for old, now in before.items()} | plan.hashes


@contextmanager
def _held_by_client(session: StoredSession, eraser: Eraser) -> Generator[None]:
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
        renewed = counted(len(hashes), "hash", "hashes")
        reason = f"{eraser.what.noun} taken out: {counted(places, 'place')} here, {renewed} of transcripts renewed"
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

    Raises CorruptStateError: the register of deliveries, or the ledger, is damaged; LockHeldError: somebody else
    delivers; OSError: the data folder cannot be written.
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

    Those of others stay, since their nights would write them again, and so does what is in git's history. Raises
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


def finish(projects: Sequence[Project], eraser: Eraser, more: Sequence[Path] = ()) -> Report:
    """Take what must go out of what belongs to no project.

    ``more``: folders of a scheduler's own files, with databases that nobody else writes. Raises OSError: a folder
    cannot be written.
    """
    state, data = state_folder(eraser.environ), data_folder(eraser.environ)
    others = [scheduler_folder(eraser.environ)]
    every = memories_in(eraser.settings, eraser.environ)
    mine = {project.memory for project in projects}
    if not eraser.dry_run:
        for folder in (state, data):
            remove_leftovers(folder, below=True)
    databases = erase_from_homes(projects, eraser, mine | every)
    held: set[Path] = set()
    if eraser.what.keeps_length:
        erase_from_databases(eraser, databases, sorted(mine | every))
        _sessions(eraser)
        held = _held_places(eraser)
        erase_from_packs(eraser, _recorded(mine | every), held)
    # a memory may rest on sessions of another project, on archived ones, or on rows of a database
    hashes = standing(eraser.journals)
    for memory in sorted(every | (set[Path]() if eraser.dry_run else mine)):
        try:
            erase_memory(memory.name, memory, eraser, dict(hashes))
        except SlowwaveError as error:
            eraser.report.failures.append(f"{memory}: erase: {error}")
    erase_from_lost(every | mine, eraser)
    for folder in (data / "trash", state):
        changed = plan_own(folder, eraser.what, {}, same_length=folder != state, but=others)
        stays = {eraser.journals, *held}
        changed = [one for one in changed if stays.isdisjoint(one.path.parents)]
        linked = eraser.linked("", *(one.path for one in changed if one.new != one.old))
        write_own("", folder, [one for one in changed if one.path not in linked], eraser)
    if eraser.what.keeps_length:
        erase_from_scheduler(more, eraser)
        erase_from_logs(eraser)
        look_into_rest(eraser, every | mine)
        look_into_names([*homes(eraser.settings.store.roots, eraser.environ), *roots_of(eraser.environ)], eraser)
        refuse_on_their_way(eraser)
    if not eraser.dry_run:
        remove_caches(eraser)
        settle(eraser.journals, every | mine)
    return eraser.report


def finish_within(projects: Sequence[Project], eraser: Eraser) -> Report:
    """Name what is left out when only some projects are dealt with; what is built anew goes all the same.

    Raises OSError: the state folder cannot be written.
    """
    note_left_out(projects, eraser)
    if not eraser.dry_run:
        remove_caches(eraser)
    return eraser.report


def remove_caches(eraser: Eraser) -> None:
    """Remove the databases and the report, which are built anew: they hold titles and words of sessions."""
    for path in caches(state_folder(eraser.environ), [scheduler_folder(eraser.environ)]):
        eraser.linked("", path)  # its other names are named; this one goes
        path.unlink(missing_ok=True)
        eraser.report.items.append(Item(str(path), "removed", f"is built anew without {eraser.what.noun}"))


def _recorded(memories: Collection[Path]) -> Ranges:
    recorded: dict[Path, list[tuple[int, int, str]]] = {}
    for memory in sorted(memories):
        for path, ranges in recorded_in(memory).items():
            recorded.setdefault(path, []).extend(ranges)
    return recorded


def refuse_held(projects: Sequence[Project], eraser: Eraser) -> None:
    """Let no session go of which a copy in the trash or the archive is held; asked before anything is done.

    What rests on held sessions stays as well, so that all of them are known from here on. Raises CorruptStateError: a
    manifest of the trash does not parse; OSError: the trash or the archive cannot be read.
    """
    eraser.across.held.update(*held_sessions(eraser.holds, projects, eraser.environ).values())
    for _, facts in list(put_by(eraser.environ)) if eraser.holds and eraser.across.sessions else ():
        wanted = eraser.across.sessions.intersection(facts.ids)
        if wanted and (held := _held(facts, eraser)):
            for name in sorted(wanted):
                eraser.refuse("", name, f"held: {held}")
            eraser.across.sessions -= wanted


def _held(facts: Facts, eraser: Eraser) -> str:
    try:
        return held_by(eraser.holds, facts)
    except SlowwaveError as error:
        return f"nobody knows: {error}"


def _held_places(eraser: Eraser) -> set[Path]:
    """Return the items of the trash and the packs with something in them that is held; they stay as they are."""
    places: set[Path] = set()
    for place, facts in put_by(eraser.environ) if eraser.holds else ():
        if held := _held(facts, eraser):
            places.add(place)
            if eraser.what.is_sought:
                eraser.refuse("", str(place), f"held: {held}")
            eraser.look_into(facts.texts())
    return places


def _sessions(eraser: Eraser) -> None:
    """Take whole sessions out of the trash and the archive."""
    environ, run = eraser.environ, eraser.report.run_id
    places = [("trash", item.session) for item in in_trash(eraser.across.sessions, environ)]
    places += [("archive", name) for name in in_archive(eraser.across.sessions, environ)]
    for place, name in places:
        eraser.report.count("sessions_found" if eraser.dry_run else "sessions_erased")
        reason = f"; it goes too, because it {why}" if (why := eraser.across.put_by.get(name)) else ""
        eraser.report.items.append(
            Item(name, "goes" if eraser.dry_run else "erased", f"its copy in the {place}{reason}")
        )
    for item in trash_items(trash_folder(environ)):
        # an item goes, or comes back, as a whole
        inside = eraser.across.sessions & ids_in(item) if item.session not in eraser.across.sessions else ()
        for name in sorted(inside):
            reason = f"its copy in the trash lies there with session {item.session}: restore that first, or erase it"
            eraser.refuse("", name, reason)
    linked = _linked_sessions(eraser)
    if not eraser.dry_run and (gone := eraser.across.sessions - linked):
        for _, facts in put_by(environ):
            for name in sorted(gone.intersection(facts.ids)):
                eraser.across.forbid(name, records_put_by(name, facts, eraser.report.warnings))
        trash, shelf = trash_folder(environ), Shelf(archive_folder(environ))
        stored = [trash / item.id / file.stored for item in in_trash(gone, environ) for file in item.files]
        packs = {one.pack for name in gone for one in shelf.find(name)}
        with eraser.rewriting(*(path for path in stored if path.is_file()), *sorted(packs)):
            free_from_trash(gone, environ, eraser.clock, run)
            leave_archive(gone, environ)


def _linked_sessions(eraser: Eraser) -> set[str]:
    """Return the sessions of which a copy in the trash or the archive has names that would keep it."""
    environ, trash = eraser.environ, trash_folder(eraser.environ)
    copies = [
        (item.session, trash / item.id / file.stored)
        for item in in_trash(eraser.across.sessions, environ)
        for file in item.files
    ]
    copies += [(name, one.pack) for name in eraser.across.sessions for one in Shelf(archive_folder(environ)).find(name)]
    return {name for name, path in dict.fromkeys(copies) if eraser.linked("", path)}


# Subjects in archived sessions: packs that hold them are written anew with the same files, overwritten in place.


def erase_from_packs(eraser: Eraser, recorded: Ranges, held: Collection[Path] = ()) -> None:
    """Overwrite what must go in all packs but the held ones; journals say which hashes changed."""
    for path in Shelf(archive_folder(eraser.environ)).packs():
        if path in held:
            continue
        try:
            _one_pack(path, eraser, recorded)
        except SlowwaveError as error:
            eraser.refuse("", str(path), str(error))


def _one_pack(path: Path, eraser: Eraser, recorded: Ranges) -> None:
    seen = _Changes(eraser.what, recorded)
    with Pack(path) as pack:
        for session in pack.table.sessions:
            for file in session.files:
                if file.kind == "file":
                    seen.file(file.path, pack.read(file))
            seen.session(session)
            seen.names([session.id, session.project, session.root, *(file.path for file in session.files)])
    for name, reason in seen.stays:
        eraser.refuse("", f"{path}: {name}", reason)
    if seen.places and eraser.linked("", path):
        return
    if seen.places and not eraser.dry_run:
        done = _Changes(eraser.what, recorded)
        parts = {str(number): digest for number, digest in enumerate(seen.digests)}
        write_parts_journal(eraser.journals, path, parts, seen.hashes)
        with eraser.rewriting(path):
            rewrite(path, done.session, done.file)
    eraser.found("", str(path), seen.places)


class _Changes:
    """What changes in one pack: hashes of records, ranges and whole files, places, and what stays with its reason."""

    def __init__(self, what: What, recorded: Ranges) -> None:
        self._what = what
        self._recorded = recorded
        self.hashes: dict[str, str] = {}
        self.digests: list[str] = []
        self.places: list[Place] = []
        self.stays: list[tuple[str, str]] = []

    def file(self, name: str, data: bytes) -> bytes:
        """Return a file as it is to be."""
        new = self._file(name, data)
        self.digests.append(sha256(new).hexdigest())
        return new

    def _file(self, name: str, data: bytes) -> bytes:
        try:
            found = overwritten(data, self._what, packed=name.endswith(PACKED) or None)
        except RefusedError as error:
            self.stays.append((name, str(error)))
            return data
        self.stays += [(name, f"{place.mark} {STUCK}") for place in found.stuck]
        self.places += found.places
        if found.places and not name.endswith(PACKED):
            self.hashes |= record_hashes(data, found.data, self._recorded.get(Path(name), ()))
        return found.data

    def session(self, session: PackedSession) -> PackedSession:
        """Return a session with what is listed and noted of it as it is to be."""
        notes = (msgspec.convert(self._row(msgspec.to_builtins(note)), Note) for note in session.notes)
        row, inside = self._row(session.row), tuple(map(self._row, session.inside))
        return msgspec.structs.replace(session, row=row, inside=inside, notes=tuple(notes))

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        found = overwritten(json.dumps(row).encode(), self._what)
        self.places += found.places
        self.stays += [("what is listed of it", f"{place.mark} {STUCK}") for place in found.stuck]
        return json.loads(found.data)

    def names(self, names: Sequence[str]) -> None:
        """Look into names, by which a restore puts a session back: they stay."""
        if self._what.hits("\n".join(names).encode("utf-8", "surrogateescape")):
            self.stays.append((names[0], "its name, its folder or the name of a file in it holds a subject"))


# Databases of clients in an erasure: written only while no client has them open, and as a whole or not at all.
#
# A session in one is no file of its own. When one of them is live or held, the database stays as it is. Rows keep their
# length and their names; evidence in them gets the new hashes through a journal, as that in files does.


def erase_from_databases(eraser: Eraser, others: Iterable[Path], memories: Iterable[Path]) -> None:
    """Take what must go out of all databases of clients.

    Args:
        eraser: the run, which knows those with sessions in them.
        others: databases that clients keep beside their sessions.
        memories: memory folders, with evidence that may lie in rows.

    Raises CorruptStateError: the ledger of a memory folder is damaged.
    """
    rows: dict[Path, set[str]] = {}
    for memory in memories:
        for path, records in recorded_rows(memory).items():
            rows.setdefault(path, set()).update(records)
    for path in sorted({*eraser.across.databases, *others}):
        try:
            _one_database(path, eraser, rows.get(path, ()))
        except (SlowwaveError, OSError) as error:
            eraser.refuse("", str(path), str(error))


def _one_database(path: Path, eraser: Eraser, records: Collection[str]) -> None:
    found = found_in_database(path, eraser.what)
    is_left = has_journal(eraser.journals, path) or bytes_hold(path, eraser.what)
    if not (found.places or found.refused or is_left):
        return
    if reason := eraser.across.databases.get(path, "") or _database_held(path, eraser):
        eraser.refuse("", str(path), reason)
        return
    if not eraser.dry_run:
        known = hashes_of_rows(path, records)
        with eraser.rewriting(path):
            found = clean_database(path, eraser.what, alone=True, before=partial(_note, path, eraser, known))
    eraser.found("", str(path), found.places)
    for wrong in found.refused:
        eraser.refuse("", str(path), wrong)


def _database_held(path: Path, eraser: Eraser) -> str:
    """Return which hold on a person a database falls under that has no sessions, or ""."""
    if path in eraser.across.databases or not eraser.holds:
        return ""
    return next((held for one in database_files(path) if (held := eraser.held_text(one.read_bytes(), path))), "")


def _note(path: Path, eraser: Eraser, known: Mapping[str, str], database: sqlite3.Connection) -> None:
    """Write the new hashes of the rows that memories rest on down, before the rows have them."""
    now = {record: row_in(database, record) for record in known}
    rows = {record: sha256(data).hexdigest() for record, data in now.items() if data is not None}
    hashes = {known[record]: new for record, new in rows.items() if known[record] != new}
    # also without any: the journal says that the database is still to be written anew
    write_parts_journal(eraser.journals, path, rows, hashes)


# The files of our own scheduler in an erasure: its databases row by row, everything else as in a client's home.


def erase_from_scheduler(folders: Sequence[Path], eraser: Eraser) -> None:
    """Deal with every file of the scheduler, which may be running."""
    for folder in folders:
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_symlink() or not path.is_file() or path.name.endswith(("-wal", "-shm", "-journal")):
                continue
            try:
                if is_database(path):
                    _database(path, eraser)
                else:
                    erase_from_home_file(path, eraser, whole=True)
            except FileNotFoundError:
                continue  # a running server clears its own files away
            except SlowwaveError as error:
                eraser.refuse("", str(path), str(error))


def _database(path: Path, eraser: Eraser) -> None:
    if eraser.dry_run:
        found = found_in_database(path, eraser.what)
    elif not bytes_hold(path, eraser.what):
        return
    else:
        with eraser.rewriting(path):
            found = clean_database(path, eraser.what)
    eraser.found("", str(path), found.places)
    for reason in found.refused:
        eraser.refuse("", str(path), reason)


# What holds hold, session by session: those in their place, in the trash and in the archive.


def held_sessions(
    holds: Sequence[Hold], projects: Iterable[Project], environ: Mapping[str, str]
) -> dict[str, set[str]]:
    """Return the ids of the sessions that each hold holds, by its own id; what cannot be read is held, too.

    Sub-agents count as sessions: they are held with the session that they go with. Raises CorruptStateError: a manifest
    of the trash does not parse; OSError: the trash or the archive cannot be read.
    """
    found: dict[str, set[str]] = {hold.id: set() for hold in holds}
    if not holds:
        return found
    home = home_folder(environ)
    every = [facts_of(member, home) for member in Fleet(projects).members.values()]
    for facts in (*every, *(facts for _, facts in put_by(environ))):
        for hold in holds:
            if _is_held(hold, facts):
                found[hold.id].update(facts.ids)
    return found


def _is_held(hold: Hold, facts: Facts) -> bool:
    try:
        return bool(held_reason(hold, facts))
    except (SlowwaveError, OSError):
        return True
