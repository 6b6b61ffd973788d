"""When a context is too large: the thresholds of every source, each compared exactly as its client compares.

pi and the ULID specification leave room for the answer (more than window - reserve); OpenClaw does not let that room
shrink below a floor; Cersei and Codex take a share of the window (at or above it); crabtalk a number of tokens.
"""

from typing import Literal, NamedTuple

RESERVE_TOKENS = 16_384
KEEP_RECENT_TOKENS = 20_000
# Cersei
KEEP_RECENT_MESSAGES = 10
AUTO_COMPACT_SHARE = 0.90
WARNING_SHARE = 0.80
CRITICAL_SHARE = 0.95
CRABTALK_THRESHOLD = 100_000

Level = Literal["ok", "warning", "critical"]


class Budget(NamedTuple):
    """The settings of a compaction.

    A reserve below ``reserve_floor`` is raised to it (0 turns the floor off). With ``keep_messages`` so many messages
    stay, and not so many tokens (Cersei).
    """

    enabled: bool = True
    reserve_tokens: int = RESERVE_TOKENS
    keep_recent_tokens: int = KEEP_RECENT_TOKENS
    reserve_floor: int = 0
    keep_messages: int = 0

    @property
    def reserve(self) -> int:
        """The tokens that are left free."""
        return max(self.reserve_tokens, self.reserve_floor)


def is_over_budget(tokens: int, window: int, budget: Budget) -> bool:
    """Say whether a context leaves less room than the reserve (pi, OpenClaw, the ULID specification)."""
    return budget.enabled and tokens > window - budget.reserve


def is_over_share(tokens: int, window: int, share: float = AUTO_COMPACT_SHARE) -> bool:
    """Say whether a context fills a share of the window (Cersei, Codex); an unknown window of 0 never fills."""
    return window > 0 and tokens / window >= share


def warning_level(tokens: int, window: int) -> Level:
    """Return how full the window is (Cersei)."""
    if is_over_share(tokens, window, CRITICAL_SHARE):
        return "critical"
    return "warning" if is_over_share(tokens, window, WARNING_SHARE) else "ok"


def is_over_threshold(tokens: int, threshold: int = CRABTALK_THRESHOLD) -> bool:
    """Say whether a context is larger than a fixed number of tokens (crabtalk)."""
    return tokens > threshold
