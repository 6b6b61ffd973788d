"""One question about all notes of a session: do the quotations bear them out, do they hold, do they last, alone?

A note that fails waits in the inbox with the reason. Without an answer the notes are kept as they were verified, below
what a judged one has.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from slowwave.extraction.model.material import Passage
from slowwave.extraction.model.prompts import JUDGE, JUDGE_NAME, JUDGE_SCHEMA
from slowwave.extraction.model.verification import FAILED, PROVEN, TASK, Verified
from slowwave.memory.model import Candidate
from slowwave.models.base import Answer, Ask, MalformedAnswerError
from slowwave.models.tokens import estimated_tokens

# so much of what was said afterwards is shown
_LATER_TOKENS = 800
_LATER_CHARS = 200


class Verdict(msgspec.Struct, frozen=True):
    """What the model says of one note; see :data:`slowwave.extraction.model.prompts.JUDGE`."""

    number: int
    supported: bool
    holds: bool
    lasting: bool
    alone: bool
    why: str = ""


def question(notes: Sequence[Verified], passages: Sequence[Passage], max_output_tokens: int) -> Ask:
    """Return the question about the notes of a session.

    Args:
        notes: all that were verified.
        passages: the whole session, for what was said later.
        max_output_tokens: the longest answer.
    """
    blocks = [_shown(number, note) for number, note in enumerate(notes, 1)]
    first = min((passages.index(p) for note in notes for p, _ in note.cited if p in passages), default=0)
    later = _later(passages[first + 1 :])
    user = "Proposed memories:\n" + "\n".join(blocks) + "\n\nWhat was said afterwards:\n" + "\n".join(later) + "\n"
    return Ask("judge", JUDGE, user, JUDGE_SCHEMA, JUDGE_NAME, max_output_tokens)


def judged(notes: Sequence[Verified], answer: Answer | None) -> list[Candidate]:
    """Return the candidates, each with what the judgement makes of it; None when there was no answer.

    Raises:
        MalformedAnswerError: the answer has no list of verdicts.
    """
    if answer is None:
        return [note.candidate for note in notes]
    data: Any = answer.data
    items: object = cast("Mapping[str, object]", data).get("verdicts") if isinstance(data, dict) else None
    try:
        verdicts = msgspec.convert(items, list[Verdict])
    except msgspec.ValidationError as error:
        raise MalformedAnswerError(f"the answer has no verdicts: {error}") from error
    by_number = {verdict.number: verdict for verdict in verdicts}
    return [_with(note.candidate, by_number.get(number)) for number, note in enumerate(notes, 1)]


def _with(candidate: Candidate, verdict: Verdict | None) -> Candidate:
    if verdict is None:
        return candidate
    failed = [
        words
        for is_so, words in (
            (verdict.supported, "its quotations do not bear it out"),
            (verdict.holds, "it was overturned later in the session"),
            (verdict.lasting, "it is about the task of the moment"),
            (verdict.alone, "it cannot be understood alone"),
        )
        if not is_so
    ]
    if failed:
        why = f" ({verdict.why})" if verdict.why else ""
        return msgspec.structs.replace(candidate, confidence=FAILED, doubt=f"{failed[0]}{why}"[:200])
    return candidate if candidate.confidence == TASK else msgspec.structs.replace(candidate, confidence=PROVEN)


def _shown(number: int, note: Verified) -> str:
    quotes = "".join(f'\n    {passage.label}: "{words}"' for passage, words in note.cited)
    hint = f"\n    hint: the quotations do not have {', '.join(note.hints[:5])}" if note.hints else ""
    return f"{number}. ({note.candidate.category}) {note.candidate.text}{quotes}{hint}"


def _later(passages: Sequence[Passage]) -> list[str]:
    """Return what people and the assistant's conclusions said, the newest of it as far as there is room."""
    kept: list[str] = []
    room = _LATER_TOKENS
    for passage in reversed([p for p in passages if p.speaker != "command"]):
        line = f"{passage.label}: {' '.join(passage.text[:_LATER_CHARS].split())}"
        room -= estimated_tokens(line)
        if room < 0:
            break
        kept.append(line)
    return kept[::-1]
