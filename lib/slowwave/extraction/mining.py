"""From events to candidates: all miners, the best of what they say about the same words, and its evidence."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from slowwave.extraction.absolute import relative_paths
from slowwave.extraction.calibration.features import surroundings_of
from slowwave.extraction.calibration.model import calibrated
from slowwave.extraction.events import Event, Events, Turn
from slowwave.extraction.found import Found
from slowwave.extraction.guards.echo import echoes
from slowwave.extraction.keys import decision_key, key_of
from slowwave.extraction.miners import MINERS
from slowwave.extraction.miners.taking_back import NAME as TAKES_BACK
from slowwave.extraction.taint import is_hostile, one_line
from slowwave.memory.dated import dated
from slowwave.memory.model import Candidate, Evidence, SessionRef, candidate_id, iso
from slowwave.memory.names import name_to_json
from slowwave.records.model import RowSpan, Span
from slowwave.secrets.blocked import ERASED
from slowwave.secrets.redactor import Redactor

# Name and version: a new version reads every session again.
EXTRACTOR = "offline/4"
MAX_TEXT = 300
MAX_QUOTE = 160


class _Ids(msgspec.Struct):
    uuid: str | None = None
    id: str | None = None


_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[^\W_]+")
_ids = msgspec.json.Decoder(_Ids)


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
    """Return the candidate of a fact: one line, absolute, redacted, with evidence that re-reads."""
    event = found.events[-1]
    words = relative_paths(one_line(redact(found.text)), event.cwd)
    text = _cut(_unended(dated(words, event.at)), MAX_TEXT)
    quote = _cut(one_line(redact(found.quote)), MAX_QUOTE)
    evidence = tuple(
        _evidence(span, paths, quote) for span in dict.fromkeys(s for e in found.events for s in e.sources)
    )
    key, value = _key(found, text)
    return Candidate(
        candidate_id(session, found.category, text, evidence),
        found.category,
        text,
        found.confidence,
        found.origin,
        f"{EXTRACTOR}:{found.miner}",
        session,
        evidence,
        iso(event.at) if event.at else "",
        key,
        value,
        _doubt(found, event, quote),
    )


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


def _evidence(span: Span, paths: Sequence[Path], quote: str) -> Evidence:
    digest = hashlib.sha256(span.raw).hexdigest()
    path = name_to_json(paths[span.part])
    if isinstance(span, RowSpan):
        return Evidence(path, span.record, 0, len(span.raw), digest, quote)
    return Evidence(path, _record_id(span.raw), span.offset, len(span.raw), digest, quote)


def _record_id(raw: bytes) -> str:
    try:
        ids = _ids.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    return ids.uuid or ids.id or ""


def _unended(text: str) -> str:
    """Drop the full stop, so that the same words read the same."""
    return text if text.endswith("..") else text.removesuffix(".")


def _cut(text: str, most: int) -> str:
    """Cut at a word, never inside a mark of a secret."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    if "[secret:" in cut[-48:] and "]" not in cut[cut.rfind("[secret:") :]:
        cut = cut[: cut.rfind("[secret:")]
    return (cut.rsplit(" ", 1)[0] if " " in cut[most // 2 :] else cut).rstrip(" ,;:") + "…"
