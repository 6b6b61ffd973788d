"""Facts as lines, ``MEMORY: category | 0-10 | fact``: the reply that Cersei asks its model for, and its parser here."""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from slowwave.memory.model import Category

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
