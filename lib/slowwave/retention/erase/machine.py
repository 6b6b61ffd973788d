"""What belongs to no project, in an erasure: homes of clients, databases, trash, archive, state, other memories."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from slowwave.errors import RefusedError, SlowwaveError
from slowwave.formats.database import row_in
from slowwave.formats.lines import PACKED
from slowwave.journal import remove_leftovers
from slowwave.places import archive_folder, data_folder, home_folder, scheduler_folder, state_folder
from slowwave.report import Item, Report
from slowwave.retention.erase.databases import bytes_hold, clean_database, files_of, found_in_database, is_database
from slowwave.retention.erase.eraser import Eraser
from slowwave.retention.erase.mask import STUCK, Place, overwritten
from slowwave.retention.erase.memory import caches, plan_own
from slowwave.retention.erase.places import (
    erase_from_home_file,
    erase_from_homes,
    erase_from_logs,
    homes,
    look_into_names,
    look_into_rest,
    memories_in,
    note_left_out,
    refuse_on_their_way,
    roots_of,
)
from slowwave.retention.erase.project import erase_from_lost, erase_memory, recorded_in, recorded_rows, write_own
from slowwave.retention.erase.sessions import (
    free_from_trash,
    in_archive,
    in_trash,
    leave_archive,
    put_by,
    records_put_by,
)
from slowwave.retention.erase.subjects import What
from slowwave.retention.erase.transcripts import (
    Ranges,
    has_journal,
    hashes_of_rows,
    record_hashes,
    settle,
    standing,
    write_parts_journal,
)
from slowwave.retention.holds import Facts, Hold, facts_of, held_by, held_reason
from slowwave.retention.sessions import Fleet
from slowwave.stores.archive.pack import Pack
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.archive.writer import change_pack
from slowwave.stores.model import Project
from slowwave.stores.trash import ids_in, trash_folder, trash_items


def finish(projects: Sequence[Project], eraser: Eraser, more: Sequence[Path] = ()) -> Report:
    """Take what must go out of what belongs to no project.

    Args:
        projects: all projects.
        eraser: the run.
        more: folders of a scheduler's own files, with databases that nobody else writes.

    Raises:
        OSError: a folder cannot be written.
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

    Raises:
        OSError: the state folder cannot be written.
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

    What rests on held sessions stays as well, so that all of them are known from here on.

    Raises:
        CorruptStateError: a manifest of the trash does not parse.
        OSError: the trash or the archive cannot be read.
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
            for row in (session.row, *session.inside, *map(msgspec.to_builtins, session.notes)):
                seen.row(row)
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
            change_pack(path, done.file, done.row)
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

    def row(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return what is listed of a session as it is to be."""
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

    Raises:
        CorruptStateError: the ledger of a memory folder is damaged.
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
    return next((held for one in files_of(path) if (held := eraser.held_text(one.read_bytes(), path))), "")


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

    Sub-agents count as sessions: they are held with the session that they go with.

    Raises:
        CorruptStateError: a manifest of the trash does not parse.
        OSError: the trash or the archive cannot be read.
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
