"""What a model's provider counted: the numbers in answers, and how far they can be believed.

Source: ``calculateContextTokens``, ``getLastAssistantUsage``, ``estimateContextTokens`` of pi 0.58.3. An aborted or
failed answer carries no valid numbers; numbers from before a compaction describe a context that is gone.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, cast

# each client's names, in the order: input, output, read from the cache, written to the cache, total
_NAMES = (
    ("input", "input_tokens", "inputTokens"),
    ("output", "output_tokens", "outputTokens"),
    ("cacheRead", "cache_read_input_tokens"),
    ("cacheWrite", "cache_creation_input_tokens"),
    ("totalTokens", "total_tokens"),
)
_FAILED = ("aborted", "error")


class Usage(NamedTuple):
    """The counters of one answer."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0

    @property
    def context_tokens(self) -> int:
        """The size of the context after this answer: the provider's total, else the sum of its counters."""
        return self.total or self.input + self.output + self.cache_read + self.cache_write


class Counted(Protocol):
    """One message of a context, as far as its size goes."""

    @property
    def tokens(self) -> int:
        """Its estimate."""
        ...

    @property
    def usage(self) -> Usage | None:
        """What an answer's provider counted; None in messages that are no valid answers."""
        ...

    @property
    def is_stale(self) -> bool:
        """It was written before the latest compaction."""
        ...


class ContextTokens(NamedTuple):
    """The size of a context: counted up to an answer, guessed behind it; ``counted`` is 0 where nothing was."""

    counted: int
    guessed: int

    @property
    def total(self) -> int:
        """Both together."""
        return self.counted + self.guessed


def has_failed(answer: Mapping[str, object]) -> bool:
    """Say whether an answer ended before it was whole: with an error, or because somebody stopped it."""
    return answer.get("stopReason") in _FAILED


def usage_of(answer: Mapping[str, object]) -> Usage | None:
    """Return the counters of an assistant's message, or None when it has none or they are not valid.

    Counters of 0 are no count: they stand in answers that no provider gave.
    """
    if answer.get("role", "assistant") != "assistant" or has_failed(answer):
        return None
    found = answer.get("usage")
    usage = read_usage(cast("Mapping[str, object]", found)) if isinstance(found, Mapping) else Usage()
    return usage if usage.context_tokens else None


def read_usage(counters: Mapping[str, object]) -> Usage:
    """Return counters in any client's names; what is no number counts 0."""
    return Usage(*(next((n for name in names if (n := _number(counters.get(name)))), 0) for names in _NAMES))


def context_tokens(spoken: Sequence[Counted]) -> ContextTokens:
    """Return the size of a context from the last believable counters and the estimates behind them."""
    for at in range(len(spoken) - 1, -1, -1):
        usage = spoken[at].usage
        if usage is not None and not spoken[at].is_stale:
            return ContextTokens(usage.context_tokens, sum(item.tokens for item in spoken[at + 1 :]))
    return ContextTokens(0, sum(item.tokens for item in spoken))


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | float) and 0 < value < math.inf else 0
