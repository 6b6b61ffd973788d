"""Contexts of Codex rollouts where windows, turns and damage meet; each was tried on client 0.169."""

from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import SessionFiles
from slowwave.formats.codex.dialect import CODEX
from slowwave.formats.codex.records import SUMMARY_PREFIX
from slowwave.formats.messages import normal_form
from tests.unit.formats.codex_files import (
    ENVIRONMENT,
    Line,
    call,
    compacted,
    context,
    event,
    item,
    line,
    message,
    meta,
    output,
    rollout,
    said,
    spoken,
    turn,
)

SUMMARY = message("user", f"{SUMMARY_PREFIX}\nall is well")
PAGED = {"history_mode": "paginated", "originator": "codex_exec", "cli_version": "0.169.0"}


def ended(asked: str, answered: str, *inside: Line) -> list[Line]:
    start, *words = turn(asked, answered)
    return [start, *words[:-1], *inside, words[-1], event("task_complete", turn_id=asked)]


def windowed(*kept: dict[str, Any]) -> Line:
    row = compacted("all is well", *kept)
    return {**row, "payload": {**row["payload"], "window_number": 1, "window_id": "w1"}}


def taken_back(turns: int) -> Line:
    return event("thread_rolled_back", num_turns=turns)


def of_tail(path: Path) -> list[str]:
    tail = CODEX.tail(SessionFiles(path.stem, (path,)))
    assert tail is not None
    return [f"{m['role'][0]}:{m.get('text', '')}" for m in normal_form(CODEX.context(tail))]  # pyright: ignore[reportIndexIssue]


def test_no_rollback_reaches_over_a_numbered_window_of_a_paginated_rollout(tmp_path: Path):
    rows = [*ended("a", "one"), *ended("b", "two", windowed(message("user", "k1"), message("user", "k2"), SUMMARY))]
    rows += [*ended("c", "three"), taken_back(2), *ended("d", "four")]
    paged = rollout(tmp_path, meta(**PAGED), *rows)
    assert spoken(paged) == ["u:k1", "u:d", "a:four"]
    assert of_tail(paged) == spoken(paged)


def test_a_rollback_takes_a_compaction_back_in_an_older_rollout(tmp_path: Path):
    rows = [*ended("a", "one"), *ended("b", "two", windowed(message("user", "k1"), SUMMARY)), *ended("c", "three")]
    assert spoken(rollout(tmp_path, meta(), *rows, taken_back(2))) == ["u:a", "a:one"]


@pytest.mark.parametrize(("header", "kept"), [(PAGED, ["u:b", "a:two"]), ({}, ["u:a", "a:one", "u:b", "a:two"])])
def test_a_later_header_begins_the_history_of_a_paginated_rollout_anew(
    tmp_path: Path, header: dict[str, Any], kept: list[str]
):
    own = meta(**(PAGED | header))
    first = own if header else meta()
    assert spoken(rollout(tmp_path, first, *ended("a", "one"), own, *ended("b", "two"))) == kept


def test_a_header_without_its_fields_begins_nothing(tmp_path: Path):
    rows = [*ended("a", "one"), line("session_meta", {"id": "x"}), *ended("b", "two")]
    assert spoken(rollout(tmp_path, meta(**PAGED), *rows)) == ["u:a", "a:one", "u:b", "a:two"]


def test_a_turn_ends_only_at_its_own_beginning(tmp_path: Path):
    rows = [event("task_started", turn_id="x"), event("task_started", turn_id="y"), said("user", "a")]
    rows += [compacted("s", message("user", "kept")), said("user", "b"), event("task_complete", turn_id="x")]
    assert spoken(rollout(tmp_path, meta(), *rows, taken_back(1))) == ["u:a"]


def test_a_summary_is_neither_a_turn_nor_context_of_the_next_one(tmp_path: Path):
    rows = [compacted("s", message("user", "kept"), SUMMARY), *ended("a", "one"), taken_back(1)]
    assert spoken(rollout(tmp_path, meta(), *rows)) == ["u:kept", f"u:{SUMMARY_PREFIX}\nall is well"]


def test_a_summary_without_the_introduction_counts_as_a_turn(tmp_path: Path):
    rows = [*ended("a", "one"), line("compacted", {"message": "plain"}), taken_back(1)]
    assert spoken(rollout(tmp_path, meta(), *rows)) == ["u:a"]


@pytest.mark.parametrize(
    ("instruction", "goes"), [("<collaboration_mode>\nx\n</collaboration_mode>", True), ("be nice", False)]
)
def test_context_goes_with_the_turn_behind_it_up_to_foreign_instructions(
    tmp_path: Path, instruction: str, *, goes: bool
):
    rows = [*ended("a", "one"), said("user", ENVIRONMENT), said("developer", instruction), *ended("b", "two")]
    kept = ["u:a", "a:one"] if goes else ["u:a", "a:one", f"u:{ENVIRONMENT}"]
    assert spoken(rollout(tmp_path, meta(), *rows, taken_back(1))) == kept


def test_two_objects_on_one_line_are_both_lost_to_the_client(tmp_path: Path):
    path = rollout(tmp_path, meta(), said("user", "a"), said("user", "b"), said("user", "c"))
    head, a, b, c = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([head, a + b, c, b""]))
    assert spoken(path) == ["u:c"]


def test_half_a_surrogate_pair_costs_the_client_its_line(tmp_path: Path):
    rows = [said("user", "a"), said("user", "b \ud800"), said("user", "c")]
    assert spoken(rollout(tmp_path, meta(), *rows)) == ["u:a", "u:c"]


@pytest.mark.parametrize("wrong", [{"content": "words"}, {"content": [{"type": "input_text"}]}, {"role": 7}])
def test_an_item_that_the_client_cannot_parse_is_not_sent(tmp_path: Path, wrong: dict[str, Any]):
    rows = [said("user", "a"), line("response_item", message("user", "b") | wrong), said("user", "c")]
    assert spoken(rollout(tmp_path, meta(), *rows)) == ["u:a", "u:c"]


def test_a_result_without_output_leaves_its_call_aborted(tmp_path: Path):
    sent = context(rollout(tmp_path, meta(), call(), output(text=None)))
    assert sent[-1]["results"] == [{"id": "c1", "text": "aborted"}]


def test_a_compaction_with_an_item_that_cannot_be_parsed_does_not_count(tmp_path: Path):
    rows = [said("user", "a"), compacted("s", message("user", "kept"), {"type": "message", "role": "user"})]
    assert spoken(rollout(tmp_path, meta(), *rows, said("user", "b"))) == ["u:a", "u:b"]


def test_marks_around_a_picture_are_not_kept_by_a_compaction_without_a_history(tmp_path: Path):
    asked = item(
        "message", role="user", content=message("user", "<image name=[Image #1]>", "</image>", "look")["content"]
    )
    assert spoken(rollout(tmp_path, meta(), asked, line("compacted", {"message": "s"}))) == ["u:look", "u:s"]
