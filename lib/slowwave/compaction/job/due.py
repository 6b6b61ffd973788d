"""Whether a session is due for compaction, by the rule of its own client, and the sentence that says so.

Claude Code, pi, OpenClaw and the ULID specification leave room for the answer; Cersei and Codex take a share of the
window; crabtalk a number of tokens. What a person sets as the window goes before what the client noted, that before
the table; a provider that counted more than the table knows proves that the model sees more.
"""

from typing import NamedTuple

from slowwave.compaction.job.reading import Reading
from slowwave.compaction.triggers import (
    AUTO_COMPACT_SHARE,
    CRABTALK_THRESHOLD,
    OPENCLAW_RESERVE_FLOOR,
    Budget,
    is_over_budget,
    is_over_share,
    is_over_threshold,
)
from slowwave.compaction.windows import context_window
from slowwave.settings import CompactionSettings

# What the next larger kind of model sees (Claude and GPT with a long context, Gemini).
_LONG_WINDOW = 1_000_000
_BY_SHARE = ("cersei", "codex")


class Due(NamedTuple):
    """A decision with its reason.

    Attributes:
        is_due: compact now.
        is_near: not yet, but within the soft threshold of seed 004, so that memories are saved already.
        reason: both numbers, for a person.
        tokens: the size of the context before.
        window: tokens that the model can see.
    """

    is_due: bool
    is_near: bool
    reason: str
    tokens: int
    window: int


def due(reading: Reading, settings: CompactionSettings, *, soft: int, live_bytes: int = 0) -> Due:
    """Decide for one session.

    Args:
        reading: the session.
        settings: the settings in force.
        soft: how many tokens below the trigger counts as near.
        live_bytes: bytes of the records that its context is made of.
    """
    size = reading.size
    window = window_of(reading, settings)
    how = "counted" if size.counted else "estimated"
    limit = limit_of(reading.dialect, window, settings)
    is_due = _is_over(reading.dialect, size.total, window, settings)
    reason = f"{size.total:,} tokens {how} of {window:,}, limit {limit:,}"
    if not is_due and 0 < settings.trigger_bytes < live_bytes:
        is_due, reason = True, f"{live_bytes:,} bytes in the context, limit {settings.trigger_bytes:,}"
    is_near = not is_due and _is_over(reading.dialect, size.total + soft, window, settings)
    return Due(is_due, is_near, reason, size.total, window)


def budget_of(dialect: str, settings: CompactionSettings) -> Budget:
    """Return the settings as the pure rules take them."""
    floor = OPENCLAW_RESERVE_FLOOR if dialect == "openclaw" else 0
    return Budget(
        reserve_tokens=settings.reserve_tokens, keep_recent_tokens=settings.keep_recent_tokens, reserve_floor=floor
    )


def window_of(reading: Reading, settings: CompactionSettings) -> int:
    """Return how many tokens the model of a session can see."""
    if settings.context_window:
        return settings.context_window
    window = reading.window or context_window(reading.model, settings.windows)
    return max(window, _LONG_WINDOW) if reading.size.counted > window else window


def limit_of(dialect: str, window: int, settings: CompactionSettings) -> int:
    """Return the tokens from which on a session is due."""
    if dialect in _BY_SHARE:
        return int(window * AUTO_COMPACT_SHARE)
    if dialect == "crabtalk" and not settings.context_window:
        return CRABTALK_THRESHOLD
    return window - budget_of(dialect, settings).reserve


def _is_over(dialect: str, tokens: int, window: int, settings: CompactionSettings) -> bool:
    if dialect in _BY_SHARE:
        return is_over_share(tokens, window)
    if dialect == "crabtalk" and not settings.context_window:
        return is_over_threshold(tokens)
    return is_over_budget(tokens, window, budget_of(dialect, settings))
