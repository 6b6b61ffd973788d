"""Reading records from files with every kind of damage that real ones have."""

import os
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from slowwave.errors import UnreadableError
from slowwave.formats import Problem, Span
from slowwave.formats.lines import LONG_LINE_BYTES, read_records


class Envelope(msgspec.Struct, gc=False):
    type: str = ""
    message: msgspec.Raw = msgspec.Raw()


DECODER = msgspec.json.Decoder(Envelope)


def read(path: Path, start: int = 0) -> tuple[list[tuple[Span, Envelope]], list[Problem]]:
    """Read everything and prove that each span is what the file holds at its place."""
    problems: list[Problem] = []
    records = list(read_records(path, DECODER, problems, start=start))
    data = path.read_bytes()
    for span, _ in records:
        assert data[span.offset : span.offset + len(span.raw)] == span.raw
    return records, problems


def read_bytes(folder: Path, data: bytes) -> tuple[list[str], list[tuple[str, int, int, int]]]:
    """Return the types of the records, and (kind, line, offset, length) of the problems."""
    path = folder / "session.jsonl"
    path.write_bytes(data)
    records, problems = read(path)
    return [value.type for _, value in records], [(p.kind, p.line, p.offset, p.length) for p in problems]


def test_clean_lines_are_read_with_line_number_and_offset(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"a"}\n{"type":"b","x":"\xc3\xa9"}\n')
    records, problems = read(path)
    assert [(s.number, s.offset, v.type) for s, v in records] == [(1, 0, "a"), (2, 13, "b")]
    assert problems == []


@pytest.mark.parametrize(
    ("data", "types", "expected"),
    [
        pytest.param(b"", [], [], id="empty file"),
        pytest.param(b'{"type":"a"}', ["a"], [], id="missing final newline"),
        pytest.param(b'{"type":"a"}\r\n{"type":"b"}\r\n', ["a", "b"], [], id="CRLF"),
        pytest.param(b'\n  \n{"type":"a"}\n\r\n\n', ["a"], [], id="blank lines"),
        pytest.param(b' \t{"type":"a"} \n', ["a"], [], id="white space around"),
        pytest.param(b'\xef\xbb\xbf{"type":"a"}\n', ["a"], [("bom", 1, 0, 3)], id="BOM"),
        pytest.param('{"type":"a\u2028b\x85"}\n'.encode(), ["a\u2028b\x85"], [], id="U+2028 and U+0085 end no line"),
        pytest.param(b'{"type":"a"}{"type":"b"}\n', ["a", "b"], [("glued", 1, 0, 24)], id="glued"),
        pytest.param(b'{"type":"a"} \t{"type":"b"}', ["a", "b"], [("glued", 1, 0, 26)], id="glued with space"),
        pytest.param(b'{"type":"a"}\n{"type":"b', ["a"], [("torn", 2, 13, 10)], id="torn tail"),
        pytest.param(b'{"type":"a"}{"type":"b', ["a"], [("torn", 1, 12, 10)], id="glued and torn"),
        pytest.param(b'{"type":"b\n{"type":"a"}\n', ["a"], [("garbage", 1, 0, 10)], id="torn in the middle"),
        pytest.param(b'\0\0\0{"type":"a"}\n', ["a"], [("nul", 1, 0, 3)], id="NUL in front"),
        pytest.param(b'{"type":"a"}\0\0\n', ["a"], [("nul", 1, 12, 2)], id="NUL behind"),
        pytest.param(b'{"type":"a"}\n\0\0\0\0', ["a"], [("nul", 2, 13, 4)], id="NUL tail"),
        pytest.param(b"nonsense\n", [], [("garbage", 1, 0, 8)], id="garbage"),
        pytest.param(b"one\ntwo\n\nthree\n", [], [("garbage", 1, 0, 7), ("garbage", 4, 9, 5)], id="runs of garbage"),
        pytest.param(b'{"type":"a"}xyz\n', ["a"], [("garbage", 1, 12, 3)], id="garbage behind a record"),
        pytest.param(b'[1,2]\n"x"\n17\n', [], [("not-object", 1, 0, 12)], id="values that are no objects"),
        pytest.param(b'{"type":3}\n', [], [("garbage", 1, 0, 10)], id="a field of another type"),
        pytest.param(b'{"type":"\\udc00"}\n', ["\ufffd"], [("nonstandard", 1, 0, 17)], id="lone low surrogate"),
        pytest.param(b'{"type":"\\ud83dx"}\n', ["\ufffdx"], [("nonstandard", 1, 0, 18)], id="lone high surrogate"),
        pytest.param(b'{"type":"\\ud83d\\ude00"}\n', ["\U0001f600"], [], id="a surrogate pair"),
        pytest.param(b'{"type":"\\\\ud800"}\n', ["\\ud800"], [], id="an escaped backslash is no surrogate"),
        pytest.param(b'{"type":"\xff"}\n', ["\ufffd"], [("not-utf8", 1, 0, 12)], id="not UTF-8"),
        pytest.param(b'{"x":NaN,"type":"a NaN"}\n', ["a NaN"], [("nonstandard", 1, 0, 24)], id="NaN"),
    ],
)
def test_damage_is_read_around_and_reported_with_its_place(
    tmp_path: Path, data: bytes, types: list[str], expected: list[tuple[str, int, int, int]]
) -> None:
    assert read_bytes(tmp_path, data) == (types, expected)


