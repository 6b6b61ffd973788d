"""pi's own tests of ``file-operations.test.ts``, by their names: finding the newest session, and damaged files.

Deviation, asserted by the tests that say so: pi truncates a file without a header and writes a new one into it;
slowwave never changes what it cannot read. ``loadEntriesFromFile`` is tested in ``test_pi_reading.py``.
"""

import os
from pathlib import Path

import pytest

from slowwave.errors import SlowwaveError, UnreadableError, UsageError
from slowwave.formats.writing import Compaction
from slowwave.library import Sessions
from tests.conformance.pi_manager import Manager, Ticking
from tests.unit.formats.pi_files import HEADER, Session

VALID = b'{"type":"session","id":"abc","timestamp":"2025-01-01T00:00:00Z","cwd":"/tmp"}\n'
HEADLESS = (
    b'{"type":"message","id":"abc","parentId":"orphaned","timestamp":"2025-01-01T00:00:00Z",'
    b'"message":{"role":"assistant","content":"test"}}\n'
)


def newest(folder: Path) -> str | None:
    return sessions_in(folder).last_session_id()


def sessions_in(folder: Path) -> Sessions:
    return Sessions(folder, "pi", clock=Ticking(), cwd="/home/ann/shop", home=folder)


def put(folder: Path, name: str, data: bytes, at: int) -> Path:
    path = folder / name
    path.write_bytes(data)
    os.utime(path, (at, at))
    return path


class TestFindMostRecentSession:
    def test_returns_null_for_empty_directory(self, tmp_path: Path) -> None:
        assert newest(tmp_path) is None

    def test_returns_null_for_non_existent_directory(self, tmp_path: Path) -> None:
        assert newest(tmp_path / "nonexistent") is None

    def test_ignores_non_jsonl_files(self, tmp_path: Path) -> None:
        put(tmp_path, "file.txt", b"hello", 1)
        put(tmp_path, "file.json", b"{}", 1)
        assert newest(tmp_path) is None

    def test_ignores_jsonl_files_without_valid_session_header(self, tmp_path: Path) -> None:
        put(tmp_path, "invalid.jsonl", b'{"type":"message"}\n', 1)
        assert newest(tmp_path) is None

    def test_returns_single_valid_session_file(self, tmp_path: Path) -> None:
        put(tmp_path, "session.jsonl", VALID, 1)
        assert newest(tmp_path) == "session"

    def test_returns_most_recently_modified_session(self, tmp_path: Path) -> None:
        put(tmp_path, "newer.jsonl", VALID, 2)
        put(tmp_path, "older.jsonl", VALID, 1)
        assert newest(tmp_path) == "newer"

    def test_skips_invalid_files_and_returns_valid_one(self, tmp_path: Path) -> None:
        put(tmp_path, "valid.jsonl", VALID, 1)
        put(tmp_path, "invalid.jsonl", b'{"type":"not-session"}\n', 2)
        assert newest(tmp_path) == "valid"

    def test_a_long_header_does_not_hide_a_session_as_it_does_from_pi(self, tmp_path: Path) -> None:
        put(tmp_path, "long.jsonl", VALID.replace(b"/tmp", b"/" + b"d" * 5000), 1)
        assert newest(tmp_path) == "long"


@pytest.mark.parametrize("data", [b"", HEADLESS, b"garbage content\n", b'{"type":"not-session"}\n'])
def test_a_file_that_pi_truncates_and_rewrites_keeps_every_byte(tmp_path: Path, data: bytes) -> None:
    path = put(tmp_path, "damaged.jsonl", data, 1)
    sessions = sessions_in(tmp_path)
    for attempt in (
        lambda: sessions.load("damaged"),
        lambda: sessions.label("damaged", "abc", "x"),
        lambda: sessions.compact("damaged", Compaction("S", "abc")),
        lambda: sessions.fork("damaged"),
        lambda: sessions.write_user_message("damaged", "hello"),
        lambda: sessions.write_assistant_message("damaged", "hi"),
    ):
        try:
            attempt()
        except SlowwaveError:
            continue
    assert path.read_bytes() == data


