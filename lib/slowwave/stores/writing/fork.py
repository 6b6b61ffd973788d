"""Write the copy of a session: whole or not at all, in parts where the dialect has them."""

import json
import os
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import cast

import msgspec

from slowwave.errors import UnreadableError, UsageError
from slowwave.files import TEMP_PREFIX, at_fault_point, private_folder, write_all
from slowwave.formats.append import SUFFIX, part_name
from slowwave.formats.lines import read_records
from slowwave.formats.model import Problem, SessionFiles
from slowwave.stores.trash import move_file

_BUFFER = 1 << 20

# The part and the offset at which a record begins.
Place = tuple[int, int]


def write_fork(
    files: SessionFiles,
    dialect: str,
    base: Path,
    new_id: str,
    part_bytes: int,
    only: Container[Place] | None = None,
) -> list[Path]:
    """Write the fork of a session to ``base`` and its parts, and return their paths.

    What cannot be read of the original is not in the copy; with ``only``, nothing but the lines that begin there is.

    Raises:
        UsageError: a session with the new id exists.
        UnreadableError: the original cannot be read, or holds no message.
    """
    lines = forked_lines(files, dialect, new_id, [], only)
    written = write_session(lines, base, part_bytes if dialect == "cersei" else None)
    if not written:
        raise UnreadableError(files.paths[0], "holds no message to copy")
    return written


def write_session(lines: Iterator[bytes], base: Path, part_bytes: int | None) -> list[Path]:
    """Write a session that did not exist, from lines without newlines, and return its files; none without a line.

    Every part is complete and durable under a temporary name before the first one gets its own; the base file comes
    last.

    Raises:
        UsageError: the file exists.
    """
    if base.exists():
        raise UsageError(f"{base}: exists already; nothing was written")
    private_folder(base.parent)
    stem = base.name.removesuffix(SUFFIX)
    temps: list[Path] = []
    try:
        for portion in _portions(lines, part_bytes):
            # a name that no client takes for a transcript
            temps.append(base.with_name(f"{TEMP_PREFIX}{os.getpid()}-{stem[:40]}-{len(temps)}"))
            _write(temps[-1], portion)
        targets = [base.with_name(part_name(stem, number)) for number in range(1, len(temps) + 1)]
        _publish(temps, targets)
    finally:
        for temp in temps:
            temp.unlink(missing_ok=True)
    return targets


def _publish(temps: list[Path], targets: list[Path]) -> None:
    """Give complete files their names, the base last; what another process put there meanwhile stays."""
    named: list[Path] = []
    try:
        for temp, target in reversed(list(zip(temps, targets, strict=True))):
            move_file(temp, target)
            named.append(target)
    except FileExistsError as error:
        for target in named:
            target.unlink()
        raise UsageError(f"{targets[0]}: was made by somebody else meanwhile; nothing was written") from error


def _portions(lines: Iterator[bytes], part_bytes: int | None) -> Iterator[Iterator[bytes]]:
    """Yield the lines of each part; every part must be consumed before the next one is asked for."""
    waiting = next(lines, None)

    def portion() -> Iterator[bytes]:
        nonlocal waiting
        size = 0
        while waiting is not None:
            size += len(waiting) + 1
            if part_bytes is not None and size > part_bytes and size > len(waiting) + 1:
                return
            yield waiting
            waiting = next(lines, None)

    while waiting is not None:
        yield portion()


def _write(path: Path, lines: Iterator[bytes]) -> None:
    at_fault_point("write", path)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        block: list[bytes] = []
        size = 0
        for line in lines:
            block.append(line)
            size += len(line)
            if size >= _BUFFER:
                write_all(fd, b"\n".join(block) + b"\n")
                block, size = [], 0
        if block:
            write_all(fd, b"\n".join(block) + b"\n")
        at_fault_point("fsync", path)
        os.fsync(fd)
    finally:
        os.close(fd)


# Copy a session under a new id, as the client's own fork does: same messages, same ids, another session.
#
# Only the session's id changes in a line; every other byte of it stays, whatever fields it has. The copied lines say
# where they come from, so that a listing knows the fork (clients ignore fields that they do not know).

_CLAUDE_MESSAGES = ("user", "assistant", "system", "attachment", "progress")


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
