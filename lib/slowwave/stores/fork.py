"""Copy a session under a new id, as the client's own fork does: same messages, same ids, another session.

Only the session's id changes in a line; every other byte of it stays, whatever fields it has. The copied lines say
where they come from, so that a listing knows the fork (clients ignore fields that they do not know).
"""

import json
from collections.abc import Container, Iterator, Mapping
from typing import cast

import msgspec

from slowwave.formats.lines import read_records
from slowwave.formats.model import Problem, SessionFiles

_CLAUDE_MESSAGES = ("user", "assistant", "system", "attachment", "progress")


# The part and the offset at which a record begins.
Place = tuple[int, int]


class _Line(msgspec.Struct, gc=False):
    """The fields that decide whether and how a line is copied."""

    type: object = None
    uuid: object = None
    deleted_uuid: object = None
    sessionId: object = None  # noqa: N815 - the client's spelling
    session_id: object = None


LINES = msgspec.json.Decoder(_Line)


def forked_lines(
    files: SessionFiles, dialect: str, new_id: str, problems: list[Problem], only: Container[Place] | None = None
) -> Iterator[bytes]:
    """Yield the lines of the fork of a session, without newlines; with ``only``, those that begin at these places.

    Claude Code copies message lines only (``--fork-session``, clients.md 4.1); of a session of Cersei everything is
    copied, since tombstones and summaries belong to its meaning.

    Raises:
        UnreadableError: a part cannot be read.
    """
    for part, path in enumerate(files.paths):
        for span, line in read_records(path, LINES, problems, part=part):
            if only is not None and (part, span.offset) not in only:
                continue
            if dialect == "claude":
                if line.type in _CLAUDE_MESSAGES and isinstance(line.uuid, str):
                    mark = {"forkedFrom": {"sessionId": files.id, "messageUuid": line.uuid}}
                    yield _marked(with_value(span.raw, "sessionId", line.sessionId, new_id), mark)
            elif dialect == "cersei":
                renamed = with_value(span.raw, "session_id", line.session_id, new_id)
                yield _marked(renamed, {"forked_from": files.id}) if line.uuid else renamed
            else:
                yield span.raw


def with_value(raw: bytes, key: str, old: object, new: str | None) -> bytes:
    """Return the line with its own string ``key`` changed; the same text inside a message stays."""
    if not isinstance(old, str):
        return raw
    before = json.dumps(old).encode()
    after = json.dumps(new).encode()
    label = f'"{key}"'.encode()
    at = raw.find(label)
    while at >= 0:
        value = raw.find(before, at + len(label))
        if value >= 0 and raw[at + len(label) : value].strip() == b":":
            changed = raw[:value] + after + raw[value + len(before) :]
            if _fields(changed).get(key) == new:
                return changed
        at = raw.find(label, at + 1)
    # written in some unusual way (escapes in the id): the line is written anew
    return json.dumps(_fields(raw) | {key: new}, separators=(",", ":")).encode()


def _marked(raw: bytes, mark: Mapping[str, object]) -> bytes:
    """Return the object with one more field at its end, unless it has that field already."""
    (key,) = mark
    if f'"{key}"'.encode() in raw and key in _fields(raw):
        return raw
    return raw[:-1].rstrip() + b"," + json.dumps(mark, separators=(",", ":")).encode()[1:]


def _fields(raw: bytes) -> dict[str, object]:
    # bytes that are not UTF-8 must not stop a copy
    return cast("dict[str, object]", json.loads(raw.decode("utf-8", "surrogateescape")))
