"""What a model says about a session, operation by operation, whatever it is like.

Only operations of the right shape go on; the rest is counted. What they say is checked in
:mod:`slowwave.extraction.model.verification`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import msgspec

from slowwave.extraction.lines_reply import parse_reply
from slowwave.extraction.model.material import Passage
from slowwave.memory.model import CATEGORIES, Category
from slowwave.models.base import Answer, MalformedAnswerError

Kind = Literal["add", "update", "confirm", "retire", "drop"]
Scope = Literal["task", "project", "person"]
MOST_OPERATIONS = 40
_CITED = re.compile(r'^(?P<text>.*\S)\s*\[(?P<number>\d{1,6})\]\s*"(?P<quote>.+)"\s*$')


class Quote(msgspec.Struct, frozen=True):
    """Words that stand in a passage.

    Attributes:
        passage: its number.
        words: copied from it.
    """

    passage: int
    words: str


class Proposed(msgspec.Struct, frozen=True):
    """One operation as a model proposes it.

    Attributes:
        op: add a memory; update, confirm or retire one that is there (``memory``); drop notes (``notes``).
        memory: number of the memory that is meant, "M3", or "".
        notes: numbers of notes that it takes the place of, "C1".
        text: the memory, one sentence that stands alone; of a drop or retire why.
        category: one of the five.
        scope: whether it holds for this task, for the project, or for the person everywhere.
        reason: why it is so, where somebody said it, or "".
        quotes: what shows it.
    """

    op: Kind
    text: str
    category: Category = "project"
    scope: Scope = "project"
    memory: str = ""
    notes: tuple[str, ...] = ()
    reason: str = ""
    quotes: tuple[Quote, ...] = ()


@dataclass(slots=True)
class Answered:
    """The operations of one answer, and why others were left out."""

    kept: list[Proposed] = field(default_factory=list[Proposed])
    left: list[str] = field(default_factory=list[str])


def operations_of(answer: Answer, numbered: Mapping[int, Passage]) -> Answered:
    """Return the operations of an answer; of lines without a number, the passage that has exactly their words is meant.

    Raises:
        MalformedAnswerError: it has no list of operations.
    """
    if answer.form == "lines":
        return _of_lines(answer.text, numbered)
    items: object = cast("Mapping[str, object]", answer.data).get("operations") if _is_object(answer.data) else None
    if not isinstance(items, list):
        raise MalformedAnswerError("the answer has no list of operations")
    found = Answered()
    for item in cast("list[object]", items):
        try:
            proposed = msgspec.convert(item, Proposed)
        except msgspec.ValidationError:
            found.left.append("shape")
            continue
        _take(found, proposed)
    return found


def _take(found: Answered, proposed: Proposed) -> None:
    if len(found.kept) == MOST_OPERATIONS:
        found.left.append("too_many")
    else:
        found.kept.append(proposed)


def _of_lines(text: str, numbered: Mapping[int, Passage]) -> Answered:
    facts, refused = parse_reply(text)
    found = Answered(left=["shape"] * len(refused))
    for fact in facts:
        cited = _CITED.match(fact.text)
        words = cited["text"] if cited else fact.text
        quotes = (Quote(int(cited["number"]), cited["quote"]),) if cited else _said(fact.text, numbered)
        _take(found, Proposed("add", words, fact.category, quotes=quotes))
    return found


def _said(words: str, numbered: Mapping[int, Passage]) -> tuple[Quote, ...]:
    """Return the last passage that holds exactly these words, for a line that cites none."""
    flat = " ".join(words.split())
    found = [number for number, passage in numbered.items() if flat in " ".join(passage.text.split())]
    return (Quote(found[-1], words),) if flat and found else ()


def _is_object(data: Any) -> bool:
    return isinstance(data, dict)


SCHEMA_NAME = "operations"
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "operations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "op": {"type": "string", "enum": ["add", "update", "confirm", "retire", "drop"]},
                    "memory": {"type": "string"},
                    "notes": {"type": "array", "items": {"type": "string"}},
                    "text": {"type": "string"},
                    "category": {"type": "string", "enum": list(CATEGORIES)},
                    "scope": {"type": "string", "enum": ["task", "project", "person"]},
                    "reason": {"type": "string"},
                    "quotes": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"passage": {"type": "integer"}, "words": {"type": "string"}},
                            "required": ["passage", "words"],
                            "additionalProperties": False,
                        },
                    },
                },
                "required": ["op", "memory", "notes", "text", "category", "scope", "reason", "quotes"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["operations"],
    "additionalProperties": False,
}
