"""When a session is due, by the rule of its own client."""

import pytest

from slowwave.compaction.items import Item, Reading, Usage
from slowwave.compaction.plan import due, window_of
from slowwave.compaction.settings import RESERVE_FLOOR, Chosen
from slowwave.compaction.tokens import rule_of
from slowwave.settings import CompactionSettings

SOFT = 4_000


def reading(dialect: str, tokens: int, *, model: str = "", counted: bool = False, window: int = 0) -> Reading:
    usage = Usage(input=tokens) if counted else None
    items = [Item("m1", "assistant", tokens, usage=usage)]
    floor = RESERVE_FLOOR if dialect == "openclaw" else 0
    return Reading(dialect, items, rule_of(dialect), model=model, window=window, chosen=Chosen(reserve_floor=floor))


@pytest.mark.parametrize(
    ("dialect", "limit"),
    [
        ("claude", 200_000 - 16_384 + 1),
        ("pi", 200_000 - 16_384 + 1),
        ("ulid", 200_000 - 16_384 + 1),
        ("openclaw", 180_001),
        ("cersei", 180_000),
        ("codex", 180_000),
        ("crabtalk", 100_001),
    ],
)
def test_each_client_has_its_own_limit(dialect: str, limit: int):
    settings = CompactionSettings()
    assert due(reading(dialect, limit, counted=True), settings, soft=SOFT).is_due
    below = due(reading(dialect, limit - 1, counted=True), settings, soft=SOFT)
    assert (below.is_due, below.is_near) == (False, True)
    far = due(reading(dialect, limit - SOFT - 2, counted=True), settings, soft=SOFT)
    assert (far.is_due, far.is_near) == (False, False)


@pytest.mark.parametrize(
    ("dialect", "guessed"),
    # three quarters of it where three units were measured to a token; the limits of the last ones are in quarters
    [
        *(("pi", 183_617 * 3 // 4), ("openclaw", 180_001 * 3 // 4), ("codex", 180_000 * 37 // 40)),
        *(("claude", 183_616), ("ulid", 183_616), ("cersei", 179_999), ("crabtalk", 100_000)),
    ],
)
def test_what_nobody_counted_is_estimated_by_what_was_measured(dialect: str, guessed: int):
    settings = CompactionSettings()
    assert not due(reading(dialect, guessed - 1), settings, soft=SOFT).is_due
    assert due(reading(dialect, guessed + 1), settings, soft=SOFT).is_due
    # behind a count, too
    counted = reading(dialect, 10, counted=True)
    behind = counted._replace(items=[*counted.items, Item("m2", "user", guessed)])
    assert due(behind, settings, soft=SOFT).tokens == 10 + rule_of(dialect).likely(guessed)


def test_the_settings_go_before_the_transcript_and_that_before_the_table():
    one = reading("codex", 10, model="gpt-4", window=272_000)
    assert window_of(one, CompactionSettings(context_window=5_000)) == 5_000
    assert window_of(one, CompactionSettings()) == 272_000
    other = reading("claude", 10, model="claude-opus-4-5")
    assert window_of(other, CompactionSettings()) == 200_000
    assert window_of(other, CompactionSettings(windows={"claude-opus": 500_000})) == 500_000


def test_a_provider_that_counted_more_than_the_table_allows_proves_a_larger_window():
    assert window_of(reading("claude", 230_000, counted=True), CompactionSettings()) == 1_000_000
    # a guess proves nothing
    assert window_of(reading("claude", 230_000), CompactionSettings()) == 200_000


def test_what_a_provider_counted_goes_before_the_estimate():
    found = due(reading("claude", 190_000, counted=True), CompactionSettings(), soft=SOFT)
    assert "190,000 tokens counted of 200,000, limit 183,616" in found.reason
    assert "estimated" in due(reading("claude", 190_000), CompactionSettings(), soft=SOFT).reason


def test_a_limit_by_bytes():
    settings = CompactionSettings(trigger_bytes=1_000)
    assert due(reading("claude", 10), settings, soft=SOFT, live_bytes=1_001).is_due
    assert not due(reading("claude", 10), settings, soft=SOFT, live_bytes=1_000).is_due


def test_a_threshold_of_ones_own_for_cersei():
    settings = CompactionSettings(threshold=0.5)
    assert due(reading("cersei", 100_000), settings, soft=SOFT).is_due
    assert not due(reading("cersei", 99_999), settings, soft=SOFT).is_due
    assert not due(reading("codex", 100_000, counted=True), settings, soft=SOFT).is_due


@pytest.mark.parametrize(
    ("dialect", "chosen", "limit"),
    [
        ("pi", Chosen(reserve_tokens=50_000), 150_000),
        ("ulid", Chosen(reserve_tokens=150_000), 50_000),
        ("openclaw", Chosen(reserve_tokens=50_000, reserve_floor=20_000), 150_000),
        ("openclaw", Chosen(reserve_tokens=5_000, reserve_floor=20_000), 180_000),
        ("claude", Chosen(window=150_000), 150_000 - 16_384),
        ("codex", Chosen(limit=120_000), 120_000),
        # the client takes the lower one of both
        ("codex", Chosen(limit=195_000), 180_000),
    ],
)
def test_what_a_person_set_in_the_client_is_its_limit(dialect: str, chosen: Chosen, limit: int):
    one = reading(dialect, 10)._replace(chosen=chosen)
    assert f"limit {limit:,}" in due(one, CompactionSettings(), soft=SOFT).reason
    # what is set here goes before it
    if dialect in ("pi", "ulid"):
        assert "limit 170,000" in due(one, CompactionSettings(reserve_tokens=30_000), soft=SOFT).reason


def test_a_client_that_is_told_to_compact_nothing_is_heeded():
    one = reading("pi", 190_000, counted=True)._replace(chosen=Chosen(off_in="settings.json"))
    found = due(one, CompactionSettings(), soft=SOFT)
    assert (found.is_due, found.is_near, found.is_off) == (False, False, True)
    assert "told in settings.json not to compact" in found.reason
    small = reading("pi", 10)._replace(chosen=Chosen(off_in="settings.json"))
    assert not due(small, CompactionSettings(), soft=SOFT).is_off


@pytest.mark.parametrize(("percent", "limit"), [(50, 90_000), (100, 180_000), (99, 178_200), (0, 183_617)])
def test_a_share_of_its_room_lets_claude_code_compact_earlier(percent: float, limit: int):
    settings = CompactionSettings()

    def is_due(tokens: int, settings: CompactionSettings) -> bool:
        told = reading("claude", tokens, counted=True)._replace(chosen=Chosen(percent=percent))
        return due(told, settings, soft=SOFT).is_due

    assert (is_due(limit, settings), is_due(limit - 1, settings)) == (True, False)
    # numbers set in slowwave go before
    assert not is_due(180_000, CompactionSettings(reserve_tokens=16_384))