@pytest.mark.parametrize(
    "torn",
    [
        b'{"type":"par',
        b'{"type":"par \\',
        b'{"type":"par \\u00',
        b'{"type":"par {',
        b'{"ty',
        b"{",
        b'{"type"',
        b'{"type":"x",',
        b'{"type":"x","n":12',
        b'{"type":"x","n":tru',
        b'{"type":"x","n":-',
        b'{"type":"x","message":{"content":[{"type":"text"}',
        b'{"type":"caf\xc3',
        b'{"type":"par\0\0\0\0',
    ],
)
def test_a_record_glued_to_a_torn_one_is_recovered(tmp_path: Path, torn: bytes) -> None:
    record = b'{"type":"user","message":{"role":"user"}}'
    types, problems = read_bytes(tmp_path, torn + record + b"\n")
    assert (types, problems) == (["user"], [("garbage", 1, 0, len(torn))])


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"type":"x","message":{"type":"user"}', id="a torn record that ends behind an inner object"),
        pytest.param(b'{"type":"x","message":[{"type":"user"}', id="the same in a list"),
        pytest.param(b'{"type":"x" {"type":"user"}}', id="a lost comma"),
        pytest.param(b'{"type":"say {"type":"user"} now"}', id="quotes that lost their backslashes"),
        pytest.param(b'INFO got {"type":"user"}', id="a log line that quotes a record"),
        pytest.param(b'"},{"type":"user"}', id="the end of a record whose start is lost"),
        pytest.param(b'12 {"type":"user"}', id="a number in front"),
    ],
)
def test_an_inner_or_quoted_object_is_never_taken_for_a_record(tmp_path: Path, line: bytes) -> None:
    types, problems = read_bytes(tmp_path, line + b'\n{"type":"next"}\n')
    assert types == ["next"]
    assert problems == [("garbage", 1, 0, len(line))]


def test_two_torn_records_in_front_of_a_whole_one_are_reported_one_by_one(tmp_path: Path) -> None:
    types, problems = read_bytes(tmp_path, b'{"type":"x{"type":"y{"type":"a"}\n')
    assert (types, problems) == (["a"], [("garbage", 1, 0, 10), ("garbage", 1, 10, 10)])


def test_bad_utf8_in_a_field_that_nobody_asked_for_is_still_reported(tmp_path: Path) -> None:
    types, problems = read_bytes(tmp_path, b'{"type":"a","message":"\xe9","other":"\xff"}\n')
    assert (types, [p[0] for p in problems]) == (["a"], ["not-utf8"])


def test_the_value_of_a_mended_record_decodes_strictly(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"a","message":{"t":"\\ud800 \xff","n":-Infinity}}\n')
    ((_, value),), _ = read(path)
    assert msgspec.json.decode(value.message) == {"t": "\ufffd \ufffd", "n": None}


def test_nesting_deeper_than_any_decoder_goes_is_reported_and_does_not_stop_the_reading(tmp_path: Path) -> None:
    deep = b'{"a":' * 30_000 + b"1" + b"}" * 30_000
    types, problems = read_bytes(tmp_path, deep + b'\n{"type":"a"}\n' + deep[:1000])
    assert types == ["a"]
    assert problems == [("garbage", 1, 0, len(deep)), ("torn", 3, len(deep) + 14, 1000)]


