"""From which record Claude Code goes on, and what lies above it; read in its code and tried with each version."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.formats.claude_files import Session, call, shape

OLDER = pytest.mark.parametrize("version", ["2.0.76", "1.0.128"])
NO_ANSWER = "A No response requested."


def begun(version: str = "2.1.330") -> Session:
    session = Session(version)
    session.user("first")
    session.says("m1", "one")
    return session


def compacted(**metadata: Any) -> Session:
    """Return a session whose compaction (u5) kept the records u3 and u4 behind its summary (u6)."""
    session = begun()
    session.user("kept")
    session.says("m2", "kept answer")
    session.boundary(preservedMessages={"anchorUuid": "u6", "uuids": ["u3", "u4"]} | metadata)
    session.summary("SUMMARY")
    session.user("after")
    session.says("m3", "answer")
    return session


def test_a_rewind_to_before_a_compaction_goes_on_behind_what_it_kept(tmp_path: Path) -> None:
    session = compacted()
    session.user("rewound", parent="u1")
    session.says("m4", "new answer")
    assert shape(session.context(tmp_path)) == ["U SUMMARY\nkept", "A kept answer", "U rewound", "A new answer"]


def test_a_prompt_that_was_gone_on_from_is_not_returned_to_when_messages_were_kept(tmp_path: Path) -> None:
    session = compacted()
    session.bare("last-prompt", lastPrompt="after", leafUuid="u8")
    session.user("more")
    session.user("rewound", parent="u2")
    assert shape(session.context(tmp_path)) == ["U SUMMARY\nkept", "A kept answer", "U rewound", NO_ANSWER]


def test_a_prompt_that_nobody_went_on_from_is_returned_to(tmp_path: Path) -> None:
    session = compacted()
    session.bare("last-prompt", lastPrompt="after", leafUuid="u8")
    session.user("rewound", parent="u2")
    expected = ["U SUMMARY\nkept", "A kept answer", "U after", "A answer"]
    assert shape(session.context(tmp_path)) == expected


def test_a_plain_compaction_behind_one_that_kept_messages_forgets_all_before_it(tmp_path: Path) -> None:
    session = compacted()
    session.boundary(trigger="manual")
    session.summary("SECOND")
    session.user("rewound", parent="u2")
    assert shape(session.context(tmp_path)) == ["U rewound", NO_ANSWER]


def test_a_row_that_stands_twice_counts_where_it_stands_last(tmp_path: Path) -> None:
    session = begun()
    session.add("attachment", parent="u1", attachment={"type": "date"})
    session.user("second", parent="u2")
    session.says("m2", "two")
    session.bare("last-prompt", lastPrompt="second", leafUuid="u5")
    session.user("third")
    assert shape(session.context(tmp_path))[-2:] == ["U third", NO_ANSWER]
    session.lines.append(session.lines[2])
    assert shape(session.context(tmp_path))[-2:] == ["U second", "A two"]


def test_a_rewind_to_the_beginning_leaves_nothing_until_something_is_said(tmp_path: Path) -> None:
    session = begun()
    session.bare("last-prompt", leafUuid=None, explicit=True)
    assert session.context(tmp_path) == []
    session.user("new", parent=None)
    assert shape(session.context(tmp_path)) == ["U new", NO_ANSWER]


def test_what_was_said_below_an_exact_leaf_takes_its_exactness_away(tmp_path: Path) -> None:
    session = begun()
    session.user("second")
    session.says("m2", "two")
    session.bare("last-prompt", leafUuid="u2", explicit=True)
    assert shape(session.context(tmp_path)) == ["U first", "A one"]
    session.user("third", parent="u2")
    assert shape(session.context(tmp_path)) == ["U first", "A one", "U third", NO_ANSWER]


@pytest.mark.parametrize("version", ["2.1.330", "2.0.76"])
def test_records_of_a_sub_agent_above_the_last_one_are_sent(tmp_path: Path, version: str) -> None:
    session = begun(version)
    session.user("side", isSidechain=True)
    session.says("m2", "side answer", isSidechain=True)
    session.user("second")
    session.says("m3", "two")
    session.user("side end", isSidechain=True)
    expected = ["U first", "A one", "U side", "A side answer", "U second", "A two"]
    assert shape(session.context(tmp_path)) == expected


@OLDER
def test_older_clients_take_an_empty_list_for_nothing(tmp_path: Path, version: str) -> None:
    session = begun(version)
    session.user([])
    assert shape(session.context(tmp_path)) == ["U first", "A one"]


@OLDER
def test_older_clients_see_an_answer_in_reasoning_alone(tmp_path: Path, version: str) -> None:
    session = begun(version)
    session.user("second")
    session.says("m2", {"type": "thinking", "thinking": "hm"})
    assert shape(session.context(tmp_path)) == ["U first", "A one", "U second"]


@OLDER
def test_older_clients_answer_a_prompt_before_a_call_that_was_cut_off(tmp_path: Path, version: str) -> None:
    session = begun(version)
    session.user("second")
    session.says("m2", call("t1"))
    assert shape(session.context(tmp_path)) == ["U first", "A one", "U second", NO_ANSWER]


@OLDER
def test_older_clients_lose_what_lies_above_a_progress_record(tmp_path: Path, version: str) -> None:
    session = begun(version)
    session.add("progress", data={"type": "hook_progress"})
    session.user("second")
    session.says("m2", "two")
    assert shape(session.context(tmp_path)) == ["U second", "A two"]


def test_a_last_row_that_was_gone_on_from_gives_way_to_the_newest_below_it(tmp_path: Path) -> None:
    session = begun()
    session.user("second")
    session.says("m2", "two")
    session.lines.append(session.lines.pop(1))
    assert shape(session.context(tmp_path)) == ["U first", "A one", "U second", "A two"]
