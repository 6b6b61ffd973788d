"""Constraints, preferences and decisions with their reasons: the person's as extraction reads them."""

import re
from collections.abc import Iterator

from slowwave.compaction.ledger.model import Entry, LedgerSettings
from slowwave.compaction.ledger.wording import key_of, line_of
from slowwave.extraction.offline import notes
from slowwave.formats.model import Span
from slowwave.hostile import is_hostile
from slowwave.reading.items import Reading
from slowwave.reading.pasted import own_words
from slowwave.reading.statements import statements

# within one session more counts than what is worth remembering for good
_LEAST_CONFIDENCE = 0.12
# a rule for one session may be one for a memory or not
_RULES = re.compile(
    r"\b(?:must|never|always|only (?:use|ever|if|when|the)|do(?:n'?t| not) (?:use|add|touch|change|edit|remove|delete"
    r"|commit|push|run|make|check|break|merge|create|rename|modify|install|forget)|no need (?:for|to)|make sure|ensure"
    r"|has to|have to|needs to|not allowed|instead of|rather than|avoid|without (?:using|changing|breaking|adding)"
    r"|at (?:least|most)|no (?:more|new) |keep (?:the|it|all)|prefer)\b",
    re.IGNORECASE,
)
_SETTLES = re.compile(
    r"\b(?:let'?s|go(?:ing)? with|decided|we(?:'ll| will| should)|i(?:'d| would)? (?:choose|chose|pick)"
    r"|option [a-d\d])\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\"])|\n+")
_DECIDES = re.compile(
    r"\b(?:i(?:'ll| will|'ve decided to| decided to| chose| opted|'m going with)|we(?:'ll| will| should| decided)"
    r"|let'?s|decision:|decided|going with|chose|opted (?:for|to)"
    r"|the (?:right|better|best|cleanest) (?:fix|approach|way))\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|so that|to avoid|rather than|instead of|otherwise|which (?:means|avoids|keeps)|as it)\b",
    re.IGNORECASE,
)
_FOUND = re.compile(
    r"\b(?:root cause|the (?:real |actual )?(?:issue|problem|bug|culprit|reason) (?:is|was)|turns out|it turned out"
    r"|caused by|is broken because|regression (?:from|in|since))\b",
    re.IGNORECASE,
)
_LENGTHS = range(25, 420)
_CHARS = 20_000


def personal(reading: Reading, settings: LedgerSettings) -> Iterator[Entry]:
    """Yield what the person stated: what is worth remembering for good, and every rule that holds while this lasts."""
    yield from _rules(reading, settings)
    for note in notes(reading):
        # a person's answers to questions are taken whole beside their asks
        if note.source not in ("said", "refusal", "recap") or note.confidence < _LEAST_CONFIDENCE:
            continue
        if is_hostile(note.text):
            continue
        sources = tuple(dict.fromkeys(span for item in note.items for span in item.sources))
        text = line_of(note.text, settings.line_chars)
        more = int(10 * note.confidence)
        if note.category == "decision":
            yield Entry("decisions", "decision", text, key_of(text), 80 + more, sources)
        elif note.category in ("constraint", "preference", "pattern"):
            yield Entry("constraints", "constraint", text, key_of(text), 82 + more, sources)


def _rules(reading: Reading, settings: LedgerSettings) -> Iterator[Entry]:
    for statement in (one for said in reading.said("person") for one in statements(said)):
        if statement.text.rstrip().endswith("?") or is_hostile(statement.text):
            continue
        text = line_of(statement.text, settings.line_chars)
        if _RULES.search(statement.text):
            yield Entry("constraints", "constraint", text, key_of(text), 84, statement.said.sources)
        elif _SETTLES.search(statement.text):
            yield Entry("decisions", "decision", text, key_of(text), 74, statement.said.sources)


def by_agent(reading: Reading, settings: LedgerSettings) -> Iterator[Entry]:
    """Yield what the agent decided with a reason, and what it found to be the cause of something."""
    for sentence, sources in _sentences(reading):
        if _FOUND.search(sentence):
            text = line_of(sentence, settings.line_chars)
            yield Entry("context", "finding", f"found: {text}", key_of(text), 62, sources)
        elif _DECIDES.search(sentence) and _REASON.search(sentence):
            text = line_of(sentence, settings.line_chars)
            yield Entry("decisions", "decision", f"by the agent: {text}", key_of(text), 68, sources)


def _sentences(reading: Reading) -> Iterator[tuple[str, tuple[Span, ...]]]:
    for said in reading.said("assistant"):
        for sentence in _SENTENCE.split(own_words(said.text[:_CHARS])):
            if len(sentence) in _LENGTHS and not is_hostile(sentence):
                yield sentence, said.sources
