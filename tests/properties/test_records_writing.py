"""Whatever is dropped and inserted: what is kept stays byte for byte, and offsets lead to it."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from slowwave.formats.changes import append_record, rewrite_without
from slowwave.formats.tail import lines_backward

LINES = st.binary(min_size=1, max_size=12).map(lambda b: b.replace(b"\n", b"?").replace(b" ", b"_"))


@given(st.lists(LINES.filter(lambda b: bool(b.strip())), max_size=12), st.data())
def test_a_rewrite_keeps_every_other_line_and_its_order(lines: list[bytes], data: st.DataObject) -> None:
    ends_well = data.draw(st.booleans())
    whole = b"\n".join(lines) + (b"\n" if lines and ends_well else b"")
    starts = [sum(len(line) + 1 for line in lines[:i]) for i in range(len(lines))]
    gone = data.draw(st.sets(st.integers(0, max(0, len(lines) - 1)))) if lines else set[int]()
    new = {i: b"{new %d}" % i for i in data.draw(st.sets(st.integers(0, max(0, len(lines) - 1))))} if lines else {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        path.write_bytes(whole)
        drop = [(starts[i], len(lines[i])) for i in gone]
        rewrite_without(path, drop, [(starts[i], line) for i, line in new.items()])
        result = path.read_bytes()
    expected: list[bytes] = []
    for i, line in enumerate(lines):
        expected += [text for text in [new.get(i), None if i in gone else line] if text]
    assert [line for line in result.split(b"\n") if line] == expected


@given(st.binary(max_size=40), st.lists(LINES, min_size=1, max_size=5))
def test_appended_records_stand_on_lines_of_their_own_whatever_was_there(before: bytes, lines: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        path.write_bytes(before)
        places = [append_record(path, line) for line in lines]
        data = path.read_bytes()
        found = [line for _, line in lines_backward(path)][::-1]
    assert data.startswith(before)
    assert data.endswith(b"\n")
    for at, line in zip(places, lines, strict=True):
        assert data[at:].startswith(line + b"\n")
        assert at == 0 or data[at - 1 : at] == b"\n"
    assert found[-1:] == [line for line in lines if line.strip()][-1:] or not any(line.strip() for line in lines)
