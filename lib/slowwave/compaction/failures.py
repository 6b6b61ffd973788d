"""What went wrong in the messages that are summarised, and must not be lost.

The line of every failure that says what went wrong, each once, and whether the same succeeded later.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from slowwave.compaction.exchanges import Exchange, Redact
from slowwave.compaction.shell_words import gist, head_of, working
from slowwave.formats.model import Span
from slowwave.letters import one_line, visible
from slowwave.reading.harness import output_of
from slowwave.shell.commands import Outcome, cause_of
from slowwave.shell.reports import is_refused, printed

SIGNATURE_CHARS = 160
_OUTPUT_CHARS = 20_000
_NUMBER = re.compile(r"\d+|0x[0-9a-f]+", re.IGNORECASE)
# how lines of lists and quotations begin, which a summary has its own of
_MARKS = "#>*-+ "
_WRAPPED = re.compile(r"</?(?:tool_use_error|error|stderr|stdout)>")


class Signature(NamedTuple):
    """What went wrong, once for all times that it did.

    Attributes:
        what: the command or the tool and its file.
        text: the line of the output that says what went wrong.
        times: how often.
        is_resolved: the same succeeded later.
        order: when it happened last.
        sources: the records of the last time.
    """

    what: str
    text: str
    times: int
    is_resolved: bool
    order: int
    sources: tuple[Span, ...]


def signatures(every: Iterable[Exchange], redact: Redact) -> list[Signature]:
    """Return every error of a session once, in the order of the last time that it happened."""
    found: dict[tuple[str, str], Signature] = {}
    heads: dict[tuple[str, str], str] = {}
    for number, exchange in enumerate(every):
        head = _head(exchange)
        outcome = _outcome(exchange, redact)
        if outcome != "failed":
            keys = [key for key, own in heads.items() if own == head]
            for key in keys if outcome == "succeeded" else ():
                found[key] = found[key]._replace(is_resolved=True)
            continue
        text = _signature(exchange, redact)
        if text:
            key = (head, _NUMBER.sub("0", text).casefold())
            times = found.pop(key).times + 1 if key in found else 1
            heads[key] = head
            found[key] = Signature(_what(exchange, redact), text, times, False, number, exchange.sources)  # noqa: FBT003  # a struct's field
    return list(found.values())


def _outcome(exchange: Exchange, redact: Redact) -> Outcome:
    """Return how ended what a call was for; of a line of which nothing proves it, by whether it printed an error."""
    if exchange.failed or exchange.result is None:
        return "failed" if exchange.failed else "unknown"
    ran = exchange.ran(redact)
    done = working(ran)
    outcome: Outcome = (done or ran)[-1].outcome if ran else "succeeded"
    if outcome == "unknown" and done and not cause_of(output_of(exchange.result.text)):
        return "succeeded"
    return outcome


def _signature(exchange: Exchange, redact: Redact) -> str:
    """Return the line that says what went wrong; without one that looks like it the first, of a shell the last."""
    text = exchange.result.text if exchange.result is not None else ""
    if not text.strip() or is_refused(text):
        return ""
    output = _WRAPPED.sub("", printed(output_of(visible(redact(text[:_OUTPUT_CHARS])))))
    line = cause_of(output)
    if not line and not exchange.line:
        line = next((ln for ln in output.split("\n") if ln.strip()), "")
    return one_line(line).lstrip(_MARKS)[:SIGNATURE_CHARS].strip()


def _head(exchange: Exchange) -> str:
    """Return what two tries of the same have in common."""
    if exchange.line:
        return head_of(exchange.line)
    path = next((str(exchange.fields[key]) for key in ("path", "file_path", "filePath") if key in exchange.fields), "")
    return f"{exchange.call.name.lower()} {path}"


def _what(exchange: Exchange, redact: Redact) -> str:
    if exchange.line:
        return gist(redact(exchange.line))
    return redact(" ".join((exchange.call.name, _head(exchange).partition(" ")[2])).strip())
