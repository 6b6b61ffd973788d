"""Which turns of a dialogue are worth noting, at a budget: by the product's facts, and by what is simpler."""

import random
import re
from collections.abc import Callable
from functools import cache

from tests.quality.intervals import SEED
from tests.quality.locomo_data import Dialogue, session_of
from tests.quality.okapi import Okapi
from tests.quality.reading import cited, extracted
from tests.quality.typed_session import typed_session

Score = Callable[[str], float]
_CUES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\bI(?:'m| am|'ve| have| was| had| got| went| did| started| love| want| like| need| plan)\b",
        r"\bmy (?:\w+ )?(?:\w+)\b",
        r"\b(?:yesterday|last|next|this (?:week|month|year)|ago|since|\d{4}|\d+ (?:years|months|weeks|days))\b",
        r"\b(?:plan|going to|hope|decided|dream|goal|looking forward|working on|joined|moved|bought|lost|won|made)\b",
        r"\b(?:favou?rite|always|never|really|best|first time|important to me|means a lot)\b",
    )
)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_ASKS = re.compile(r"\?\s*$")


def noting(dialogue: Dialogue) -> dict[str, Score]:
    """Return what gives each turn of a dialogue a score, by the name of the way."""
    texts = {name: text.partition(": ")[2] for name, text in dialogue.turns.items()}
    chance = random.Random(SEED)
    order = {name: chance.random() for name in texts}
    weights = Okapi(texts)
    facts = _facts(dialogue.name, tuple(texts.items()))
    return {
        "slowwave: facts, then the longest": lambda name: 1e6 * facts.get(name, 0.0) + len(texts[name]),
        "slowwave: facts, then cue rules": lambda name: 1e6 * facts.get(name, 0.0) + cue_score(texts[name]),
        "baseline: random": lambda name: order[name],
        "baseline: longest": lambda name: len(texts[name]),
        "baseline: TF-IDF sum": weights.weight,
        "baseline: cue rules for talk": lambda name: cue_score(texts[name]),
    }


def cue_score(text: str) -> float:
    """Return how much a turn says about the one who speaks: cues, names, a little for its length."""
    cues = sum(min(2, len(cue.findall(text))) for cue in _CUES)
    return cues + 0.5 * len(_NAME.findall(text)) + len(text) / 80 - 1.5 * bool(_ASKS.search(text))


def noted_share(dialogue: Dialogue, score: Score) -> tuple[int, int]:
    """Return how many of the turns that the observations cite are among as many of the best, and how many there are."""
    best = sorted(dialogue.turns, key=lambda name: (-score(name), name))[: len(dialogue.noted)]
    return len(dialogue.noted.intersection(best)), len(dialogue.noted)


@cache
def _facts(_dialogue: str, texts: tuple[tuple[str, str], ...]) -> dict[str, float]:
    """Return the confidence of the best fact that the product extracts from each turn, each session by itself."""
    found: dict[str, float] = {}
    for session in dict.fromkeys(session_of(name) for name, _ in texts):
        said = [(name, text) for name, text in texts if session_of(name) == session]
        with typed_session([text for _, text in said]) as path:
            for candidate in extracted([path]):
                for _, line in cited(candidate):
                    name = _turn_at(line, said)
                    found[name] = max(found.get(name, 0.0), candidate.confidence)
    return found


def _turn_at(line: int, said: list[tuple[str, str]]) -> str:
    # a turn, a command, its result and an answer: four records for each turn
    return said[min(len(said) - 1, (line - 1) // 4)][0]
