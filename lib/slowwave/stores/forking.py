"""Write the copy of a session: whole or not at all, in parts where the dialect has them."""

import os
from collections.abc import Container, Iterator
from pathlib import Path

from slowwave.errors import UnreadableError, UsageError
from slowwave.files import TEMP_PREFIX, at_fault_point, private_folder, write_all
from slowwave.formats.append import SUFFIX, part_name
from slowwave.formats.model import SessionFiles
from slowwave.stores.fork import Place, forked_lines
from slowwave.stores.moving import move_file

_BUFFER = 1 << 20


def write_fork(
    files: SessionFiles,
    dialect: str,
    base: Path,
    new_id: str,
    part_bytes: int,
    only: Container[Place] | None = None,
) -> list[Path]:
    """Write the fork of a session to ``base`` and its parts, and return their paths.

    What cannot be read of the original is not in the copy; with ``only``, nothing but the lines that begin there is.

    Raises:
        UsageError: a session with the new id exists.
        UnreadableError: the original cannot be read, or holds no message.
    """
    lines = forked_lines(files, dialect, new_id, [], only)
    written = write_session(lines, base, part_bytes if dialect == "cersei" else None)
    if not written:
        raise UnreadableError(files.paths[0], "holds no message to copy")
    return written


def write_session(lines: Iterator[bytes], base: Path, part_bytes: int | None) -> list[Path]:
    """Write a session that did not exist, from lines without newlines, and return its files; none without a line.

    Every part is complete and durable under a temporary name before the first one gets its own; the base file comes
    last.

    Raises:
        UsageError: the file exists.
    """
    if base.exists():
        raise UsageError(f"{base}: exists already; nothing was written")
    private_folder(base.parent)
    stem = base.name.removesuffix(SUFFIX)
    temps: list[Path] = []
    try:
        for portion in _portions(lines, part_bytes):
            # a name that no client takes for a transcript
            temps.append(base.with_name(f"{TEMP_PREFIX}{os.getpid()}-{stem[:40]}-{len(temps)}"))
            _write(temps[-1], portion)
        targets = [base.with_name(part_name(stem, number)) for number in range(1, len(temps) + 1)]
        _publish(temps, targets)
    finally:
        for temp in temps:
            temp.unlink(missing_ok=True)
    return targets


def _publish(temps: list[Path], targets: list[Path]) -> None:
    """Give complete files their names, the base last; what another process put there meanwhile stays."""
    named: list[Path] = []
    try:
        for temp, target in reversed(list(zip(temps, targets, strict=True))):
            move_file(temp, target)
            named.append(target)
    except FileExistsError as error:
        for target in named:
            target.unlink()
        raise UsageError(f"{targets[0]}: was made by somebody else meanwhile; nothing was written") from error


def _portions(lines: Iterator[bytes], part_bytes: int | None) -> Iterator[Iterator[bytes]]:
    """Yield the lines of each part; every part must be consumed before the next one is asked for."""
    waiting = next(lines, None)

    def portion() -> Iterator[bytes]:
        nonlocal waiting
        size = 0
        while waiting is not None:
            size += len(waiting) + 1
            if part_bytes is not None and size > part_bytes and size > len(waiting) + 1:
                return
            yield waiting
            waiting = next(lines, None)

    while waiting is not None:
        yield portion()


def _write(path: Path, lines: Iterator[bytes]) -> None:
    at_fault_point("write", path)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        block: list[bytes] = []
        size = 0
        for line in lines:
            block.append(line)
            size += len(line)
            if size >= _BUFFER:
                write_all(fd, b"\n".join(block) + b"\n")
                block, size = [], 0
        if block:
            write_all(fd, b"\n".join(block) + b"\n")
        at_fault_point("fsync", path)
        os.fsync(fd)
    finally:
        os.close(fd)
