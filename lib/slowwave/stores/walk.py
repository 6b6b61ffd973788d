"""One pass over the folders of a store: names and stat, no content, no pathlib.

``listdir`` on a descriptor plus ``stat`` relative to it is the fastest walk that Python has, and names with newlines or
bytes that are not UTF-8 come through it unharmed (they are ``str`` with surrogate escapes).
"""

# ruff: noqa: PTH208 - pathlib makes the walk four times slower

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from slowwave.stores.model import StoreProblem

SUFFIX = ".jsonl"
SIDE_FOLDER = "subagents"
MEMORY = "memory"
SIDE_PREFIX = "agent-"
# Cersei numbers its part files from 2, without leading zeros; the base file has no number.
_PART = re.compile(r"(.+)_part([2-9]|[1-9][0-9]+)\Z", re.DOTALL)
# What lies beside sessions and is certainly no folder: not worth a failing system call each.
_PLAIN_FILES = (".json", ".md", ".txt", ".bak", ".lock", ".tmp", ".gz", ".zst")
MAX_DEPTH = 8


class FoundFile(msgspec.Struct, gc=False, frozen=True):
    """One file as the walk saw it."""

    name: str
    size: int
    mtime_ns: int
    dev: int
    ino: int


Signature = tuple[bytes, int, int, int, int]


def signatures(files: Iterable[FoundFile]) -> list[Signature]:
    """Return name, size, mtime, device and inode of each file, the name as bytes: it may be no UTF-8."""
    return [(os.fsencode(f.name), f.size, f.mtime_ns, f.dev, f.ino) for f in files]


class FoundSession(msgspec.Struct, gc=False):
    """All files of one session in one folder, in reading order; ``side`` when its place says it is a sub-agent's."""

    folder: str
    id: str
    files: list[FoundFile]
    side: bool
    numbers: list[int] = []

    @property
    def path(self) -> str:
        """The path of its first file."""
        return f"{self.folder}/{self.files[0].name}"

    @property
    def size(self) -> int:
        """Bytes over all parts."""
        return sum(file.size for file in self.files)

    @property
    def mtime_ns(self) -> int:
        """Newest modification over all parts."""
        return max(file.mtime_ns for file in self.files)

    def missing_parts(self) -> list[int]:
        """Return the part numbers that should be there and are not; 1 is the base file."""
        return [n for n in range(1, self.numbers[-1]) if n not in self.numbers] if self.numbers else []


