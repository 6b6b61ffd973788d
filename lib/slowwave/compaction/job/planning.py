"""The plan for one session of one client: where it is cut, and that the client can say what stays."""

from collections.abc import Sequence

from slowwave.compaction.items import Item
from slowwave.compaction.job.reading import Reading
from slowwave.compaction.plan import Budget, Cut, NoPlan, Plan, cut_points, divided, prepare, prepare_whole
from slowwave.formats.model import Other, Span, Thinking


def planned(reading: Reading, budget: Budget) -> Plan | NoPlan:
    """Return the plan for a session, or why there is none."""
    if not reading.keeps:
        return prepare_whole(reading.items)
    plan = prepare(reading.items, budget)
    return plan if isinstance(plan, NoPlan) else _nameable(plan, reading.items)


def _nameable(plan: Plan, items: Sequence[Item]) -> Plan:
    """Return the plan with the next cut whose first message the client can name; without one nothing is kept.

    Older rollouts of Codex give their items no ids, and what a person asked stands there in front of the summary, which
    cannot stay behind it. An item of reasoning is never parted from what was done for it: the API refuses the one
    without the other.
    """
    region = [*plan.history, *plan.prefix, *plan.kept]
    start = len(plan.history) + len(plan.prefix)
    border = next((i for i in range(len(items) - 1, -1, -1) if items[i].kind == "compaction"), 0)
    points = [start] if start >= border else []
    points += [point for point in cut_points(region) if point > start and point >= border]
    at = next((p for p in points if region[p].id is not None and not (p and _only_thinks(region[p - 1]))), None)
    if at == start:
        return plan
    return divided(items, Cut(len(region) if at is None else at))


def _only_thinks(item: Item) -> bool:
    message = item.message
    if item.kind != "assistant" or message is None or not message.blocks:
        return False
    return all(
        isinstance(block, Thinking) or (isinstance(block, Other) and block.type == "reasoning")
        for block in message.blocks
    )


def tokens_after(reading: Reading, plan: Plan, summary: str) -> int:
    """Return the estimate of the context that a compaction leaves."""
    stays = plan.tokens_kept + reading.rule.of_text(summary + " " * reading.rules.introduced)
    if reading.rules.keeps_asked:
        from slowwave.formats.codex.replay import (  # noqa: PLC0415
            USER_TOKENS,
            is_boundary,
        )

        # the client keeps what a person asked, up to a number of tokens, also where it is summarised
        asked = (item for item in plan.gone if item.message is not None and is_boundary(item.message))
        stays += min(USER_TOKENS, sum(item.tokens for item in asked))
    return stays


def live_bytes(reading: Reading) -> int:
    """Return the bytes of the records that a context is made of."""
    return sum(len(span.raw) for span in spans_of(reading.items))


def dropped_by(plan: Plan) -> list[tuple[int, int, int]]:
    """Return part, offset and length of the bytes that a plan's summary stands for, neighbours joined."""
    return ranges_of([item for item in plan.gone if item.speaks])


def spans_of(items: Sequence[Item]) -> list[Span]:
    """Return the records that items come from, each once, in the order of the file."""
    found = {(s.part, s.offset): s for item in items if item.message is not None for s in item.message.sources}
    return [found[place] for place in sorted(found)]


def ranges_of(items: Sequence[Item]) -> list[tuple[int, int, int]]:
    """Return part, offset and length of the bytes that items come from, neighbours joined: where to read them again."""
    found: list[tuple[int, int, int]] = []
    for span in spans_of(items):
        part, offset, length = span.part, span.offset, len(span.raw)
        # no more than a line end lies between neighbours
        if found and found[-1][0] == part and offset <= found[-1][1] + found[-1][2] + 2:
            _, start, known = found[-1]
            found[-1] = (part, start, max(start + known, offset + length) - start)
        else:
            found.append((part, offset, length))
    return found