def test_a_pretty_printed_file_is_one_problem_not_thousands(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{\n "a": 1,\n' + b' "b": 2,\n' * 5000 + b' "c": 3\n}\n')
    problems: list[Problem] = []
    assert list(read_records(path, DECODER, problems)) == []
    assert len(problems) == 1
    assert problems[0].lines == 5004
    assert "1-5004" in str(problems[0])


def test_a_hostile_line_costs_neither_time_nor_memory(tmp_path: Path) -> None:
    tracemalloc.start()
    types, problems = read_bytes(tmp_path, b"{" * 2_000_000 + b'\n{"a":"x' * 3 + b'{"b":1}\n')
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert types == [""]
    assert [p[0] for p in problems] == ["garbage"] * 2
    assert peak < 20_000_000


def test_reading_from_an_offset_counts_from_there(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"a"}\n{"type":"b"}\n')
    spans = [s for s, _ in read_records(path, DECODER, [], start=13, first_number=2)]
    assert [(s.number, s.offset) for s in spans] == [(2, 13)]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"", b" \0\0\n"])
@pytest.mark.parametrize("lead", [b"", b"  ", b"\0" * 6_000_000])
def test_a_line_longer_than_the_buffers_is_read_like_any_other(tmp_path: Path, lead: bytes, ending: bytes) -> None:
    body = b'{"type":"long","message":"' + b"x" * (LONG_LINE_BYTES + 5) + b'"}'
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"a"}\n' + lead + body + ending)
    records, problems = read(path)
    assert [(s.number, v.type) for s, v in records] == [(1, "a"), (2, "long")]
    assert records[1][0].raw == body
    assert {p.kind for p in problems} == ({"nul"} if b"\0" in lead + ending else set())


def test_what_follows_a_long_line_keeps_number_and_offset(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"' + b"\xc3\xa9" * LONG_LINE_BYTES + b'"}\n{"type":"b"}{"type":"c"}\n')
    records, problems = read(path)
    assert [(s.number, v.type[:1]) for s, v in records] == [(1, "\xe9"), (2, "b"), (2, "c")]
    assert [(p.kind, p.line) for p in problems] == [("glued", 2)]


def test_a_long_line_of_nul_bytes_is_not_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with path.open("wb") as file:
        file.truncate(100 << 20)  # sparse: it takes no room
        file.seek(0, os.SEEK_END)
        file.write(b'{"type":"a"}\n')
    problems: list[Problem] = []
    tracemalloc.start()
    ((span, value),) = read_records(path, DECODER, problems)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (span.offset, span.raw, value.type) == (100 << 20, b'{"type":"a"}', "a")
    assert peak < 16 << 20
    assert [(p.kind, p.offset) for p in problems] == [("nul", 0)]


def test_a_file_that_grows_while_it_is_read_yields_its_new_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    line = b'{"type":"%s"}\n' % (b"x" * 3000)
    path.write_bytes(line * 1000)
    problems: list[Problem] = []
    reading = read_records(path, DECODER, problems)
    next(reading)
    with path.open("ab") as file:
        file.write(line * 3)
    assert 999 <= len(list(reading)) <= 1002
    assert problems == []


def test_a_half_written_last_line_ends_the_reading_also_when_the_rest_arrives_then(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"a"}\n{"type":"b"}{"ty')
    problems: list[Problem] = []
    reading = read_records(path, DECODER, problems)
    assert [next(reading)[1].type, next(reading)[1].type] == ["a", "b"]
    with path.open("ab") as file:
        file.write(b'pe":"c"}\n')
    assert list(reading) == []
    assert [p.kind for p in problems] == ["torn", "glued"] or [p.kind for p in problems] == ["torn"]


def test_a_file_that_shrinks_while_it_is_read_ends_early_without_an_error(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"%s"}\n' % (b"x" * 3000) * 1000)
    reading = read_records(path, DECODER, [])
    next(reading)
    os.truncate(path, 100)
    assert len(list(reading)) < 1000


def test_what_is_no_readable_file_is_refused_in_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name in ["missing", ".", "pipe", "loop"]:
        with pytest.raises(UnreadableError, match=f"^{tmp_path}[^\n]*: [^\n]+$"):
            list(read_records(tmp_path / name, DECODER, []))


def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"{}\n")
    path.chmod(0)
    child = os.fork()
    if child == 0:  # root may read everything, so a child gives that up
        outcome = 1
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            list(read_records(path, DECODER, []))
        except UnreadableError as error:
            outcome = 0 if "Permission denied" in str(error) else 2
        finally:
            os._exit(outcome)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
