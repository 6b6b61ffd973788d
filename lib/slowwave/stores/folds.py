"""How the records of each dialect are folded into what a listing shows, one by one, so that only new bytes are read.

Claude Code's and Cersei's records go into the summary as they are; those of the other clients become messages first,
by the same rules as when the session is read.
"""

from collections.abc import Callable
from datetime import UTC
from typing import Any, NamedTuple

from slowwave.dialects.model import Message, SessionFiles
from slowwave.records.model import Span
from slowwave.stores.summary import PROMPT_CHARS, ListedRecord, Summary, record_decoder


class Fold(NamedTuple):
    """What a dialect's records are decoded with, and what adds one to a summary."""

    decoder: Any
    add: Callable[[Summary, Span, Any], None]


def fold_of(dialect: str) -> Fold | None:
    """Return how records of a dialect are folded, None for one whose sessions must be read as a whole."""
    make = _FOLDS.get(dialect)
    return make() if make else None


def _plain() -> Fold:
    def add(summary: Summary, _: Span, record: ListedRecord) -> None:
        summary.add(record)

    return Fold(record_decoder, add)


def _pi() -> Fold:
    from slowwave.dialects.pi.messages import PiMessage  # noqa: PLC0415 - a listing imports the dialects it meets

    return _of_entries(PiMessage)


def _openclaw() -> Fold:
    from slowwave.dialects.openclaw.messages import OpenclawMessage  # noqa: PLC0415

    return _of_entries(OpenclawMessage)


def _of_entries(kind: Callable[..., Message]) -> Fold:
    from slowwave.dialects.pi.records import DECODER, Envelope, entry_of, text_or_empty  # noqa: PLC0415

    def add(summary: Summary, span: Span, record: Envelope) -> None:
        summary.records += 1
        entry = entry_of(record, span)
        if entry.type == "session" and not summary.has_header:
            fields = entry.fields()
            summary.has_header = True
            summary.cwd = text_or_empty(fields.get("cwd"))
            summary.is_fork = bool(fields.get("parentSession") or fields.get("branchedFrom"))
        elif entry.type == "session_info":
            summary.titles["custom-title"] = text_or_empty(entry.fields().get("name")).strip()
        elif entry.kind:
            add_message(summary, kind(entry, summary.cwd, True))  # noqa: FBT003

    return Fold(DECODER, add)


def _codex() -> Fold:
    from slowwave.dialects.codex.dialect import message_of  # noqa: PLC0415
    from slowwave.dialects.codex.head import is_of_sub_agent  # noqa: PLC0415
    from slowwave.dialects.codex.messages import Place  # noqa: PLC0415
    from slowwave.dialects.codex.records import DECODER, Envelope, line_of  # noqa: PLC0415

    def add(summary: Summary, span: Span, record: Envelope) -> None:
        summary.records += 1
        line = line_of(span, record)
        if line.kind == "session_meta" and not summary.has_header:
            meta = line.fields()
            summary.has_header = True
            summary.cwd = meta["cwd"] if isinstance(meta.get("cwd"), str) else ""
            summary.is_sub_agent = is_of_sub_agent(meta)
            summary.is_fork = bool(meta.get("forked_from_id") or meta.get("history_base"))
        elif line.kind == "event_msg":
            if line.mentions(b"thread_name_updated") and (name := line.fields()).get("type") == "thread_name_updated":
                summary.titles["custom-title"] = str(name.get("thread_name") or "")
        elif (message := message_of(line, Place(summary.cwd))) is not None:
            add_message(summary, message)

    return Fold(DECODER, add)


def _crabtalk() -> Fold:
    from slowwave.dialects.crabtalk.dialect import CrabtalkTranscript  # noqa: PLC0415
    from slowwave.dialects.crabtalk.records import DECODER, Line  # noqa: PLC0415

    def add(summary: Summary, span: Span, record: Line) -> None:
        summary.records += 1
        one = CrabtalkTranscript("crabtalk", _NO_FILES, records=summary.records)
        one.take(span, record)
        if one.title:
            summary.titles["custom-title"] = one.title
        for message in one.spoken:
            add_message(summary, message)

    return Fold(DECODER, add)


def _ulid() -> Fold:
    from slowwave.dialects.ulid.records import DECODER, Record, UlidMessage, unknown_kind  # noqa: PLC0415

    def add(summary: Summary, span: Span, record: Record) -> None:
        summary.records += 1
        if unknown_kind(record) is None:
            add_message(summary, UlidMessage(record, span))

    return Fold(DECODER, add)


_FOLDS: dict[str, Callable[[], Fold]] = {
    **dict.fromkeys(("claude", "cersei", "cersei-bare"), _plain),
    "pi": _pi,
    "openclaw": _openclaw,
    "codex": _codex,
    "crabtalk": _crabtalk,
    "ulid": _ulid,
}
_NO_FILES = SessionFiles("", ())


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
        text = " ".join(message.text.split())[:PROMPT_CHARS]
        if side:
            summary.side_prompt = summary.side_prompt or text
        else:
            summary.first_prompt = text
    at = message.timestamp
    if at is not None:
        stamp = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"
        summary.created = min(summary.created or stamp, stamp)
        summary.last_activity = max(summary.last_activity, stamp)