def test_truncates_and_rewrites_empty_file_with_valid_header_is_a_file_of_its_own_here(tmp_path: Path) -> None:
    put(tmp_path, "empty.jsonl", b"", 1)
    sessions = sessions_in(tmp_path)
    sessions.write_assistant_message("empty", "ready")
    (made,) = [p for p in tmp_path.iterdir() if p.name != "empty.jsonl"]
    assert made.read_bytes().startswith(b'{"type":"session","version":3,"id":"empty"')


def test_truncates_and_rewrites_file_without_valid_header_is_refused_here(tmp_path: Path) -> None:
    put(tmp_path, "headless.jsonl", HEADLESS, 1)
    with pytest.raises(UnreadableError, match="no header"):
        sessions_in(tmp_path).write_assistant_message("headless", "hi")


def test_subsequent_loads_of_a_damaged_file_say_the_same(tmp_path: Path) -> None:
    put(tmp_path, "headless.jsonl", HEADLESS, 1)
    assert sessions_in(tmp_path).load("headless") == []
    assert [m.text for m in sessions_in(tmp_path).transcript("headless").messages] == ["test"]


def test_preserves_explicit_session_file_path(tmp_path: Path) -> None:
    put(tmp_path, "my-session.jsonl", Session().data(), 1)
    manager = Manager(tmp_path, id="my-session")
    manager.model("hello")
    assert [p.name for p in tmp_path.iterdir()] == ["my-session.jsonl"]


def test_goes_on_from_a_session_without_an_answer_and_doubles_nothing_as_pi_does(tmp_path: Path) -> None:
    session = Session()
    session.add("model_change", provider="p", modelId="m")
    session.user("asked")
    manager = Manager(tmp_path, session)
    before = session.data()
    made = [manager.user("more"), manager.model("answer")]
    assert manager.transcript.files.paths[0].read_bytes().startswith(before)
    assert manager.ids == ["e1", "e2", *made]
    assert sum(e.type == "session" for e in manager.transcript.loaded.entries) == 1


def test_an_append_after_a_torn_tail_is_read_and_the_torn_bytes_stay(tmp_path: Path) -> None:
    session = Session()
    session.user("kept")
    session.model("answer")
    path = put(tmp_path, "s1.jsonl", session.data() + b'{"type":"message","id":"e3","pare', 1)
    manager = Manager(tmp_path)
    made = manager.user("after")
    assert manager.path == ["e1", "e2", made]
    assert b'"pare\n{"type"' in path.read_bytes()


class TestMigration:
    def v1(self, folder: Path) -> Manager:
        session = Session({k: v for k, v in HEADER.items() if k != "version"})
        session.user("hello")
        session.model("hi")
        session.lines = [
            line.replace(b'"id": "e1", "parentId": null, ', b"").replace(b'"id": "e2", "parentId": "e1", ', b"")
            for line in session.lines
        ]
        return Manager(folder, session)

    def test_v1_gets_ids_and_a_chain_in_memory_and_stays_as_it_is_on_disk(self, tmp_path: Path) -> None:
        manager = self.v1(tmp_path)
        (path,) = tmp_path.iterdir()
        before = path.read_bytes()
        assert b'"id"' not in before.partition(b"\n")[2]
        first, second = manager.ids
        assert manager.parents == [None, first]
        assert len({first, second}) == 2
        with pytest.raises(UsageError, match="version 1"):
            manager.user("more")
        assert path.read_bytes() == before

    def test_v1_is_migrated_in_a_fork_and_migrating_again_changes_nothing(self, tmp_path: Path) -> None:
        manager = self.v1(tmp_path)
        copy = manager.sessions.fork("s1")
        manager.id = copy
        assert manager.transcript.loaded.version == 3
        ids = manager.ids
        assert manager.parents == [None, ids[0]]
        manager.id = manager.sessions.fork(copy)
        assert manager.ids == ids
        assert manager.context() == ["user: hello", "assistant: hi"]
