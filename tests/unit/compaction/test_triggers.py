"""Thresholds compare exactly as each client does: at the boundary, and one token beside it."""

import pytest

from slowwave.compaction.triggers import (
    CRABTALK_THRESHOLD,
    OPENCLAW_BUDGET,
    OPENCODE_BUFFER,
    Budget,
    is_over_budget,
    is_over_threshold,
    is_over_usable,
)


def test_openclaw_leaves_its_floor_free_where_pi_leaves_its_reserve() -> None:
    assert is_over_budget(100_000 - 20_000 + 1, 100_000, OPENCLAW_BUDGET)
    assert not is_over_budget(100_000 - 20_000, 100_000, OPENCLAW_BUDGET)
    assert not is_over_budget(100_000 - 20_000 + 1, 100_000, Budget())


def test_crabtalk_takes_a_number_whatever_the_window() -> None:
    assert not is_over_threshold(CRABTALK_THRESHOLD)
    assert is_over_threshold(CRABTALK_THRESHOLD + 1)


@pytest.mark.parametrize(
    ("most_output", "limits", "usable"),
    [
        (32_000, {}, 168_000),
        (32_000, {"input_limit": 150_000}, 150_000 - OPENCODE_BUFFER),
        (8_000, {"input_limit": 150_000}, 142_000),
        (8_000, {"input_limit": 150_000, "reserved": 1_000}, 149_000),
    ],
)
def test_opencode_takes_what_is_usable_beside_an_answer(most_output: int, limits: dict[str, int], usable: int) -> None:
    def is_over(tokens: int, window: int = 200_000, *, enabled: bool = True) -> bool:
        return is_over_usable(
            tokens,
            window,
            most_output,
            input_limit=limits.get("input_limit"),
            reserved=limits.get("reserved"),
            enabled=enabled,
        )

    assert is_over(usable)
    assert not is_over(usable - 1)
    assert not is_over(usable, 0)
    assert not is_over(usable, enabled=False)
