"""Record types and fields that nobody knows survive every rewrite byte for byte, and are counted when they are read."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.formats import Problem, SessionFiles, Transcript
from slowwave.formats.changes import rewrite_without
from slowwave.formats.lines import read_records
from slowwave.formats.registry import by_name
from tests.faults.hostile_sessions import LINES, Link, session
from tests.fuzz.invariants import Anything
from tests.unit.stores.store_builder import as_bytes

DIALECTS = tuple(name for name in LINES if name != "opencode")  # its exports are no lines, and are never rewritten
DECODER = msgspec.json.Decoder(Anything)
# a type of its own in the field by which each client tells its records apart
UNKNOWN: dict[str, dict[str, Any]] = {
    "claude": {"type": "of-tomorrow", "sessionId": "s"},
    "cersei": {"type": "of_tomorrow", "session_id": "s"},
    "cersei-bare": {"role": "of-tomorrow", "content": "x"},
    "pi": {"type": "ofTomorrow", "id": "t", "parentId": None},
    "openclaw": {"type": "ofTomorrow", "id": "t", "parentId": None},
    "codex": {"timestamp": "2026-11-20T10:00:00Z", "type": "of_tomorrow", "payload": {}},
    "crabtalk": {"role": "of-tomorrow", "content": "x"},
    "ulid": {"recordType": "of-tomorrow", "schemaVersion": 1, "seq": 9},
}
TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
SPACES = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")])


@st.composite
def odd_line(draw: st.DrawFn, record: dict[str, Any]) -> bytes:
    """Return a record with fields of tomorrow, in a spelling that no encoder would choose again."""
    fields = record | {"x_of_tomorrow": draw(VALUES), "é": draw(VALUES)}
    keys = draw(st.permutations(list(fields)))
    text = json.dumps({k: fields[k] for k in keys}, ensure_ascii=draw(st.booleans()), separators=draw(SPACES))
    return text.encode()


def read(dialect: str, path: Path) -> Transcript:
    return by_name(dialect).read(SessionFiles("s", (path,)))


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
@settings(max_examples=10)
def test_what_is_of_no_known_type_survives_a_rewrite(
    dialect: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    links = [Link(f"{n}", f"{n - 1}" if n else None, f"text {n}") for n in range(4)]
    rows = session(dialect, links).splitlines()
    known = [data.draw(odd_line(json.loads(row))) for row in rows]
    unknown = data.draw(st.lists(odd_line(UNKNOWN[dialect]), min_size=1, max_size=3))
    places = sorted(data.draw(st.lists(st.integers(1, len(known)), min_size=len(unknown), max_size=len(unknown))))
    lines = list(known)
    for place, line in zip(reversed(places), unknown, strict=True):
        lines.insert(place, line)
    path = tmp_path_factory.mktemp("rewrite") / "s.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    before = read(dialect, path)
    assert sum(before.unknown_types.values()) == len(unknown)
    assert [m.text for m in before.messages] == [link.text for link in links]
    gone = data.draw(st.sampled_from([line for line in known[-3:] if lines.count(line) == 1]))
    problems: list[Problem] = []
    span = next(s for s, _ in read_records(path, DECODER, problems) if s.raw == gone)
    rewrite_without(path, [(span.offset, len(span.raw))], [(0, b'{"new":1}')])
    lines.remove(gone)
    assert path.read_bytes() == b"".join(line + b"\n" for line in (b'{"new":1}', *lines))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_record_of_no_known_type_is_counted_and_costs_no_message(dialect: str, tmp_path: Path) -> None:
    links = [Link("1", None, "a"), Link("2", "1", "b")]
    first, *rest = session(dialect, links).splitlines()
    path = tmp_path / "s.jsonl"
    path.write_bytes(as_bytes([first, UNKNOWN[dialect], *rest]))
    transcript = read(dialect, path)
    assert [m.text for m in transcript.messages] == ["a", "b"]
    assert list(transcript.unknown_types.values()) == [1]
    assert any("tomorrow" in kind.lower() for kind in transcript.unknown_types)
    assert transcript.problems == []
