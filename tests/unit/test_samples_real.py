"""The lines of the sample week against those that the real clients wrote: same fields, same order, nothing invented."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import orjson
import pytest

from tests.week.plan import plan

CORPUS = Path(__file__).parents[2].parent / "shared" / "clients" / "corpus"
REAL = {"1.0": "claude-1.0.128", "2.0": "claude-2.0.76", "2.1": "claude"}
NOW = datetime(2026, 3, 9, 6, 30, tzinfo=UTC)

# Written when a person sits at the terminal, or when a command fails: no recorded session of that version did either.
UNRECORDED = {
    "2.0 file-history-snapshot",
    "2.0 summary",
    "2.0 queue-operation",
    "2.0 tool_result failed",
    "2.1 ai-title",
    "2.1 permission-mode",
    "2.1 system turn_duration",
}

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the recorded sessions of real clients are not beside the checkout"),
]

Line = dict[str, Any]


def kind(line: Line) -> str:
    subtype = line.get("subtype") or line.get("attachment", {}).get("type", "")
    return f"{line['type']} {subtype}".strip()


def shapes(line: Line) -> Iterator[tuple[str, list[str]]]:
    """Yield the fields of a line, of its message, of the token counts and of each block of content."""
    yield kind(line), list(line)
    message: Line = line.get("message") or {}
    yield f"{line['type']}.message", list(message)
    yield f"{line['type']}.usage", list(message.get("usage") or {})
    for block in message.get("content", []):
        if isinstance(block, dict):
            failed = bool(cast("Line", block).get("is_error"))
            yield f"{block['type']} {'failed' if failed else ''}".strip(), list(cast("Line", block))


def read(paths: Iterator[Path]) -> Iterator[Line]:
    for path in paths:
        for line in path.read_bytes().splitlines():
            yield cast("Line", orjson.loads(line))


def sample() -> Iterator[tuple[str, Line]]:
    for file in plan(NOW):
        if not file.path.endswith(".jsonl"):
            continue
        found = [cast("Line", orjson.loads(line)) for line in file.data.splitlines()]
        version = next((str(line["version"])[:3] for line in found if "version" in line), "")
        if version:
            yield from ((version, line) for line in found)


def orders(lines: Iterator[Line]) -> dict[str, list[list[str]]]:
    seen: dict[str, list[list[str]]] = {}
    for line in lines:
        for name, fields in shapes(line):
            keys = seen.setdefault(name, [])
            if fields not in keys:
                keys.append(fields)
    return seen


def follows(keys: list[str], real: list[list[str]]) -> bool:
    """Say whether every two neighbours stand in this order in some real line of the kind."""
    return all(any(a in r and b in r and r.index(a) < r.index(b) for r in real) for a, b in pairwise(keys))


@pytest.mark.parametrize("version", ["1.0", "2.0", "2.1"])
def test_lines_have_the_fields_of_the_real_client_in_its_order(version: str):
    real = orders(read((CORPUS / REAL[version]).rglob("*.jsonl")))
    mine = orders(line for layout, line in sample() if layout == version)

    wrong = [
        (name, keys)
        for name, found in mine.items()
        if f"{version} {name}" not in UNRECORDED
        for keys in found
        if not follows(keys, real.get(name, []))
    ]

    assert len(mine) >= 10
    assert wrong == []
