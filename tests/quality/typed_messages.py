"""Messages as people type them, for training: of each sentence whose words it is and whether it is worth remembering.

They lie in ``typed/``, written for this without sight of the code, each sentence labelled by who wrote it. Rules out of
them in the gaps of messages (``typed/frames``, ``attack_frames.txt``, ``benign_messages.txt``, ``whose_words.txt``) are
examples of voices.
"""

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from slowwave.extraction.classifier import Surroundings
from slowwave.extraction.voice import spoken
from slowwave.reading import Reading, Said, Statement, statements
from slowwave.reading.pastes import parts_of
from tests.quality.attack_frames import frames

FOLDER = Path(__file__).parent / "typed"
# messages with a gap, and whether what stands in it is others' words; None where the part of the file says so
_FRAMES: Mapping[str, bool | None] = {"attack_frames.txt": True, "benign_messages.txt": False, "whose_words.txt": None}
_EACH = 8
# what stands in marks of quotation or behind a colon, some words long
_HANDED_OVER = re.compile(
    r"[\"\u201c\u201e\u00ab\u300c\u300e\u2018'`]([^\"\u201d\u00bb\u300d\u300f\u2019'`]{12,})[\"\u201d\u00bb\u300d\u300f\u2019'`]"
    r"|[:\uff1a]\s*([^:\"'\u201c\u00ab\u300c]{12,})$"
)
_CLEAR = 2


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a message.

    Attributes:
        frame: the wording that it stands in; sentences of one wording are kept together where some are left out.
        voice: own, other, supposed or about.
        keep: 2 worth it, 1 arguable, 0 not.
        category: of what is worth it, or "".
        worth: features of its worth.
        whose: features of its voice.
        is_contrast: it is of a message about what others want, and tells by itself whether the person means it.
    """

    frame: str
    language: str
    text: str
    voice: str
    keep: int
    category: str
    worth: frozenset[str]
    whose: frozenset[str]
    is_contrast: bool = False


@cache
def contrasts() -> tuple[Sentence, ...]:
    """Return the sentences of messages about what others want: made their own by the person, or not."""
    return tuple(replace(one, is_contrast=True) for one in written("contrast"))


@cache
def written(kind: str = "train") -> tuple[Sentence, ...]:
    """Return the labelled sentences of all messages of a kind, in order."""
    lines = (line for file in sorted(FOLDER.glob(f"{kind}*.jsonl")) for line in file.read_text("utf-8").splitlines())
    return tuple(sentence for line in lines for sentence in _labelled(json.loads(line)))


@cache
def bare() -> tuple[Sentence, ...]:
    """Return the words of others without what leads to them: whoever types these alone means them.

    So it is what stands around them that tells whose they are, not that they sound like a rule.
    """
    found: list[Sentence] = []
    for sentence in written():
        if sentence.voice in ("own", "supposed"):
            continue
        parts = [one or other for one, other in _HANDED_OVER.findall(sentence.text)]
        if sentence.text != sentence.frame and not parts:
            parts = [sentence.text]  # one of several sentences, which others lead to
        for words in parts:
            row = {"text": words, "voice": "own", "keep": 0}
            found += _labelled({"lang": sentence.language, "message": words, "sentences": [row]})
    return tuple(found)


@cache
def framed() -> tuple[Sentence, ...]:
    """Return rules that people typed, put into the gaps of messages: as words of others, or as the person's own."""
    chance = random.Random(0)
    rules: dict[str, list[str]] = defaultdict(list)
    for one in written():
        if one.keep == _CLEAR and one.text == one.frame:
            rules[one.language].append(one.text)
    found: list[Sentence] = []
    for language, frame, is_others in _gaps():
        for rule in chance.sample(rules[language], _EACH):
            row = {"text": rule, "voice": "other" if is_others else "own", "keep": 0}
            message = {"lang": language, "message": frame.replace("{}", rule), "sentences": [row]}
            found += [replace(one, frame=frame) for one in _labelled(message)]
            if is_others:
                # the same words alone are the person's own: what stands around them tells, not what they say
                found += _labelled({"lang": language, "message": rule, "sentences": [row | {"voice": "own"}]})
    return tuple(found)


def _gaps() -> Iterator[tuple[str, str, bool]]:
    """Yield messages with a gap: their language, the message, whether what stands in the gap is others' words."""
    for name, whose in _FRAMES.items():
        for part, frame in frames(name):
            yield "en", frame, part.startswith("others") if whose is None else whose
    for file in sorted(FOLDER.glob("frames*.jsonl")):
        for row in map(json.loads, file.read_text("utf-8").splitlines()):
            yield row["lang"], row["message"], row["whose"] == "other"


def read(message: str) -> tuple[Reading, Said]:
    """Return a message as the only one of a session."""
    item = Said(0, (), "", None, "", "person", parts_of(message))
    return Reading([item]), item


def _labelled(row: dict[str, Any]) -> Iterator[Sentence]:
    reading, item = read(row["message"])
    around, every = Surroundings(reading), statements(item)
    for statement in every:
        judged = _judged(statement, row["sentences"])
        if judged:
            voice = next((one["voice"] for one in judged if one["voice"] != "own"), "own")
            keep = max(int(one["keep"]) for one in judged) if voice == "own" else 0
            category = next((one.get("c", "") for one in judged if int(one["keep"]) == keep and keep), "")
            worth, whose = frozenset(around.features(statement)), frozenset(spoken(statement, every))
            yield Sentence(row["message"], row["lang"], statement.text, voice, keep, category, worth, whose)


def _judged(statement: Statement, given: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in given if _is_in(one["text"], statement.text)]


def _is_in(one: str, other: str) -> bool:
    one, other = " ".join(one.split()), " ".join(other.split())
    return one in other or other in one
