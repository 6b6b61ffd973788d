"""The verified copy that is made of whatever goes: found where an earlier run made it, else written into a pack."""

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from slowwave.errors import UnreadableError
from slowwave.stores.archive.model import SUFFIX, PackedFile, PackedSession, digest
from slowwave.stores.archive.reading import Pack
from slowwave.stores.archive.shelf import Shelf, Shelved
from slowwave.stores.archive.writing import Wanted, write_pack
from slowwave.stores.belongings import Belongings
from slowwave.stores.removal import Removal
from slowwave.stores.trash import TrashItem

_BLOCK = 1 << 20


class Archive:
    """The shelf as a run sees it: what it held when the run began, and what the run added."""

    def __init__(self, shelf: Shelf) -> None:
        """Read which sessions it holds.

        Raises:
            UnreadableError: its folder cannot be listed.
        """
        self._folder = shelf.folder
        self._held: dict[str, list[Shelved]] = defaultdict(list)
        for one in shelf.sessions():
            self._held[one.session.id].append(one)
        # packs that cannot be read: nothing in them counts as archived
        self.problems = list(shelf.problems)

    def all(self) -> Iterator[Shelved]:
        """Yield every session with its pack."""
        for found in self._held.values():
            yield from found

    def find(self, session: str, removal: Removal | Belongings) -> Path | None:
        """Return the pack that holds exactly what would go as it is now, read back and compared; else None."""
        now = dict(entry for path in removal.paths for entry in _entries(path))
        for path, packed in reversed(self._held.get(session, [])):
            then = {file.path: (file.kind, file.mode, file.mtime_ns, file.size) for file in packed.files}
            if (
                then == now
                and packed.notes == removal.notes
                and _reads_back(path, packed, lambda file: Path(file.path))
            ):
                return path
        return None

    def holds_item(self, item: TrashItem, trash: Path) -> bool:
        """Say whether all files of an item of the trash are in some pack, read back and compared with the item's."""
        stored = {file.path: trash / item.id / file.stored for file in item.files}
        return any(
            _reads_back(path, packed, lambda file: stored[file.path])
            for path, packed in reversed(self._held.get(item.session, []))
            if _described(packed) == _thrown(item)
        )

    def has_files(self, item: TrashItem) -> bool:
        """Say whether some pack holds what an item of the trash holds, by names, sizes and times."""
        return any(_described(packed) == _thrown(item) for _, packed in self._held.get(item.session, []))

    def about(self, session: str) -> PackedSession | None:
        """Return what is known of a session that was archived, or None."""
        held = self._held.get(session)
        return held[-1].session if held else None

    def add(self, name: str, wanted: Sequence[Wanted]) -> list[Shelved]:
        """Pack sessions, read the pack back, and return them with it.

        Raises:
            MovedError: a file changed while it was read; there is no pack.
            SlowwaveError: what was read back is not what was packed, or something cannot be packed.
            OSError: a file cannot be read, or the disk is full; there is no pack.
        """
        number = 1
        while (path := self._folder / f"{name}-{number:03d}{SUFFIX}").exists():
            number += 1
        added = [Shelved(path, session) for session in write_pack(path, wanted).sessions]
        for one in added:
            self._held[one.session.id].append(one)
        return added


def _described(packed: PackedSession) -> set[tuple[str, str, int, int]]:
    return {(file.path, file.kind, file.size, file.mtime_ns) for file in packed.files}


def _thrown(item: TrashItem) -> set[tuple[str, str, int, int]]:
    return {(file.path, file.kind, file.size, file.mtime_ns) for file in item.files}


def _entries(path: Path) -> Iterator[tuple[str, tuple[str, int, int, int]]]:
    at = path.lstat()
    is_folder, is_link = stat.S_ISDIR(at.st_mode), stat.S_ISLNK(at.st_mode)
    kind = "folder" if is_folder else "link" if is_link else "file"
    yield os.fspath(path), (kind, stat.S_IMODE(at.st_mode), at.st_mtime_ns, at.st_size if kind == "file" else 0)
    for child in sorted(path.iterdir()) if is_folder else ():
        yield from _entries(child)


def _reads_back(path: Path, packed: PackedSession, place: Callable[[PackedFile], Path]) -> bool:
    """Say whether a pack gives back what it once took, and that is what lies in some place."""
    try:
        with Pack(path) as pack:
            pack.check(packed)
    except UnreadableError:
        return False
    return all(_hash(place(file)) == file.hash for file in packed.files if file.kind == "file")


def _hash(path: Path) -> str:
    found = digest()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()
