"""Calls and results put right before a model sees them, after ``agents/session-transcript-repair.test.ts``."""

from typing import Any

from slowwave.formats import Span
from slowwave.formats.openclaw.dialect import MISSING, Repaired, repaired
from slowwave.formats.pi.dialect import Said
from slowwave.formats.pi.records import DECODER, entry_of

ENTRY = entry_of(DECODER.decode(b'{"type":"message","id":"a","message":{}}'), Span(0, 1, 0, b"{}"))


def said(role: str, *parts: dict[str, Any], **fields: Any) -> Said:
    return Said(role, list(parts), fields, ENTRY)


def call(identity: str) -> dict[str, Any]:
    return {"type": "toolCall", "id": identity, "name": "read", "arguments": {}}


def result(identity: str, text: str = "ok") -> Said:
    return said("toolResult", {"type": "text", "text": text}, toolCallId=identity)


def user(text: str = "user message") -> Said:
    return said("user", {"type": "text", "text": text})


def order(done: Repaired) -> list[str]:
    return [f"{m.role} {m.fields.get('toolCallId', '')}".strip() for m in done.messages]


def test_moves_tool_results_directly_after_tool_calls_and_inserts_missing_results() -> None:
    done = repaired([said("assistant", call("call_1"), call("call_2")), user("user arrived"), result("call_2")])
    assert order(done) == ["assistant", "toolResult call_1", "toolResult call_2", "user"]
    assert [m.fields["toolCallId"] for m in done.added] == ["call_1"]
    assert (done.added[0].parts[0]["text"], done.added[0].fields["isError"], done.moved) == (MISSING, True, True)


def test_drops_duplicate_tool_results_for_the_same_id_within_a_span() -> None:
    done = repaired([said("assistant", call("call_1")), result("call_1", "first"), result("call_1", "second"), user()])
    assert order(done) == ["assistant", "toolResult call_1", "user"]
    assert (done.messages[1].parts[0]["text"], done.duplicates, done.moved) == ("first", 1, False)


def test_drops_duplicate_tool_results_for_the_same_id_across_the_transcript() -> None:
    talk = [said("assistant", call("call_1")), result("call_1"), said("assistant"), result("call_1"), user()]
    done = repaired(talk)
    assert order(done) == ["assistant", "toolResult call_1", "assistant", "user"]
    assert (done.duplicates, done.orphans) == (1, 0)


def test_drops_orphan_tool_results_that_do_not_match_any_tool_call() -> None:
    done = repaired([user(), result("call_orphan"), said("assistant"), result("call_orphan")])
    assert order(done) == ["user", "assistant"]
    assert (done.duplicates, done.orphans, done.added) == (0, 2, [])


def test_answers_that_failed_keep_their_calls_without_results() -> None:
    done = repaired([said("assistant", call("call_1"), stopReason="error"), user()])
    assert order(done) == ["assistant", "user"]
    assert done.added == []


def test_a_result_before_its_call_is_an_orphan() -> None:
    done = repaired([result("call_1"), said("assistant", call("call_1"))])
    assert order(done) == ["assistant", "toolResult call_1"]
    assert (done.orphans, len(done.added)) == (1, 1)


def test_a_sound_transcript_is_returned_as_it_is() -> None:
    talk = [user(), said("assistant", call("call_1")), result("call_1"), said("assistant")]
    done = repaired(talk)
    assert all(one is other for one, other in zip(done.messages, talk, strict=True))
    assert (done.added, done.duplicates, done.orphans, done.moved) == ([], 0, 0, False)
