"""What belongs to no project, in an erasure: homes of clients, trash, archive, state, other memories."""

import os
from collections.abc import Collection, Sequence
from datetime import timedelta
from pathlib import Path

from slowwave.errors import SlowwaveError
from slowwave.memory.guard import OWN_FOLDER
from slowwave.places import data_folder, state_folder
from slowwave.report import Item, Report
from slowwave.retention.archived import erase_from_packs
from slowwave.retention.beside import home_files, remove_leftovers
from slowwave.retention.databases import clean_database, files_of, found_in_database, is_database
from slowwave.retention.eraser import Eraser
from slowwave.retention.erasure import recorded_in, tell, write_plan
from slowwave.retention.everywhere import Sort, homes, other_files
from slowwave.retention.holds import held_by
from slowwave.retention.journal import settle, standing
from slowwave.retention.masking import Place
from slowwave.retention.memories import erase_memory, write_own
from slowwave.retention.own import caches, plan_own
from slowwave.retention.sessions_gone import (
    drop_lines,
    free_from_trash,
    in_archive,
    in_trash,
    leave_archive,
    lines_of,
    put_by,
)
from slowwave.retention.transcripts import plan_file
from slowwave.stores.model import Project


def _home_file(path: Path, eraser: Eraser, *, whole: bool = False) -> None:
    """Deal with a file in the home of a client, which no session's lock protects: only while nobody writes to it."""
    idle = eraser.settings.extraction.idle
    try:
        plan = plan_file(path, eraser.what, whole=whole)
        age = timedelta(seconds=eraser.now.timestamp() - plan.state.mtime_ns / 1e9)
        if plan.lines and age < idle:
            eraser.refuse("", str(path), f"live: its client changed it a moment ago, and it must rest for {idle}")
            return
        if plan.lines and not eraser.dry_run:
            write_plan(plan, eraser)
    except SlowwaveError as error:
        eraser.refuse("", str(path), str(error))
        return
    for wrong in plan.refused:
        eraser.refuse("", str(path), wrong)
    tell("", plan, eraser)


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
    every = {p.parent.parent for p in data.rglob(f"{OWN_FOLDER}/*.jsonl")} if data.is_dir() else set[Path]()
    mine = {project.memory for project in projects}
    _homes(projects, eraser, mine | every)
    # a memory may rest on sessions of another project, or on archived ones
    hashes = standing(eraser.journals)
    held: set[Path] = set()
    if eraser.what.keeps_length:
        _sessions(eraser)
        recorded: dict[Path, list[tuple[int, int, str]]] = {}
        for memory in sorted(mine | every):
            for path, ranges in recorded_in(memory).items():
                recorded.setdefault(path, []).extend(ranges)
        held = _held_places(eraser)
        hashes |= erase_from_packs(eraser, recorded, held)
    for memory in sorted(every | (set[Path]() if eraser.dry_run else mine)):
        try:
            erase_memory(memory.name, memory, eraser, dict(hashes))
        except SlowwaveError as error:
            eraser.report.failures.append(f"{memory}: erase: {error}")
    for folder in (data / "trash", state):
        changed = plan_own(folder, eraser.what, {}, same_length=folder != state)
        stays = {eraser.journals, *held}
        write_own("", folder, [one for one in changed if stays.isdisjoint(one.path.parents)], eraser)
    if eraser.what.keeps_length:
        _scheduler(more, eraser)
    if not eraser.dry_run:
        for path in caches(state):
            path.unlink(missing_ok=True)
            eraser.report.items.append(Item(str(path), "removed", f"is built anew without {eraser.what.noun}"))
        settle(eraser.journals, every | mine)
    return eraser.report


def refuse_held(eraser: Eraser) -> None:
    """Let no session go of which a copy in the trash or the archive is held; asked before anything is done.

    Raises:
        CorruptStateError: a manifest of the trash does not parse.
    """
    for _, facts in list(put_by(eraser.environ)) if eraser.holds and eraser.sessions else ():
        if facts.id in eraser.sessions and (held := held_by(eraser.holds, facts)):
            eraser.refuse("", facts.id, f"held: {held}")
            eraser.sessions.discard(facts.id)


def _homes(projects: Sequence[Project], eraser: Eraser, memories: Collection[Path]) -> None:
    """Deal with what clients keep in their homes over all sessions, and look into everything else there."""
    known = home_files(session for project in projects for session in project.sessions)
    for path in known:
        if eraser.sessions and (number := lines_of(path, eraser.sessions)):
            eraser.found("", str(path), [Place(0, 0, "session", "lines of erased sessions")] * number)
            if not eraser.dry_run:
                drop_lines(path, eraser.sessions)
        _home_file(path, eraser)
        if not eraser.dry_run:
            remove_leftovers(path.parent)
    if not eraser.what.keeps_length:
        return
    folders = homes(eraser.settings.store.roots, eraser.environ)
    for path, sort in other_files(folders, eraser.seen | set(known), memories):
        eraser.report.count("searched_files")
        if eraser.what.hits(os.fsencode(path)):
            eraser.refuse("", str(path), "its name holds a subject; rename it")
        if sort is Sort.KNOWN:
            _home_file(path, eraser, whole=".jsonl" not in path.name)
        elif eraser.what.hits(path.read_bytes()):
            eraser.refuse("", str(path), sort.value)


def _held_places(eraser: Eraser) -> set[Path]:
    """Return the items of the trash and the packs with something in them that is held; they stay as they are."""
    places: set[Path] = set()
    for place, facts in put_by(eraser.environ) if eraser.holds else ():
        if held := held_by(eraser.holds, facts):
            places.add(place)
            eraser.refuse("", str(place), f"held: {held}")
    return places


def _sessions(eraser: Eraser) -> None:
    """Take whole sessions out of the trash and the archive."""
    environ, run = eraser.environ, eraser.report.run_id
    places = [("trash", item.session) for item in in_trash(eraser.sessions, environ)]
    places += [("archive", name) for name in in_archive(eraser.sessions, environ)]
    for place, name in places:
        eraser.report.count("sessions_found" if eraser.dry_run else "sessions_erased")
        eraser.report.items.append(Item(name, "found" if eraser.dry_run else "erased", f"its copy in the {place}"))
    if not eraser.dry_run and eraser.sessions:
        free_from_trash(eraser.sessions, environ, eraser.clock, run)
        leave_archive(eraser.sessions, environ)


def _scheduler(folders: Sequence[Path], eraser: Eraser) -> None:
    """Deal with the files of our own scheduler: its databases row by row, everything else as in a home."""
    for folder in folders:
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_symlink() or not path.is_file() or path.name.endswith(("-wal", "-shm", "-journal")):
                continue
            try:
                if not is_database(path):
                    _home_file(path, eraser, whole=True)
                    continue
                is_there = any(eraser.what.hits(one.read_bytes()) for one in files_of(path))
                if is_there:
                    clean = found_in_database if eraser.dry_run else clean_database
                    eraser.found("", str(path), clean(path, eraser.what))
            except FileNotFoundError:
                continue  # a running server clears its own files away
            except SlowwaveError as error:
                eraser.refuse("", str(path), str(error))
