"""The sessions API: write, load, list, resume, hide and fork, in both dialects."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from slowwave import files
from slowwave.context import FixedClock
from slowwave.errors import NotFoundError, RefusedError, UnknownDialectError, UsageError
from slowwave.formats import ToolCall
from slowwave.formats.writing import Compaction
from slowwave.library import Sessions
from slowwave.stores.roots import held
from tests.unit.stores.store_builder import cersei, claude, tombstone, write
from tests.unit.stores.writing.written import unchanged


def numbered(first: int) -> Iterator[str]:
    return (f"00000000-0000-4000-8000-{n:012d}" for n in count(first))


def sessions_in(folder: Path, dialect: str = "cersei", part_bytes: int = 50_000_000, *, first: int = 1) -> Sessions:
    ids = numbered(first)
    clock = FixedClock(datetime(2026, 11, 21, 9, tzinfo=UTC))
    return Sessions(
        folder, dialect, clock=clock, ids=lambda: next(ids), part_bytes=part_bytes, cwd="/home/ann/shop", home=folder
    )


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def texts(sessions: Sessions, session_id: str) -> list[str]:
    return [f"{message.role}: {message.text}" for message in sessions.load(session_id)]


@pytest.mark.parametrize("dialect", ["cersei", "claude"])
def test_what_is_written_is_loaded_in_order(tmp_path: Path, dialect: str):
    sessions = sessions_in(tmp_path / "new" / "folder", dialect)
    asked = sessions.write_user_message("session-1", "fix the tests")
    answered = sessions.write_assistant_message("session-1", "I'll fix those tests.", asked)
    sessions.write_user_message("session-1", [{"type": "text", "text": "thanks"}])
    sessions.write_assistant_message("session-1", [{"type": "text", "text": "You're welcome."}])
    assert asked != answered
    assert texts(sessions, "session-1") == [
        "user: fix the tests", "assistant: I'll fix those tests.", "user: thanks", "assistant: You're welcome.",
    ]  # fmt: skip
    (row,) = sessions.list()
    assert (row.dialect, row.id, row.messages, row.first_prompt) == (dialect, "session-1", 4, "fix the tests")
    assert row.cwd == "/home/ann/shop"


@pytest.mark.parametrize("dialect", ["cersei", "claude"])
def test_what_a_person_said_is_loaded_as_typed(tmp_path: Path, dialect: str):
    sessions = Sessions(tmp_path, dialect, home=tmp_path)
    sessions.write_user_message("s", "Always use tabs.")
    sessions.write_assistant_message("s", "Yes.")
    sessions.write_user_message("s", [{"type": "text", "text": "Never push."}])
    sessions.write_assistant_message("s", "No.")
    assert [m.origin for m in sessions.load("s")] == ["typed", "model", "typed", "model"]


def test_cersei_entries_have_exactly_the_fields_of_cersei(tmp_path: Path):
    sessions = sessions_in(tmp_path)
    asked = sessions.write_user_message("abc", "hi")
    sessions.write_assistant_message("abc", "yo", asked)
    user, assistant = [json.loads(line) for line in (tmp_path / "abc.jsonl").read_bytes().splitlines()]
    assert set(user) == {"type", "uuid", "timestamp", "session_id", "cwd", "message", "is_sidechain"}
    assert assistant["parent_uuid"] == asked == user["uuid"]
    assert (user["session_id"], user["message"]) == ("abc", {"role": "user", "content": "hi"})


def test_claude_records_are_chained_to_the_last_one(tmp_path: Path):
    path = write(
        tmp_path / "s.jsonl",
        claude("user", "hi", 0, cwd="/w", gitBranch="main"),
        claude("user", "sub", 1, isSidechain=True, cwd="/sub"),
        {"type": "last-prompt", "sessionId": "s"},
    )
    with path.open("ab") as file:
        file.write(b'{"type":"user","uuid":"torn')
    sessions_in(tmp_path, "claude").write_user_message("s", "more")
    *_, torn, added = path.read_bytes().splitlines()
    record = json.loads(added)
    assert torn == b'{"type":"user","uuid":"torn'
    assert (record["parentUuid"], record["cwd"], record["gitBranch"]) == ("u0", "/w", "main")


def test_an_existing_session_is_written_in_its_own_dialect(tmp_path: Path):
    write(tmp_path / "s.jsonl", claude("user", "hi"))
    sessions = sessions_in(tmp_path, "cersei")
    sessions.write_assistant_message("s", "yo")
    assert texts(sessions, "s") == ["user: hi", "assistant: yo"]
    write(tmp_path / "bare.jsonl", {"role": "user", "content": "hi"})
    sessions.write_assistant_message("bare", "yo")
    assert json.loads((tmp_path / "bare.jsonl").read_bytes().splitlines()[1]) == {"role": "assistant", "content": "yo"}


def test_a_tombstone_hides_a_message_and_keeps_its_bytes(tmp_path: Path):
    sessions = sessions_in(tmp_path)
    sessions.write_user_message("abc", "first")
    middle = sessions.write_user_message("abc", "second")
    sessions.write_user_message("abc", "third")
    before = (tmp_path / "abc.jsonl").read_bytes()
    sessions.tombstone("abc", middle)
    assert texts(sessions, "abc") == ["user: first", "user: third"]
    assert (tmp_path / "abc.jsonl").read_bytes().startswith(before)
    assert sessions.list()[0].messages == 2


def test_claude_code_knows_no_tombstones(tmp_path: Path):
    path = write(tmp_path / "s.jsonl", claude("user", "hi"))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="tombstones"):
        sessions_in(tmp_path).tombstone("s", "u0")
    assert path.read_bytes() == before


def test_a_tombstone_needs_a_session(tmp_path: Path):
    with pytest.raises(NotFoundError):
        sessions_in(tmp_path).tombstone("nothing", "u0")
    assert list(tmp_path.iterdir()) == []


def test_a_session_forks_into_parts_and_stays_one(tmp_path: Path):
    sessions = sessions_in(tmp_path, part_bytes=1000)
    made = [sessions.write_user_message("abc", f"message {n} " + "x" * 200) for n in range(12)]
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["abc.jsonl", *(f"abc_part{n}.jsonl" for n in range(2, 7))]
    assert all(p.stat().st_size <= 1000 for p in tmp_path.iterdir())
    sessions.tombstone("abc", made[0])
    assert [t.split()[2] for t in texts(sessions, "abc")] == [str(n) for n in range(1, 12)]
    (row,) = sessions.list()
    assert (row.parts, row.messages, row.bytes) == (6, 11, sum(p.stat().st_size for p in tmp_path.iterdir()))


def test_a_compaction_of_cersei_is_a_summary_of_all_messages_before_it(tmp_path: Path):
    sessions = sessions_in(tmp_path, part_bytes=300)
    for text in ("a", "b", "c"):
        sessions.write_user_message("abc", text)
    sessions.compact("abc", Compaction("they said a, b and c"))
    sessions.write_user_message("abc", "d")
    sessions.compact("abc", Compaction("they said d", messages=1))
    (shown,) = texts(sessions, "abc")
    assert "they said d" in shown
    with pytest.raises(NotFoundError, match="shows no message"):
        sessions.compact("abc", Compaction("x", keep_from="u"))


def test_old_messages_of_cersei_are_replaced_by_the_summary_and_the_recent_ones_preserved(tmp_path: Path):
    sessions = sessions_in(tmp_path, part_bytes=300)
    made = [sessions.write_user_message("abc", text) for text in "abcdef"]
    sessions.compact("abc", Compaction("they said a and b", keep_from=made[2]))
    assert texts(sessions, "abc") == [f"user: {text}" for text in ("they said a and b", *"cdef")]
    sessions.compact("abc", Compaction("they said a to d", keep_from=made[4]))
    sessions.write_user_message("abc", "g")
    assert texts(sessions, "abc") == [f"user: {text}" for text in ("they said a to d", *"efg")]
    with pytest.raises(NotFoundError, match="shows no message"):  # hidden by now
        sessions.compact("abc", Compaction("x", keep_from=made[0]))


def test_results_of_tools_are_blocks_of_a_user_entry(tmp_path: Path):
    sessions = sessions_in(tmp_path)
    sessions.write_assistant_message("abc", [ToolCall("c1", "Read", {"file_path": "a.py"})])
    sessions.write_tool_result("abc", "c1", "print()", is_error=True)
    called, answered = sessions.load("abc")
    assert called.calls == (ToolCall("c1", "Read", {"file_path": "a.py"}),)
    assert (answered.results[0].text, answered.results[0].is_error) == ("print()", True)


@pytest.mark.parametrize("operation", ["label", "branch", "name"])
def test_what_cersei_has_no_record_for_is_refused(tmp_path: Path, operation: str):
    sessions = sessions_in(tmp_path)
    made = sessions.write_user_message("abc", "hi")
    before = (tmp_path / "abc.jsonl").read_bytes()
    attempts = {
        "label": lambda: sessions.label("abc", made, "x"),
        "branch": lambda: sessions.branch("abc", made, "x"),
        "name": lambda: sessions.name("abc", "x"),
    }
    with pytest.raises(UsageError, match="cersei has no"):
        attempts[operation]()
    assert (tmp_path / "abc.jsonl").read_bytes() == before


def test_a_branch_of_cersei_holds_everything_up_to_a_message_and_what_hides_it(tmp_path: Path):
    sessions = sessions_in(tmp_path, part_bytes=600)
    made = [sessions.write_user_message("orig", f"message {n}") for n in range(6)]
    sessions.tombstone("orig", made[1])
    sessions.tombstone("orig", made[5])
    new = sessions.fork("orig", at=made[3])
    assert texts(sessions, new) == [f"user: message {n}" for n in (0, 2, 3)]
    hidden = [e["deleted_uuid"] for f in tmp_path.glob(f"{new}*") for e in lines(f) if e["type"] == "tombstone"]
    assert hidden == [made[1]]
    with pytest.raises(NotFoundError, match="shows no message"):
        sessions.fork("orig", at=made[1])


def test_summaries_are_read_by_mode(tmp_path: Path):
    sessions = sessions_in(tmp_path)
    for text in ("a", "b", "c"):
        sessions.write_user_message("abc", text)
    sessions.write_summary("abc", "they said a, b and c", 3)
    sessions.write_user_message("abc", "d")
    seed = texts(sessions, "abc")
    assert len(seed) == 2
    assert "they said a, b and c" in seed[0]
    sessions.mode = "code"
    assert texts(sessions, "abc") == ["user: a", "user: b", "user: c", "user: d"]


def test_resume_by_id_by_beginning_and_most_recent(tmp_path: Path):
    sessions = sessions_in(tmp_path)
    assert sessions.last_session_id() is None
    for number, name in enumerate(("abc12345", "abd", "def")):
        sessions.write_user_message(name, name)
        os.utime(tmp_path / f"{name}.jsonl", (number, number))
    write(tmp_path / "agent-9.jsonl", claude("user", "go", isSidechain=True))
    assert sessions.last_session_id() == "def"
    assert texts(sessions, "abc") == ["user: abc12345"]
    with pytest.raises(NotFoundError, match="matches 2"):
        sessions.load("ab")
    with pytest.raises(NotFoundError):
        sessions.load("nope")


def test_the_last_session_of_parts_is_the_session(tmp_path: Path):
    sessions = sessions_in(tmp_path, part_bytes=300)
    for _ in range(4):
        sessions.write_user_message("abc", "x" * 100)
    assert (tmp_path / "abc_part2.jsonl").exists()
    assert sessions.last_session_id() == "abc"


@pytest.mark.parametrize("dialect", ["cersei", "claude"])
def test_a_fork_has_the_same_messages_and_ids_and_its_own_session_id(tmp_path: Path, dialect: str):
    sessions = sessions_in(tmp_path, dialect)
    first = sessions.write_user_message("orig", 'the id "orig" is "sessionId":"orig", "session_id":"orig"')
    sessions.write_assistant_message("orig", "ok", first)
    before = (tmp_path / "orig.jsonl").read_bytes()
    made = sessions.fork("orig")
    assert (tmp_path / "orig.jsonl").read_bytes() == before
    assert texts(sessions, made) == texts(sessions, "orig")
    old, new = [
        [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_bytes().splitlines()] for name in ("orig", made)
    ]
    key = "sessionId" if dialect == "claude" else "session_id"
    assert [line["uuid"] for line in new] == [line["uuid"] for line in old]
    assert {line[key] for line in new} == {made}
    for line in new:
        line.pop("forkedFrom" if dialect == "claude" else "forked_from")
    assert [line | {key: "orig"} for line in new] == old
    assert {row.id: row.kind for row in sessions.list()} == {"orig": "main", made: "fork"}


def test_a_fork_of_claude_code_copies_messages_only_and_every_byte_of_them(tmp_path: Path):
    odd = (
        b'{ "type" : "user", "sessionId" : "orig" , "uuid":"u1","n":1.0,"big":12345678901234567890123,'
        b'"message":{"role":"user","content":"caf\\u00e9 \xe2\x80\xa8"} }'
    )
    write(tmp_path / "orig.jsonl", {"type": "last-prompt", "sessionId": "orig"}, odd, b"garbage {")
    sessions = sessions_in(tmp_path, "claude")
    made = sessions.fork("orig")
    data = (tmp_path / f"{made}.jsonl").read_bytes()
    expected = odd.replace(b'"orig"', json.dumps(made).encode())[:-2]
    assert data.startswith(expected)
    assert data.count(b"\n") == 1


def test_a_summary_counts_parts_that_were_begun_since_the_session_was_found(tmp_path: Path):
    sessions = sessions_in(tmp_path, part_bytes=700)
    sessions.write_user_message("s", "0 " + "x" * 100)
    opened = sessions.writers.known(sessions.find("s"))
    for n in range(1, 8):
        sessions_in(tmp_path, part_bytes=700, first=10 * n).write_user_message("s", f"{n} " + "x" * 100)
    with held(opened) as (writer, target):
        assert len(target.files) == 1
        writer.compaction(target, Compaction("they counted"))
    assert len(texts(sessions, "s")) == 1


def test_a_session_whose_first_part_is_gone_is_written_to_at_its_end(tmp_path: Path):
    sessions = sessions_in(tmp_path, part_bytes=700)
    for n in range(8):
        sessions.write_user_message("s", f"{n} " + "x" * 100)
    parts = sorted(path.name for path in tmp_path.iterdir())
    (tmp_path / "s.jsonl").unlink()
    again = sessions_in(tmp_path, first=100)
    again.write_user_message("s", "the last one")
    assert sorted(path.name for path in tmp_path.iterdir()) == parts
    assert texts(again, "s")[-1] == "user: the last one"


def test_a_parent_is_named_by_answers_of_cersei_only_and_must_be_there(tmp_path: Path):
    sessions = sessions_in(tmp_path)
    first = sessions.write_user_message("s", "one")
    path = tmp_path / "s.jsonl"
    with pytest.raises(NotFoundError, match="no message 'nope'"):
        unchanged(path, lambda: sessions.write_assistant_message("s", "1", "nope"))
    with pytest.raises(UsageError, match="names no parent"):
        unchanged(path, lambda: sessions.write_user_message("s", "two", parent=first))
    bare = write(tmp_path / "bare.jsonl", {"role": "user", "content": "one"})
    with pytest.raises(UsageError, match="have no ids"):
        unchanged(bare, lambda: sessions.write_assistant_message("bare", "1", first))


def test_a_fork_of_cersei_keeps_tombstones_and_parts(tmp_path: Path):
    sessions = sessions_in(tmp_path, part_bytes=700)
    made = [sessions.write_user_message("orig", f"{n} " + "x" * 100) for n in range(8)]
    sessions.tombstone("orig", made[3])
    copy = sessions.fork("orig")
    assert texts(sessions, copy) == texts(sessions, "orig")
    assert len(texts(sessions, copy)) == 7
    assert (tmp_path / f"{copy}_part2.jsonl").exists()
    assert all(p.stat().st_size <= 700 for p in tmp_path.glob(f"{copy}*"))


def test_a_fork_replaces_no_file_that_somebody_made_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sessions = sessions_in(tmp_path, part_bytes=700)
    for n in range(8):
        sessions.write_user_message("orig", f"{n} " + "x" * 100)
    before = sorted(tmp_path.iterdir())
    theirs: list[Path] = []

    def be_faster(event: str, path: str) -> None:
        if event == "link" and "_part" not in Path(path).name:
            theirs.append(write(Path(path), cersei("user", "mine")))

    monkeypatch.setattr(files, "fault_hook", be_faster)
    with pytest.raises(UsageError, match="somebody else"):
        sessions.fork("orig")
    assert theirs[0].read_bytes().count(b"mine") == 1
    assert sorted(tmp_path.iterdir()) == sorted([*before, *theirs])


def test_a_session_without_messages_cannot_be_forked(tmp_path: Path):
    write(tmp_path / "s.jsonl", {"type": "summary", "summary": "x", "leafUuid": "u"})
    with pytest.raises(Exception, match="no message to copy"):
        sessions_in(tmp_path).fork("s")
    assert [p.name for p in tmp_path.iterdir()] == ["s.jsonl"]


@pytest.mark.parametrize("session_id", ["../x", "a/b", "", ".", "x_part2", "a\nb"])
def test_hostile_ids_write_nothing(tmp_path: Path, session_id: str):
    folder = tmp_path / "in" / "folder"
    folder.mkdir(parents=True)
    with pytest.raises(UsageError):
        sessions_in(folder).write_user_message(session_id, "hi")
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_text_that_is_no_unicode_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="not valid text"):
        sessions_in(tmp_path).write_user_message("s", "bad \ud800 text")
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_a_client_has_open_is_not_written_to(tmp_path: Path):
    sessions = sessions_in(tmp_path)
    made = sessions.write_user_message("s", "hi")
    before = (tmp_path / "s.jsonl").read_bytes()
    claims = tmp_path / ".claude" / "sessions"
    claims.mkdir(parents=True)
    (claims / f"{os.getpid()}.json").write_text(json.dumps({"sessionId": "s"}))
    for write_it in (
        lambda: sessions.write_user_message("s", "more"),
        lambda: sessions.tombstone("s", made),
        lambda: sessions.write_summary("s", "x", 1),
    ):
        with pytest.raises(RefusedError, match=f"process {os.getpid()}"):
            write_it()
    assert (tmp_path / "s.jsonl").read_bytes() == before
    sessions.write_user_message("other", "fine")


@pytest.mark.parametrize("dialect", ["codex", "opencode", "openclaw"])
def test_no_session_is_begun_in_a_dialect_whose_client_alone_begins_one(tmp_path: Path, dialect: str):
    with pytest.raises(UsageError, match=dialect):
        sessions_in(tmp_path, dialect).write_user_message("new", "hi")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_file_is_neither_read_nor_written(tmp_path: Path):
    path = write(tmp_path / "s.jsonl", {"foo": 1})
    before = path.read_bytes()
    with pytest.raises(UnknownDialectError):
        sessions_in(tmp_path).load("s")
    with pytest.raises(UnknownDialectError):
        sessions_in(tmp_path).write_user_message("s", "hi")
    assert path.read_bytes() == before


def test_a_tombstone_may_come_before_its_message(tmp_path: Path):
    write(tmp_path / "s.jsonl", tombstone("00000000-0000-4000-8000-000000000001"))
    sessions = sessions_in(tmp_path)
    sessions.write_user_message("s", "never seen")
    sessions.write_user_message("s", "seen")
    assert texts(sessions, "s") == ["user: seen"]


_WRITER = """
import sys
from pathlib import Path
from slowwave.library import Sessions
folder, name, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sessions = Sessions(folder, part_bytes=20_000, home=folder)
for number in range(times):
    sessions.write_user_message("s", f"{name}-{number} " + "x" * 100)
"""


def test_writers_in_several_processes_lose_and_merge_nothing(tmp_path: Path):
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path), str(n), "60"]) for n in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    sessions = sessions_in(tmp_path)
    got = sorted(text.split()[1] for text in texts(sessions, "s"))
    assert got == sorted(f"{name}-{number}" for name in range(3) for number in range(60))
    transcript = sessions.transcript("s")
    assert (transcript.records, transcript.problems) == (180, [])
    assert len(transcript.files.paths) > 1
