"""What tells a record of a session from every other one, whichever file a copy or a fork of it lies in."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import sha256

import msgspec

# shorter ids are not unique among all sessions of a person
_UNIQUE = 16


class _Ids(msgspec.Struct, gc=False):
    session: object = msgspec.field(default=None, name="sessionId")
    session_id: object = None
    of: object = msgspec.field(default=None, name="sessionID")
    uuid: object = None
    id: object = None
    timestamp: object = None
    created_at: object = None
    time: object = None


_decoder = msgspec.json.Decoder(_Ids)


def record_name(raw: bytes) -> str:
    """Return the name of a record: its client's id, or its hash when it says when it was; "" for what many may share.

    A fork keeps the ids of the records that it begins with, a copy every byte but the session's id.
    """
    raw = raw.strip(b" \t\r\n\0")
    try:
        ids = _decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    for name in (ids.uuid, ids.id):
        if isinstance(name, str) and len(name) >= _UNIQUE:
            return name
    if not (ids.timestamp or ids.created_at or ids.time):
        return ""
    for session in (ids.session, ids.session_id, ids.of):
        if isinstance(session, str) and session:
            raw = raw.replace(session.encode("utf-8", "surrogatepass"), b"")
    return sha256(raw).hexdigest()


def moment_name(role: str, at: datetime | None, text: str) -> str:
    """Return the name of a message by its time and words, which a fork of opencode keeps under new ids; "" without."""
    words = f"{role} {at.timestamp()} {text}" if at is not None else ""
    return sha256(words.encode("utf-8", "surrogatepass")).hexdigest() if words else ""


def record_names(texts: Iterable[bytes]) -> Iterator[str]:
    """Yield the names of the records that lie in texts line by line."""
    for text in texts:
        yield from filter(None, map(record_name, text.split(b"\n")))
