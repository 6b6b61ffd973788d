"""How the records of each dialect are folded into what a listing shows, one by one, so that only new bytes are read.

Claude Code's and Cersei's records go into the summary as they are; those of the other clients tell what they are by the
same rules as when the session is read.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from slowwave.formats.model import Message, Span
from slowwave.formats.registry import RecordDialect, Told, by_name
from slowwave.stores.kept import first_words, kept_title
from slowwave.stores.summary import ListedRecord, Summary, record_decoder

_AS_THEY_ARE = frozenset({"claude", "cersei", "cersei-bare"})


class Fold(NamedTuple):
    """What a dialect's records are decoded with, and what adds one to a summary."""

    decoder: Any
    add: Callable[[Summary, Span, Any], None]


@cache
def fold_of(dialect: str) -> Fold | None:
    """Return how records of a dialect are folded, None for one whose sessions must be read as a whole."""
    if dialect in _AS_THEY_ARE:
        return Fold(record_decoder, _add_record)
    rules = by_name(dialect)
    return _fold_by(rules) if isinstance(rules, RecordDialect) else None


def _add_record(summary: Summary, _: Span, record: ListedRecord) -> None:
    summary.add(record)


def _fold_by(rules: RecordDialect) -> Fold:
    told_by = rules.told

    def add(summary: Summary, span: Span, record: object) -> None:
        summary.records += 1
        told = told_by(span, record, is_first=summary.records == 1)
        if told.message is not None:
            add_message(summary, told.message)
        else:
            _add_about(summary, told)

    return Fold(rules.decoder, add)


def _add_about(summary: Summary, told: Told) -> None:
    """Take what a record says of the session: the newest title, and the first header; later ones are copies."""
    if told.title is not None:
        summary.titles["custom-title"] = kept_title(told.title)
    if told.kind is not None and not summary.has_header:
        summary.has_header = True
        summary.cwd = told.cwd
        summary.is_sub_agent = told.kind == "subagent"
        summary.is_fork = told.kind == "fork"
        summary.parent = told.parent
    if told.created is not None:
        saw_creation(summary, told.created)


def add_message(summary: Summary, message: Message) -> None:
    """Count a message, its calls, its time, and the first prompt that a person typed."""
    side = summary.is_sub_agent or message.sidechain
    if side:
        summary.side_messages += 1
    else:
        summary.messages += 1
    if message.role == "assistant":
        summary.tool_calls += len(message.calls)
    elif not summary.first_prompt and message.role == "user" and message.origin == "typed":
        text = first_words(message.text)
        if side:
            summary.side_prompt = summary.side_prompt or text
        else:
            summary.first_prompt = text
    at = message.timestamp
    if at is not None:
        stamp = _stamp(at)
        summary.created = min(summary.created or stamp, stamp)
        summary.last_activity = max(summary.last_activity, stamp)


def saw_creation(summary: Summary, at: datetime) -> None:
    """Take the time at which a session says that it was created; nothing was said then."""
    stamp = _stamp(at)
    summary.created = min(summary.created or stamp, stamp)


def _stamp(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"
