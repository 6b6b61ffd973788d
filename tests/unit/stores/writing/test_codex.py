"""Writing Codex rollouts: numbered lines, replacement histories with every field, names in the index."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import NotFoundError, UsageError
from slowwave.formats import Text, Thinking, ToolCall
from slowwave.formats.codex import write as codex
from slowwave.formats.codex.records import SUMMARY_PREFIX
from slowwave.formats.writing import Compaction
from slowwave.library import Sessions
from tests.unit.formats import codex_files
from tests.unit.formats.codex_files import THREAD, call, event, line, message, meta, output, rollout, said, turn
from tests.unit.stores.writing.written import records, sessions_in, texts, unchanged

HOME = Path(".codex")


def begun(tmp_path: Path, *lines: dict[str, Any], numbered: bool = True) -> tuple[Sessions, Path]:
    """Return a rollout in a Codex home, its lines numbered as those of paginated ones."""
    rows = [row | {"ordinal": n} if numbered else row for n, row in enumerate(lines)]
    path = rollout(tmp_path / HOME / "sessions" / "2026" / "11" / "21", *rows)
    return sessions_in(path.parent, home=tmp_path), path


def named(role: str, text: str, identity: str, **fields: Any) -> dict[str, Any]:
    row = said(role, text)
    row["payload"] |= {"id": identity} | fields
    return row


TALK = [meta(), *turn("one", "1"), *turn("two", "2")]


def test_lines_are_numbered_where_the_rollout_numbers_them(tmp_path: Path):
    sessions, path = begun(tmp_path, *TALK)
    made = sessions.write_user_message(THREAD, "three")
    sessions.write_assistant_message(THREAD, [Thinking("hm"), Text("a"), Text("b"), ToolCall("c1", "exec", {"n": 1})])
    sessions.write_tool_result(THREAD, "c1", "done")
    rows = records(path)
    assert [row["ordinal"] for row in rows] == list(range(len(rows)))
    assert list(rows[-1]) == ["timestamp", "ordinal", "type", "payload"]
    asked, thought, answered, called, answer = [row["payload"] for row in rows[-5:]]
    assert (asked["id"], asked["content"]) == (made, [{"type": "input_text", "text": "three"}])
    assert thought["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert [part["text"] for part in answered["content"]] == ["a", "b"]
    assert (called["arguments"], called["call_id"]) == ('{"n":1}', "c1")
    assert (answer["type"], answer["output"]) == ("function_call_output", "done")
    assert len({p["id"] for p in (asked, thought, answered, called, answer)}) == 5
    assert sessions.load(THREAD)[-1].results[0].text == "done"


def test_lines_of_older_rollouts_have_no_number(tmp_path: Path):
    sessions, path = begun(tmp_path, *TALK, numbered=False)
    sessions.write_user_message(THREAD, "three")
    assert list(records(path)[-1]) == ["timestamp", "type", "payload"]
    assert texts(sessions, THREAD)[-1] == "user: three"


def test_bare_rollouts_get_bare_items_and_no_compactions(tmp_path: Path):
    bare = [{"id": THREAD, "timestamp": "2025-08-01T10:00:00.000Z"}, message("user", "one")]
    sessions, path = begun(tmp_path, *bare, numbered=False)
    sessions.write_assistant_message(THREAD, "1")
    assert (records(path)[-1]["type"], records(path)[-1]["role"]) == ("message", "assistant")
    assert texts(sessions, THREAD) == ["user: one", "assistant: 1"]
    with pytest.raises(UsageError, match="no compactions"):
        unchanged(path, lambda: sessions.compact(THREAD, Compaction("so far")))


def test_a_number_is_never_given_twice_behind_a_torn_line(tmp_path: Path):
    sessions, path = begun(tmp_path, *TALK)
    with path.open("ab") as file:
        file.write(b'{"timestamp":"2026-11-21T20:53:12.000Z","ordinal":7,"ty')
    sessions.write_user_message(THREAD, "three")
    last = json.loads(path.read_bytes().splitlines()[-1])
    assert last["ordinal"] == 7
    sessions.write_user_message(THREAD, "four")
    assert json.loads(path.read_bytes().splitlines()[-1])["ordinal"] == 8


def test_a_compaction_holds_the_whole_history_that_replaces_what_was_before(tmp_path: Path):
    asked = named("user", "one", "m1", internal_chat_message_metadata_passthrough={"turn_id": "t1", "n": 1.5})
    sessions, path = begun(
        tmp_path, meta(), event("task_started"), asked, named("assistant", "1", "m2"), named("user", "two", "m3"),
        call(), output(), named("assistant", "2", "m4", phase="final_answer"),
    )  # fmt: skip
    sessions.compact(THREAD, Compaction("so far", "m3"))
    row = records(path)[-1]
    assert (row["type"], row["ordinal"], row["payload"]["message"]) == ("compacted", 8, f"{SUMMARY_PREFIX}\nso far")
    history = row["payload"]["replacement_history"]
    assert history[0] == asked["payload"]
    assert history[1]["content"][0]["text"] == f"{SUMMARY_PREFIX}\nso far"
    assert history[2:] == [r["payload"] for r in records(path)[4:8]]
    shown = texts(sessions, THREAD)
    assert (shown[0], shown[2]) == ("user: one", "user: two")
    assert [m.results[0].text for m in sessions.load(THREAD) if m.results] == ["a.txt\n"]


def test_without_a_kept_message_the_users_own_words_stay_within_the_clients_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    sessions, path = begun(tmp_path, *TALK)
    sessions.compact(THREAD, Compaction("so far"))
    history = records(path)[-1]["payload"]["replacement_history"]
    assert [item["content"][0]["text"] for item in history] == ["one", "two", f"{SUMMARY_PREFIX}\nso far"]
    monkeypatch.setattr(codex, "USER_TOKENS", 1)
    sessions.compact(THREAD, Compaction("again"))
    history = records(path)[-1]["payload"]["replacement_history"]
    assert [item["content"][0]["text"] for item in history] == ["two", f"{SUMMARY_PREFIX}\nagain"]


def test_a_second_compaction_takes_its_items_from_the_first_one(tmp_path: Path):
    kept = message("user", "kept") | {"id": "k1", "odd": {"x": [1]}}
    sessions, path = begun(
        tmp_path, *TALK, codex_files.compacted("before", kept, message("assistant", "so")), *turn("three", "3")
    )
    sessions.compact(THREAD, Compaction("so far", "k1"))
    history = records(path)[-1]["payload"]["replacement_history"]
    assert history[1] == kept
    assert texts(sessions, THREAD)[1:] == ["user: kept", "assistant: so", "user: three", "assistant: 3"]


def test_what_was_rolled_back_cannot_stay(tmp_path: Path):
    sessions, path = begun(
        tmp_path, meta(), event("task_started"), named("user", "one", "m1"), event("task_started"),
        named("user", "two", "m2"), event("thread_rolled_back", num_turns=1),
    )  # fmt: skip
    with pytest.raises(NotFoundError, match="m2"):
        unchanged(path, lambda: sessions.compact(THREAD, Compaction("so far", "m2")))
    sessions.compact(THREAD, Compaction("so far"))
    assert texts(sessions, THREAD)[0] == "user: one"
    assert len(texts(sessions, THREAD)) == 2


def test_windows_are_numbered_on(tmp_path: Path):
    sessions, path = begun(tmp_path, meta(context_window={"window_id": "w0"}), *turn("one", "1"))
    sessions.compact(THREAD, Compaction("first"))
    sessions.compact(THREAD, Compaction("second"))
    first, second = (row["payload"] for row in records(path)[-2:])
    assert (first["window_number"], first["first_window_id"], first["previous_window_id"]) == (1, "w0", "w0")
    assert (second["window_number"], second["first_window_id"]) == (2, "w0")
    assert second["previous_window_id"] == first["window_id"] != second["window_id"]


def test_a_fork_by_reference_is_compacted_with_what_it_inherits(tmp_path: Path):
    parent = "01a1ffe2-0000-7cb3-ab90-7e7c940d626d"
    rows = [row | {"ordinal": n} for n, row in enumerate([meta(parent), *turn("one", "1")])]
    base = rollout(tmp_path / HOME / "sessions" / "2026" / "11" / "20", *rows, thread=parent)
    reference = {"thread_id": parent, "end_ordinal_exclusive": 4, "end_byte_offset": base.stat().st_size}
    child = [meta(history_base=reference) | {"ordinal": 4}, said("user", "two") | {"ordinal": 5}]
    path = rollout(tmp_path / HOME / "sessions" / "2026" / "11" / "21", *child)
    sessions = sessions_in(path.parent, home=tmp_path)
    before = base.read_bytes()
    sessions.compact(THREAD, Compaction("so far"))
    assert [t for t in texts(sessions, THREAD) if "so far" not in t] == ["user: one", "user: two"]
    assert records(path)[-1]["ordinal"] == 6
    assert base.read_bytes() == before


def test_a_name_goes_to_the_index_of_the_home_where_the_last_one_counts(tmp_path: Path):
    sessions, path = begun(tmp_path, *TALK)
    unchanged(path, lambda: sessions.name(THREAD, "first"))
    sessions.name(THREAD, " second ")
    index = records(tmp_path / HOME / "session_index.jsonl")
    assert index[-1] == {"id": THREAD, "thread_name": "second", "updated_at": "2026-11-21T09:00:00.000Z"}
    assert len(index) == 2
    assert sessions.transcript(THREAD).title == "second"
    with pytest.raises(UsageError, match="keeps a name"):
        sessions.name(THREAD, "")


def test_outside_of_a_home_there_is_no_place_for_a_name(tmp_path: Path):
    path = rollout(tmp_path, *TALK)
    with pytest.raises(UsageError, match="no Codex home"):
        unchanged(path, lambda: sessions_in(tmp_path).name(THREAD, "x"))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_what_codex_has_no_record_for_is_refused(tmp_path: Path):
    sessions, path = begun(tmp_path, *TALK)
    sessions.dialect = "codex"
    for attempt, reason in (
        (lambda: sessions.tombstone(THREAD, "m1"), "tombstones"),
        (lambda: sessions.label(THREAD, "m1", "x"), "labels"),
        (lambda: sessions.branch(THREAD, "m1", "x"), "branches"),
        (lambda: sessions.write_user_message(THREAD, "x", parent="m1"), "branches"),
        (lambda: sessions.fork(THREAD), "forks"),
        (lambda: sessions.write_user_message("new", "x"), "begin"),
    ):
        with pytest.raises(UsageError, match=reason):
            unchanged(path, attempt)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_compressed_rollouts_are_left_to_codex(tmp_path: Path):
    sessions, path = begun(tmp_path, *TALK)
    packed = codex_files.compressed(path)
    path.unlink()
    with pytest.raises(UsageError, match="compressed"):
        unchanged(packed, lambda: sessions.write_user_message(THREAD, "x"))


def test_unknown_lines_stay_and_count(tmp_path: Path):
    sessions, path = begun(tmp_path, *TALK, line("from_the_future", {"x": 1}))
    before = path.read_bytes()
    sessions.write_user_message(THREAD, "three")
    assert path.read_bytes().startswith(before)
    assert records(path)[-1]["ordinal"] == 8
