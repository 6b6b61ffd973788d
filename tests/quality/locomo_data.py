"""LoCoMo: ten long dialogues with questions whose evidence is known turn by turn, and what is worth noting of them."""

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.quality.beside import LOCOMO

# multi-hop, temporal, open-domain, single-hop; 5 is adversarial and left out, as everybody does
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_TURN = re.compile(r"D(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the turns that answer it."""

    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One dialogue.

    Attributes:
        turns: what was said, by the name of the turn.
        questions: those with evidence that exists.
        noted: the turns that the observations cite: what a careful reader wrote down.
    """

    name: str
    turns: dict[str, str]
    questions: tuple[Question, ...]
    noted: frozenset[str]


def session_of(turn: str) -> str:
    """Return the session that a turn belongs to."""
    return turn.partition(":")[0]


def dialogues() -> list[Dialogue]:
    """Return all dialogues."""
    return [_dialogue(raw) for raw in json.loads(LOCOMO.read_text())]


def _dialogue(raw: dict[str, Any]) -> Dialogue:
    said: dict[str, Any] = raw["conversation"]
    sessions = [turns for name, turns in said.items() if re.fullmatch(r"session_\d+", name)]
    turns = {t["dia_id"]: f"{t['speaker']}: {t['text']}" for of in sessions for t in of}
    questions = tuple(
        Question(q["question"], q["category"], evidence)
        for q in raw["qa"]
        if q["category"] in CATEGORIES and (evidence := _names(q.get("evidence", [])) & turns.keys())
    )
    noted = frozenset(_names(raw["observation"]) & turns.keys())
    return Dialogue(raw["sample_id"], turns, questions, noted)


def _names(raw: object) -> frozenset[str]:
    """Return every turn that is named anywhere in a value; numbers are written with and without zeros in front."""
    return frozenset(f"D{int(s)}:{int(t)}" for s, t in _TURN.findall(json.dumps(raw)))
