"""Lines as Cersei writes them, for appending: one JSON object with its newline, nothing decided here.

::

    user_line(content, *, uuid, session, cwd, at) -> bytes
    assistant_line(content, *, uuid, parent, session, cwd, at) -> bytes
    system_line(content, *, uuid, session, cwd, at) -> bytes
    summary_line(summary, *, uuid, session, compacted, at) -> bytes
    tombstone_line(deleted, *, at) -> bytes
    bare_line(role, content) -> bytes

Names and order of the fields are those of Cersei's ``TranscriptEntry``: only assistant entries name a parent, and
``bare_line`` is a line of its bare-message file.
"""

from datetime import datetime

import orjson

from slowwave.formats.claude.encode import Content, blocks_of
from slowwave.formats.times import offset_time


def user_line(content: Content, *, uuid: str, session: str, cwd: str, at: datetime) -> bytes:
    """Return a user entry."""
    return _entry("user", content, uuid, None, session, cwd, at)


def assistant_line(content: Content, *, uuid: str, parent: str | None, session: str, cwd: str, at: datetime) -> bytes:
    """Return an assistant entry; without a parent the field is left out, as Cersei does."""
    return _entry("assistant", content, uuid, parent, session, cwd, at)


def system_line(content: Content, *, uuid: str, session: str, cwd: str, at: datetime) -> bytes:
    """Return a system entry."""
    return _entry("system", content, uuid, None, session, cwd, at)


def summary_line(summary: str, *, uuid: str, session: str, compacted: int, at: datetime) -> bytes:
    """Return a summary of the ``compacted`` oldest messages."""
    stamp = offset_time(at)
    return _line(
        {
            "type": "summary",
            "uuid": uuid,
            "timestamp": stamp,
            "session_id": session,
            "summary": summary,
            "messages_compacted": compacted,
        }
    )


def tombstone_line(deleted: str, *, at: datetime) -> bytes:
    """Return the entry that hides the entry with the uuid ``deleted``, in whichever part it lies."""
    return _line({"type": "tombstone", "deleted_uuid": deleted, "timestamp": offset_time(at)})


def bare_line(role: str, content: Content) -> bytes:
    """Return a line of the bare-message file."""
    return _line({"role": role, "content": content if isinstance(content, str) else blocks_of(content)})


def _entry(kind: str, content: Content, uuid: str, parent: str | None, session: str, cwd: str, at: datetime) -> bytes:
    record: dict[str, object] = {"type": kind, "uuid": uuid}
    if parent is not None:
        record["parent_uuid"] = parent
    record |= {
        "timestamp": offset_time(at),
        "session_id": session,
        "cwd": cwd,
        "message": {"role": kind, "content": content if isinstance(content, str) else blocks_of(content)},
        "is_sidechain": False,
    }
    return _line(record)


def _line(record: dict[str, object]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
