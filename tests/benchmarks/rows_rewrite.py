"""Crash-safe rewrite of a large session, against the least that any crash-safe copy costs."""

import os
import re
import shutil
from pathlib import Path

import msgspec
from measure import Row, Work, compared, cpu_of
from sessions_data import VERSION, Maker, cersei_lines, write_lines

from slowwave.formats.changes import rewrite_without
from slowwave.formats.lines import raw_lines

# the order in which Cersei writes its fields; a line that begins otherwise is decoded
_HEAD = re.compile(rb'\{"type":"(?:user|assistant|system|summary)","uuid":"([^"\\]*)"')


class _Entry(msgspec.Struct, gc=False):
    type: str = ""
    uuid: str = ""
    deleted_uuid: str = ""


_DECODER = msgspec.json.Decoder(_Entry)


def _plan(path: Path) -> list[tuple[int, int]]:
    """Find the tombstones and what they delete; every line that goes was decoded."""
    gone: list[tuple[int, int]] = []
    deleted: set[bytes] = set()
    for offset, line in raw_lines(path):
        if b'"tombstone"' not in line:
            continue
        entry = _DECODER.decode(line)
        if entry.type == "tombstone":
            deleted.add(entry.deleted_uuid.encode())
            gone.append((offset, len(line) - 1))
    for offset, line in raw_lines(path):
        head = _HEAD.match(line)
        if (head is None or head[1] in deleted) and _DECODER.decode(line).uuid.encode() in deleted:
            gone.append((offset, len(line) - 1))
    return gone


def _plain_copy(source: Path, folder: Path) -> None:
    """Copy + fsync + rename + fsync of the folder."""
    copy = folder / "copy.jsonl"
    shutil.copyfile(source, copy)
    _fsync(copy)
    copy.rename(folder / "copied.jsonl")
    _fsync(folder)


def _fsync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def rewrite(build: Path, rounds: int) -> list[Row]:
    """Take the tombstoned records out of 200 MB, crash-safe: against copy + fsync + rename."""
    data = build / f"data-{VERSION}"
    source = write_lines(data / "large.jsonl", cersei_lines(Maker(3), 200_000_000, 900))
    work = data / "rewrite.jsonl"
    drop = _plan(source)
    works: dict[str, Work] = {
        "by a plan": lambda: rewrite_without(work, drop),
        "plan and rewrite": lambda: rewrite_without(work, _plan(work)),
        "copy + fsync + rename": lambda: _plain_copy(source, data),
    }
    # each round rewrites the same bytes
    times = cpu_of(works, rounds, before=lambda: shutil.copy(source, work))
    for leftover in (work, data / "copied.jsonl"):
        leftover.unlink()
    return [
        compared("rewrite 200 MB by a plan", times, "by a plan", "copy + fsync + rename", 6),
        compared("find tombstones + rewrite", times, "plan and rewrite", "copy + fsync + rename", 6),
    ]
