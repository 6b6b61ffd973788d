"""Cersei's transcripts: tombstones, summaries, the two modes, and its bare-message file."""

import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.errors import UnreadableError
from slowwave.formats import Message, SessionFiles, Text
from slowwave.formats.cersei import write as encode
from slowwave.formats.cersei.dialect import CERSEI_BARE, Body, Cersei, CerseiTranscript, Entry, Glance

AT = datetime(2026, 4, 3, 10, 0, tzinfo=UTC)
SEED, CODE = Cersei("seed"), Cersei("code")


def user(uuid: str) -> bytes:
    return encode.entry_line("user", uuid, uuid=uuid, session="s", cwd="/p", at=AT)


def answer(uuid: str) -> bytes:
    return encode.entry_line("assistant", uuid, uuid=uuid, parent="u", session="s", cwd="/p", at=AT)


def summary(uuid: str, count: int) -> bytes:
    return encode.summary_line(uuid, uuid=uuid, session="s", compacted=count, at=AT)


def tombstone(uuid: str) -> bytes:
    return encode.tombstone_line(uuid, at=AT)


def files(folder: Path, *parts: list[bytes] | None) -> SessionFiles:
    paths: list[Path] = []
    for number, lines in enumerate(parts, 1):
        if lines is not None:
            path = folder / ("s.jsonl" if number == 1 else f"s_part{number}.jsonl")
            path.write_bytes(b"".join(lines))
            paths.append(path)
    return SessionFiles("s", tuple(paths))


def texts(messages: list[Message]) -> list[str]:
    return [m.text for m in messages]


def seed(folder: Path, *parts: list[bytes] | None) -> list[str]:
    return texts(list(SEED.context(SEED.read(files(folder, *parts)))))


def code(folder: Path, *parts: list[bytes] | None) -> list[str]:
    return texts(list(CODE.context(CODE.read(files(folder, *parts)))))


def test_messages_say_who_spoke_and_where(tmp_path: Path) -> None:
    call: dict[str, object] = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    result: dict[str, object] = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": "out"}],
    }
    lines = [
        user("hello"),
        encode.entry_line("assistant", [call], uuid="a", parent="u", session="s", cwd="/p", at=AT),
        encode.entry_line("user", [result], uuid="r", session="s", cwd="/p", at=AT),
        encode.entry_line("system", "rules", uuid="y", session="s", cwd="/p", at=AT),
        encode.entry_line("user", "<context_summary>x</context_summary>", uuid="c", session="s", cwd="/p", at=AT),
        summary("sum", 1),
    ]
    transcript = SEED.read(files(tmp_path, lines))
    assert [m.origin for m in transcript.messages] == ["typed", "model", "tool", "injected", "summary", "summary"]
    first = transcript.messages[0]
    assert (first.id, first.cwd, first.timestamp, first.blocks) == ("hello", "/p", AT, (Text("hello"),))
    assert transcript.messages[2].results[0].text == "out"
    assert (transcript.records, transcript.unknown_types, transcript.problems) == (6, {}, [])
    offset = len(lines[0])
    source = transcript.messages[1].sources[0]
    assert (source.part, source.number, source.offset) == (0, 2, offset)


def test_nanoseconds_and_z_are_times(tmp_path: Path) -> None:
    line = user("a").replace(b"2026-04-03T10:00:00.000000+00:00", b"2026-04-03T10:00:00.123456789Z")
    stamp = SEED.read(files(tmp_path, [line])).messages[0].timestamp
    assert stamp == AT.replace(microsecond=123456)


def test_tombstones_delete_in_every_part_and_order(tmp_path: Path) -> None:
    parts = [tombstone("late"), user("a"), user("b")], [tombstone("a"), user("late"), user("c"), tombstone("nobody")]
    transcript = SEED.read(files(tmp_path, *parts))
    assert texts(transcript.messages) == ["b", "c"]
    assert transcript.records == 7
    assert seed(tmp_path, *parts) == code(tmp_path, *parts) == ["b", "c"]


