"""Write the copy of a session: whole or not at all, in parts where the dialect has them."""

import os
from collections.abc import Iterator
from pathlib import Path

from slowwave.dialects.model import SessionFiles
from slowwave.errors import UnreadableError, UsageError
from slowwave.files import TEMP_PREFIX, at_fault_point, fsync_folder, write_all
from slowwave.records.model import Problem
from slowwave.records.parts import part_name
from slowwave.stores.fork import forked_lines

_BUFFER = 1 << 20


def write_fork(files: SessionFiles, dialect: str, base: Path, new_id: str, part_bytes: int) -> list[Path]:
    """Write the fork of a session to ``base`` and its parts, and return their paths.

    Every part is complete and durable under a temporary name before the first one gets its own; the base file comes
    last. What cannot be read of the original is not in the copy.

    Raises:
        UsageError: a session with the new id exists.
        UnreadableError: the original cannot be read, or holds no message.
    """
    if base.exists():
        raise UsageError(f"{base}: exists already; nothing was copied")
    problems: list[Problem] = []
    temps: list[Path] = []
    try:
        for lines in _portions(forked_lines(files, dialect, new_id, problems), part_bytes, split=dialect == "cersei"):
            # a name that no client takes for a transcript
            temps.append(base.with_name(f"{TEMP_PREFIX}{os.getpid()}-{new_id[:40]}-{len(temps)}"))
            _write(temps[-1], lines)
        if not temps:
            raise UnreadableError(files.paths[0], "holds no message to copy")
        targets = [base.with_name(part_name(new_id, number)) for number in range(1, len(temps) + 1)]
        for temp, target in reversed(list(zip(temps, targets, strict=True))):
            at_fault_point("rename", target)
            temp.rename(target)
    finally:
        for temp in temps:
            temp.unlink(missing_ok=True)
    fsync_folder(base.parent)
    return targets


def _portions(lines: Iterator[bytes], part_bytes: int, *, split: bool) -> Iterator[Iterator[bytes]]:
    """Yield the lines of each part; every part must be consumed before the next one is asked for."""
    waiting = next(lines, None)

    def portion() -> Iterator[bytes]:
        nonlocal waiting
        size = 0
        while waiting is not None:
            size += len(waiting) + 1
            if split and size > part_bytes and size > len(waiting) + 1:
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
