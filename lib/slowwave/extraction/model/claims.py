"""What a model says, item by item, whatever it is like: only items of the right shape go on, the rest is counted."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from slowwave.extraction.lines_reply import parse_reply
from slowwave.extraction.model.passages import Passage
from slowwave.extraction.model.prompts import MOST_MEMORIES
from slowwave.memory.model import CATEGORIES, Category
from slowwave.models.base import Answer, MalformedAnswerError

_FULL = 100
_CITED = re.compile(r'^(?P<text>.*\S)\s*\[(?P<number>\d{1,6})\]\s*"(?P<quote>.+)"\s*$')


@dataclass(frozen=True, slots=True)
class Claim:
    """One note of a model.

    Attributes:
        category: one of the five.
        text: the note.
        confidence: the model's own, 0.0 to 1.0.
        evidence: numbers of messages, each with the words that it is said to hold.
    """

    category: Category
    text: str
    confidence: float
    evidence: tuple[tuple[int, str], ...]


@dataclass(slots=True)
class Claims:
    """The notes of one answer, and how many were dropped, by reason."""

    kept: list[Claim] = field(default_factory=list[Claim])
    dropped: list[str] = field(default_factory=list[str])


def claims_of(answer: Answer, numbered: Mapping[int, Passage]) -> Claims:
    """Return the notes of an answer; of lines without a number, the message that has exactly their words is meant.

    Raises:
        MalformedAnswerError: it has no list of notes.
    """
    return _of_lines(answer.text, numbered) if answer.form == "lines" else _of_data(answer.data)


def _of_data(data: Any) -> Claims:
    claims = Claims()
    items: object = cast("Mapping[str, object]", data).get("memories") if isinstance(data, dict) else None
    if not isinstance(items, list):
        raise MalformedAnswerError("the answer has no list of memories")
    for item in cast("list[object]", items):
        claim = _claim(item)
        if claim is None:
            claims.dropped.append("shape")
        elif len(claims.kept) == MOST_MEMORIES:
            claims.dropped.append("too_many")
        else:
            claims.kept.append(claim)
    return claims


def _claim(item: object) -> Claim | None:
    if not isinstance(item, dict):
        return None
    given = cast("Mapping[str, object]", item)
    category, text, score, evidence = (given.get(n) for n in ("category", "text", "confidence", "evidence"))
    if category not in CATEGORIES or not isinstance(text, str) or not isinstance(evidence, list):
        return None
    if isinstance(score, bool) or not isinstance(score, int) or not 0 <= score <= _FULL:
        return None
    cited = [_citation(each) for each in cast("list[object]", evidence)]
    whole = tuple(one for one in cited if one is not None)
    return Claim(category, text, score / _FULL, whole) if len(whole) == len(cited) else None


def _citation(item: object) -> tuple[int, str] | None:
    if not isinstance(item, dict):
        return None
    given = cast("Mapping[str, object]", item)
    number, quote = given.get("message"), given.get("quote")
    if isinstance(number, bool) or not isinstance(number, int) or not isinstance(quote, str):
        return None
    return number, quote


def _of_lines(text: str, numbered: Mapping[int, Passage]) -> Claims:
    facts, refused = parse_reply(text)
    claims = Claims(dropped=["shape"] * len(refused))
    for fact in facts[:MOST_MEMORIES]:
        cited = _CITED.match(fact.text)
        if cited:
            evidence = ((int(cited["number"]), cited["quote"]),)
            claims.kept.append(Claim(fact.category, cited["text"], fact.confidence, evidence))
        else:
            claims.kept.append(Claim(fact.category, fact.text, fact.confidence, _said(fact.text, numbered)))
    claims.dropped += ["too_many"] * max(0, len(facts) - MOST_MEMORIES)
    return claims


def _said(words: str, numbered: Mapping[int, Passage]) -> tuple[tuple[int, str], ...]:
    """Return the last message that holds exactly these words, for a line that cites none."""
    flat = " ".join(words.split())
    found: Sequence[int] = [n for n, passage in numbered.items() if flat in " ".join(passage.text.split())]
    return ((found[-1], words),) if flat and found else ()
