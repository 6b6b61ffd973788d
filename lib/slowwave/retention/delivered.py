"""Memories in files that agents read, in an erasure: what goes from a memory folder goes from them as well."""

import os
from collections.abc import Collection
from pathlib import Path

from slowwave.errors import RefusedError, SlowwaveError
from slowwave.files import at_fault_point, fsync_folder
from slowwave.memory.delivery.blocks import section_in
from slowwave.memory.delivery.deliver import REFUSED, refresh
from slowwave.memory.delivery.git import author_of, has_git, tracked
from slowwave.memory.delivery.hooks import prune_tables
from slowwave.memory.delivery.register import Placed, Register, placed_of, read_register
from slowwave.memory.names import name_from_json
from slowwave.memory.section import MARKDOWN
from slowwave.memory.shared import parsed, shared_files, shared_folder
from slowwave.report import Item
from slowwave.retention.eraser import Eraser
from slowwave.retention.masking import marked
from slowwave.stores.model import Project


def erase_from_delivered(memory: Path, eraser: Eraser) -> None:
    """Write anew what was delivered of a memory folder, once what must go is out of the folder.

    Raises:
        CorruptStateError: the register of deliveries, or the ledger, is damaged.
        LockHeldError: somebody else delivers.
        OSError: the data folder cannot be written.
    """
    register = read_register(eraser.environ)
    placed = placed_of(memory, register) if register is not None else {}
    if not eraser.dry_run:
        prune_tables(memory, (), eraser.environ)
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
