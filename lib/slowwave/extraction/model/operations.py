"""What a model says about a session, operation by operation, whatever it is like.

Only operations of the right shape go on; the rest is counted. What they say is checked in
:mod:`slowwave.extraction.model.verification`.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast, get_args

import msgspec

from slowwave.extraction.model.material import Passage
from slowwave.memory import CATEGORIES, Category
from slowwave.models.base import Answer, MalformedAnswerError

# Facts as lines, ``MEMORY: category | 0-10 | fact``: the reply that Cersei asks its model for, and its parser here.

_MARK = "MEMORY:"
# a marked line, or the word for having none
_REPLY = re.compile(rf"^\s*{_MARK}|\A\W*none\b", re.IGNORECASE | re.MULTILINE)
_PARTS = 3
_SCALE = 10.0
_NAMES: dict[str, Category] = {
    "preference": "preference", "userpreference": "preference", "user_preference": "preference",
    "project": "project", "projectfact": "project", "project_fact": "project",
    "pattern": "pattern", "codepattern": "pattern", "code_pattern": "pattern",
    "decision": "decision",
    "constraint": "constraint",
}  # fmt: skip


class Fact(NamedTuple):
    """One fact of a reply."""

    category: Category
    confidence: float
    text: str


def is_reply(text: str) -> bool:
    """Say whether a model kept to the form: marked lines, or the word for having none, whatever stands around it."""
    return _REPLY.search(text) is not None


def parse_reply(reply: str) -> tuple[list[Fact], list[str]]:
    """Return the facts of a model's reply, and the marked lines that are no facts, each with the reason.

    Lines without the mark are prose and are passed over. A fact may itself contain ``|``. Confidence runs from 0 to
    10 and is clamped; what is not a number, also ``nan``, is refused, where Cersei would store it.
    """
    facts: list[Fact] = []
    refused: list[str] = []
    for line in _marked(reply):
        parts = [part.strip() for part in line.split("|", _PARTS - 1)]
        problem = _problem(parts)
        if problem:
            refused.append(f"{problem}: {line[:120]}")
        else:
            score = min(max(float(parts[1]) / _SCALE, 0.0), 1.0)
            facts.append(Fact(_NAMES[parts[0].lower()], score, parts[2]))
    return facts, refused


def _marked(reply: str) -> Iterator[str]:
    for line in reply.split("\n"):
        stripped = line.strip()
        if stripped.startswith(_MARK):
            yield stripped[len(_MARK) :].strip()


def _problem(parts: list[str]) -> str:
    """Return what is wrong with a line, or ""."""
    if len(parts) < _PARTS:
        return "not category | confidence | fact"
    if parts[0].lower() not in _NAMES:
        return f"unknown category {parts[0]!r}"
    try:
        confidence = float(parts[1])
    except ValueError:
        return f"confidence {parts[1]!r} is not a number"
    if math.isnan(confidence) or confidence < 0:
        return f"confidence {parts[1]!r} is not between 0 and 10"
    return "" if parts[2] else "empty fact"


Kind = Literal["add", "update", "confirm", "retire", "drop"]
Scope = Literal["task", "project", "person"]
MOST_OPERATIONS = 40
_CITED = re.compile(r'^(?P<text>.*\S)\s*\[(?P<number>\d{1,6})\]\s*"(?P<quote>.+)"\s*$')


class Quote(msgspec.Struct, frozen=True):
    """Words that stand in a passage."""

    passage: int  # its number
    words: str  # copied from it


class Proposed(msgspec.Struct, frozen=True):
    """One operation as a model proposes it."""

    op: Kind  # add a memory; update, confirm or retire one that is there (``memory``); drop notes (``notes``)
    text: str  # the memory, one sentence that stands alone; of a drop or retire why
    category: Category = "project"  # one of the five
    scope: Scope = "project"  # whether it holds for this task, for the project, or for the person everywhere
    memory: str = ""  # number of the memory that is meant, "M3", or ""
    notes: tuple[str, ...] = ()  # numbers of notes that it takes the place of, "C1"
    reason: str = ""  # why it is so, where somebody said it, or ""
    quotes: tuple[Quote, ...] = ()  # what shows it


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


def form_of(**properties: Any) -> Mapping[str, Any]:
    """Return the JSON schema of an object that has all of these properties and no other."""
    fields = list(properties)
    return {"type": "object", "properties": properties, "required": fields, "additionalProperties": False}


def list_of(form: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the JSON schema of a list."""
    return {"type": "array", "items": form}


_TEXT = {"type": "string"}
OPERATIONS = list_of(
    form_of(
        op={"type": "string", "enum": list(get_args(Kind))},
        memory=_TEXT,
        notes=list_of(_TEXT),
        text=_TEXT,
        category={"type": "string", "enum": list(CATEGORIES)},
        scope={"type": "string", "enum": list(get_args(Scope))},
        reason=_TEXT,
        quotes=list_of(form_of(passage={"type": "integer"}, words=_TEXT)),
    )
)
SCHEMA = form_of(operations=OPERATIONS)
