"""The plan of one compaction: what is summarised, what is kept, what is carried on; or why there is none.

A plan is over the items of a context, so a second compaction summarises what the first one kept, and no message falls
between the two. Nothing is decided twice: without new words since the last compaction there is no plan.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from slowwave.compaction.cuts import Cut, find_cut, find_cut_before
from slowwave.compaction.file_lists import NO_FILES, FileOperations
from slowwave.compaction.items import Item
from slowwave.compaction.live.earlier import Earlier
from slowwave.compaction.named_files import of_calls
from slowwave.compaction.triggers import Budget
from slowwave.compaction.usage import ContextTokens, context_tokens


@dataclass(frozen=True)
class Plan:
    """What a compaction would do.

    Attributes:
        history: whole turns that are summarised.
        prefix: the beginning of a turn that the cut splits; summarised for itself.
        kept: what stays as it is, settings included.
        previous_summary: the summary that the new one goes on from, without its lists of files; "" for the first.
        files: read and changed so far, those of earlier compactions included, those of the kept range not.
        context: the size of the context before.
        earlier: what goes away before ``history`` and is not held; None where that is nothing.
    """

    history: tuple[Item, ...]
    prefix: tuple[Item, ...]
    kept: tuple[Item, ...]
    previous_summary: str
    files: FileOperations
    context: ContextTokens
    earlier: Earlier | None = None

    @property
    def gone(self) -> Iterator[Item]:
        """All that goes away, in order; what is not held is read again.

        Raises:
            UnreadableError: the session cannot be read, or has changed since.
        """
        return chain(self.earlier.items() if self.earlier is not None else (), self.history, self.prefix)

    @property
    def messages_summarised(self) -> int:
        """How many messages the summary will stand for; about so many where not all of them are held."""
        held = sum(item.speaks for item in self.history + self.prefix)
        return held + (self.earlier.messages if self.earlier is not None else 0)

    @property
    def first_kept(self) -> str | None:
        """How the dialect names the first entry that stays; None where none does."""
        return self.kept[0].id if self.kept else None

    @property
    def is_split(self) -> bool:
        """The cut is in the middle of a turn."""
        return bool(self.prefix)

    @property
    def tokens_summarised(self) -> int:
        """Estimate of what the summary will stand for, without the summary before it."""
        held = sum(item.tokens for item in self.history + self.prefix)
        return held + (self.earlier.tokens if self.earlier is not None else 0)

    @property
    def tokens_kept(self) -> int:
        """Estimate of what stays."""
        return sum(item.tokens for item in self.kept)


@dataclass(frozen=True)
class NoPlan:
    """Why nothing is compacted."""

    reason: str


def prepare(
    items: Sequence[Item], budget: Budget, *, least_tokens: int = 1, earlier: Earlier | None = None
) -> Plan | NoPlan:
    """Return the plan for a context.

    Args:
        items: the context, its latest compaction among them.
        budget: how much of it is kept.
        least_tokens: refuse to summarise less than this.
        earlier: what lies before them; it goes away.
    """
    previous, region = _apart(items)
    if nothing := _nothing_new(region, previous):
        return nothing
    if budget.keep_messages:
        cut = find_cut_before(region, budget.keep_messages)
    else:
        cut = find_cut(region, budget.keep_recent_tokens)
    plan = divided(items, cut, earlier)
    return _refusal(plan, budget, least_tokens) or plan


def prepare_whole(items: Sequence[Item], earlier: Earlier | None = None) -> Plan | NoPlan:
    """Return the plan for a client that keeps nothing before a compaction: all of the context is summarised."""
    previous, region = _apart(items)
    return _nothing_new(region, previous) or divided(items, Cut(len(region)), earlier)


def _apart(items: Sequence[Item]) -> tuple[Item | None, list[Item]]:
    """Return the latest compaction, and everything else."""
    previous = next((item for item in reversed(items) if item.kind == "compaction"), None)
    return previous, [item for item in items if item.kind != "compaction"]


def _nothing_new(region: Sequence[Item], previous: Item | None) -> NoPlan | None:
    if not any(item.speaks for item in region):
        return NoPlan("no messages")
    if previous is not None and all(item.is_stale for item in region if item.speaks):
        return NoPlan("no messages since the last compaction")
    return None


def divided(items: Sequence[Item], cut: Cut, earlier: Earlier | None = None) -> Plan:
    """Return the plan that cuts a context, without its latest compaction, at a place; refusals are not looked at."""
    previous, region = _apart(items)
    turn = cut.first_kept if cut.turn_start is None else cut.turn_start
    if earlier is not None and earlier.has_turn and cut.turn_start is None and _is_within(region, cut.first_kept):
        turn = 0  # it began before the items
    gone = region[: cut.first_kept]
    calls = (call for item in gone if item.message is not None for call in item.message.calls)
    return Plan(
        tuple(region[:turn]),
        tuple(region[turn : cut.first_kept]),
        tuple(region[cut.first_kept :]),
        "" if previous is None else previous.summary,
        (NO_FILES if previous is None else previous.files) | of_calls(calls),
        context_tokens(items),
        earlier,
    )


def _is_within(region: Sequence[Item], at: int) -> bool:
    """Say whether a kept range that begins at ``at`` begins in a turn that none of the items began."""
    first = next((i for i in range(at, len(region)) if region[i].speaks), len(region))
    return first < len(region) and not any(item.kind == "user" for item in region[: first + 1])


def _refusal(plan: Plan, budget: Budget, least_tokens: int) -> NoPlan | None:
    if plan.messages_summarised == 0:
        if budget.keep_messages:
            return NoPlan(f"nothing stands before the {budget.keep_messages} newest messages, which always stay")
        if plan.tokens_kept < budget.keep_recent_tokens:
            return NoPlan(f"all of it, {plan.tokens_kept:,} tokens, fits into the {budget.keep_recent_tokens:,} kept")
        return NoPlan(f"nothing stands before the first message that can be kept, {plan.tokens_kept:,} tokens")
    if plan.tokens_summarised < least_tokens:
        return NoPlan(f"{plan.tokens_summarised:,} tokens to summarise, {least_tokens:,} needed")
    return None
