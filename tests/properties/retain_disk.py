"""What lies on a simulated machine: sessions in their places, what was thrown away, what was packed.

Nothing is read twice as long as its inode, size, mode and both of its times stay, which is what lets a simulation look
at everything after every run; ``forget`` makes the next look read every byte anew.
"""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from slowwave.files import TEMP_PREFIX
from slowwave.stores.archive.pack import SUFFIX, Pack, digest
from slowwave.stores.trash import MANIFEST, trash_folder
from tests.unit.retention.fleets import INDEXES
from tests.unit.retention.homes import Home

File = tuple[bytes, int, int]
Tree = dict[str, File]
Seen = tuple[str, int, int]
_Stamp = tuple[int, int, int, int, int]
_OWN = ("state", "data")


def seen(one: File) -> Seen:
    """Return a file as packs tell of it."""
    found = digest()
    found.update(one[0])
    return found.hexdigest(), one[1], one[2]


class Disk:
    """The files of a home."""

    def __init__(self, home: Home) -> None:
        self._root = os.fspath(home.root)
        self._archive = os.fspath(home.data / "archive")
        self._trash = os.fspath(trash_folder(home.environ))
        self.forget()

    def forget(self) -> None:
        """Read every byte anew from now on."""
        self._files: dict[str, tuple[_Stamp, File]] = {}
        self._packs: dict[str, _Stamp] = {}
        self._packed: dict[str, set[Seen]] = {}

    def sessions(self) -> Tree:
        """Return every file that a client keeps of a single session, with its mode and time."""
        found: Tree = {}
        for path, stamp in _below(self._root, _OWN):
            name = path[len(self._root) + 1 :]
            if not name.endswith((*INDEXES, ".lock")) and TEMP_PREFIX not in name and "/memory/" not in name:
                found[name] = self._read(path, stamp)
        self._files = {path: one for path, one in self._files.items() if os.path.lexists(path)}
        return found

    def thrown(self) -> dict[str, list[File]]:
        """Return what lies in the trash, by where it lay."""
        found: dict[str, list[File]] = {}
        for path, stamp in _in(self._trash):
            folder, _, name = path.rpartition("/")
            if name != MANIFEST:
                continue
            for file in json.loads(self._read(path, stamp)[0])["files"]:
                stored = f"{folder}/{file['stored']}"
                if file["kind"] == "file" and os.path.exists(stored):  # noqa: PTH110 - as the walk
                    place = file["path"][len(self._root) + 1 :]
                    found.setdefault(place, []).append(self._read(stored, _stamp(os.stat(stored))))  # noqa: PTH116
        return found

    def archived(self) -> dict[str, set[Seen]]:
        """Return what all packs hold of each file, read back and compared with its hash."""
        packs = {path: stamp for path, stamp in _in(self._archive) if path.endswith(SUFFIX)}
        if any(packs.get(path) != stamp for path, stamp in self._packs.items()):
            self._packs, self._packed = {}, {}
        for path in packs.keys() - self._packs.keys():
            self._packs[path] = packs[path]
            with Pack(Path(path)) as pack:
                for session in pack.table.sessions:
                    pack.check(session)
                    for file in session.files:
                        if file.kind == "file":
                            name = file.path[len(self._root) + 1 :]
                            self._packed.setdefault(name, set()).add((file.hash, file.mode, file.mtime_ns))
        return self._packed

    def _read(self, path: str, stamp: _Stamp) -> File:
        known = self._files.get(path)
        if known is None or known[0] != stamp:
            known = self._files[path] = stamp, (Path(path).read_bytes(), stat.S_IMODE(stamp[4]), stamp[2])
        return known[1]


def _in(folder: str) -> Iterator[tuple[str, _Stamp]]:
    """As :func:`_below`, of a folder that need not be there, but for what is half written."""
    if os.path.isdir(folder):  # noqa: PTH112 - as the walk
        yield from ((path, stamp) for path, stamp in _below(folder) if TEMP_PREFIX not in path)


def _below(folder: str, without: tuple[str, ...] = ()) -> Iterator[tuple[str, _Stamp]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                yield entry.path, _stamp(entry.stat())
            elif entry.name not in without:
                yield from _below(entry.path)


def _stamp(at: os.stat_result) -> _Stamp:
    return at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns, at.st_mode
