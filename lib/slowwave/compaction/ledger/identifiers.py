"""Names and numbers that nobody can guess: addresses, ports, versions, commits, tickets, limits."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from slowwave.compaction.exchanges import Exchange, Redact
from slowwave.compaction.ledger.model import Entry
from slowwave.compaction.ledger.wording import safe
from slowwave.formats.model import Span
from slowwave.hostile import is_hostile
from slowwave.reading.items import Reading

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
_MAKES = re.compile(r"\b(?:push|commit|create|publish|release|deploy|tag|merge|open)\b", re.IGNORECASE)
_ENDS = ".,;:!?"
_OUTPUT_CHARS = 2_000
_TYPED, _OF_COMMAND, _SPOKEN = 90, 72, 56
_MOST_TIMES = 16
_Named = tuple[str, int, tuple[Span, ...]]


def identifiers(reading: Reading, every: Sequence[Exchange], redact: Redact) -> Iterator[Entry]:
    """Yield each once: what the person named, what commands made, and what the agent spoke of more than once."""
    met: set[str] = set()
    for name, value, sources in chain(_typed(reading), _made(every, redact), _repeated(reading)):
        if name not in met:
            met.add(name)
            yield Entry("context", "identifier", safe(name), name.casefold(), value, sources)


def _typed(reading: Reading) -> Iterator[_Named]:
    for said in reading.said("person"):
        yield from ((name, _TYPED, said.sources) for name in _in(said.own))


def _made(every: Sequence[Exchange], redact: Redact) -> Iterator[_Named]:
    for exchange in every:
        if exchange.result is not None and not exchange.failed and _MAKES.search(exchange.line or exchange.call.name):
            text = redact(exchange.result.text[-_OUTPUT_CHARS:])
            if not is_hostile(text):
                yield from ((name, _OF_COMMAND, exchange.sources) for name in _in(text))


def _repeated(reading: Reading) -> Iterator[_Named]:
    """Yield what several messages of the agent name, in the order in which they came up."""
    times: dict[str, int] = {}
    places: dict[str, Span] = {}
    for said in reading.said("assistant"):
        for name in dict.fromkeys(_in(said.text)):
            times[name] = times.get(name, 0) + 1
            places[name] = said.sources[0]
    for name, number in times.items():
        if number > 1:
            yield name, _SPOKEN + min(number, _MOST_TIMES), (places[name],)


def _in(text: str) -> Iterator[str]:
    for found in _IDENTIFIER.finditer(text[:_CHARS]):
        name = found[0].rstrip(_ENDS)
        if found.lastgroup == "ticket" and (not _TICKET.fullmatch(name) or _NO_TICKETS.match(name)):
            continue
        yield name
