"""Any conversation, compacted any number of times: nothing falls between summary and kept range, no call is parted."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.compaction.calls import answers
from slowwave.compaction.items import Item, items_of, pi_items
from slowwave.compaction.plan import Budget, NoPlan, Plan, find_cut, prepare
from slowwave.compaction.summary import keep_index, rounds, snip
from slowwave.compaction.tokens import PI
from slowwave.formats import Message
from tests.unit.compaction.messages import answer, result, user
from tests.unit.formats.pi_files import Session, call

_SIZES = st.sampled_from([0, 1, 3, 40, 400, 4000])
# few ids, so that they come again, are answered twice, late, or never
_IDS = st.sampled_from(["c1", "c2", "c3"])
_STEPS = st.one_of(
    st.tuples(st.just("user"), _SIZES),
    st.tuples(st.just("answer"), _SIZES, st.lists(_IDS, max_size=2)),
    st.tuples(st.just("result"), _SIZES, _IDS),
    st.tuples(st.just("setting")),
    st.tuples(st.just("custom"), _SIZES),
)
_BUDGETS = st.integers(1, 3000).map(lambda n: Budget(keep_recent_tokens=n))


@st.composite
def _conversations(draw: st.DrawFn) -> list[Message]:
    made: list[Message] = []
    for number, step in enumerate(draw(st.lists(_STEPS, max_size=25))):
        match step:
            case ("answer", size, ids):
                made.append(answer("x" * size, *ids, id=f"m{number}"))
            case ("result", size, str(call_id)):
                made.append(result(call_id, "x" * size, id=f"m{number}"))
            case ("user" | "custom", size):
                made.append(user("x" * size, id=f"m{number}"))
            case _:
                pass
    return made


def _add(session: Session, step: Any) -> None:
    match step:
        case ("user", size):
            session.user("x" * size)
        case ("answer", size, ids):
            session.model("x" * size, *(call(i, path=f"{i}.py") for i in ids))
        case ("result", size, call_id):
            session.result(call_id, "x" * size)
        case ("custom", size):
            session.add("custom_message", customType="t", content="x" * size, display=False)
        case _:
            session.add("model_change", provider="fake", modelId="fake-1")


def _whole(items: Sequence[Item], cut: int) -> bool:
    """Say whether no result from ``cut`` on answers a call before it, and the first message is no result."""
    links = answers((item.calls, item.results) for item in items)
    parted = any(a is not None and a.at < cut for found in links[cut:] for a in found)
    first = next((item for item in items[cut:] if item.speaks), None)
    return not parted and (first is None or first.kind != "result")


@given(_conversations(), st.integers(1, 3000))
def test_a_cut_parts_no_call_and_begins_with_no_result(conversation: list[Message], keep: int) -> None:
    items = items_of(conversation, PI)
    cut = find_cut(items, keep)
    assert cut.first_kept == 0 or _whole(items, cut.first_kept)
    if cut.turn_start is not None:
        assert items[cut.turn_start].kind == "user"
        assert all(item.kind != "user" for item in items[cut.turn_start + 1 : cut.first_kept + 1])


@given(_conversations(), _BUDGETS)
def test_a_plan_divides_the_region_and_shrinks_or_says_why_not(conversation: list[Message], budget: Budget) -> None:
    items = items_of(conversation, PI)
    plan = prepare(items, budget)
    if isinstance(plan, NoPlan):
        assert plan.reason
        return
    assert [*plan.history, *plan.prefix, *plan.kept] == items
    assert plan.tokens_summarised > 0
    assert plan.tokens_kept < plan.context.total
    assert plan.kept
    assert plan.first_kept is not None


@given(st.lists(st.lists(_STEPS, max_size=9), min_size=1, max_size=5), _BUDGETS)
def test_no_message_is_lost_over_any_number_of_compactions(
    tmp_path_factory: pytest.TempPathFactory, rounds_of: list[list[Any]], budget: Budget
) -> None:
    folder = tmp_path_factory.getbasetemp()
    # the real path of a real file: entries are added, then compacted by the plan, then added again
    session = Session()
    summarised: list[str | None] = []
    for steps in rounds_of:
        for step in steps:
            _add(session, step)
        transcript = session.read(folder)
        items = pi_items(transcript.path, transcript.loaded)
        spoken = [e.id for e in transcript.path if e.kind and e.type != "compaction"]
        seen = [item.id for item in items if item.speaks and item.kind != "compaction"]
        # what is in the context is exactly what no summary stands for
        assert summarised + seen == spoken
        plan = prepare(items, budget)
        if isinstance(plan, Plan):
            gone = [item.id for item in plan.history + plan.prefix if item.speaks]
            assert gone + [item.id for item in plan.kept if item.speaks] == seen
            summarised += gone
            session.compact(plan.first_kept, plan.previous_summary + "+")
            again = session.read(folder)
            after = pi_items(again.path, again.loaded)
            assert [item.id for item in after[1:] if item.speaks] == seen[len(gone) :]
            assert isinstance(prepare(after, budget), NoPlan)


@given(_conversations(), st.integers(1, 12), st.integers(1, 3000))
def test_rounds_snips_and_chunks_keep_every_message_and_no_call_parted(
    conversation: list[Message], number: int, tokens: int
) -> None:
    items = items_of(conversation, PI)
    assert [m for group in rounds(conversation) for m in group.messages] == conversation
    kept, _ = snip(conversation, number)
    assert list(kept) == conversation[len(conversation) - len(kept) :]
    for at in (len(conversation) - len(kept), keep_index(conversation, tokens, PI)):
        assert at in (0, len(conversation)) or _unparted(items, at)


def _unparted(items: Sequence[Item], at: int) -> bool:
    links = answers((item.calls, item.results) for item in items)
    return not any(a is not None and a.at < at for found in links[at:] for a in found)
