"""The end of what was thrown away: an item of the trash goes for good, in steps that a killed process can repeat."""

import os
from pathlib import Path

from slowwave.files import at_fault_point, fsync_folder, is_leftover
from slowwave.stores.client_index import any_stands
from slowwave.stores.trash import MANIFEST, TrashedFile, TrashItem

# an item whose manifest is called so is gone: nobody restores the rest of it
_FREED = "freed.json"


def free(item: TrashItem, trash: Path) -> None:
    """Remove an item and all of its files for good.

    Raises:
        OSError: something cannot be removed; the item is no longer restored, and ``finish_freeing`` goes on.
    """
    folder = trash / item.id
    at_fault_point("rename", folder / MANIFEST)
    (folder / MANIFEST).rename(folder / _FREED)
    fsync_folder(folder)
    _clear(folder, [folder / file.stored for file in item.files if file.kind != "folder"])


def finish_freeing(trash: Path) -> None:
    """Remove what a killed process left of items that were freed, or that never came to have a manifest.

    Raises:
        OSError: something cannot be removed.
    """
    for folder in sorted(trash.iterdir()) if trash.is_dir() else ():
        if not folder.is_dir() or (folder / MANIFEST).exists():
            continue
        names = list(folder.iterdir())
        if (folder / _FREED).exists():
            _clear(folder, [path for path in names if path.name != _FREED])
        elif all(is_leftover(path.name) for path in names):
            _clear(folder, names)


def trash_size(items: list[TrashItem]) -> int:
    """Return how many bytes lie in the trash."""
    return sum(file.size for item in items for file in item.files)


def is_whole(item: TrashItem, trash: Path) -> bool:
    """Say whether all of an item lies in the trash and nothing of it in its old place: its removal came to its end."""
    if not item.files:
        return not any_stands(item.notes)  # entries of an index alone: they went, or they did not
    return not any(_is_left(file, trash / item.id / file.stored) for file in item.files)


def _is_left(file: TrashedFile, stored: Path) -> bool:
    place = Path(file.path)
    if file.kind == "folder":
        # one in which somebody made something new belongs to him
        return place.is_dir() and not place.is_symlink() and not any(place.iterdir())
    if not os.path.lexists(stored):
        return True
    if not os.path.lexists(place):
        return False
    at = place.lstat()
    # to another file system it was copied, and what was written to since is no longer the one that was to go
    is_unchanged = at.st_mtime_ns == file.mtime_ns and (file.kind == "link" or at.st_size == file.size)
    return is_unchanged or os.path.samestat(at, stored.lstat())


def _clear(folder: Path, paths: list[Path]) -> None:
    for path in paths:
        at_fault_point("unlink", path)
        path.unlink(missing_ok=True)
    at_fault_point("unlink", folder)
    (folder / _FREED).unlink(missing_ok=True)
    folder.rmdir()
    fsync_folder(folder.parent)
