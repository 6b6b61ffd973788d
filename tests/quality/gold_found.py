"""What extraction and simpler rules find in the labelled sessions, in one form, judged by what it says."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from slowwave.extraction.classifier import Weights
from slowwave.memory import Candidate
from slowwave.settings import Settings
from tests.quality.beside import CORPUS
from tests.quality.cue_rules import cues_in
from tests.quality.gold_texts import distractors, said_by
from tests.quality.reading import Turn, extracted, spoken, typed_turns
from tests.quality.unseen import using


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a system wants remembered.

    Attributes:
        session: the session's file below the corpus.
        source: how it was found.
        origin: who stands behind it, where the system tells.
        is_sure: it is accepted; else it waits for a person.
        says: the labels that it says.
        distracts: the distractors that it says.
    """

    session: str
    source: str
    category: str
    text: str
    origin: str
    confidence: float
    is_sure: bool
    says: frozenset[str]
    distracts: frozenset[str]


def is_sure(candidate: Candidate) -> bool:
    """Say whether a candidate is accepted without a person."""
    return not candidate.doubt and candidate.confidence >= Settings().consolidation.accept_confidence


def ours(sessions: Iterable[Path], judging: Mapping[str, Weights] | None = None) -> list[Finding]:
    """Return what slowwave extracts, each repository being one project.

    Args:
        sessions: the files.
        judging: by repository, the weights to judge by in place of those that ship.
    """
    projects: dict[Path, list[Path]] = defaultdict(list)
    for path in sessions:
        projects[path.parent].append(path)
    found: list[Finding] = []
    for folder, paths in projects.items():
        with using(judging[folder.name]) if judging else nullcontext():
            found += [_ours(candidate) for candidate in extracted(paths)]
    return found


def _ours(c: Candidate) -> Finding:
    session, source = _below(Path(c.session.path)), c.extractor.rpartition(":")[2]
    return _finding(session, c.text, source, c.category, c.origin, c.confidence, sure=is_sure(c))


def by_cues(sessions: Iterable[Path]) -> list[Finding]:
    """Return what forty lines of rules find in typed turns."""
    return [
        _finding(_below(turn.path), sentence, category=category)
        for turn in _all(sessions, typed_turns)
        for category, sentence in cues_in(turn.text)
    ]


def by_turns(sessions: Iterable[Path]) -> list[Finding]:
    """Return every typed turn."""
    return [_finding(_below(turn.path), turn.text) for turn in _all(sessions, typed_turns)]


# the kind of words that an extraction prompt asks for, looked for in whatever anybody says
_KEYWORD = re.compile(
    r"\b(?:prefers?|always|never|remember|important|decided|decision|convention|must|requires?|constraint|pattern"
    r"|architecture|the user wants)\b",
    re.IGNORECASE,
)
_MOST_CHARS = 400


def by_keywords(sessions: Iterable[Path]) -> list[Finding]:
    """Return every line with a keyword, of the person and of the assistant, as a naive form of Cersei's lines."""
    return [
        _finding(_below(turn.path), line.strip())
        for turn in _all(sessions, spoken)
        for line in turn.text.splitlines()
        if _KEYWORD.search(line) and len(line) <= _MOST_CHARS
    ]


def _all(sessions: Iterable[Path], read: Callable[[Path], Iterator[Turn]]) -> Iterator[Turn]:
    for path in sessions:
        yield from read(path)


def _finding(
    session: str,
    text: str,
    source: str = "",
    category: str = "",
    origin: str = "",
    confidence: float = 1.0,
    *,
    sure: bool = True,
) -> Finding:
    says, distracts = said_by(session, text), said_by(session, text, distractors())
    return Finding(session, source, category, text, origin, confidence, sure, says, distracts)


def _below(path: Path) -> str:
    return path.relative_to(CORPUS).as_posix()
