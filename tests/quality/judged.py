"""Facts that somebody judged: in the labelled sessions by their labels, in others by verdicts of our own.

``verdicts.jsonl`` came about like this: every fact that the miners found, however weak, in the sessions of the corpus
that have no labels was read in its context, and judged by whether a careful reader would want an agent to remember it
for later sessions. Commands that a project is checked with were left out: the same few come back in every session of
a repository, and would weigh more than all that people said. In the labelled sessions a label is about a whole record;
remarks in labelled records have verdicts as well, since not every sentence of a message is what makes it worth a label.
No words of the corpus are kept, only where they stand and the beginning of their hash.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from slowwave.extraction.calibration.features import features_of, surroundings_of
from slowwave.extraction.events import Event, events_of
from slowwave.extraction.found import Found
from slowwave.extraction.mining import uncalibrated
from slowwave.extraction.redact import redactor_for
from slowwave.letters import one_line
from tests.quality.beside import CORPUS
from tests.quality.gold_labels import Label, by_session, labels, merged, same_words
from tests.quality.reading import line_at, transcript_of

VERDICTS = Path(__file__).with_name("verdicts.jsonl")
_WORDS = 60
_REDACT = redactor_for("quality")


@dataclass(frozen=True, slots=True)
class Judged:
    """A fact with what it was judged to be.

    Attributes:
        repository: the repository that the session worked in.
        session: the session's file.
        miner: what found it.
        features: as the model sees it.
        right: whether it should be kept.
    """

    repository: str
    session: str
    miner: str
    features: dict[str, float]
    right: bool


def judged_facts() -> list[Judged]:
    """Return every judged fact, in a fixed order."""
    known = by_session(merged(labels()))
    facts = [fact for path in sorted(known) for fact in _by_labels(path, known[path])]
    labelled = {str(path.relative_to(CORPUS)) for path in known}
    return facts + [fact for name in sorted(set(_verdicts()) - labelled) for fact in _by_verdicts(name)]


def unmatched() -> int:
    """Return how many verdicts are about facts that the miners do not find any more."""
    return sum(len(places) for places in _verdicts().values()) - sum(len(_by_verdicts(n)) for n in _verdicts())


@cache
def _verdicts() -> dict[str, dict[tuple[int, str], bool]]:
    verdicts: dict[str, dict[tuple[int, str], bool]] = {}
    for line in VERDICTS.read_text().splitlines():
        row = cast("dict[str, Any]", json.loads(line))
        verdicts.setdefault(row["session"], {})[row["line"], row["words"]] = row["verdict"] == "keep"
    return verdicts


@cache
def _facts(path: Path) -> tuple[tuple[Found, dict[str, float]], ...]:
    events = events_of(transcript_of(path).messages, _REDACT)
    found = uncalibrated(events)
    around = surroundings_of(events, found)
    return tuple((fact, features_of(fact, around)) for fact in found)


def _by_labels(path: Path, known: list[Label]) -> list[Judged]:
    places = frozenset(place for label in known if not label.why for place in label.places)
    facts: list[Judged] = []
    for found, features in _facts(path):
        lines = {line for event in found.events for line in _lines(path, event)}
        right = any((str(path), same) in places for line in lines for same in same_words(path, line))
        right = right and _verdict(path, found) is not False
        facts.append(Judged(path.parent.name, str(path), found.miner, features, right))
    return facts


def _by_verdicts(name: str) -> list[Judged]:
    path = CORPUS / name
    facts: list[Judged] = []
    for found, features in _facts(path):
        verdict = _verdict(path, found)
        if verdict is not None:
            facts.append(Judged(path.parent.name, name, found.miner, features, verdict))
    return facts


def _verdict(path: Path, found: Found) -> bool | None:
    verdicts = _verdicts().get(str(path.relative_to(CORPUS)), {})
    words = hashlib.sha256(one_line(found.quote)[:_WORDS].encode()).hexdigest()[:8]
    lines = _lines(path, found.events[-1])
    return next((verdicts[line, words] for line in lines if (line, words) in verdicts), None)


def _lines(path: Path, event: Event) -> list[int]:
    return [line_at(path, span.offset) for span in event.sources]
