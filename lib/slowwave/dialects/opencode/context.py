"""Which messages of an opencode session are sent after compactions (client: ``filterCompacted``)."""

from collections.abc import Sequence

from slowwave.dialects.opencode.records import Record, Stored, text_in


def filter_compacted(stored: Sequence[Stored]) -> list[Stored]:
    """Return the messages that count, in the order in which they are sent.

    From the newest back to the first prompt with a ``compaction`` part whose answer is a finished summary without an
    error. If that part names a tail, the messages from there on are kept as well, behind the summary.
    """
    first = _first(stored)
    shown = list(stored[first:])
    at = next((i for i in range(len(shown) - 1, -1, -1) if _tail_of(shown[i])), None)
    if at is None:
        return shown
    named, tail = shown[at].info.id, _tail_of(shown[at])
    summary = next((i for i in range(at + 1, len(shown)) if _answers(shown[i], named)), None)
    begin = next((i for i in range(at) if shown[i].info.id == tail), None)
    if summary is None or begin is None:
        return shown
    return [*shown[at : summary + 1], *shown[begin:at], *shown[summary + 1 :]]


def _first(stored: Sequence[Stored]) -> int:
    done: set[str] = set()
    retained = ""
    for index in range(len(stored) - 1, -1, -1):
        message = stored[index]
        if retained:
            if message.info.id == retained:
                return index
            continue
        if message.info.kind == "user" and message.info.id in done and (part := _compaction(message)) is not None:
            retained = text_in(part.fields, "tail_start_id")
            if retained in ("", message.info.id):
                return index
        elif _is_finished_summary(message):
            done.add(text_in(message.info.fields, "parentID"))
    return 0


def _is_finished_summary(message: Stored) -> bool:
    fields = message.info.fields
    summed = message.info.kind == "assistant" and bool(fields.get("summary"))
    return summed and bool(fields.get("finish")) and not fields.get("error")


def _answers(message: Stored, named: str) -> bool:
    fields = message.info.fields
    return message.info.kind == "assistant" and bool(fields.get("summary")) and fields.get("parentID") == named


def _compaction(message: Stored) -> Record | None:
    return next((part for part in message.sent_parts if part.kind == "compaction"), None)


def _tail_of(message: Stored) -> str:
    """Return the message from which on a compaction kept the conversation, or ""."""
    part = _compaction(message) if message.info.kind == "user" else None
    return text_in(part.fields, "tail_start_id") if part else ""
