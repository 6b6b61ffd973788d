"""A session that grows is indexed from where it was left, in every dialect, as if it had been read at once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from slowwave.formats import Message, SessionFiles
from slowwave.formats.registry import by_name
from slowwave.stores.search.index import later_messages, mark_of, said_in
from tests.unit.formats import codex_files, pi_files
from tests.unit.stores.store_builder import Line, as_bytes, cersei, claude, tombstone


def claude_lines() -> list[Line]:
    lines: list[Line] = [claude(("user", "assistant")[n % 2], f"words {n}", n) for n in range(8)]
    lines.insert(3, claude("user", "side", 90, isSidechain=True))
    return lines


def cersei_lines() -> list[Line]:
    return [cersei(("user", "assistant")[n % 2], f"words {n}", n) for n in range(8)]


def pi_lines() -> list[Line]:
    session = pi_files.Session()
    session.user("one")
    session.model("two")
    session.compact("e1", "gist")
    session.user("three")
    return list(session.data().splitlines())


def codex_lines() -> list[Line]:
    agent = codex_files.item("agent_message", content=[])
    kept = codex_files.compacted("the gist")
    turns = [*codex_files.turn("one", "two"), *codex_files.turn("three", "four")]
    return [codex_files.meta(), *turns, agent, kept, *codex_files.turn("five", "six")]


def crabtalk_lines() -> list[Line]:
    meta = {"agent": "crab", "created_by": "ann", "created_at": "2026-01-01T00:00:00Z", "title": "", "uptime_secs": 1}
    said = [{"role": ("user", "assistant")[n % 2], "content": f"words {n}"} for n in range(4)]
    return [meta, *said, {"compact": "the gist"}, {"role": "user", "content": "more"}]


def ulid_lines() -> list[Line]:
    def message(seq: int) -> Line:
        content = [{"type": "text", "text": f"words {seq}"}]
        return {"recordType": "message", "schemaVersion": 1, "seq": seq, "role": "user", "content": content}

    compaction = {"recordType": "compaction", "schemaVersion": 1, "seq": 3, "firstKeptSeq": 2, "summary": "gist"}
    return [message(1), message(2), compaction, message(4), {"recordType": "strange"}, message(5)]


BUILDERS: dict[str, Callable[[], list[Line]]] = {
    "claude": claude_lines,
    "cersei": cersei_lines,
    "pi": pi_lines,
    "openclaw": pi_lines,
    "codex": codex_lines,
    "crabtalk": crabtalk_lines,
    "ulid": ulid_lines,
}


def told(messages: list[Message]) -> list[tuple[bool, str, str]]:
    return [(side, said.field, said.text) for side, said in said_in(messages, by_agent=False)]


@pytest.mark.parametrize("dialect", BUILDERS)
def test_the_later_messages_are_those_that_a_whole_read_has_more(tmp_path: Path, dialect: str):
    lines = BUILDERS[dialect]()
    path = tmp_path / "session.jsonl"
    path.write_bytes(as_bytes(lines))
    whole = told(by_name(dialect).read(SessionFiles("s", (path,))).messages)
    assert len(whole) > 3
    for cut in range(2, len(lines)):
        path.write_bytes(as_bytes(lines[:cut]))
        before = by_name(dialect).read(SessionFiles("s", (path,))).messages
        mark = mark_of([path], before, by_agent=False)
        assert mark is not None
        path.write_bytes(path.read_bytes() + as_bytes(lines[cut:]))
        later = later_messages(dialect, path, mark)
        if mark.cursor:
            assert later is not None
            assert told(before) + told(later[0]) == whole
            assert later_messages(dialect, path, later[1]) == ([], later[1])


def marked(path: Path, *lines: Line, dialect: str = "claude") -> tuple[Path, str]:
    path.write_bytes(as_bytes(lines))
    return path, dialect


def _shortened(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _rewritten(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"one", b"two"))


def _replaced(path: Path) -> None:
    path.rename(path.with_suffix(".old")).with_suffix(".jsonl").write_bytes(path.with_suffix(".old").read_bytes())


@pytest.mark.parametrize("change", [_shortened, _rewritten, _replaced])
def test_a_file_that_did_not_just_grow_is_read_as_a_whole(tmp_path: Path, change: Callable[[Path], object]):
    path, dialect = marked(tmp_path / "s.jsonl", claude("user", "one"), claude("assistant", "ok", 1))
    mark = mark_of([path], by_name(dialect).read(SessionFiles("s", (path,))).messages, by_agent=False)
    assert mark is not None
    assert later_messages(dialect, path, mark) == ([], mark)
    change(path)
    assert later_messages(dialect, path, mark) is None


def test_a_tombstone_that_came_later_means_a_whole_read(tmp_path: Path):
    path, dialect = marked(tmp_path / "s.jsonl", cersei("user", "one"), dialect="cersei")
    mark = mark_of([path], by_name(dialect).read(SessionFiles("s", (path,))).messages, by_agent=False)
    assert mark is not None
    path.write_bytes(path.read_bytes() + as_bytes([tombstone("u0")]))
    assert later_messages(dialect, path, mark) is None


def test_sessions_of_several_files_or_of_packed_ones_have_no_mark(tmp_path: Path):
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "c.jsonl.zst"]
    for path in paths:
        path.write_bytes(b"{}\n")
    assert mark_of(paths[:2], [], by_agent=False) is None
    assert mark_of(paths[2:], [], by_agent=False) is None
