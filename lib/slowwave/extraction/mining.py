"""From events to candidates: all miners, the best of what they say about the same words, and its evidence."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from slowwave.extraction.calibration.features import surroundings_of
from slowwave.extraction.calibration.model import calibrated
from slowwave.extraction.candidates import MOST_QUOTE
from slowwave.extraction.candidates import candidate_of as candidate_of_note
from slowwave.extraction.events import Event, Events, Turn
from slowwave.extraction.found import Found
from slowwave.extraction.keys import decision_key, key_of
from slowwave.extraction.miners import MINERS
from slowwave.extraction.miners.taking_back import NAME as TAKES_BACK
from slowwave.extraction.notes import Note
from slowwave.hostile import is_hostile
from slowwave.letters import one_line
from slowwave.memory.model import Candidate, SessionRef
from slowwave.reading.echo import echoes
from slowwave.secrets.blocked import ERASED
from slowwave.secrets.redactor import Redactor

# Name and version: a new version reads every session again.
EXTRACTOR = "offline/4"
_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[^\W_]+")


@dataclass(frozen=True, slots=True)
class Mined:
    """What one session gave.

    Attributes:
        candidates: in the order in which they were said.
        hostile: how many were refused because they try to steer an agent.
        weak: how many had too little confidence.
        echoed: what a person typed after it stood elsewhere, with who had written it there.
        erased: how many were about something that was erased.
        others: what would be a candidate, had it not been taken for somebody else's words.
    """

    candidates: list[Candidate] = field(default_factory=list[Candidate])
    hostile: int = 0
    weak: int = 0
    echoed: list[tuple[Found, str]] = field(default_factory=list[tuple[Found, str]])
    erased: int = 0
    others: list[Found] = field(default_factory=list[Found])


def mine(
    events: Events,
    session: SessionRef,
    paths: Sequence[Path],
    redact: Redactor,
    *,
    is_new: Callable[[Event], bool] = lambda _event: True,
    min_confidence: float = 0.0,
) -> Mined:
    """Run all miners and return their candidates.

    Args:
        events: the whole session, so that what was said before gives the context.
        session: where it was found.
        paths: the session's files in reading order.
        redact: takes secrets out of every text once more.
        is_new: only facts whose last event is new count.
        min_confidence: weaker ones are counted and dropped.
    """
    candidates: dict[tuple[str, str], Candidate] = {}
    hostile = weak = erased = 0
    echoed: list[tuple[Found, str]] = []
    for found in facts(events, echoed):
        if not is_new(found.events[-1]):
            continue
        if is_hostile(found.text) or is_hostile(found.quote):
            hostile += 1
        elif ERASED in found.text:
            erased += 1  # what is left of it is still about what had to go
        elif found.confidence < min_confidence:
            weak += 1
        else:
            candidate = candidate_of(found, session, paths, redact)
            candidates.setdefault((candidate.category, candidate.text.casefold()), candidate)
    echoed = [one for one in echoed if is_new(one[0].events[-1])]
    others = [
        found
        for found in (facts(Events(turns=events.others)) if events.others else ())
        if found.confidence >= min_confidence and is_new(found.events[-1])
    ]
    return Mined(list(candidates.values()), hostile, weak, echoed, erased, others)


def facts(events: Events, echoed: list[tuple[Found, str]] | None = None) -> list[Found]:
    """Return the facts of a session in order, each with the probability that it is worth keeping.

    Args:
        events: the whole session.
        echoed: takes what a person typed after it stood elsewhere, with who had written it there.
    """
    chosen = uncalibrated(events, echoed)
    around = surroundings_of(events, chosen)
    return [replace(found, confidence=calibrated(found, around)) for found in chosen]


def uncalibrated(events: Events, echoed: list[tuple[Found, str]] | None = None) -> list[Found]:
    """Return the facts of a session with the confidence that their miners gave them."""
    every = best(found for miner in MINERS for found in miner(events))
    typed = [found for found in every if found.origin.startswith("user") and isinstance(found.events[-1], Turn)]
    by = echoes([(found.events[-1].order, found.quote) for found in typed], events.heard)
    copies = {id(typed[number]): writer for number, writer in by.items()}
    if echoed is not None:
        echoed += [(found, copies[id(found)]) for found in every if id(found) in copies]
    return [found for found in every if id(found) not in copies]


def best(every: Iterable[Found]) -> list[Found]:
    """Return for each sentence the fact with the highest confidence, in the order of what was said."""
    chosen: dict[tuple[int, str], Found] = {}
    for found in every:
        place = (found.events[-1].order, found.quote)
        known = chosen.get(place)
        if known is None or found.confidence > known.confidence:
            chosen[place] = found
    return sorted(chosen.values(), key=lambda f: f.events[-1].order)


def candidate_of(found: Found, session: SessionRef, paths: Sequence[Path], redact: Redactor) -> Candidate:
    """Return the candidate of a fact."""
    note = Note(
        found.miner, found.category, found.text, found.confidence, found.origin, found.events, found.quote,
        doubt=_doubt(found, found.events[-1], one_line(redact(found.quote))[:MOST_QUOTE]),
    )  # fmt: skip
    candidate = candidate_of_note(note, session, paths, redact, f"{EXTRACTOR}:{found.miner}")
    key, value = _key(found, candidate.text)
    return msgspec.structs.replace(candidate, key=key, value=value)


def _doubt(found: Found, event: Event, quote: str) -> str:
    """Return why only a person can say whether what a fact rests on is theirs, "" when it is."""
    words = set(_WORD.findall(quote.casefold()))
    if not isinstance(event, Turn):
        return ""
    # "never mind the X rule" talks about words, as people do who quote; alone in a message it has nothing to talk about
    # but the rule, and what it ends is kept and can be brought back
    if found.miner == TAKES_BACK and "\n" not in event.text and set(_WORD.findall(event.text.casefold())) <= words:
        return ""
    for part in event.doubtful:
        theirs = set(_WORD.findall(part.casefold()))
        if 2 * len(words & theirs) >= min(len(words), len(theirs)):
            return "perhaps somebody else's words"
    return ""


def _key(found: Found, text: str) -> tuple[str, str]:
    # what is not done any more is not what its words choose
    if found.key or found.miner == TAKES_BACK or not found.origin.startswith("user"):
        return found.key, found.value
    decided = decision_key(text) if found.category == "decision" and found.miner == "decision" else ("", "")
    return decided if decided[0] else key_of(text)