def test_a_tombstone_that_names_nothing_deletes_nothing(tmp_path: Path) -> None:
    # not even the messages without an id, which a missing name would be equal to
    nameless = user("a").replace(b'"uuid":"a",', b"")
    assert b"uuid" not in nameless
    for tomb in (b'{"type":"tombstone"}\n', b'{"type":"tombstone","deleted_uuid":null}\n'):
        assert seed(tmp_path, [nameless, user("b"), tomb]) == ["a", "b"]


def test_the_latest_summary_stands_for_the_oldest_messages(tmp_path: Path) -> None:
    lines = [user("a"), answer("b"), user("c"), summary("S", 2), user("d")]
    assert seed(tmp_path, lines) == ["S", "c", "d"]
    assert code(tmp_path, lines) == ["a", "b", "c", "d"]


def test_a_second_summary_leaves_hidden_what_the_first_hid(tmp_path: Path) -> None:
    lines = [user("a"), user("b"), summary("S1", 2), user("c"), summary("S2", 99), user("d")]
    assert seed(tmp_path, lines) == ["S2", "d"]
    lines = [user("a"), user("b"), summary("S1", 2), user("c"), summary("S2", 1), user("d")]
    assert seed(tmp_path, lines) == ["S2", "d"]


def test_a_deleted_summary_hides_nothing(tmp_path: Path) -> None:
    assert seed(tmp_path, [user("a"), summary("S", 1), tombstone("S")]) == ["a"]


def test_tombstoned_messages_do_not_count_as_compacted(tmp_path: Path) -> None:
    assert seed(tmp_path, [user("a"), user("b"), user("x"), tombstone("x"), summary("S", 1)]) == ["S", "b"]


def test_mode_code_has_the_defects_of_the_loader(tmp_path: Path) -> None:
    glued = user("b")[:-1] + user("c")
    assert code(tmp_path, [user("a"), glued, user("d")]) == ["a", "d"]
    assert seed(tmp_path, [user("a"), glued, user("d")]) == ["a", "b", "c", "d"]
    torn = [user("a"), user("b")[:40]], [user("swallowed"), user("c")]
    assert code(tmp_path, *torn) == ["a", "c"]
    assert seed(tmp_path, *torn) == ["a", "swallowed", "c"]
    assert code(tmp_path, [user("a")], None, [user("behind the gap")]) == ["a"]
    assert seed(tmp_path, [user("a")], None, [user("behind the gap")]) == ["a", "behind the gap"]


def test_mode_code_refuses_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    damaged = files(tmp_path, [user("a"), b"\xff\xfe\n"])
    assert texts(list(SEED.context(SEED.read(damaged)))) == ["a"]
    with pytest.raises(UnreadableError, match="UTF-8"):
        CODE.context(CODE.read(damaged))


def test_mode_code_refuses_too_large_sessions(tmp_path: Path) -> None:
    large = files(tmp_path, [user("a")])
    with large.paths[0].open("r+b") as file:
        file.truncate(200_000_001)
    with pytest.raises(UnreadableError, match="200000001 bytes in 1 parts"):
        CODE.context(CerseiTranscript("cersei", large))


def test_unknown_entries_are_counted_and_kept(tmp_path: Path) -> None:
    transcript = SEED.read(files(tmp_path, [user("a"), b'{"type":"future","session_id":"s"}\n']))
    assert (transcript.unknown_types, len(transcript.entries)) == ({"future": 1}, 2)


def test_bare_messages_are_sent_as_they_are(tmp_path: Path) -> None:
    lines = [encode.bare_line("user", "hi"), encode.bare_line("assistant", [{"type": "text", "text": "yes"}]), b"{\n"]
    transcript = CERSEI_BARE.read(files(tmp_path, lines))
    assert texts(list(CERSEI_BARE.context(transcript))) == ["hi", "yes"]
    assert [m.origin for m in transcript.messages] == ["typed", "model"]
    assert len(transcript.problems) == 1


def test_what_tombstones_delete_is_looked_for_in_little_memory():
    glance = Glance()
    for number in range(40_000):
        glance.add(Entry(type="user", uuid=f"{number:036}", message=Body("user")))
    glance.add(Entry(type="tombstone", deleted_uuid=f"{3:036}"))
    glance.add(Entry(type="summary", messages_compacted=39_000))
    tracemalloc.start()
    assert glance.kept() == 999
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_500_000  # all of them as text objects are more than twice that
