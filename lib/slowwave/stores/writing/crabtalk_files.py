"""The files of a folder of crabtalk's sessions: found by what they are, made under a number that nobody else has.

crabtalk takes the next number by looking and then truncates whatever has the name, so that of two that begin at once
one wipes the other. Here a file gets its name by a link, complete, and only when no other file has it.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

from slowwave.errors import NotFoundError, UnreadableError
from slowwave.files import TEMP_PREFIX, at_fault_point, fsync_folder, private_folder, write_all
from slowwave.formats.crabtalk import SUFFIX, Meta, id_of, latest_session, meta_line_of, place_of, sender_slug
from slowwave.formats.lines import open_regular
from slowwave.stores.moving import NO_LINKS

_BLOCK = 1 << 20


def file_of(folder: Path, session: str) -> Path:
    """Return the file of a session, under whichever title.

    Raises:
        NotFoundError: there is none, or several have the id.
    """
    names = (n for n in session_names(folder) if n == session + SUFFIX or n.startswith(f"{session}_"))
    paths = [folder / name for name in names if id_of(name, _meta(folder / name)) == session]
    # while a file is renamed it has two names for a moment
    found = {(at.st_dev, at.st_ino): path for path in paths if (at := found_file(path)) is not None}
    if len(found) != 1:
        several = f"{len(found)} files" if found else "no file"
        raise NotFoundError(f"{folder}: {several} of session {session!r}; `slowwave sessions list` shows them all")
    return next(iter(found.values()))


def latest_file(folder: Path, agent: str, sender: str) -> Path | None:
    """Return the file of the latest session of an agent and a sender, as its metadata say; None without one."""
    names = (name for name in session_names(folder) if place_of(name, agent) is not None)
    latest = latest_session([(name, _meta(folder / name)) for name in names], agent, sender)
    return None if latest is None else folder / latest


def next_number(folder: Path, agent: str, sender: str) -> int:
    """Return the number that the next session gets.

    As in crabtalk names alone count, so that a number is never given twice, whatever is in the files.
    """
    slug = sender_slug(sender)
    places = (place_of(name, agent) for name in session_names(folder))
    return max((place.seq for place in places if place is not None and place.sender == slug), default=0) + 1


def create(
    folder: Path, agent: str, sender: str, chunks: Iterable[bytes], *, number: int | None = None, fsync: bool = False
) -> Path:
    """Write a new session, whole or not at all, and return its file.

    Args:
        folder: where; it is made when it is missing.
        agent: the agent's name.
        sender: who talks to it.
        chunks: the content, the line of metadata first.
        number: its number; by default the next free one, also when others begin sessions at the same time.
        fsync: return only when it is on the disk.

    Raises:
        FileExistsError: a session has this very number.
        OSError: the disk is full, or the folder cannot be written to.
    """
    private_folder(folder)
    temp = folder / f"{TEMP_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
    try:
        _fill(temp, chunks, fsync=fsync)
        numbers = count(next_number(folder, agent, sender)) if number is None else (number,)
        for chosen in numbers:
            path = folder / f"{agent}_{sender_slug(sender)}_{chosen}{SUFFIX}"
            if _publish(temp, path, agent):
                if fsync:
                    fsync_folder(folder)
                return path
    finally:
        temp.unlink(missing_ok=True)
    raise FileExistsError(f"session {number} of {agent} and {sender} exists already")


def copied(path: Path, offset: int, head: bytes) -> Iterator[bytes]:
    """Yield what a file holds now, with ``head`` in the place of everything before ``offset``."""
    rest = _from(path, offset)
    yield head
    first = next(rest, b"\n")
    if not first.startswith((b"\n", b"\r\n")):
        yield b"\n"
    yield first
    yield from rest


def _from(path: Path, offset: int) -> Iterator[bytes]:
    # what is appended meanwhile is not in it: the end is where it was
    with open_regular(path) as file:
        left = os.fstat(file.fileno()).st_size - offset
        file.seek(offset)
        while left > 0 and (block := file.read(min(_BLOCK, left))):
            left -= len(block)
            yield block


def _fill(temp: Path, chunks: Iterable[bytes], *, fsync: bool) -> None:
    at_fault_point("write", temp)
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        for chunk in chunks:
            write_all(fd, chunk)
        if fsync:
            at_fault_point("fsync", temp)
            os.fsync(fd)
    finally:
        os.close(fd)


def _publish(temp: Path, path: Path, agent: str) -> bool:
    """Give a complete file its name; False when the name or the number is taken."""
    try:
        at_fault_point("link", path)
        _name(temp, path)
    except FileExistsError:
        return False
    if _is_taken(path, agent):
        # since the numbers were looked at, another one took this number and was given a title
        path.unlink()
        return False
    return True


def _name(temp: Path, path: Path) -> None:
    try:
        os.link(temp, path)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        # a file system without links: exclusive all the same, but a kill leaves a part of the file
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            write_all(fd, temp.read_bytes())
        finally:
            os.close(fd)


def _is_taken(path: Path, agent: str) -> bool:
    own = place_of(path.name, agent)
    others = (place_of(name, agent) for name in session_names(path.parent) if name != path.name)
    return own is not None and any(p is not None and (p.sender, p.seq) == (own.sender, own.seq) for p in others)


def session_names(folder: Path) -> list[str]:
    """Return the names of all files that can be sessions; a missing folder has none.

    Raises:
        UnreadableError: the folder cannot be listed.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names only
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UnreadableError(folder, error.strerror or "cannot be listed") from error
    return [name for name in names if name.endswith(SUFFIX) and name[0] != "."]


def _meta(path: Path) -> Meta | None:
    try:
        line = meta_line_of(path)
    except UnreadableError:
        return None  # renamed since the folder was listed, or not ours to read: its name is left
    return None if line is None else line.meta


def found_file(path: Path) -> os.stat_result | None:
    """Return the state of a file, None when it went away since its folder was listed."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None
