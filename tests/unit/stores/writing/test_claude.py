"""Writing Claude Code's sessions: what a record hangs under, and what the client goes on from afterwards."""

from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import NotFoundError, UsageError
from slowwave.formats import Text, ToolCall
from slowwave.formats.claude import write as writing
from slowwave.formats.writing import Compaction
from slowwave.library import Sessions
from tests.unit.stores.store_builder import add, claude, write
from tests.unit.stores.writing.written import records, sessions_in, texts, unchanged

TALK = [claude("user", "one"), claude("assistant", "1", 1), claude("user", "two", 2), claude("assistant", "2", 3)]


def begun(tmp_path: Path, *more: dict[str, Any]) -> tuple[Sessions, Path]:
    """Return a session with two turns."""
    path = write(tmp_path / "s.jsonl", *TALK, *more)
    return sessions_in(tmp_path), path


def prompt(leaf: str, **fields: Any) -> dict[str, Any]:
    return {"type": "last-prompt", "lastPrompt": "x", "leafUuid": leaf, "sessionId": "s"} | fields


def test_calls_and_results_are_blocks_of_the_api(tmp_path: Path):
    sessions, path = begun(tmp_path)
    sessions.write_assistant_message("s", [Text("let me look"), ToolCall("c1", "Read", {"file_path": "a.py"})])
    sessions.write_tool_result("s", "c1", "print()", is_error=True)
    called, answered = records(path)[-2:]
    assert called["message"]["stop_reason"] == "tool_use"
    assert called["message"]["content"][1] == {
        "type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "a.py"},
    }  # fmt: skip
    assert (answered["type"], answered["parentUuid"]) == ("user", called["uuid"])
    assert answered["message"]["content"][0]["tool_use_id"] == "c1"
    assert [r.text for m in sessions.load("s") for r in m.results] == ["print()"]


def test_a_message_under_an_older_one_is_what_the_client_goes_on_from(tmp_path: Path):
    sessions, path = begun(tmp_path, prompt("u3"))
    made = sessions.write_user_message("s", "instead", parent="u1")
    assert [r["type"] for r in records(path)[-2:]] == ["user", "last-prompt"]
    assert records(path)[-1]["leafUuid"] == made
    assert texts(sessions, "s")[:3] == ["user: one", "assistant: 1", "user: instead"]
    sessions.write_assistant_message("s", "ok")
    assert texts(sessions, "s") == ["user: one", "assistant: 1", "user: instead", "assistant: ok"]


def test_an_answer_is_named_by_the_id_of_its_message_too(tmp_path: Path):
    sessions, path = begun(tmp_path)
    sessions.write_user_message("s", "instead", parent="msg_1")
    assert records(path)[-2]["parentUuid"] == "u1"


def test_a_record_hangs_under_the_one_that_the_client_has_noted(tmp_path: Path):
    sessions, path = begun(tmp_path, prompt("u1"))
    sessions.write_user_message("s", "more")
    assert records(path)[-1]["parentUuid"] == "u3"  # what follows the noted record goes on
    rewound = claude("user", "another two", 4, parentUuid="u1")
    write(path, *TALK, rewound, prompt("u3"))
    sessions.write_user_message("s", "more")
    assert records(path)[-2]["type"] == "last-prompt"
    assert records(path)[-1]["parentUuid"] == "u3"
    assert texts(sessions, "s")[-3:-1] == ["assistant: 2", "user: more"]


def test_exactly_the_noted_record_is_meant_when_the_client_says_so(tmp_path: Path):
    sessions, path = begun(tmp_path, prompt("u1", explicit=True))
    sessions.write_user_message("s", "instead")
    assert records(path)[-1]["parentUuid"] == "u1"


def test_without_a_note_only_the_end_of_the_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sessions, path = begun(tmp_path)
    add(path, prompt("u0"))
    add(path, *(claude("user", "x" * 1000, n) for n in range(4, 30)))
    monkeypatch.setattr(writing, "_LAST_TURN_BYTES", 5000)
    read: list[int] = []
    whole = writing.lines_backward

    def counted(where: Path) -> Any:
        for line in whole(where):
            read.append(line[0])
            yield line

    monkeypatch.setattr(writing, "lines_backward", counted)
    sessions.write_user_message("s", "more")
    assert records(path)[-1]["parentUuid"] == "u29"
    assert len(read) < 10


