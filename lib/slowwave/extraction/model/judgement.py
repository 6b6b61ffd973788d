"""One question about all notes of a session: do the quotations bear them out, do they hold, do they last, alone?

A note that fails waits in the inbox with the reason. One that nobody judged is kept as it was verified, below what a
judged one has.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from slowwave.extraction.model.material import Passage
from slowwave.extraction.model.prompts import JUDGE, JUDGE_NAME, JUDGE_SCHEMA
from slowwave.extraction.model.quotations import Cited
from slowwave.extraction.model.verification import FAILED, PROVEN, TASK, Verified
from slowwave.hostile import is_hostile
from slowwave.letters import one_line
from slowwave.memory.model import Candidate
from slowwave.models.base import Answer, Ask, MalformedAnswerError
from slowwave.models.meter import estimated_tokens
from slowwave.secrets.redactor import Redactor

# so much of what was said afterwards is shown
_LATER_TOKENS = 250
_LATER_CHARS = 160
# so much of what stands before and behind a quotation
_AROUND_CHARS = 60
_MOST_QUOTES = 4


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
    first = min(
        (passages.index(one.passage) for note in notes for one in note.cited if one.passage in passages), default=0
    )
    later = _later(passages[first + 1 :])
    user = "Proposed memories:\n" + "\n".join(blocks) + "\n\nWhat was said afterwards:\n" + "\n".join(later) + "\n"
    return Ask("judge", JUDGE, user, JUDGE_SCHEMA, JUDGE_NAME, max_output_tokens)


def judged(notes: Sequence[Verified], answer: Answer, redact: Redactor) -> tuple[list[Candidate], int]:
    """Return the candidates, each with what the judgement makes of it, and how many it says nothing about.

    Args:
        notes: as they were asked about.
        answer: the verdicts; of several about one note the worst counts.
        redact: takes secrets out of the reasons.

    Raises:
        MalformedAnswerError: the answer has no list of verdicts.
    """
    data: Any = answer.data
    items: object = cast("Mapping[str, object]", data).get("verdicts") if isinstance(data, dict) else None
    try:
        verdicts = msgspec.convert(items, list[Verdict])
    except msgspec.ValidationError as error:
        raise MalformedAnswerError(f"the answer has no verdicts: {error}") from error
    by_number = {verdict.number: verdict for verdict in sorted(verdicts, key=lambda v: bool(_failed(v)))}
    of_each = [(note.candidate, by_number.get(number)) for number, note in enumerate(notes, 1)]
    unjudged = sum(verdict is None for _, verdict in of_each)
    return [_with(candidate, verdict, redact) for candidate, verdict in of_each], unjudged


def _failed(verdict: Verdict) -> str:
    """Return the first thing that is wrong with a note, or ""."""
    if not verdict.supported:
        return "its quotations do not bear it out"
    if not verdict.holds:
        return "it was overturned later in the session"
    if not verdict.lasting:
        return "it is about the task of the moment"
    return "" if verdict.alone else "it cannot be understood alone"


def _with(candidate: Candidate, verdict: Verdict | None, redact: Redactor) -> Candidate:
    if verdict is None:
        return candidate
    failed = _failed(verdict)
    if failed:
        why = one_line(redact(verdict.why))
        reason = f"{failed} ({why})" if why and not is_hostile(why) else failed
        return msgspec.structs.replace(candidate, confidence=FAILED, doubt=reason[:200])
    return candidate if candidate.confidence == TASK else msgspec.structs.replace(candidate, confidence=PROVEN)


def _shown(number: int, note: Verified) -> str:
    quotes = "".join(f"\n    {one.passage.label}: {_quoted(one)}" for one in note.cited[:_MOST_QUOTES])
    hint = f"\n    hint: the quotations do not have {', '.join(note.hints[:5])}" if note.hints else ""
    return f"{number}. ({note.candidate.category}) {note.candidate.text}{quotes}{hint}"


def _quoted(cited: Cited) -> str:
    """Return a quotation between what stands around it, so that none is cut behind a "not"."""
    text = " ".join(cited.passage.text.split())
    before, there, after = text.partition(cited.words)
    if not there:
        before = after = ""
    return f'{before[-_AROUND_CHARS:]}"{cited.words}"{after[:_AROUND_CHARS]}'


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
