"""Thresholds compare exactly as each client does: at the boundary, and one token beside it."""

from slowwave.compaction.plan import CRABTALK_THRESHOLD, Budget, is_over_budget, is_over_threshold
from slowwave.compaction.settings import RESERVE_FLOOR

FLOORED = Budget(reserve_floor=RESERVE_FLOOR)


def test_openclaw_leaves_its_floor_free_where_pi_leaves_its_reserve() -> None:
    assert is_over_budget(100_000 - 20_000 + 1, 100_000, FLOORED)
    assert not is_over_budget(100_000 - 20_000, 100_000, FLOORED)
    assert not is_over_budget(100_000 - 20_000 + 1, 100_000, Budget())


def test_crabtalk_takes_a_number_whatever_the_window() -> None:
    assert not is_over_threshold(CRABTALK_THRESHOLD)
    assert is_over_threshold(CRABTALK_THRESHOLD + 1)
