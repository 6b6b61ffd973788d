"""What a session of opencode says to a reader, in whatever form it is kept."""

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from slowwave.errors import UnreadableError
from slowwave.formats import Injected, Other, SessionFiles, Text, Thinking, ToolCall, ToolResult
from slowwave.formats.opencode.dialect import OPENCODE
from tests.unit.formats.opencode_files import SESSION, Session, database, done, read, spoken, tables, tool, words

FORMS: dict[str, Callable[[Session, Path], Path]] = {
    "export": Session.export,
    "export on one line": lambda session, folder: session.export(folder, indent=None),
    "tree": Session.tree,
    "old tree": Session.old_tree,
    "database": lambda session, folder: database(folder, session),
}


def worked() -> Session:
    session = Session()
    session.user("List the files")
    session.answer(
        {"type": "reasoning", "text": "hm"},
        words("Let me look."),
        done("a.txt"),
        tool("c2", status="error", error="no"),
    )
    session.answer(words("One file."))
    return session


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(tmp_path: Path, form: str) -> None:
    transcript = read(FORMS[form](worked(), tmp_path))
    assert [(m.role, m.origin, m.blocks) for m in transcript.messages] == [
        ("user", "typed", (Text("List the files"),)),
        (
            "assistant",
            "model",
            (
                Thinking("hm"),
                Text("Let me look."),
                ToolCall("c1", "bash", {"command": "ls"}),
                ToolCall("c2", "bash", {"command": "ls"}),
            ),
        ),
        ("tool", "tool", (ToolResult("c1", "a.txt"),)),
        ("tool", "tool", (ToolResult("c2", "no", is_error=True),)),
        ("assistant", "model", (Text("One file."),)),
    ]
    assert (transcript.records, transcript.problems, transcript.unknown_types) == (14, [], {})
    assert (transcript.title, transcript.kind, transcript.messages[0].cwd) == ("Fix it", "main", "/w")


@pytest.mark.parametrize("form", ["export", "export on one line", "tree", "old tree"])
def test_every_span_is_in_its_file(tmp_path: Path, form: str) -> None:
    transcript = read(FORMS[form](worked(), tmp_path))
    spans = [span for message in transcript.messages for span in message.sources]
    assert len(spans) == 8
    for span in spans:
        data = transcript.files.paths[span.part].read_bytes()
        assert data[span.offset : span.offset + len(span.raw)] == span.raw
        assert data.count(b"\n", 0, span.offset) == span.number - 1


def test_rows_have_ranks_for_offsets(tmp_path: Path) -> None:
    transcript = read(database(tmp_path, worked()))
    spans = [span for message in transcript.messages for span in message.sources]
    assert json.loads(spans[0].raw)["text"] == "List the files"
    assert [span.offset for span in spans][:3] == [3, 5, 6]


def test_what_the_harness_wrote_is_injected(tmp_path: Path) -> None:
    session = Session()
    session.add(
        "user", words("Look at @a.py"), words("1: x = 1", synthetic=True), {"type": "file", "mime": "text/plain"}
    )
    session.user("Continue if you have next steps", synthetic=True)
    session.user("not sent", ignored=True)
    first, second, third = read(session.export(tmp_path)).messages
    assert (first.origin, first.blocks) == ("typed", (Text("Look at @a.py"), Injected("1: x = 1"), Other("file")))
    assert (second.origin, third.origin) == ("injected", "injected")


def test_a_child_session_is_a_sub_agent_whose_task_nobody_typed(tmp_path: Path) -> None:
    session = Session(parentID="ses_parent")
    session.user("Search it")
    transcript = read(session.export(tmp_path))
    assert transcript.kind == "subagent"
    assert (transcript.messages[0].origin, transcript.messages[0].text) == ("injected", "")


def test_a_summary_is_one(tmp_path: Path) -> None:
    session = worked()
    session.compact("We listed them")
    assert [m.origin for m in read(session.export(tmp_path)).messages][-2:] == ["injected", "summary"]


def test_an_open_call_has_no_result_and_a_pruned_one_keeps_its_output_for_readers(tmp_path: Path) -> None:
    session = Session()
    session.answer(tool(status="running"), done("old", "c2", time={"compacted": 1}))
    messages = read(session.export(tmp_path)).messages
    assert [r for m in messages for r in m.results] == [ToolResult("c2", "old")]


def test_unknown_parts_and_roles_are_counted(tmp_path: Path) -> None:
    session = Session()
    session.answer({"type": "novelty"}, {"type": "novelty"})
    session.add("oracle", words("x"))
    transcript = read(session.export(tmp_path))
    assert transcript.unknown_types == {"part novelty": 2, "role oracle": 1}
    assert (transcript.messages[-1].origin, transcript.messages[-1].blocks) == ("injected", (Injected("x"),))


def test_of_a_torn_export_everything_whole_is_read(tmp_path: Path) -> None:
    path = worked().export(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"One file.")])
    transcript = read(path)
    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [p.kind for p in transcript.problems] == ["torn"]
    assert transcript.messages[-1].blocks == ()


def test_every_prefix_of_an_export_is_read_without_an_exception(tmp_path: Path) -> None:
    session = Session()
    session.user("naïve 🙂")
    session.answer(words("ok"), done("x"))
    path = session.export(tmp_path, indent=None)
    data = path.read_bytes()
    counts: list[int] = []
    for size in range(len(data)):
        path.write_bytes(data[:size])
        counts.append(len(read(path).messages))
    assert counts == sorted(counts)
    assert counts[-1] == 3