@dataclass
class Walk:
    """What is shared by the folders of one walk: files and folders met already, and what was odd."""

    problems: list[StoreProblem]
    files: set[tuple[int, int]]
    folders: set[tuple[int, int]]

    @classmethod
    def begin(cls, problems: list[StoreProblem]) -> "Walk":
        """Start a walk that has met nothing yet."""
        return cls(problems, set(), set())

    def sessions(self, folder: str, *, side: bool = False, depth: int = 0) -> Iterator[FoundSession]:
        """Yield the sessions that lie in ``folder`` and those of their sub-agents.

        Everything that is left out for another reason than its name is reported: unreadable, no regular file, met
        already under another name, or a folder of transcripts where the clients keep none.
        """
        try:
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            self.problems.append(StoreProblem("unreadable", folder, error.strerror or "cannot be opened"))
            return
        try:
            if not self._enters(fd, folder):
                return
            names = os.listdir(fd)
            found, folders = self._grouped(fd, folder, names, side=side)
        except OSError as error:
            self.problems.append(StoreProblem("unreadable", folder, error.strerror or "cannot be listed"))
            return
        finally:
            os.close(fd)
        yield from found
        for name in folders:
            yield from self._below(folder, name, side=side, depth=depth)

    def _enters(self, fd: int, folder: str) -> bool:
        at = os.fstat(fd)
        if (at.st_dev, at.st_ino) in self.folders:
            self.problems.append(
                StoreProblem("loop", folder, "leads to a folder that was read already (symbolic link)")
            )
            return False
        self.folders.add((at.st_dev, at.st_ino))
        return True

    def _grouped(self, fd: int, folder: str, names: list[str], *, side: bool) -> tuple[list[FoundSession], list[str]]:
        found: list[FoundSession] = []
        numbered: list[tuple[str, int, FoundFile]] = []
        folders: list[str] = []
        met = self.files
        for name in names:
            if not name.endswith(SUFFIX):
                if name[0] != "." and name != MEMORY and not name.endswith(_PLAIN_FILES):
                    folders.append(name)
                continue
            if name[0] == ".":
                continue
            try:
                at = os.stat(name, dir_fd=fd)
            except OSError as error:
                self.problems.append(StoreProblem("unreadable", f"{folder}/{name}", error.strerror or "no stat"))
                continue
            key = (at.st_dev, at.st_ino)
            if key in met or not stat.S_ISREG(at.st_mode):
                self._refuse(f"{folder}/{name}", at)
                continue
            met.add(key)
            file = FoundFile(name, at.st_size, at.st_mtime_ns, at.st_dev, at.st_ino)
            if "_part" in name and (match := _PART.match(name, 0, len(name) - len(SUFFIX))):
                numbered.append((match[1], int(match[2]), file))
            else:
                found.append(FoundSession(folder, name[: -len(SUFFIX)], [file], side or name.startswith(SIDE_PREFIX)))
        if numbered:
            _stitch(found, numbered, folder, side=side)
        return found, folders

    def _refuse(self, path: str, at: os.stat_result) -> None:
        if stat.S_ISREG(at.st_mode):
            self.problems.append(StoreProblem("duplicate", path, "is a file that was read already under another name"))
        else:
            self.problems.append(StoreProblem("unreadable", path, "is not a regular file"))

    def _below(self, folder: str, name: str, *, side: bool, depth: int) -> Iterator[FoundSession]:
        path = f"{folder}/{name}"
        if side:
            if os.path.isdir(path):  # noqa: PTH112 - no pathlib in the walk
                if depth >= MAX_DEPTH:
                    self.problems.append(StoreProblem("ignored", path, f"lies more than {MAX_DEPTH} folders deep"))
                    return
                yield from self.sessions(path, side=True, depth=depth + 1)
            return
        try:
            inside = os.listdir(path)
        except NotADirectoryError:
            return
        except OSError as error:
            self.problems.append(StoreProblem("unreadable", path, error.strerror or "cannot be listed"))
            return
        if SIDE_FOLDER in inside:
            yield from self.sessions(f"{path}/{SIDE_FOLDER}", side=True, depth=1)
        stray = sum(n.endswith(SUFFIX) for n in inside)
        if stray:
            self.problems.append(StoreProblem("ignored", path, f"{stray} .jsonl files where no client keeps sessions"))


def _stitch(found: list[FoundSession], numbered: list[tuple[str, int, FoundFile]], folder: str, *, side: bool) -> None:
    """Add numbered parts to their base, or to each other where there is no base file."""
    by_id = {session.id: session for session in found}
    for stem, number, file in sorted(numbered, key=lambda item: (item[0], item[1])):
        session = by_id.get(stem)
        if session is None:
            session = by_id[stem] = FoundSession(folder, stem, [], side or stem.startswith(SIDE_PREFIX), [])
            found.append(session)
        elif not session.numbers:
            session.numbers = [1]
        session.files.append(file)
        session.numbers.append(number)


def changed_files(folders: Iterable[str], since_ns: int) -> list[str]:
    """Return the transcripts in ``folders`` that changed after ``since_ns``, without looking into any of them."""
    changed: list[str] = []
    look = os.stat
    for folder in folders:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in os.listdir(fd):
                if name.endswith(SUFFIX):
                    try:
                        at = look(name, dir_fd=fd)
                    except FileNotFoundError:
                        continue  # removed between listing and stat, or a broken link
                    if at.st_mtime_ns > since_ns:
                        changed.append(f"{folder}/{name}")
        finally:
            os.close(fd)
    return changed
