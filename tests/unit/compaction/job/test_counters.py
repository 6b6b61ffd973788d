"""How large a rollout of Codex is, where turns were appended behind what the provider counted last."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from slowwave.compaction import items
from slowwave.compaction.items import read_session
from slowwave.compaction.tokens import CODEX
from slowwave.formats import SessionFiles
from tests.unit.formats import codex_files

COUNTED = {"last_token_usage": {"input_tokens": 900, "output_tokens": 100, "total_tokens": 1_000}}
Line = dict[str, Any]


def at(second: int, *lines: Line) -> list[Line]:
    return [line | {"timestamp": f"2026-11-21T20:53:{second:02}.000Z"} for line in lines]


def size(folder: Path, *lines: Line) -> tuple[int, int]:
    path = codex_files.rollout(folder, codex_files.meta(), *lines)
    found = read_session("codex", SessionFiles(codex_files.THREAD, (path,))).size
    return found.counted, found.guessed


BEGUN = [*at(1, codex_files.said("user", "begin")), *at(2, codex_files.said("assistant", "begun"))]
COUNT = at(3, codex_files.event("token_count", info=COUNTED))
LATER = [*at(4, codex_files.said("user", "x" * 4_000)), *at(5, codex_files.said("assistant", "y" * 400))]


def test_what_was_counted_last_is_the_size(tmp_path: Path):
    assert size(tmp_path, *BEGUN, *COUNT) == (1_000, 0)


def test_turns_behind_the_count_are_added_to_it(tmp_path: Path):
    assert size(tmp_path, *BEGUN, *COUNT, *LATER) == (1_000, 1_100)


def test_outputs_that_were_written_before_the_count_are_not_in_it(tmp_path: Path):
    ran = at(2, codex_files.call(), codex_files.output(text="z" * 400))
    counted, behind = size(tmp_path, *BEGUN, *ran, *COUNT)
    assert (counted, behind) == (1_000, CODEX.of_text("z" * 400))


def test_a_later_count_takes_them_in(tmp_path: Path):
    again = at(6, codex_files.event("token_count", info=COUNTED))
    assert size(tmp_path, *BEGUN, *COUNT, *LATER, *again) == (1_000, 0)


def test_only_lines_that_may_note_something_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    looked: list[Line] = []

    def counters_in(backward: Iterable[Line]) -> items.Counters:
        looked.extend(backward)
        return items.Counters()

    monkeypatch.setattr(items, "counters_in", counters_in)
    asked = at(0, codex_files.said("user", "why is there no token_count?"))
    assert size(tmp_path, *asked, *BEGUN, *LATER)[0] == 0
    assert looked == asked
