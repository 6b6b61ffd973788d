"""Names and numbers that nobody can guess: addresses, ports, versions, commits, tickets, limits."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from slowwave.compaction.exchanges import Exchange, Redact
from slowwave.compaction.ledger.model import Entry
from slowwave.compaction.ledger.wording import safe
from slowwave.dialects.model import Message, Text
from slowwave.extraction.events import Events
from slowwave.extraction.taint import is_hostile
from slowwave.records.model import Span

NAMED = "named: "
_IDENTIFIER = re.compile(
    r"(?P<url>https?://[^\s<>\"'`)\]}|]{4,160})"
    r"|(?<![\w/.-])(?P<ticket>[A-Z][A-Z0-9]{1,9}-\d{1,6}(?![\w-])|#\d{1,6}\b)"
    r"|(?<![\w.-])(?P<version>v?\d+\.\d+\.\d+(?:[-+.][\w.]*\w)?)(?!\w)"
    r"|(?<![\w-])(?P<commit>(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40})(?![\w-])"
    r"|(?P<port>\b(?:port|localhost|127\.0\.0\.1)[ :=]{1,2}\d{2,5}\b)"
    r"|(?P<amount>(?<![\w.,#-])\d[\d,.]*\d?\s?(?:%|ms|s|sec(?:onds)?|min(?:utes)?|h(?:ours)?|days?|[KMG]i?B|tokens|bytes"
    r"|px|rows|lines|retries|workers|threads|users)\b)",
    re.IGNORECASE,
)
_TICKET = re.compile(r"[A-Z][A-Z0-9]{1,9}-\d{1,6}|#\d{1,6}")
_NO_TICKETS = re.compile(r"^(?:UTF|SHA|ISO|RFC|HTTP|AES|MD|GPT|CVE|TOP|COVID|ES|WCAG|H)-\d", re.IGNORECASE)
_CHARS = 20_000
_MADE = re.compile(r"\b(?:push|commit|create|publish|release|deploy|tag|merge|open)\b", re.IGNORECASE)
_ENDS = ".,;:!?"


def identifiers(
    events: Events, messages: Sequence[Message], every: Sequence[Exchange], redact: Redact
) -> Iterator[Entry]:
    """Yield each once: what the person named, what commands made, and what the agent spoke of more than once."""
    worth: dict[str, tuple[int, tuple[Span, ...]]] = {}
    for turn in events.turns:
        for name in _in(turn.text):
            worth.setdefault(name, (90, turn.sources))
    for exchange in every:
        if exchange.result is not None and not exchange.failed and _MADE.search(exchange.line or exchange.call.name):
            text = redact(exchange.result.text[-_CHARS // 10 :])
            for name in () if is_hostile(text) else _in(text):
                worth.setdefault(name, (72, exchange.sources))
    spoken = Counter[str]()
    places: dict[str, tuple[Span, ...]] = {}
    for text, span in _spoken(messages, redact):
        for name in set(_in(text)):
            spoken[name] += 1
            places[name] = (span,)
    for name, times in spoken.items():
        if times > 1:
            worth.setdefault(name, (56 + min(times, 16), places[name]))
    for name, (value, sources) in worth.items():
        yield Entry("context", "identifier", safe(name), name.casefold(), value, sources)


def _in(text: str) -> Iterator[str]:
    for found in _IDENTIFIER.finditer(text[:_CHARS]):
        name = found[0].rstrip(_ENDS)
        if found.lastgroup == "ticket" and (not _TICKET.fullmatch(name) or _NO_TICKETS.match(name)):
            continue
        yield name


def _spoken(messages: Sequence[Message], redact: Redact) -> Iterator[tuple[str, Span]]:
    for message in messages:
        if message.role == "assistant" and message.origin != "summary" and message.active and not message.sidechain:
            for block, span in message.placed():
                if isinstance(block, Text):
                    yield redact(block.text[:_CHARS]), span
