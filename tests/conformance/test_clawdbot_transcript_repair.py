"""Clawdbot's own tests of ``session-transcript-repair.ts``, by their names, and what its later releases added."""

from slowwave.compaction.pairing import MISSING, repaired
from slowwave.dialects.model import Message, Text, ToolResult
from tests.unit.compaction.messages import answer, message, result, user


def shape(messages: list[Message]) -> list[str]:
    """Return ``role`` or ``=id`` of each message."""
    return [f"={m.results[0].id}" if m.results else m.role for m in messages]


def test_moves_tool_results_directly_after_tool_calls_and_inserts_missing_results() -> None:
    fixed = repaired([answer("", "call_1", "call_2"), user("comes after"), result("call_2")])
    assert shape(fixed.messages) == ["assistant", "=call_1", "=call_2", "user"]
    assert fixed.messages[1].results == (ToolResult("call_1", MISSING, is_error=True),)
    assert fixed.added == [fixed.messages[1]]
    assert fixed.is_changed


def test_drops_duplicate_tool_results_for_the_same_id_within_a_span() -> None:
    fixed = repaired([answer("", "call_1"), result("call_1", "first"), result("call_1", "second"), user("ok")])
    assert [m.results[0].text for m in fixed.messages if m.results] == ["first"]
    assert [m.results[0].text for m in fixed.duplicates] == ["second"]


def test_drops_duplicate_tool_results_for_the_same_id_across_the_transcript() -> None:
    fixed = repaired([answer("", "call_1"), result("call_1", "first"), answer("ok"), result("call_1", "second")])
    assert shape(fixed.messages) == ["assistant", "=call_1", "assistant"]
    assert (len(fixed.duplicates), fixed.orphans) == (1, [])


def test_drops_orphan_tool_results_that_do_not_match_any_tool_call() -> None:
    fixed = repaired([user("hello"), result("call_orphan"), answer("ok")])
    assert shape(fixed.messages) == ["user", "assistant"]
    assert shape(fixed.dropped) == ["=call_orphan"]


def test_a_result_before_its_call_is_an_orphan() -> None:
    fixed = repaired([result("c"), answer("", "c")])
    assert shape(fixed.messages) == ["assistant", "=c"]
    assert (len(fixed.orphans), len(fixed.added)) == (1, 1)


def test_a_sound_transcript_is_returned_as_it_is() -> None:
    messages = [user("a"), answer("", "c"), result("c"), answer("b")]
    fixed = repaired(messages)
    assert all(one is other for one, other in zip(fixed.messages, messages, strict=True))
    assert (fixed.is_changed, fixed.added, fixed.dropped) == (False, [], [])


def test_skips_tool_calls_from_aborted_and_errored_assistant_messages() -> None:
    cut_off = answer("", "call_aborted")
    fixed = repaired([cut_off, user("next")], failed=lambda m: m is cut_off)
    assert shape(fixed.messages) == ["assistant", "user"]
    with_result = repaired([cut_off, result("call_aborted", "partial")], failed=lambda m: m is cut_off)
    assert shape(with_result.messages) == ["assistant", "=call_aborted"]


def test_uses_custom_text_for_missing_tool_results() -> None:
    assert repaired([answer("", "c")], missing="aborted").messages[1].results[0].text == "aborted"


def test_moves_late_real_results_ahead_of_newer_calls_instead_of_making_them() -> None:
    late = [answer("", "read"), answer("", "exec"), result("read", "real"), result("exec")]
    fixed = repaired(late)
    assert shape(fixed.messages) == ["assistant", "=read", "assistant", "=exec"]
    assert fixed.added == []


def test_an_id_that_is_used_again_in_a_later_turn_is_a_new_call() -> None:
    turns = [answer("", "call_0"), result("call_0", "1"), user("more"), answer("", "call_0"), result("call_0", "2")]
    fixed = repaired(turns)
    assert not fixed.is_changed
    lost = repaired([answer("", "call_0"), user("more"), answer("", "call_0"), result("call_0", "2")])
    assert [m.results[0].text for m in lost.messages if m.results] == [MISSING, "2"]


def test_takes_a_message_with_several_results_apart_and_keeps_its_words() -> None:
    both = message("user", ToolResult("b", "2"), ToolResult("a", "1"), Text("and this"), origin="typed")
    fixed = repaired([answer("", "a", "b"), both])
    assert shape(fixed.messages) == ["assistant", "=a", "=b", "user"]
    assert (fixed.messages[3].text, fixed.messages[3].origin) == ("and this", "typed")
