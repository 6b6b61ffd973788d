"""What OpenClaw would send again: pi's rules, moved leaves, resets, calls and results put right, the client's index."""

from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import SessionFiles
from slowwave.formats.messages import normal_form
from slowwave.formats.openclaw.dialect import MISSING, OPENCLAW
from tests.unit.formats.openclaw_files import Agent, read, session, shape
from tests.unit.formats.pi_files import Session, call

CLAUDE = {"provider": "anthropic", "api": "anthropic-messages", "model": "claude"}


def test_a_record_of_its_own_moves_the_leaf(tmp_path: Path) -> None:
    made = session()
    made.user("one")
    kept = made.model("first")
    made.user("two")
    made.model("second")
    made.add("leaf", targetId=kept, appendParentId=kept)
    found = read(tmp_path, made)
    assert shape(found) == ["user: one", "assistant: first"]
    assert [m.active for m in found.messages] == [True, True, False, False]


def test_what_is_appended_behind_a_moved_leaf_hangs_under_its_target(tmp_path: Path) -> None:
    made = session()
    made.user("one")
    kept = made.model("first")
    made.user("two")
    made.add("leaf", targetId=kept)
    made.user("three")  # its parent is the record that moved the leaf
    assert shape(read(tmp_path, made)) == ["user: one", "assistant: first", "user: three"]


def test_a_leaf_moved_to_nothing_leaves_nothing(tmp_path: Path) -> None:
    made = session()
    made.user("one")
    made.add("leaf", targetId=None)
    assert shape(read(tmp_path, made)) == []


@pytest.mark.parametrize("fields", [{"targetId": "missing"}, {"targetId": "e1", "appendParentId": "missing"}, {}])
def test_a_leaf_that_names_what_is_not_there_is_ignored(tmp_path: Path, fields: dict[str, Any]) -> None:
    made = session()
    made.user("one")
    made.model("first")
    made.add("leaf", **fields)
    assert shape(read(tmp_path, made)) == ["user: one", "assistant: first"]


def test_a_reset_ends_the_conversation_before_it(tmp_path: Path) -> None:
    made = session()
    made.user("old")
    made.model("answer")
    made.add("reset", reason="daily")
    made.user("new")
    found = read(tmp_path, made)
    assert shape(found) == ["user: new"]
    assert len(found.messages) == 3


def test_a_reset_may_keep_the_end_of_it(tmp_path: Path) -> None:
    made = session()
    made.user("old")
    first = made.user("kept")
    made.model("answer")
    made.add("reset", reason="idle", firstKeptEntryId=first)
    made.user("new")
    assert shape(read(tmp_path, made)) == ["user: kept", "assistant: answer", "user: new"]


def test_a_compaction_behind_a_reset_reaches_no_further_back(tmp_path: Path) -> None:
    made = session()
    old = made.user("old")
    made.add("reset", reason="new")
    made.user("new")
    made.compact(old)
    made.user("last")
    assert shape(read(tmp_path, made)) == ["user: [so far]", "user: last"]


