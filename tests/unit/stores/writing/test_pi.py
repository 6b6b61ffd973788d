"""Writing pi's sessions: one entry a line under the leaf, nothing on disk before the first answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import NotFoundError, UnreadableError, UsageError
from slowwave.formats import SessionFiles, Text, ToolCall
from slowwave.formats.pi import write as pi
from slowwave.formats.pi.dialect import PI, PiTranscript
from slowwave.formats.writing import Compaction
from slowwave.library import Sessions
from tests.unit.formats.pi_files import HEADER, Session, call
from tests.unit.stores.writing.written import records, sessions_in, texts, unchanged

ID = "01a20006-4850-7187-9c46-f871573043ed"


def begun(tmp_path: Path) -> tuple[Sessions, Path]:
    """Return a session of pi with two turns."""
    made = Session()
    made.user("one")
    made.model("1")
    made.user("two")
    made.model("2")
    return stored(tmp_path, made.data())


def stored(tmp_path: Path, data: bytes) -> tuple[Sessions, Path]:
    path = tmp_path / f"2026-03-15T10-00-00-000Z_{ID}.jsonl"
    path.write_bytes(data)
    return sessions_in(tmp_path), path


def read(path: Path) -> PiTranscript:
    return PI.read(SessionFiles(ID, (path,)))


def test_nothing_is_on_disk_before_the_first_answer_and_everything_after_it(tmp_path: Path):
    sessions = sessions_in(tmp_path / "new", "pi")
    first = sessions.write_user_message(ID, "hello")
    sessions.write_user_message(ID, "are you there?")
    assert not (tmp_path / "new").exists()
    answer = sessions.write_assistant_message(ID, "yes")
    (path,) = (tmp_path / "new").iterdir()
    assert path.name == f"2026-11-21T09-00-00-000Z_{ID}.jsonl"
    header, asked, again, answered = records(path)
    assert header == {
        "type": "session", "version": 3, "id": ID, "timestamp": "2026-11-21T09:00:00.000Z", "cwd": "/home/ann/shop",
    }  # fmt: skip
    assert [e["parentId"] for e in (asked, again, answered)] == [None, first, again["id"]]
    assert answered["id"] == answer
    assert list(answered) == ["type", "id", "parentId", "timestamp", "message"]
    sessions.write_user_message(ID, "good")
    assert texts(sessions, ID) == ["user: hello", "user: are you there?", "assistant: yes", "user: good"]


def test_names_and_labels_wait_for_the_first_answer_too(tmp_path: Path):
    sessions = sessions_in(tmp_path, "pi")
    asked = sessions.write_user_message(ID, "hello")
    sessions.name(ID, "  greeting ")
    sessions.label(ID, asked, "start")
    assert list(tmp_path.iterdir()) == []
    sessions.write_assistant_message(ID, "hi")
    (path,) = tmp_path.glob("*.jsonl")
    whole = read(path)
    assert (whole.title, whole.labels) == ("greeting", {asked: "start"})


@pytest.mark.parametrize("kind", ["label", "session_info", "custom"])
def test_every_entry_hangs_under_the_last_line_whatever_that_is(tmp_path: Path, kind: str):
    made = Session()
    made.user("one")
    made.model("1")
    last = made.add(kind, targetId="e1", label="x", name="n", customType="c")
    sessions, path = stored(tmp_path, made.data())
    sessions.write_user_message(ID, "two")
    assert records(path)[-1]["parentId"] == last
    assert texts(sessions, ID) == ["user: one", "assistant: 1", "user: two"]


def test_a_last_line_without_an_id_hides_nothing_from_what_is_appended(tmp_path: Path):
    made = Session()
    made.user("one")
    made.model("1")
    sessions, path = stored(tmp_path, made.data() + b'{"type":"telemetry"}\n')
    assert texts(sessions, ID) == []  # as pi itself would see it
    sessions.write_user_message(ID, "two")
    assert records(path)[-1]["parentId"] == "e2"
    assert texts(sessions, ID) == ["user: one", "assistant: 1", "user: two"]


def test_a_torn_tail_gets_a_line_of_its_own(tmp_path: Path):
    sessions, path = begun(tmp_path)
    with path.open("ab") as file:
        file.write(b'{"type":"message","id":"torn')
    before = path.read_bytes()
    sessions.write_user_message(ID, "three")
    assert path.read_bytes().startswith(before + b"\n{")
    assert texts(sessions, ID)[-2:] == ["assistant: 2", "user: three"]


def test_answers_name_the_model_that_the_session_goes_on_with(tmp_path: Path):
    made = Session()
    made.user("one")
    made.model("1")
    sessions, path = stored(tmp_path, made.data())
    second = sessions.write_assistant_message(ID, "2")
    message = records(path)[-1]["message"]
    assert (message["provider"], message["model"], message["api"]) == ("fake", "fake-1", "openai-completions")
    model = read(path).model
    assert model is not None
    assert model.name == "fake-1"
    with path.open("ab") as file:
        change = {"type": "model_change", "id": "m", "parentId": second, "provider": "fake", "modelId": "fake-2"}
        file.write(json.dumps(change).encode() + b"\n")
    sessions.write_assistant_message(ID, "3")
    assert records(path)[-1]["message"]["model"] == "fake-2"


def test_an_answer_on_a_branch_names_the_model_of_the_branch(tmp_path: Path):
    made = Session()
    made.user("one")
    old = made.model("1")
    made.add("model_change", provider="other", modelId="other-1")
    made.model("2", provider="other", model="other-1", api="anthropic-messages")
    sessions, path = stored(tmp_path, made.data())
    sessions.write_assistant_message(ID, "3", parent=old)
    message = records(path)[-1]["message"]
    assert (message["provider"], message["model"], message["api"]) == ("fake", "fake-1", "openai-completions")
    sessions.write_assistant_message(ID, "4", parent="e1")
    assert records(path)[-1]["message"]["provider"] == "slowwave"


def test_calls_and_their_results_are_written_in_pis_own_form(tmp_path: Path):
    sessions, path = begun(tmp_path)
    sessions.write_assistant_message(ID, [Text("let me look"), ToolCall("c1", "read", {"path": "a.py"})])
    sessions.write_tool_result(ID, "c1", "print()", tool="read", is_error=True)
    called, answered = (e["message"] for e in records(path)[-2:])
    assert (called["stopReason"], called["content"][1]) == ("toolUse", call("c1", path="a.py"))
    assert answered["content"] == [{"type": "text", "text": "print()"}]
    assert (answered["role"], answered["toolCallId"], answered["isError"]) == ("toolResult", "c1", True)
    assert sessions.load(ID)[-1].results[0].text == "print()"


def test_a_compaction_keeps_what_follows_its_first_kept_entry(tmp_path: Path):
    sessions, path = begun(tmp_path)
    sessions.compact(ID, Compaction("so far", "e3", 1234, ("a.py", "b.py"), ("b.py",)))
    entry = records(path)[-1]
    assert (entry["firstKeptEntryId"], entry["tokensBefore"], entry["parentId"]) == ("e3", 1234, "e4")
    assert entry["details"] == {"readFiles": ["a.py"], "modifiedFiles": ["b.py"]}
    summary, *kept = texts(sessions, ID)
    assert "so far" in summary
    assert kept == ["user: two", "assistant: 2"]


def test_a_compaction_that_keeps_nothing_names_itself(tmp_path: Path):
    sessions, path = begun(tmp_path)
    made = sessions.compact(ID, Compaction("so far"))
    assert records(path)[-1]["firstKeptEntryId"] == made
    assert len(texts(sessions, ID)) == 1


def test_what_lies_on_another_branch_cannot_stay(tmp_path: Path):
    made = Session()
    made.user("one")
    made.model("1")
    left = made.user("left behind")
    made.user("two", parent="e2")
    sessions, path = stored(tmp_path, made.data())
    with pytest.raises(NotFoundError, match=left):
        unchanged(path, lambda: sessions.compact(ID, Compaction("so far", left)))


def test_a_branch_goes_on_from_an_older_entry(tmp_path: Path):
    sessions, path = begun(tmp_path)
    sessions.branch(ID, "e2", "they tried two")
    entry = records(path)[-1]
    assert (entry["type"], entry["parentId"], entry["fromId"]) == ("branch_summary", "e2", "e2")
    assert [t.split(":")[0] for t in texts(sessions, ID)] == ["user", "assistant", "user"]
    sessions.branch(ID, "e2")
    sessions.write_user_message(ID, "another two")
    assert texts(sessions, ID) == ["user: one", "assistant: 1", "user: another two"]
    sessions.branch(ID, None, "all of it")
    assert records(path)[-1]["parentId"] is None
    assert records(path)[-1]["fromId"] == "root"


def test_a_message_under_an_older_one_is_a_branch(tmp_path: Path):
    sessions, _ = begun(tmp_path)
    sessions.write_user_message(ID, "instead", parent="e2")
    assert texts(sessions, ID) == ["user: one", "assistant: 1", "user: instead"]


def test_labels_are_set_changed_and_cleared(tmp_path: Path):
    sessions, path = begun(tmp_path)
    sessions.label(ID, "e1", "start")
    sessions.label(ID, "e1", "begin")
    assert read(path).labels == {"e1": "begin"}
    sessions.label(ID, "e1", None)
    assert read(path).labels == {}
    assert "label" not in records(path)[-1]
    assert texts(sessions, ID) == ["user: one", "assistant: 1", "user: two", "assistant: 2"]


def test_unknown_entries_are_refused(tmp_path: Path):
    sessions, path = begun(tmp_path)
    for attempt in (
        lambda: sessions.label(ID, "nope", "x"),
        lambda: sessions.branch(ID, "nope", "x"),
        lambda: sessions.write_user_message(ID, "x", parent="nope"),
        lambda: sessions.compact(ID, Compaction("x", "nope")),
        lambda: sessions.fork(ID, at="nope"),
        lambda: sessions.label(ID, "s1", "the header is no entry"),
    ):
        with pytest.raises(NotFoundError):
            unchanged(path, attempt)


def test_pi_has_no_tombstones(tmp_path: Path):
    sessions, path = begun(tmp_path)
    with pytest.raises(UsageError, match="pi has no tombstones"):
        unchanged(path, lambda: sessions.tombstone(ID, "e1"))


def test_a_short_id_that_is_taken_is_not_taken_again(tmp_path: Path):
    sessions, path = begun(tmp_path)
    with path.open("ab") as file:
        file.write(b'{"type":"custom","customType":"x","id":"00000001","parentId":"e4"}\n')
    assert sessions.write_user_message(ID, "three") == "00000002"
    assert [e["id"] for e in records(path)].count("00000001") == 1


def test_in_large_files_ids_are_whole_uuids_that_need_no_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pi, "_SEARCHED_BYTES", 10)
    sessions, _ = begun(tmp_path)
    assert len(sessions.write_user_message(ID, "three")) == 36


def test_a_file_without_a_header_is_refused_since_pi_would_overwrite_it(tmp_path: Path):
    made = Session(header=None)
    made.user("one")
    made.model("1")
    sessions, path = stored(tmp_path, made.data())
    with pytest.raises(UnreadableError, match="no header"):
        unchanged(path, lambda: sessions.write_user_message(ID, "two"))


def test_version_1_is_refused_and_version_2_is_written(tmp_path: Path):
    made = Session(header={k: v for k, v in HEADER.items() if k != "version"})
    made.user("one")
    made.model("1")
    sessions, path = stored(tmp_path, made.data())
    with pytest.raises(UsageError, match="version 1"):
        unchanged(path, lambda: sessions.write_user_message(ID, "two"))
    path.write_bytes(path.read_bytes().replace(b'"type": "session"', b'"type": "session", "version": 2', 1))
    sessions.write_user_message(ID, "two")
    assert texts(sessions, ID) == ["user: one", "assistant: 1", "user: two"]


def test_a_fork_holds_the_same_entries_under_a_new_header(tmp_path: Path):
    sessions, path = begun(tmp_path)
    with path.open("ab") as file:
        file.write(b'{"type":"x-unknown", "id":"u", "parentId":"e4",  "n":1.0, "big":12345678901234567890123}\n')
    new = sessions.fork(ID)
    (copy,) = tmp_path.glob(f"*_{new}.jsonl")
    header, *_ = records(copy)
    assert header["parentSession"] == str(path)
    assert (header["id"], header["cwd"]) == (new, "/work")
    assert copy.read_bytes().split(b"\n", 1)[1] == path.read_bytes().split(b"\n", 1)[1]
    assert {row.id: row.kind for row in sessions.list()} == {ID: "main", new: "fork"}


@pytest.mark.parametrize("version", [1, 2])
def test_a_fork_of_an_old_file_is_migrated_first(tmp_path: Path, version: int):
    plain: list[dict[str, Any]] = [
        {"type": "message", "message": {"role": "user", "content": "one"}},
        {"type": "message", "message": {"role": "assistant", "content": [{"type": "text", "text": "1"}]}},
        {"type": "message", "message": {"role": "hookMessage", "content": "hook", "display": True}},
        {"type": "message", "message": {"role": "user", "content": "two"}},
        {"type": "compaction", "summary": "so far", "firstKeptEntryIndex": 4, "tokensBefore": 1},
        {"type": "message", "message": {"role": "user", "content": "three"}},
    ]
    if version == 2:
        plain[4] = {"type": "compaction", "summary": "so far", "firstKeptEntryId": "4", "tokensBefore": 1}
        plain = [e | {"id": str(i), "parentId": str(i - 1) if i > 1 else None} for i, e in enumerate(plain, 1)]
    head = {k: v for k, v in HEADER.items() if k != "version"} | ({"version": 2} if version == 2 else {})
    sessions, path = stored(tmp_path, b"".join(json.dumps(e).encode() + b"\n" for e in [head, *plain]))
    before = texts(sessions, ID)
    assert len(before) == 3
    new = sessions.fork(ID)
    assert texts(sessions, new) == before
    copied = records(next(tmp_path.glob(f"*_{new}.jsonl")))
    assert (copied[0]["version"], copied[3]["message"]["role"]) == (3, "custom")
    assert all(e["id"] and "parentId" in e for e in copied[1:])
    assert texts(sessions, sessions.fork(new)) == before
    assert json.loads(path.read_bytes().splitlines()[0]) == head


def test_a_branch_becomes_a_session_of_its_own_with_its_labels_at_the_end(tmp_path: Path):
    made = Session()
    made.user("one")
    made.model("1")
    label = made.add("label", targetId="e2", label="good")
    made.user("two")
    made.add("label", targetId="e1", label="gone")
    made.add("label", targetId="e1")
    made.model("2")
    made.user("off the path", parent="e2")
    made.add("label", targetId="e8", label="off")
    sessions, path = stored(tmp_path, made.data())
    before = path.read_bytes()
    new = sessions.fork(ID, at="e7")
    assert path.read_bytes() == before
    copy = records(next(tmp_path.glob(f"*_{new}.jsonl")))
    assert [e["type"] for e in copy] == ["session", "message", "message", "message", "message", "label"]
    assert [e["id"] for e in copy[1:5]] == ["e1", "e2", "e4", "e7"]
    assert [e["parentId"] for e in copy[1:]] == [None, "e1", "e2", "e4", "e7"]
    assert (copy[5]["targetId"], copy[5]["label"], copy[5]["id"] != label) == ("e2", "good", True)
    assert copy[5]["timestamp"] == "2026-03-15T10:00:03.000Z"
    assert texts(sessions, new) == ["user: one", "assistant: 1", "user: two", "assistant: 2"]


def test_a_path_without_an_answer_is_not_extracted(tmp_path: Path):
    sessions, path = begun(tmp_path)
    with pytest.raises(UsageError, match="without an answer"):
        unchanged(path, lambda: sessions.fork(ID, at="e1"))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_circle_of_parents_ends_an_extraction(tmp_path: Path):
    made = Session()
    made.user("one", parent="e2")
    made.model("1")
    sessions, _ = stored(tmp_path, made.data())
    assert texts(sessions, sessions.fork(ID, at="e2")) == ["user: one", "assistant: 1"]
