"""Features of a fact: how it was said, where, by whom, and what else the session says about it.

All lie between 0 and 1 but the miner's prior, which is in log-odds, so that one scale fits their weights.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slowwave.extraction.events import Events, Turn
from slowwave.extraction.found import Found
from slowwave.extraction.statements import has_reason

PRIOR = "prior"
_FEW_WORDS, _MANY_WORDS = 7, 30
_LONG_TURN_CHARS = 600
_MOST_EVIDENCE = 6
_ALIKE = 0.5
_FIRST_PERSON = re.compile(r"\b(?:i|i'[a-z]+|my|me|we|we'[a-z]+|our|us|ich|wir|unser\w*|je|nous|yo)\b", re.IGNORECASE)
_POLITE = re.compile(r"^(?:can|could|would|will) (?:you|we)\b|\bplease\b|\bany chance\b", re.IGNORECASE)
# what only one day knows: a number of an issue, an address, a hash, a phase of a plan
_ONE_OFF = re.compile(
    r"(?<!\w)#\d+\b|https?://|\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b|\b(?:phase|step|part|round|task|item|point"
    r"|finding|proposal"
    r"|option|number) #?(?:\d+|[A-D])\b|\b[A-Z]{2,6}-\d+\b|\b(?:today|tomorrow|tonight|this time)\b",
    re.IGNORECASE,
)
_DANGLING = re.compile(r"\b(?:this|that|these|those|it|them|there|here)\b", re.IGNORECASE)
_NAMED = re.compile(
    r"`[^`]+`|\b\w+[_/]\w+|\b\w+\.(?:md|py|ts|tsx|js|go|rs|json|ya?ml|toml|sh|mdx)\b|\b[a-z]+[A-Z]\w+|--\w"
)
_EVERY = re.compile(
    r"\b(?:always|never|every|each|any|all|only|whenever|must|from now on|in general|by default|rule)\b", re.IGNORECASE
)
_NEGATED = re.compile(r"\b(?:not|no|never|don'?t|doesn'?t|without|avoid|stop|nicht|kein\w*|pas|nunca)\b", re.IGNORECASE)
_ORDER = re.compile(
    r"^(?:let'?s |lets |please |then |and |also )*(?:add|fix|create|write|build|change|update|refactor|move"
    r"|rename|remove"
    r"|delete|convert|generate|replace|extend|check|look|find|review|spawn|open|go|commit|push|make|put|do|run"
    r"|implement)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What of a session bears on a single fact.

    Attributes:
        ranks: the rank of each turn by its order among the events.
        commands: how many commands ran.
        found: all facts of the session in the order in which they were said.
        words: the words of each of these facts.
    """

    ranks: Mapping[int, int]
    commands: int
    found: Sequence[Found]
    words: Sequence[frozenset[str]]


def surroundings_of(events: Events, found: Iterable[Found]) -> Surroundings:
    """Return what of a session bears on each of its facts."""
    every = sorted(found, key=lambda f: f.events[-1].order)
    ranks = {turn.order: rank for rank, turn in enumerate(events.turns)}
    return Surroundings(ranks, len(events.commands), every, [_words(f) for f in every])


def features_of(found: Found, around: Surroundings) -> dict[str, float]:
    """Return the features of a fact that are not zero."""
    features = {
        PRIOR: math.log(found.confidence / (1 - found.confidence)),
        f"miner:{found.miner}": 1.0,
        "evidence": min(len(found.events) - 1, _MOST_EVIDENCE) / _MOST_EVIDENCE,
        "revised": float(_is_revised(found, around)),
        "one_off": float(bool(_ONE_OFF.search(found.text))),
        "named": float(bool(_NAMED.search(found.text))),
    }
    turn = found.events[-1]
    if isinstance(turn, Turn):
        features |= _of_words(found) | _of_turn(turn, around) | _of_sentence(found)
    return {name: value for name, value in features.items() if value}


def _of_words(found: Found) -> dict[str, float]:
    text = found.text
    number = len(text.split())
    return {
        "few_words": max(0.0, 1 - number / _FEW_WORDS),
        "many_words": min(1.0, max(0.0, number / _MANY_WORDS - 1)),
        "first_person": float(bool(_FIRST_PERSON.search(text))),
        "polite": float(bool(_POLITE.search(text))),
        "dangling": min(1.0, len(_DANGLING.findall(text)) / 2),
        "every": float(bool(_EVERY.search(text))),
        "negated": float(bool(_NEGATED.search(text))),
        "order": float(bool(_ORDER.match(text))),
        "reason": float(has_reason(text)),
    }


def _of_turn(turn: Turn, around: Surroundings) -> dict[str, float]:
    return {
        "opening": float(around.ranks.get(turn.order) == 0),
        "after_work": float(turn.after_work),
        "rejection": float(turn.is_rejection),
        "long_turn": min(1.0, len(turn.text) / _LONG_TURN_CHARS),
    }


def _of_sentence(found: Found) -> dict[str, float]:
    said = found.sentence
    if said is None:
        return {}
    return {
        "question": float(said.is_question),
        "guess": float(said.is_guess),
        "moment": float(said.is_momentary),
        "points_back": float(said.points_back),
        "told_again": float(said.is_repeated),
        "later_sentence": min(1.0, said.index / 4),
    }


def _is_revised(found: Found, around: Surroundings) -> bool:
    """Say whether the person comes back to the same question later in the session, and settles it otherwise."""
    if found.category != "decision" and not found.key:
        return False
    mine = _words(found)
    for other, words in zip(around.found, around.words, strict=True):
        if other.events[-1].order <= found.events[-1].order or other.text == found.text:
            continue
        if found.key and other.key == found.key and other.value != found.value and other.miner != found.miner:
            return True
        if other.category == found.category and mine and len(mine & words) >= _ALIKE * len(mine | words):
            return True
    return False


def _words(found: Found) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(found.text))
