"""Clawdbot's own tests of ``memory-flush.ts``, by what they say, against slowwave's gate before a compaction."""

from typing import Any

import pytest

from slowwave.compaction.flush import (
    PROMPT,
    FlushSettings,
    flush_refusal,
    flush_settings,
    flush_window,
    flushed,
)

WINDOW = 200_000
BOUNDARY = 176_000


def runs(entry: dict[str, Any] | None, window: int = WINDOW, *, soft: int = 4_000, floor: int = 20_000) -> bool:
    return not flush_refusal(entry, window, FlushSettings(soft, floor))


def test_returns_defaults_when_not_configured() -> None:
    settings = flush_settings({})
    assert settings is not None
    assert (settings.soft_threshold_tokens, settings.reserve_floor) == (4_000, 20_000)
    assert settings.prompt == PROMPT
    assert "NO_REPLY" in settings.prompt
    assert "NO_REPLY" in settings.system_prompt


def test_respects_the_disable_flag() -> None:
    assert flush_settings({"memoryFlush": {"enabled": False}}) is None
    assert flush_refusal({"totalTokens": 10**6}, WINDOW, None) == "memory flush is turned off"


def test_appends_the_no_reply_hint_when_it_is_missing() -> None:
    settings = flush_settings({"memoryFlush": {"prompt": "Write memories now.", "systemPrompt": " Flush. "}})
    assert settings is not None
    assert settings.prompt.startswith("Write memories now.\n\n")
    assert "NO_REPLY" in settings.prompt
    assert settings.system_prompt.startswith("Flush.\n\n")
    own = flush_settings({"memoryFlush": {"prompt": "Else NO_REPLY"}})
    assert own is not None
    assert own.prompt == "Else NO_REPLY"


@pytest.mark.parametrize("value", [-1, "4000", None, True, float("nan"), float("inf")])
def test_a_threshold_that_is_no_count_stands_for_the_default(value: object) -> None:
    settings = flush_settings({"reserveTokensFloor": value, "memoryFlush": {"softThresholdTokens": value}})
    assert settings == FlushSettings()


def test_requires_total_tokens_and_a_threshold() -> None:
    assert not runs({"totalTokens": 0}, 16_000)
    assert not runs({})
    assert not runs({"totalTokens": 50_000}, 24_000)


def test_skips_when_the_entry_is_missing() -> None:
    assert not runs(None)


def test_skips_when_under_the_threshold() -> None:
    assert not runs({"totalTokens": 10_000}, 100_000, floor=20_000, soft=10_000)


def test_triggers_at_the_threshold_boundary() -> None:
    assert runs({"totalTokens": 85}, 100, floor=10, soft=5)
    assert not runs({"totalTokens": 84}, 100, floor=10, soft=5)
    assert [runs({"totalTokens": n}) for n in (BOUNDARY - 1, BOUNDARY)] == [False, True]


def test_skips_when_already_flushed_for_the_current_compaction_count() -> None:
    entry = {"totalTokens": 190_000, "compactionCount": 2}
    assert not runs(entry | {"memoryFlushCompactionCount": 2})
    assert runs(entry | {"memoryFlushCompactionCount": 1})
    assert not runs({"totalTokens": 190_000, "memoryFlushCompactionCount": 0})


def test_runs_when_above_the_threshold_and_not_flushed() -> None:
    assert runs({"totalTokens": 190_000, "compactionCount": 1})


def test_falls_back_to_agent_config_or_default_tokens() -> None:
    assert [flush_window(None, 42_000), flush_window(None), flush_window(1_000, 42_000)] == [42_000, 200_000, 1_000]


def test_what_a_flush_notes_keeps_the_next_one_away_until_a_compaction() -> None:
    entry: dict[str, object] = {"totalTokens": 190_000, "compactionCount": 3}
    after = entry | flushed(entry, at_ms=1_763_000_000_000)
    assert after["memoryFlushAt"] == 1_763_000_000_000
    assert flush_refusal(after, WINDOW, FlushSettings()) == "done already since the last compaction"
    assert runs(after | {"compactionCount": 4})
    during = entry | flushed(entry, at_ms=1, compacted=True)
    assert not runs(during | {"compactionCount": 4})


def test_a_huge_turn_that_is_not_counted_yet_does_not_jump_over_the_threshold_as_in_clawdbot() -> None:
    entry = {"totalTokens": 100_000}
    assert flush_refusal(entry, WINDOW, FlushSettings(), pending_tokens=80_000) == ""
    assert flush_refusal(entry, WINDOW, FlushSettings()) == "100,000 tokens, 176,000 needed"
