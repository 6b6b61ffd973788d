"""Files of the other agents in the sample week against what the real clients wrote: same fields, in the same order."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import orjson
import pytest

from tests.week.opencode import PATH as DATABASE
from tests.week.plan import plan

CORPUS = Path(__file__).parents[2].parent / "shared" / "clients" / "corpus"
NOW = datetime(2026, 3, 9, 6, 30, tzinfo=UTC)

# No recorded session searched for text.
UNRECORDED = {"arguments of grep", "message toolResult grep", "part.input grep", "part.state grep", "part tool grep"}
Line = dict[str, Any]

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the recorded sessions of real clients are not beside the checkout"),
]


def fields_of(line: Line) -> Iterator[tuple[str, list[str]]]:
    """Yield the fields of a line of pi or Codex and of what is inside it, by what it is."""
    yield str(line["type"]), list(line)
    for place in ("message", "payload"):
        inside: Line = line.get(place) or {}
        kind = " ".join(str(inside[key]) for key in ("type", "role", "toolName") if key in inside)
        if inside:
            yield f"{line['type']} {kind}", list(inside)
        if "item" in inside:
            yield f"item {inside['item']['type']}", list(inside["item"])
        for block in inside.get("content") or ():
            if isinstance(block, dict):
                found = cast("Line", block)
                yield f"{line['type']} {inside.get('role')} {found.get('type')}", list(found)
                yield f"arguments of {found.get('name')}", list(found.get("arguments") or ())


def orders(lines: Iterable[Line]) -> dict[str, list[list[str]]]:
    seen: dict[str, list[list[str]]] = {}
    for line in lines:
        for name, fields in fields_of(line):
            if fields and fields not in seen.setdefault(name, []):
                seen[name].append(fields)
    return {name: found for name, found in seen.items() if found}


def follows(fields: list[str], real: list[list[str]]) -> bool:
    """Say whether every two neighbours stand in this order in some real line of the kind."""
    if len(fields) == 1:
        return any(fields[0] in found for found in real)
    return all(any(a in r and b in r and r.index(a) < r.index(b) for r in real) for a, b in pairwise(fields))


def unlike(mine: dict[str, list[list[str]]], real: dict[str, list[list[str]]]) -> list[tuple[str, list[str]]]:
    """Return what no real client wrote, of all but what none of the recorded sessions could show."""
    known = {name: found for name, found in mine.items() if name not in UNRECORDED}
    return [(name, f) for name, found in known.items() for f in found if not follows(f, real.get(name, []))]


def parsed(data: bytes) -> list[Line]:
    found: list[Line] = []
    for line in data.splitlines():
        try:
            found.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            continue  # the client wrote half a line when it was killed
    return found


@pytest.mark.parametrize(("client", "below", "kinds"), [("pi", ".pi/", 12), ("codex", ".codex/", 12)])
def test_lines_have_the_fields_of_the_real_client_in_its_order(client: str, below: str, kinds: int):
    real = orders(line for path in (CORPUS / client).rglob("*.jsonl") for line in parsed(path.read_bytes()))
    mine = orders(line for file in plan(NOW) if file.path.startswith(below) for line in parsed(file.data))

    assert len(mine) >= kinds
    assert unlike(mine, real) == []


def test_lines_of_a_rollout_are_numbered_without_a_gap():
    for file in plan(NOW):
        if file.path.startswith(".codex/"):
            assert [line["ordinal"] for line in parsed(file.data)] == list(range(len(parsed(file.data))))


def rows_of(database: sqlite3.Connection) -> Iterator[tuple[str, Line]]:
    for table in ("message", "part"):
        for (data,) in database.execute(f"SELECT data FROM {table}"):
            row = cast("Line", orjson.loads(data))
            kind = " ".join(str(row[key]) for key in ("role", "type", "tool") if key in row)
            yield f"{table} {kind}", row
            if "state" in row:
                yield f"{table}.state {row['tool']}", row["state"]
                yield f"{table}.input {row['tool']}", row["state"]["input"]


def shapes(rows: Iterable[tuple[str, Line]]) -> dict[str, list[list[str]]]:
    seen: dict[str, list[list[str]]] = {}
    for name, row in rows:
        if list(row) not in seen.setdefault(name, []):
            seen[name].append(list(row))
    return seen


def columns(database: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: database.execute(f"SELECT * FROM pragma_table_info('{name}')").fetchall() for name in tables}


def indexes(database: sqlite3.Connection) -> set[str]:
    return {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}


def opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)


def test_the_database_has_the_tables_and_rows_of_the_real_client():
    (data,) = [file.data for file in plan(NOW) if file.path == DATABASE]
    paths = sorted((CORPUS / "opencode").rglob("opencode.db"))
    rows: list[tuple[str, Line]] = []
    for path in paths:
        with closing(opened(path)) as database:
            rows += rows_of(database)

    with closing(sqlite3.connect(":memory:")) as mine, closing(opened(paths[0])) as real:
        mine.deserialize(data)
        tables, theirs = columns(mine), columns(real)
        assert set(tables) == {"project", "session", "message", "part"}
        assert tables == {name: theirs[name] for name in tables}
        assert indexes(mine) <= indexes(real)
        assert unlike(shapes(rows_of(mine)), shapes(rows)) == []
