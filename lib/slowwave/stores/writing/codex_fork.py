"""A fork of a Codex rollout: a header that names its parent and where the history that it shares ends, and no copy.

Tried with client 0.169.0: it goes on from what stands in the parent before that byte and that number, and appends to
the fork. Only rollouts that the client reads from their end (``history_mode`` is ``paginated``) are forked so.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, cast
from uuid import UUID

from slowwave.errors import UsageError
from slowwave.formats.codex.home import SESSIONS, home_of
from slowwave.formats.codex.records import is_of_sub_agent, is_paginated
from slowwave.formats.lines import open_regular
from slowwave.formats.salvage import whole
from slowwave.stores.writing.lookup import first_record, unknown

_SHARED = 80


class End(NamedTuple):
    """Where the shared history ends: the first byte and the first number that are not shared."""

    offset: int
    ordinal: int


def forkable(path: Path, session_id: str) -> Mapping[str, Any]:
    """Return the header of a rollout that can be forked.

    Raises:
        UsageError: its client forks none such; the message says why.
        UnreadableError: it cannot be opened.
    """
    record = first_record(path)
    payload: object = record.get("payload")
    meta = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}
    if path.suffix != ".jsonl":
        raise UsageError(f"{session_id}: is compressed; codex unpacks it when it resumes the session")
    if home_of(path) is None:
        raise UsageError(f"{session_id}: lies in no Codex home, where its client would look for a fork's parent")
    if is_of_sub_agent(meta):
        raise UsageError(f"{session_id}: is a sub-agent's, which works for another session")
    if not is_paginated(meta) or not isinstance(record.get("ordinal"), int):
        raise UsageError(f"{session_id}: its lines have no numbers, so codex has no forks of it by reference")
    return meta


def end_of(path: Path, session_id: str, at: str | None) -> End:
    """Return where the history ends that a fork shares: behind a message, or behind the last whole line.

    Raises:
        NotFoundError: there is no such message.
        UsageError: a call that was made before it is answered behind it.
        UnreadableError: the file cannot be opened.
    """
    calls: set[str] = set()
    offset, end = 0, End(0, 0)
    with open_regular(path) as file:
        for line in file:
            offset += len(line)
            record = whole(line) if line.endswith(b"\n") else {}
            ordinal = record.get("ordinal")
            if not isinstance(ordinal, int):
                continue
            end = End(offset, ordinal + 1)
            payload: object = record.get("payload")
            item = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}
            if record.get("type") != "response_item":
                continue
            call = item.get("call_id")
            if isinstance(call, str):
                (calls.discard if str(item.get("type")).endswith("_output") else calls.add)(call)
            if at is not None and item.get("id") == at:
                if calls:
                    raise UsageError(f"{session_id}: a call before {at} is answered behind it; name a later message")
                return end
    if at is not None:
        raise unknown(at, session_id)
    return end


def header(meta: Mapping[str, Any], thread: str, window: str, end: End, at: str) -> dict[str, object]:
    """Return the payload of a fork's header: its parent's, under ids of its own.

    Args:
        meta: the parent's.
        thread: id of the fork.
        window: id of its context window.
        end: where the shared history ends.
        at: the time, as the client writes it.
    """
    parent = str(meta["id"])
    base = {"thread_id": parent, "end_ordinal_exclusive": end.ordinal, "end_byte_offset": end.offset}
    own = {"id": thread, "timestamp": at, "forked_from_id": parent, "forked_from_ordinal_exclusive": end.ordinal}
    own |= {name: thread for name in ("session_id",) if name in meta}
    own |= {"context_window": {"window_id": window}} if "context_window" in meta else {}
    return {**meta, **own, "history_base": base}


def place(home: Path, thread: str, now: datetime) -> Path:
    """Return where a new rollout lies; times in names are those of the person's clock."""
    local = now.astimezone()
    return home / SESSIONS / f"{local:%Y/%m/%d}" / f"rollout-{local:%Y-%m-%dT%H-%M-%S}-{thread}.jsonl"


def ordered_id(made: str, now: datetime) -> str:
    """Return a random UUID as one that sorts by time (version 7), as the client's threads have them."""
    milliseconds = int(now.timestamp() * 1000)
    chance = UUID(made).int & ((1 << _SHARED) - 1)
    return str(UUID(int=(milliseconds << _SHARED | chance) & ~(0xF << 76 | 0x3 << 62) | 0x7 << 76 | 0x2 << 62))
