"""What belongs to no project, in an erasure: homes of clients, trash, archive, state, other memories."""

from collections.abc import Collection, Sequence
from pathlib import Path

from slowwave.errors import SlowwaveError
from slowwave.places import archive_folder, data_folder, scheduler_folder, state_folder
from slowwave.report import Item, Report
from slowwave.retention.along import records_put_by
from slowwave.retention.archived import erase_from_packs
from slowwave.retention.beside import remove_leftovers
from slowwave.retention.client_databases import erase_from_databases
from slowwave.retention.client_homes import erase_from_homes, look_into_names
from slowwave.retention.delivered import erase_from_lost
from slowwave.retention.eraser import Eraser
from slowwave.retention.erasure import recorded_in
from slowwave.retention.everywhere import homes
from slowwave.retention.held import held_sessions
from slowwave.retention.holds import Facts, held_by
from slowwave.retention.journal import settle, standing
from slowwave.retention.left_out import note_left_out
from slowwave.retention.memories import erase_memory, write_own
from slowwave.retention.own import caches, plan_own
from slowwave.retention.own_places import (
    erase_from_logs,
    look_into_rest,
    memories_in,
    refuse_on_their_way,
    roots_of,
)
from slowwave.retention.scheduler import erase_from_scheduler
from slowwave.retention.sessions_gone import free_from_trash, in_archive, in_trash, leave_archive, put_by
from slowwave.retention.transcripts import Ranges
from slowwave.stores.archive.shelf import Shelf
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
    """Remove the databases that are built anew when they are asked for: they hold titles and words of sessions."""
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
        reason = f"; it goes along, since it {why}" if (why := eraser.across.put_by.get(name)) else ""
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
