"""Probes of words: what a person asked, what must hold, what was decided and why, and names that cannot be guessed."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from slowwave.compaction.exchanges import Exchange, Redact
from slowwave.compaction.proof.model import Probe
from slowwave.compaction.proof.words import content, words_of
from slowwave.formats.model import Message, Span, Text
from slowwave.hostile import is_hostile
from slowwave.letters import one_line
from slowwave.reading.pasted import own_words

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_MUST = re.compile(
    r"\b(?:must|never|always|only (?:use|ever|the)|do not|don'?t (?:use|add|touch|change|check|commit|push|edit|make)"
    r"|no need (?:for|to)|make sure|prefer|has to|have to|not allowed|instead of|rather than|avoid)\b",
    re.IGNORECASE,
)
_DECIDED = re.compile(
    r"\b(?:let'?s (?:go|use|keep|do)|go with|going with|decided|chose|we(?:'ll| will| should)"
    r"|i(?:'ll| will) (?:use|keep|go))\b",
    re.IGNORECASE,
)
_WHY = re.compile(r"\b(?:because|since|so that|to avoid|rather than|instead of|otherwise)\b", re.IGNORECASE)
_NAME = re.compile(
    r"https?://[^\s<>\"'`)\]}|]{4,160}|\b[A-Z][A-Z0-9]{1,9}-\d{2,6}\b|(?<![\w&])#\d{1,6}\b"
    r"|(?<![\w.-])v?\d+\.\d+\.\d+(?!\w|\.\d)|\b(?:port|localhost|127\.0\.0\.1)[ :=]\d{2,5}\b"
)
_NO_NAME = re.compile(r"^(?:UTF|SHA|ISO|RFC|HTTP|AES|MD|GPT|CVE|ES|WCAG)-\d|^https?://(?:localhost|127\.)")
_COMMIT = re.compile(r"^\[[^\]\n]{1,100} ([0-9a-f]{7,40})\] ", re.MULTILINE)
_PULL = re.compile(r"https?://[^\s<>\"'`)\]]+/(?:pull|merge_requests|issues)/\d+")
_LEAST_WORDS, _LEAST_ASK = 3, 2
_CHARS, _SENTENCE_CHARS, _OUTPUT_CHARS = 20_000, 400, 4_000
_ENDS = ".,;:!?"


def statements(messages: Sequence[Message], redact: Redact) -> Iterator[Probe]:
    """Yield asks, constraints and decisions, in the order in which they were said."""
    for message in messages:
        is_person = message.role == "user" and message.origin == "typed"
        if not is_person and message.role != "assistant":
            continue
        for block, span in message.placed():
            if isinstance(block, Text) and block.text.strip():
                words = own_words(redact(block.text[:_CHARS]))
                yield from _typed(words, span) if is_person else _said(words, span)


def _typed(text: str, span: Span) -> Iterator[Probe]:
    if len(content(words_of(text))) >= _LEAST_ASK:
        yield Probe("ask", one_line(text), sources=(span,))
    for sentence in _sentences(text):
        if sentence.endswith("?"):
            continue
        if _MUST.search(sentence):
            yield Probe("constraint", sentence, sources=(span,))
        elif _DECIDED.search(sentence):
            yield Probe("decision", sentence, sources=(span,))


def _said(text: str, span: Span) -> Iterator[Probe]:
    """Of what the agent says only decisions with their reason matter."""
    for sentence in _sentences(text):
        if _DECIDED.search(sentence) and _WHY.search(sentence):
            yield Probe("decision", sentence, sources=(span,))


def _sentences(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(text):
        line = one_line(sentence)
        if len(content(words_of(line))) >= _LEAST_WORDS and len(line) <= _SENTENCE_CHARS and not is_hostile(line):
            yield line


def identifiers(messages: Sequence[Message], every: Sequence[Exchange], redact: Redact) -> Iterator[Probe]:
    """Yield what the person named, and the commits and pull requests that commands told, each once."""
    found: dict[str, Span] = {}
    for name, span in chain(_typed_names(messages, redact), _made_names(every, redact)):
        found.setdefault(name.rstrip(_ENDS), span)
    for name, span in found.items():
        if not _NO_NAME.match(name):
            yield Probe("identifier", name, (name,), sources=(span,))


def _typed_names(messages: Sequence[Message], redact: Redact) -> Iterator[tuple[str, Span]]:
    for message in messages:
        if message.role == "user" and message.origin == "typed":
            for block, span in message.placed():
                if isinstance(block, Text):
                    yield from ((name, span) for name in _NAME.findall(own_words(redact(block.text[:_CHARS]))))


def _made_names(every: Sequence[Exchange], redact: Redact) -> Iterator[tuple[str, Span]]:
    for exchange in every:
        if exchange.line and exchange.result is not None and not exchange.failed:
            output = redact(exchange.result.text[-_OUTPUT_CHARS:])
            names = (*_made(_COMMIT, "commit", exchange, output), *_made(_PULL, "gh pr create", exchange, output))
            yield from ((name, exchange.sources[-1]) for name in names)


def _made(pattern: re.Pattern[str], command: str, exchange: Exchange, output: str) -> Sequence[str]:
    return pattern.findall(output) if command in exchange.line else ()
