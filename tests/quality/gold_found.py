"""What extraction and simpler rules find in the labelled sessions, in one form."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from slowwave.memory.model import Candidate
from tests.quality.cue_rules import cues_in
from tests.quality.gold_labels import Place, same_words
from tests.quality.reading import Turn, cited, extracted, spoken, typed_turns


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a system wants remembered.

    Attributes:
        system: what found it: for slowwave the miner.
        origin: who stands behind it, where the system tells.
        confidence: 0 to 1.
        places: the records that it cites, with those that say the same.
    """

    system: str
    category: str
    text: str
    origin: str
    confidence: float
    places: frozenset[Place]


def findings_of(candidates: Iterable[Candidate]) -> list[Finding]:
    """Return candidates as findings."""
    return [
        Finding(
            c.extractor.rpartition(":")[2], c.category, c.text, c.origin, c.confidence,
            frozenset((path, line) for path, at in cited(c) for line in same_words(Path(path), at)),
        )
        for c in candidates
    ]  # fmt: skip


@cache
def ours(sessions: tuple[Path, ...]) -> tuple[Finding, ...]:
    """Return what slowwave extracts, each repository being one project."""
    projects: dict[Path, list[Path]] = defaultdict(list)
    for path in sessions:
        projects[path.parent].append(path)
    return tuple(f for paths in projects.values() for f in findings_of(extracted(paths)))


def by_cues(sessions: Iterable[Path]) -> Iterator[Finding]:
    """Yield what forty lines of rules find in typed turns."""
    for turn in _all(sessions, typed_turns):
        for category, sentence in cues_in(turn.text):
            yield _finding("cue rules", category, sentence, turn)


def by_turns(sessions: Iterable[Path]) -> Iterator[Finding]:
    """Yield every typed turn."""
    for turn in _all(sessions, typed_turns):
        yield _finding("every turn", "project", turn.text, turn)


# the kind of words that an extraction prompt asks for, looked for in whatever anybody says
_KEYWORD = re.compile(
    r"\b(?:prefers?|always|never|remember|important|decided|decision|convention|must|requires?|constraint|pattern"
    r"|architecture|the user wants)\b",
    re.IGNORECASE,
)


def by_keywords(sessions: Iterable[Path]) -> Iterator[Finding]:
    """Yield every line with a keyword, of the person and of the assistant, as a naive form of Cersei's lines."""
    for turn in _all(sessions, spoken):
        for line in turn.text.splitlines():
            if _KEYWORD.search(line) and len(line) <= 400:
                yield _finding("keyword lines", "project", line.strip(), turn)


def _all(sessions: Iterable[Path], read: Callable[[Path], Iterator[Turn]]) -> Iterator[Turn]:
    for path in sessions:
        yield from read(path)


def _finding(system: str, category: str, text: str, turn: Turn) -> Finding:
    places = frozenset((str(turn.path), line) for line in same_words(turn.path, turn.line))
    return Finding(system, category, text, "user", 0.5, places)
