"""Whatever the bytes: reading never raises, never invents a record, never loses a whole one it could be sure of."""

import json
import re
import tempfile
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.formats import Problem, clean, is_utf8
from slowwave.formats.lines import read_records
from slowwave.formats.salvage import scan_value, split
from slowwave.formats.tail import lines_backward


class Anything(msgspec.Struct, gc=False):
    message: msgspec.Raw = msgspec.Raw()


DECODER = msgspec.json.Decoder(Anything)
KEYS = st.text(alphabet="abtypeid_", min_size=1, max_size=6)
TEXTS = st.text(max_size=12) | st.sampled_from(['{"type":"x"}', '"', "{", "}", "\\", "{ \t", "\u2028", "\0", "[{"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(LEAVES, lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=3), max_leaves=8)
OBJECTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """One record as some client would write it."""
    separators = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    text = json.dumps(draw(OBJECTS), ensure_ascii=draw(st.booleans()), separators=separators)
    return text.encode("utf-8", "surrogatepass")


def read(data: bytes) -> tuple[list[bytes], list[Problem]]:
    """Read a file with that content, and prove every span."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        path.write_bytes(data)
        problems: list[Problem] = []
        spans = [span for span, _ in read_records(path, DECODER, problems)]
        assert [data[line:][: len(raw)] for line, raw in lines_backward(path)] == [
            raw for _, raw in lines_backward(path)
        ]
    for span in spans:
        assert data[span.offset : span.offset + len(span.raw)] == span.raw
        assert data[: span.offset].count(b"\n") == span.number - 1
    for problem in problems:
        assert problem.offset >= 0
        assert problem.offset + problem.length <= len(data)
    return [span.raw for span in spans], problems


@given(st.lists(lines(), max_size=5), st.data())
def test_any_prefix_of_a_valid_file_loses_only_the_torn_record(records: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(record + b"\n" for record in records)
    cut = data.draw(st.integers(0, len(whole)))
    spans, problems = read(whole[:cut])
    complete = whole[:cut].split(b"\n")
    kept = [r for r in complete[:-1] if r]
    last = complete[-1]
    if last in records[len(kept) : len(kept) + 1]:  # only its newline is missing
        kept.append(last)
        last = b""
    assert spans == kept
    assert [p.kind for p in problems if p.kind != "nonstandard"] == (["torn"] if last else [])


@given(
    st.binary(max_size=300)
    | st.text(alphabet='{}[]",:\\ \n\0\r1tnu\ud800\xff', max_size=80).map(lambda t: t.encode("utf-8", "surrogatepass"))
)
def test_random_bytes_never_raise(data: bytes) -> None:
    read(data)


@given(lines(), st.lists(lines(), min_size=1, max_size=3), st.data())
def test_what_is_glued_to_a_torn_record_is_found_and_nothing_is_invented(
    torn: bytes, records: list[bytes], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(torn) - 1))
    spans, problems = read(torn[:cut] + b"".join(records) + b"\n")
    # a record that begins where the torn one wanted a value cannot be told from its inner object
    before = torn[:cut].rstrip()
    is_where_a_value_may_be = scan_value(torn[:cut] + b"{}").status == "open" and before[-1:] in {b":", b"[", b","}
    assert spans == records[len(records) - len(spans) :]
    assert len(spans) >= len(records) - is_where_a_value_may_be
    assert bool(cut) == any(p.kind == "garbage" for p in problems)


@given(st.lists(lines(), min_size=1, max_size=4), st.sampled_from([b"", b" ", b"\0\0", b"\r", b"\xef\xbb\xbf"]))
def test_glued_records_are_all_read(records: list[bytes], between: bytes) -> None:
    between = between.removeprefix(b"\xef\xbb\xbf")
    spans, problems = read(between.join(records))
    assert spans == records
    assert len(records) == 1 or "glued" in {p.kind for p in problems}


@given(st.binary(max_size=60) | lines())
def test_the_pieces_of_a_line_cover_it(raw: bytes) -> None:
    raw = raw.replace(b"\n", b"").strip()
    at = 0
    for piece in split(raw):
        assert piece.start >= at
        assert not raw[at : piece.start].strip(b" \t\r\0")
        at = piece.stop
    assert not raw[at:].strip(b" \t\r\0")


@given(VALUES)
def test_a_scan_agrees_with_the_decoder_on_every_prefix(value: object) -> None:
    raw = json.dumps(value).encode()
    assert scan_value(raw) == ("whole", len(raw))
    is_number = re.fullmatch(rb"-?[0-9].*", raw) is not None
    for cut in range(len(raw)):
        assert scan_value(raw[:cut]).status == "open" or is_number
        assert scan_value(raw[:cut] + b"\x01").status == "broken" or (is_number and cut)


@given(st.binary(max_size=60))
@settings(max_examples=300)
def test_a_scan_accepts_what_python_accepts(raw: bytes) -> None:
    raw = b'["' + raw + b'"]'
    scan = scan_value(raw)
    try:
        json.loads(raw.decode("utf-8", "surrogateescape"))
    except ValueError:
        assert scan.status != "whole" or raw[scan.at :].strip()
    else:
        assert scan == ("whole", len(raw.rstrip()))


@given(st.text(), st.binary(max_size=6), st.sampled_from(["\\ud800", "\\udfff", "\\ud83d\\ude00", "\\\\ud800", "NaN"]))
def test_cleaned_values_always_decode_and_good_ones_stay(text: str, junk: bytes, escape: str) -> None:
    good = json.dumps({"a": text.encode("utf-8", "replace").decode()}, ensure_ascii=False).encode()
    assert clean(good) is good or clean(good) == good
    middle = junk.replace(b'"', b"").replace(b"\\", b"")
    odd = b'{"a":"%b%b","b":NaN}' % (bytes(c for c in middle if c > 31), escape.encode())
    mended = clean(odd)
    assert is_utf8(mended)
    assert msgspec.json.decode(mended)["b"] is None


@given(st.text(alphabet="aé\u20ac\U0001f600", max_size=20), st.integers(0, 80), st.booleans())
def test_utf8_is_checked_right_across_blocks(text: str, cut: int, is_cut: bool) -> None:
    raw = b"x" * ((1 << 20) - 10) + text.encode() * 2
    raw = raw[: (1 << 20) - 10 + cut] if is_cut else raw
    try:
        raw.decode()
        expected = True
    except UnicodeDecodeError:
        expected = False
    assert is_utf8(raw) == expected
