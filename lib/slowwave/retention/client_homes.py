"""What clients keep in their homes over all sessions, and whatever else lies there, in an erasure."""

import os
from collections.abc import Collection, Sequence
from datetime import timedelta
from pathlib import Path

from slowwave.errors import SlowwaveError
from slowwave.report import Item
from slowwave.retention.beside import home_files, remove_leftovers
from slowwave.retention.eraser import Eraser
from slowwave.retention.erasure import tell, write_plan
from slowwave.retention.everywhere import INDEXES, Sort, homes, other_files, walk_home
from slowwave.retention.git_store import objects_in
from slowwave.retention.layers import is_packed, layers
from slowwave.retention.left_out import ACTION
from slowwave.retention.masking import Place
from slowwave.retention.sessions_gone import drop_lines, lines_of
from slowwave.retention.transcripts import FilePlan, Line, plain_bytes, plan_file
from slowwave.stores.model import Project


def erase_from_homes(projects: Sequence[Project], eraser: Eraser, memories: Collection[Path]) -> list[Path]:
    """Deal with prompts, names and indexes, then with every other file; return the databases that were met.

    Raises:
        OSError: a folder cannot be read.
    """
    known = home_files(session for project in projects for session in project.sessions)
    for path in known:
        _drop_sessions(path, eraser)
        erase_from_home_file(path, eraser)
        if not eraser.dry_run:
            remove_leftovers(path.parent)
    return _others(known, eraser, memories) if eraser.what.keeps_length else []


def _drop_sessions(path: Path, eraser: Eraser) -> None:
    sessions = eraser.across.sessions
    if sessions and (number := lines_of(path, sessions)) and not eraser.linked("", path):
        eraser.found("", str(path), [Place(0, 0, "session", "lines of erased sessions")] * number)
        if not eraser.dry_run:
            with eraser.rewriting(path):
                drop_lines(path, sessions)


def _others(known: Collection[Path], eraser: Eraser, memories: Collection[Path]) -> list[Path]:
    databases: list[Path] = []
    folders = homes(eraser.settings.store.roots, eraser.environ)
    for folder in () if eraser.dry_run else folders:
        remove_leftovers(folder, below=True)
    for path, sort in other_files(folders, eraser.across.seen | set(known), memories):
        if sort is Sort.LINK:
            eraser.report.count("not_searched")
            eraser.report.items.append(Item(os.fspath(path), ACTION, sort.value))
            continue
        eraser.report.count("searched_files")
        if sort is Sort.DATABASE:
            databases.append(path)
        elif sort is Sort.GIT:
            _look_into_git(path, eraser)
        elif is_packed(path) and _is_refused_packed(path, eraser):
            continue
        elif sort is Sort.KNOWN:
            if path.name in INDEXES:
                _drop_sessions(path, eraser)  # the last session of this home has gone, now or in a run that was killed
            erase_from_home_file(path, eraser, whole=".jsonl" not in path.name)
        elif eraser.what.hits(path.read_bytes()):
            eraser.refuse("", str(path), sort.value)
    return databases


def look_into_names(folders: Collection[Path], eraser: Eraser) -> None:
    """Name every file and folder whose own name holds a subject: other programs find it by that."""
    for home in folders:
        for folder, inner, names, links in walk_home(home):
            for name in sorted((*inner, *names, *links)):
                if eraser.what.hits(os.fsencode(name)):
                    eraser.refuse("", os.path.join(folder, name), "its name holds a subject; rename it")  # noqa: PTH118 - as it is on disk


def _look_into_git(folder: Path, eraser: Eraser) -> None:
    try:
        number = sum(bool(eraser.what.hits(one)) for one in objects_in(folder))
    except (SlowwaveError, OSError) as error:
        eraser.refuse("", str(folder), str(error))
        return
    if number:
        reason = f"a git store with {number} objects that hold a subject; they are named by their hashes, so it goes as"
        eraser.refuse("", str(folder), f"{reason} a whole: end its client, then remove the folder")


def _is_refused_packed(path: Path, eraser: Eraser) -> bool:
    """Refuse a file when what is packed in it holds a subject, or nobody can look into it."""
    try:
        is_found = any(eraser.what.hits(one) for one in layers(path.read_bytes()))
    except (SlowwaveError, OSError) as error:
        eraser.refuse("", str(path), str(error))
        return True
    if is_found:
        eraser.refuse("", str(path), "what is packed in it holds a subject; remove it, or unpack it and run this again")
    return is_found


def _leave_held(plan: FilePlan, eraser: Eraser) -> None:
    """Take the lines out of a plan that something holds, and name them."""
    if not plan.lines or not eraser.holds:
        return
    data = plain_bytes(plan.path)
    free: list[Line] = []
    for line in plan.lines:
        if held := eraser.held_text(data[line.offset : line.offset + len(line.new)], plan.path):
            eraser.refuse("", f"{plan.path}:{line.number}", held)
        else:
            free.append(line)
    plan.lines = free


def erase_from_home_file(path: Path, eraser: Eraser, *, whole: bool = False) -> None:
    """Deal with a file in the home of a client, which no session's lock protects: only while nobody writes to it."""
    idle = eraser.settings.extraction.idle
    try:
        plan = plan_file(path, eraser.what, whole=whole)
        age = timedelta(seconds=eraser.now.timestamp() - plan.state.mtime_ns / 1e9)
        if plan.lines and age < idle:
            eraser.refuse("", str(path), f"live: its client changed it a moment ago, and it must rest for {idle}")
            return
        _leave_held(plan, eraser)
        if plan.lines and eraser.linked("", path):
            return
        if plan.lines and not eraser.dry_run:
            write_plan(plan, eraser)
    except SlowwaveError as error:
        eraser.refuse("", str(path), str(error))
        return
    for wrong in plan.refused:
        eraser.refuse("", str(path), wrong)
    tell("", plan, eraser)