def test_the_clients_index_of_the_active_path_is_followed_where_it_is_whole(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    made = session()
    made.user("one")
    made.model("first")
    made.user("two")
    agent.add(made)
    agent.index("s1", [1, 2], newest=3)
    assert shape(agent.read("s1")) == ["user: one", "assistant: first"]
    agent.run("UPDATE session_transcript_index_state SET indexed_seq = 2")
    assert shape(agent.read("s1")) == ["user: one", "assistant: first", "user: two"]
    agent.run("UPDATE session_transcript_index_state SET indexed_seq = 3, needs_rebuild = 1")
    assert len(shape(agent.read("s1"))) == 3


def test_what_the_index_keeps_out_of_the_context_stays_out(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    made = session()
    made.user("one")
    made.model("first")
    made.user("two")
    agent.add(made)
    agent.index("s1", [1, 2, 3], newest=3, hidden=(2,))
    assert shape(agent.read("s1")) == ["user: one", "user: two"]


def test_the_end_of_a_compacted_file_is_enough_unless_the_leaf_moved(tmp_path: Path) -> None:
    made = session(version=3)
    for number in range(40):
        made.user(f"{number}" + "x" * 50_000)
        made.model("well")
    kept = made.user("kept")
    made.compact(kept)
    made.model("last")
    path = tmp_path / "session.jsonl"
    path.write_bytes(made.data())
    files = SessionFiles("s1", (path,))
    tail = OPENCLAW.tail(files)
    assert tail is not None
    assert tail.is_tail
    assert shape(tail) == shape(OPENCLAW.read(files)) == ["user: [so far]", "user: kept", "assistant: last"]
    made.add("leaf", targetId=kept)
    path.write_bytes(made.data())
    assert OPENCLAW.tail(files) is None


def test_ids_of_calls_are_letters_and_digits_from_version_4_on(tmp_path: Path) -> None:
    for version, own in ((3, "call_1|x"), (4, "call1x")):
        made = session(version=version)
        made.user("go")
        made.model(call("call_1|x"))
        made.result("call_1|x", "done")
        assert shape(read(tmp_path, made))[1:] == [f"assistant: read({own})", f"tool: {own}=done"]


def of_claude(folder: Path, made: Session) -> list[dict[str, Any]]:
    return normal_form(OPENCLAW.context(read(folder, made)))


def test_results_move_behind_the_answer_that_called_for_them(tmp_path: Path) -> None:
    made = session(version=3)
    made.user("go")
    made.model(call("a"), call("b"), **CLAUDE)
    made.user("hurry")
    made.result("b", "two")
    made.result("a", "one")
    sent = of_claude(tmp_path, made)
    assert [[r["text"] for r in m.get("results", [])] for m in sent] == [[], [], ["one", "two"], []]
    assert sent[-1] == {"role": "user", "text": "hurry"}


@pytest.mark.parametrize(("version", "name"), [(3, "[clawdbot]"), (4, "[openclaw]")])
def test_a_missing_result_is_filled_in_and_others_are_dropped(tmp_path: Path, version: int, name: str) -> None:
    made = session(version=version)
    made.user("go")
    made.result("stray", "orphan")
    made.model(call("a"), **CLAUDE)
    made.user("well?")
    made.model(call("b"), **CLAUDE)
    made.result("b", "once")
    made.result("b", "twice")
    sent = of_claude(tmp_path, made)
    assert [r["text"] for m in sent for r in m.get("results", [])] == [
        MISSING.replace("[openclaw]", name),
        "once",
    ]


def test_other_apis_get_results_as_they_stand(tmp_path: Path) -> None:
    made = session(version=3)
    made.user("go")
    made.result("stray", "orphan")
    made.model("well")
    assert shape(read(tmp_path, made)) == ["user: go", "tool: stray=orphan", "assistant: well"]


@pytest.mark.parametrize(
    ("version", "has_note", "kept"),
    [(3, True, False), (3, False, True), (4, True, True)],
    ids=["clawdbot", "clawdbot before its notes", "openclaw"],
)
def test_clawdbot_drops_a_last_prompt_that_nobody_answered(
    tmp_path: Path, version: int, *, has_note: bool, kept: bool
) -> None:
    """It notes its model first, when that is not noted yet; then the prompt is not the last entry any more."""
    made = session(version=version)
    if has_note:
        made.add("custom", customType="model-snapshot", data={"provider": "p"})
    made.user("one")
    made.model("first")
    made.user("two")
    assert shape(read(tmp_path, made)) == ["user: one", "assistant: first", *(["user: two"] if kept else [])]


def test_clawdbot_keeps_a_last_prompt_behind_which_something_was_noted(tmp_path: Path) -> None:
    made = session(version=3)
    made.add("custom", customType="model-snapshot", data={})
    made.user("one")
    made.add("label", targetId="e1", label="x")
    assert shape(read(tmp_path, made)) == ["user: one"]