def test_files_of_a_tree_that_are_no_json_are_reported(tmp_path: Path) -> None:
    path = worked().tree(tmp_path)
    folder = tmp_path / "storage" / "message" / SESSION
    (folder / "msg_zzz.json").write_bytes(b'{"id": "msg_zzz", ')
    (folder / "other.txt").write_bytes(b"x")
    shutil.rmtree(tmp_path / "storage" / "part" / min(folder.iterdir()).stem)
    transcript = read(path)
    assert [p.kind for p in transcript.problems] == ["torn"]
    assert len(transcript.messages) == 5
    assert transcript.messages[0].blocks == ()


@pytest.mark.parametrize("identity", ["../../etc", "", "a/b", "."])
def test_ids_that_are_no_names_lead_nowhere(tmp_path: Path, identity: str) -> None:
    path = worked().tree(tmp_path)
    path.write_text(json.dumps({"id": identity, "title": "x"}), encoding="utf-8")
    transcript = read(path)
    assert (transcript.messages, [p.kind for p in transcript.problems]) == ([], ["garbage"])


def test_a_database_gives_its_oldest_root_session_or_the_named_one(tmp_path: Path) -> None:
    child = Session("ses_child", parentID=SESSION, time={"created": 1})
    newer = Session("ses_newer", time={"created": 3})
    older = Session("ses_older", time={"created": 2})
    for session in (child, newer, older):
        session.user(session.info["id"])
    path = database(tmp_path, child, newer, older)
    assert spoken(path) == ["u:ses_older"]
    assert spoken(path, "ses_newer") == ["u:ses_newer"]
    assert read(path, "ses_child").kind == "subagent"
    assert read(path).files == SessionFiles("ses_older", (path,))


def test_a_database_without_a_log_is_read_without_a_trace(tmp_path: Path) -> None:
    path = database(tmp_path, worked())
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=WAL")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert len(read(path).messages) == 5
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_what_stands_only_in_the_log_is_read(tmp_path: Path) -> None:
    path, copied = tmp_path / "opencode.db", tmp_path / "copied"
    copied.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA wal_autocheckpoint=0")
        tables(db)
        worked().rows(db)
        before = path.read_bytes(), Path(f"{path}-wal").read_bytes()
        assert len(read(path).messages) == 5
        assert (path.read_bytes(), Path(f"{path}-wal").read_bytes()) == before
        for name in ("opencode.db", "opencode.db-wal"):
            shutil.copyfile(tmp_path / name, copied / name)
    assert len(read(copied / "opencode.db").messages) == 5
    assert sorted(p.name for p in copied.iterdir()) == ["opencode.db", "opencode.db-wal"]


def test_a_part_without_its_message_is_reported(tmp_path: Path) -> None:
    path = database(tmp_path, worked())
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM message WHERE id = (SELECT message_id FROM part WHERE data LIKE '%List the files%')")
        db.commit()
    transcript = read(path)
    assert [p.kind for p in transcript.problems] == ["gap"]
    assert "List" not in "".join(m.text for m in transcript.messages)


def test_rows_that_are_no_json_are_reported(tmp_path: Path) -> None:
    path = database(tmp_path, worked())
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE part SET data = '{' WHERE data LIKE '%One file%'")
        db.execute("UPDATE part SET data = CAST(? AS TEXT) WHERE data LIKE '%hm%'", (b'{"type":"text","text":"\xff"}',))
        db.commit()
    transcript = read(path)
    assert [p.kind for p in transcript.problems] == ["garbage"]
    assert transcript.messages[1].blocks[0] == Text("\ufffd")


@pytest.mark.parametrize("content", [b"SQLite format 3\0" + b"x" * 100, b"SQLite format 3\0"])
def test_what_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(content)
    with pytest.raises(UnreadableError, match="opencode"):
        read(path)


def test_a_database_without_sessions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="without a session"):
        OPENCODE.read(SessionFiles("x", (database(tmp_path),)))


@pytest.mark.parametrize(("code", "failed"), [(0, False), (3, True), (None, False)])
def test_a_command_that_ended_with_an_exit_code_failed(tmp_path: Path, code: int | None, failed: bool) -> None:
    session = Session()
    session.answer(done("no", metadata={"exit": code}))
    assert read(session.export(tmp_path)).messages[-1].results == (ToolResult("c1", "no", is_error=failed),)


def read_as_nobody(path: Path) -> int:
    """Read a session in a process that may write nowhere near it, and return how many messages it found."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        found = 255
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            found = len(read(path).messages)
        finally:
            os.write(sender, bytes((found,)))
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as answer:
        found = answer.read()[0]
    os.waitpid(child, 0)
    return found


@pytest.mark.parametrize("left", ["", "-wal", "-wal -shm"])
def test_a_database_is_read_where_nothing_may_be_written(left: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, other = Path(folder, "opencode.db"), Path(folder, "copied")
        other.mkdir()
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA wal_autocheckpoint=0")
            tables(db)
            worked().rows(db)
            if not left:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for suffix in ("", *left.split()):
                shutil.copyfile(f"{path}{suffix}", f"{other / path.name}{suffix}")
        before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in other.iterdir()}
        for file in other.iterdir():
            file.chmod(0o444)
        Path(folder).chmod(0o755)
        other.chmod(0o555)
        assert read_as_nobody(other / path.name) == 5
        assert {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in other.iterdir()} == before
        other.chmod(0o755)
