"""What pi decides after every answer: go on, compact, compact and ask again, or give up.

Source: ``_checkCompaction`` of ``agent-session.ts``, pi 0.58.3.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from slowwave.compaction.triggers import Budget, is_over_budget
from slowwave.compaction.usage import Counted, context_tokens, usage_of

Action = Literal["none", "threshold", "overflow", "give_up"]

# how providers say that a request did not fit
_OVERFLOW = re.compile(
    r"prompt is too long|exceeds? the (?:\w+ )*context|context[ _]length[ _]exceeded|maximum context length"
    r"|context window (?:exceeds|is full)|input token count .{0,40}exceeds|input is too long|too many tokens"
    r"|request_too_large|maximum prompt length|exceeded model token limit",
    re.IGNORECASE,
)


class Check(NamedTuple):
    """What to do, and why; ``tokens`` is the size of the context as far as it was looked at."""

    action: Action
    reason: str
    tokens: int = 0


def check_answer(
    answer: Mapping[str, object],
    context: Sequence[Counted],
    window: int,
    budget: Budget,
    *,
    is_stale: bool = False,
    is_same_model: bool = True,
    has_recovered: bool = False,
) -> Check:
    """Decide after an answer.

    Args:
        answer: the assistant's message in pi's own form.
        context: the messages up to and with the answer.
        window: tokens that the model can see.
        budget: the settings.
        is_stale: the latest compaction is newer than the answer.
        is_same_model: the answer is of the model that goes on; an overflow of another, smaller one says nothing.
        has_recovered: an overflow was compacted for already since the last good answer.
    """
    if not budget.enabled:
        return Check("none", "compaction is turned off")
    if answer.get("stopReason") == "aborted":
        return Check("none", "the answer was aborted")
    if is_stale:
        return Check("none", "the answer is older than the latest compaction")
    if is_same_model and is_overflow(answer):
        if has_recovered:
            return Check("give_up", "the context still does not fit after one compaction")
        return Check("overflow", "the context does not fit")
    return _by_size(answer, context, window, budget)


def is_overflow(answer: Mapping[str, object]) -> bool:
    """Say whether an answer failed since the context was too large."""
    message = answer.get("errorMessage")
    return answer.get("stopReason") == "error" and isinstance(message, str) and _OVERFLOW.search(message) is not None


def _by_size(answer: Mapping[str, object], context: Sequence[Counted], window: int, budget: Budget) -> Check:
    usage = usage_of(answer)
    if usage is not None:
        tokens = usage.context_tokens
    else:
        size = context_tokens(context)
        if not size.counted:
            return Check("none", "no answer since the last compaction says how large the context is")
        tokens = size.total
    if is_over_budget(tokens, window, budget):
        return Check("threshold", f"{tokens:,} tokens leave less than {budget.reserve:,} of {window:,}", tokens)
    return Check("none", f"{tokens:,} tokens of {window:,}", tokens)
