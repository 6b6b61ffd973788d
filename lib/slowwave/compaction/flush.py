"""When a session's memories are saved before a compaction summarises it away, and what the client's settings say to it.

Source: ``memory-flush.ts`` of Clawdbot 2026.1.27 and seed 004. Once per compaction cycle, when the context is within
a soft threshold of what would compact it. The client reckons with the size that it noted after the last turn, so that
one huge turn jumps over the threshold; here the transcript itself is measured (:mod:`slowwave.compaction.job.due`).
"""

from collections.abc import Mapping
from typing import TypeVar

from slowwave.compaction.javascript import fields_of

T = TypeVar("T")

SOFT_THRESHOLD_TOKENS = 4_000
RESERVE_FLOOR = 20_000


def reserve_floor(compaction: Mapping[str, object]) -> int:
    """Return the tokens that the client leaves free at least, by its ``compaction`` settings; 0 turns the floor off.

    Source: ``resolveCompactionReserveTokensFloor`` of Clawdbot 2026.1.24. What is no number, or below 0, stands for
    the default.
    """
    return count_or(compaction.get("reserveTokensFloor"), RESERVE_FLOOR)


def soft_threshold(compaction: Mapping[str, object]) -> int | None:
    """Return the tokens in ``memoryFlush`` of the client's ``compaction`` settings, None where it is turned off.

    A number that is none or below 0 stands for the default.
    """
    flush = fields_of(compaction.get("memoryFlush"))
    if flush.get("enabled") is False:
        return None
    return count_or(flush.get("softThresholdTokens"), SOFT_THRESHOLD_TOKENS)


def has_flushed(entry: Mapping[str, object]) -> bool:
    """Say whether a flush ran in this compaction cycle, by the session's entry in ``sessions.json``."""
    done = entry.get("memoryFlushCompactionCount")
    return isinstance(done, int | float) and done == (entry.get("compactionCount") or 0)


def flushed(entry: Mapping[str, object], *, at_ms: int) -> dict[str, object]:
    """Return the fields to note in an entry after a flush."""
    return {"memoryFlushAt": at_ms, "memoryFlushCompactionCount": count_or(entry.get("compactionCount"), 0)}


def count_or(value: object, default: T) -> int | T:
    """Return a number of a client's settings, ``default`` where it is none or below 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return default
    return int(value)
