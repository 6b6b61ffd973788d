"""Clawdbot's own tests of ``memory-flush.ts``, by what they say, against slowwave's gate before a compaction.

Its prompts are not ours: no agent is asked, extraction reads the transcript. Its cases without an entry or without a
counted size do not arise, since the transcript itself is measured.
"""

from typing import Any

import pytest

from slowwave.compaction.book import SOFT_THRESHOLD_TOKENS, flushed, has_flushed, soft_threshold
from slowwave.compaction.items import Item, Reading, Usage
from slowwave.compaction.plan import due
from slowwave.compaction.settings import RESERVE_FLOOR, Chosen, reserve_floor
from slowwave.compaction.tokens import PI
from slowwave.settings import CompactionSettings

BOUNDARY = 176_000


def runs(counted: int, *, soft: int = SOFT_THRESHOLD_TOKENS, behind: int = 0, window: int = 200_000) -> bool:
    """Say whether memories are saved: at the soft threshold, and above it before the compaction itself."""
    items = [Item("m1", "assistant", 1, usage=Usage(total=counted)), Item("m2", "user", behind)]
    found = due(
        Reading("openclaw", items, PI, window=window, chosen=Chosen(reserve_floor=RESERVE_FLOOR)),
        CompactionSettings(),
        soft=soft,
    )
    return found.is_near or found.is_due


def test_returns_defaults_when_not_configured() -> None:
    assert soft_threshold({}) == SOFT_THRESHOLD_TOKENS == 4_000


def test_respects_the_disable_flag() -> None:
    assert soft_threshold({"memoryFlush": {"enabled": False}}) is None


@pytest.mark.parametrize("value", [-1, "4000", None, True, float("nan"), float("inf")])
def test_a_threshold_that_is_no_count_stands_for_the_default(value: object) -> None:
    assert soft_threshold({"memoryFlush": {"softThresholdTokens": value}}) == SOFT_THRESHOLD_TOKENS


@pytest.mark.parametrize(
    ("value", "floor"), [(None, 20_000), (0, 0), (50_000, 50_000), (1.9, 1), (-1, 20_000), ("9", 20_000)]
)
def test_the_reserve_floor_is_that_of_the_settings(value: object, floor: int) -> None:
    """``resolveCompactionReserveTokensFloor``: a number from 0 on, rounded down; anything else is the default."""
    assert reserve_floor({"reserveTokensFloor": value}) == floor
    assert reserve_floor({}) == 20_000


def test_skips_when_under_the_threshold() -> None:
    assert not runs(10_000, window=100_000, soft=10_000)


def test_triggers_at_the_threshold_boundary() -> None:
    assert [runs(BOUNDARY - 1), runs(BOUNDARY)] == [False, True]
    assert [runs(84_999, window=110_000, soft=5_000), runs(85_000, window=110_000, soft=5_000)] == [False, True]


def test_skips_when_already_flushed_for_the_current_compaction_count() -> None:
    entry = {"compactionCount": 2}
    assert has_flushed(entry | {"memoryFlushCompactionCount": 2})
    assert not has_flushed(entry | {"memoryFlushCompactionCount": 1})
    assert has_flushed({"memoryFlushCompactionCount": 0})
    assert not has_flushed({})


def test_what_a_flush_notes_keeps_the_next_one_away_until_a_compaction() -> None:
    entry: dict[str, Any] = {"compactionCount": 3}
    after = entry | flushed(entry, at_ms=1_763_000_000_000)
    assert after["memoryFlushAt"] == 1_763_000_000_000
    assert has_flushed(after)
    assert not has_flushed(after | {"compactionCount": 4})


def test_a_huge_turn_that_is_not_counted_yet_does_not_jump_over_the_threshold_as_in_clawdbot() -> None:
    assert not runs(100_000)
    assert runs(100_000, behind=80_000)