def test_the_time_of_a_record_is_never_that_of_the_one_before(tmp_path: Path):
    old = [claude("user", "one", version="2.0.76", timestamp="2026-11-21T09:00:00.000Z")]
    path = write(tmp_path / "s.jsonl", *old)
    sessions = sessions_in(tmp_path)
    sessions.write_assistant_message("s", "1")
    sessions.write_user_message("s", "two")
    stamps = [r["timestamp"] for r in records(path)]
    assert stamps == sorted(set(stamps))
    assert texts(sessions, "s")[:3] == ["user: one", "assistant: 1", "user: two"]
    assert {r["version"] for r in records(path)} == {"2.0.76"}


def test_a_compaction_is_a_boundary_and_a_summary(tmp_path: Path):
    sessions, path = begun(tmp_path, prompt("u3"))
    made = sessions.compact("s", Compaction("they counted", tokens_before=77))
    boundary, summary = records(path)[-2:]
    assert (boundary["subtype"], boundary["parentUuid"], boundary["logicalParentUuid"]) == (
        "compact_boundary", None, "u3",
    )  # fmt: skip
    assert boundary["compactMetadata"] == {"trigger": "manual", "preTokens": 77}
    assert (summary["isCompactSummary"], summary["parentUuid"], summary["uuid"]) == (True, boundary["uuid"], made)
    (said, *rest) = texts(sessions, "s")
    assert "they counted" in said
    assert [t for t in rest if t != "assistant: No response requested."] == []
    sessions.write_user_message("s", "three")
    assert records(path)[-1]["parentUuid"] == made
    assert "three" in texts(sessions, "s")[0]


def test_a_compaction_keeps_all_records_from_a_message_on(tmp_path: Path):
    call: dict[str, Any] = {"type": "tool_use", "id": "c1", "name": "Read", "input": {}}
    other = call | {"id": "c2"}
    results = [{"type": "tool_result", "tool_use_id": i, "content": f"result {i}"} for i in ("c1", "c2")]
    pieces = [
        claude("assistant", "", 4, message={"id": "m4", "role": "assistant", "content": [call]}),
        claude("assistant", "", 5, parentUuid="u4", message={"id": "m4", "role": "assistant", "content": [other]}),
        claude("user", "", 6, parentUuid="u4", message={"role": "user", "content": [results[0]]}),
        claude("user", "", 7, parentUuid="u5", message={"role": "user", "content": [results[1]]}),
        claude("assistant", "done", 8),
    ]
    sessions, path = begun(tmp_path, *pieces)
    before = sessions.load("s")
    sessions.compact("s", Compaction("they counted", "u2"))
    kept = records(path)[-2]["compactMetadata"]["preservedMessages"]["uuids"]
    assert kept[0] == "u2"
    assert set(kept) == {f"u{n}" for n in range(2, 9)}
    after = sessions.load("s")
    shown = [(m.role, m.text, len(m.calls), [r.text for r in m.results]) for m in after[-5:]]
    assert shown[1:] == [(m.role, m.text, len(m.calls), [r.text for r in m.results]) for m in before[-4:]]
    assert shown[0][1].endswith("two")


def test_a_client_that_would_drop_what_is_to_stay_is_not_told_to_keep_it(tmp_path: Path):
    path = write(tmp_path / "s.jsonl", *(line | {"version": "2.0.76"} for line in TALK))
    sessions = sessions_in(tmp_path)
    with pytest.raises(UsageError, match=r"before version 2\.1"):
        unchanged(path, lambda: sessions.compact("s", Compaction("they counted", "u2")))
    sessions.compact("s", Compaction("they counted"))
    assert "they counted" in texts(sessions, "s")[0]


