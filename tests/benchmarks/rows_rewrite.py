"""Crash-safe rewrite of a large session, against the least that any crash-safe copy costs."""

import os
import shutil
from pathlib import Path

import msgspec
from measure import Row, compared, cpu_of_calls
from sessions_data import VERSION, Maker, cersei_lines, write_lines

from slowwave.records.lines import read_records
from slowwave.records.rewrite import rewrite_without


class _Entry(msgspec.Struct, gc=False):
    type: str = ""
    uuid: str = ""
    deleted_uuid: str = ""


def rewrite(build: Path, rounds: int) -> list[Row]:
    """Take the tombstoned records out of 200 MB, crash-safe: against copy + fsync + rename."""
    data = build / f"data-{VERSION}"
    source = write_lines(data / "large.jsonl", cersei_lines(Maker(3), 200_000_000, 900))
    work, copy = data / "rewrite.jsonl", data / "copy.jsonl"
    decoder = msgspec.json.Decoder(_Entry)

    def plan() -> list[tuple[int, int]]:
        places: dict[str, tuple[int, int]] = {}
        gone: list[tuple[int, int]] = []
        for span, entry in read_records(work, decoder, []):
            if entry.type == "tombstone":
                gone += [(span.offset, len(span.raw)), *filter(None, [places.pop(entry.deleted_uuid, None)])]
            else:
                places[entry.uuid] = (span.offset, len(span.raw))
        return gone

    shutil.copy(source, work)
    drop = plan()

    def ours() -> None:
        rewrite_without(work, drop)

    def whole() -> None:
        rewrite_without(work, plan())

    def plain() -> None:
        shutil.copyfile(source, copy)
        fd = os.open(copy, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
        copy.rename(data / "copied.jsonl")
        fd = os.open(data, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)

    times: dict[str, list[float]] = {"ours": [], "whole": [], "copy + fsync + rename": []}
    for _ in range(rounds):
        for name, action in (("ours", ours), ("whole", whole), ("copy + fsync + rename", plain)):
            shutil.copy(source, work)
            times[name].append(cpu_of_calls({name: action}, 1)[name])
    median = {name: sorted(values)[len(values) // 2] for name, values in times.items()}
    for leftover in (work, data / "copied.jsonl"):
        leftover.unlink()
    return [
        compared("rewrite 200 MB by a plan", median, "ours", "copy + fsync + rename", 6),
        compared("find tombstones + rewrite", median, "whole", "copy + fsync + rename", 6),
    ]
