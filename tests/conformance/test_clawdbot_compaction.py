"""Clawdbot's own tests of ``agents/compaction.ts``, by their names: pieces of a history and pruning to a share.

Those below them hold what its later releases mended: no piece ends between a call and its result.
"""

import pytest

from slowwave.compaction.chunks import (
    chunk_ratio,
    chunks_of,
    is_oversized,
    prune_to_share,
    split_by_share,
)
from slowwave.compaction.estimates import PI
from slowwave.dialects.model import Message, Text, ToolResult
from tests.unit.compaction.messages import answer, message, result, user


def talk(number: int, size: int = 4000) -> list[Message]:
    return [user("x" * size, id=str(i + 1)) for i in range(number)]


def ids(pieces: list[list[Message]]) -> list[list[str | None]]:
    return [[m.id for m in piece] for piece in pieces]


def large(number: int, call_id: str, size: int = 4000) -> Message:
    return answer("y" * size, call_id, id=str(number))


def test_splits_messages_into_two_non_empty_parts() -> None:
    assert ids(split_by_share(talk(4))) == [["1", "2"], ["3", "4"]]


def test_preserves_message_order_across_parts() -> None:
    messages = talk(6)
    assert [m for piece in split_by_share(messages, 3) for m in piece] == messages
    assert len(split_by_share(messages, 3)) == 3


@pytest.mark.parametrize("parts", [0, 1, 2, 9])
def test_splits_into_no_more_parts_than_messages_and_none_empty(parts: int) -> None:
    pieces = split_by_share(talk(3), parts)
    assert len(pieces) == max(1, min(parts, 3))
    assert all(pieces)
    assert split_by_share([], parts) == []


def test_drops_older_chunks_until_the_history_budget_is_met() -> None:
    pruned = prune_to_share(talk(4), 2000)
    assert (pruned.dropped_chunks, pruned.kept_tokens, pruned.budget_tokens) == (2, 1000, 1000)
    assert [m.id for m in pruned.messages] == ["4"]


def test_keeps_the_newest_messages_when_pruning() -> None:
    messages = talk(6)
    pruned = prune_to_share(messages, PI.of_messages(messages) // 2)
    assert pruned.messages == messages[-len(pruned.messages) :]
    assert 0 < len(pruned.messages) < 6


def test_keeps_history_when_already_within_budget() -> None:
    messages = talk(1, 1000)
    pruned = prune_to_share(messages, 2000)
    assert (pruned.dropped_chunks, pruned.messages, pruned.dropped) == (0, messages, [])
    assert pruned.kept_tokens == PI.of_messages(messages)


def test_returns_dropped_messages_list_containing_dropped_messages() -> None:
    messages = talk(4)
    pruned = prune_to_share(messages, 2000)
    assert pruned.dropped + pruned.messages == messages
    assert pruned.dropped_tokens == PI.of_messages(messages[:3])


def test_returns_empty_dropped_messages_list_when_no_pruning_needed() -> None:
    assert prune_to_share(talk(1, 100), 100_000).dropped == []


def test_a_single_piece_is_kept_however_large() -> None:
    pruned = prune_to_share([large(1, "c"), result("c", "r" * 9000, id="2")], 100)
    assert [m.id for m in pruned.messages] == ["1", "2"]


def test_keeps_a_call_and_its_results_in_the_same_chunk() -> None:
    messages = [*talk(1), answer("x" * 4000, "a", "b", id="2"), result("a", id="3"), result("b", id="4"), *talk(1)]
    assert [len(piece) for piece in split_by_share(messages)] == [1, 4]


def test_keeps_displaced_results_with_their_call() -> None:
    messages = [user("x" * 4000), large(2, "c"), user("x" * 800), result("c", "r" * 800), user("x" * 4000)]
    assert [len(piece) for piece in split_by_share(messages)] == [1, 4]


def test_splits_after_a_completed_pair_when_over_budget() -> None:
    messages = [large(1, "c"), result("c", "r" * 4000, id="2"), user("x" * 4000, id="3")]
    assert ids(split_by_share(messages)) == [["1", "2"], ["3"]]


def test_splits_before_unfinished_calls_that_never_get_a_result() -> None:
    messages = [user("x" * 4000, id="1"), large(2, "missing"), user("x" * 4000, id="3")]
    assert ids(split_by_share(messages)) == [["1"], ["2", "3"]]


def test_drops_results_whose_call_never_was() -> None:
    messages = [*talk(1), result("gone", "orphan " * 1000, id="o"), *talk(1)]
    pruned = prune_to_share(messages, PI.of_messages(messages))
    assert [m.id for m in pruned.messages] == ["1"]
    assert [m.id for m in pruned.dropped] == ["1", "o"]
    assert pruned.dropped_tokens == PI.of_messages(messages[:2])


def test_drops_a_second_result_of_a_call_and_results_of_no_call_together() -> None:
    both = message("user", ToolResult("gone", "1"), ToolResult("gone", "2"), id="b")
    mixed = message("user", ToolResult("gone", "1"), Text("and this"), id="m")
    kept = [answer("y" * 500, "c", id="a"), result("c", id="r")]
    pruned = prune_to_share([user("x" * 8000, id="u"), *kept, result("c", id="d"), both, mixed], 2000)
    assert [m.id for m in pruned.messages] == ["a", "r", "m"]
    assert [m.id for m in pruned.dropped] == ["u", "d", "b"]


def test_keeps_a_result_when_its_call_is_kept() -> None:
    messages = [user("x" * 4000), answer("y" * 500, "c"), result("c")]
    assert [m.role for m in prune_to_share(messages, 2000).messages] == ["assistant", "tool"]


def test_chunks_hold_a_call_with_its_result_also_beyond_their_size() -> None:
    messages = [user("x" * 800, id="1"), large(2, "c", 1800), result("c", "r" * 1800, id="3"), user("x" * 800, id="4")]
    assert ids(chunks_of(messages, 700)) == [["1"], ["2", "3"], ["4"]]
    assert ids(chunks_of(messages, 10_000)) == [["1", "2", "3", "4"]]


def test_chunk_ratio_shrinks_where_messages_are_large() -> None:
    assert chunk_ratio(talk(2), 200_000) == 0.4
    assert chunk_ratio([], 200_000) == 0.4
    assert chunk_ratio(talk(2), 8_000) == pytest.approx(0.15)  # pyright: ignore[reportUnknownMemberType]
    assert chunk_ratio(talk(2), 11_000) == pytest.approx(0.4 - 0.2 * 1200 / 1100)  # pyright: ignore[reportUnknownMemberType]


def test_oversized_is_what_fills_half_the_window_with_the_margin() -> None:
    assert is_oversized(user("x" * 4000), 2_399)
    assert not is_oversized(user("x" * 4000), 2_400)