def test_a_second_compaction_carries_nothing_that_the_first_has_hidden(tmp_path: Path):
    sessions, path = begun(tmp_path)
    sessions.compact("s", Compaction("first", "u2"))
    sessions.write_user_message("s", "three")
    with pytest.raises(NotFoundError, match="u0"):
        unchanged(path, lambda: sessions.compact("s", Compaction("second", "u0")))
    sessions.compact("s", Compaction("second", "u3"))
    shown = texts(sessions, "s")
    assert "second" in shown[0]
    assert shown[1:3] == ["assistant: 2", "user: three"]


def test_what_a_compaction_has_left_behind_is_not_gone_on_from(tmp_path: Path):
    sessions, path = begun(tmp_path)
    sessions.compact("s", Compaction("they counted"))
    with pytest.raises(UsageError, match="before the last compaction"):
        unchanged(path, lambda: sessions.write_user_message("s", "instead", parent="u1"))
    assert texts(sessions, sessions.fork("s", at="u1")) == ["user: one", "assistant: 1"]


def test_a_title_is_kept_by_the_client(tmp_path: Path):
    sessions, path = begun(tmp_path)
    sessions.name("s", "first")
    sessions.name("s", " second ")
    assert sessions.transcript("s").title == "second"
    assert records(path)[-1] == {"type": "custom-title", "customTitle": "second", "sessionId": "s"}
    with pytest.raises(UsageError, match="keeps a title"):
        unchanged(path, lambda: sessions.name("s", " "))


def test_what_the_client_has_no_record_for_is_refused(tmp_path: Path):
    sessions, path = begun(tmp_path)
    for attempt, reason in (
        (lambda: sessions.tombstone("s", "u0"), "tombstones"),
        (lambda: sessions.label("s", "u0", "x"), "labels"),
        (lambda: sessions.branch("s", "u0", "x"), "records of branches"),
    ):
        with pytest.raises(UsageError, match=f"claude has no {reason}"):
            unchanged(path, attempt)
    with pytest.raises(NotFoundError):
        unchanged(path, lambda: sessions.write_user_message("s", "x", parent="nope"))


def test_a_branch_becomes_a_session_of_its_own(tmp_path: Path):
    rewound = [claude("user", "another two", 4, parentUuid="u1"), claude("assistant", "another 2", 5)]
    sessions, path = begun(tmp_path, *rewound, {"type": "mode", "sessionId": "s"}, prompt("u5"))
    before = path.read_bytes()
    new = sessions.fork("s", at="u3")
    assert path.read_bytes() == before
    copied = records(tmp_path / f"{new}.jsonl")
    assert [r["uuid"] for r in copied] == ["u0", "u1", "u2", "u3"]
    assert {r["sessionId"] for r in copied} == {new}
    assert texts(sessions, new) == ["user: one", "assistant: 1", "user: two", "assistant: 2"]
    assert texts(sessions, sessions.fork("s", at="u5")) == texts(sessions, "s")


def test_a_branch_over_a_compaction_takes_what_was_compacted_along(tmp_path: Path):
    sessions, _ = begun(tmp_path)
    sessions.compact("s", Compaction("they counted", "u3"))
    made = sessions.write_user_message("s", "three")
    sessions.write_assistant_message("s", "3")
    new = sessions.fork("s", at=made)
    assert texts(sessions, new)[:-1] == texts(sessions, "s")[:-1]
    assert {"u0", "u1"} <= {r["uuid"] for r in records(tmp_path / f"{new}.jsonl")}


def test_a_sub_agents_session_is_not_written_to(tmp_path: Path):
    path = write(tmp_path / "agent-1.jsonl", claude("user", "go", isSidechain=True))
    with pytest.raises(UsageError, match="sub-agent"):
        unchanged(path, lambda: sessions_in(tmp_path).write_user_message("agent-1", "more"))


def test_two_writers_never_hang_two_records_under_one(tmp_path: Path):
    path = write(tmp_path / "s.jsonl", *TALK)
    first, second = sessions_in(tmp_path), Sessions(tmp_path, home=tmp_path)
    for number in range(3):
        first.write_user_message("s", f"first {number}")
        second.write_assistant_message("s", f"second {number}")
    parents = [r["parentUuid"] for r in records(path)]
    assert len(set(parents)) == len(parents)
