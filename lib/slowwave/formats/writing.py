"""What can be written to a session, and by what means; one writer a dialect says how.

A writer is asked for one operation at a time, and each is one ``write`` of whole lines under the session's lock. What
a dialect has no record for is refused here, once: a writer overrides the operations that its client knows. Every call
stands inside of ``with writer.alone(target)``, which refuses a session that a client has open.
"""

import json
import os
from collections.abc import Callable, Collection, Container, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn, cast
from uuid import uuid4

import msgspec
import orjson

from slowwave.context import Clock
from slowwave.errors import NotFoundError, UnreadableError, UsageError
from slowwave.files import TEMP_PREFIX, at_fault_point, move_file, private_folder, write_all
from slowwave.formats import REFUSALS, SessionFiles, Text, Thinking, ToolCall, fields_of
from slowwave.formats.changes import PART_BYTES, Announce, append_records
from slowwave.formats.lines import open_regular, read_records
from slowwave.formats.sessions import SUFFIX, part_name
from slowwave.formats.tail import find_last, line_around, lines_backward

# Blocks of the dialect-free model become the client's own; mappings are the client's own form and go in as they are.
Block = Text | Thinking | ToolCall | Mapping[str, object]
Content = str | Sequence[Block]


def new_uuid() -> str:
    """Return a random id in the form that most clients use."""
    return str(uuid4())


def client_blocks(
    content: Content, *, call: tuple[str, str], thinking: Mapping[str, object] = MappingProxyType({})
) -> list[Mapping[str, object]]:
    """Return content as blocks; text becomes one text block, and what is the client's own already stays as it is.

    ``call``: what the client calls the block of a call, and the arguments in it. ``thinking``: what it puts beside the
    text of a thought.
    """
    found: list[Mapping[str, object]] = []
    for item in (Text(content),) if isinstance(content, str) else content:
        if isinstance(item, Text):
            found.append({"type": "text", "text": item.text})
        elif isinstance(item, Thinking):
            found.append({"type": "thinking", "thinking": item.text, **thinking})
        elif isinstance(item, ToolCall):
            found.append({"type": call[0], "id": item.id, "name": item.name, call[1]: item.args})
        else:
            found.append(item)
    return found


def json_line(record: Mapping[str, object]) -> bytes:
    """Return a record as the clients write one: JSON without spaces on one line, with its newline."""
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


@dataclass(frozen=True, slots=True)
class Means:
    """What new records are made with."""

    clock: Clock  # gives their time
    home: Path  # the user's home, where running clients note which sessions they have open
    ids: Callable[[], str] = new_uuid  # gives a random UUID for each new record and session
    part_bytes: int = PART_BYTES  # no part file grows past this, in dialects that have parts
    fsync: bool = False  # make every record durable before it counts as written
    # is told under the lock what will be written where, so that who appends can be sure of it after a kill
    announce: Announce | None = None


class Target(NamedTuple):
    """A session that is written to, or is to be made."""

    id: str  # its id
    path: Path  # its first file; where it will lie when the session is new (:meth:`Writer.path`)
    files: tuple[Path, ...] = ()  # its files in reading order; none when it is new
    cwd: str = ""  # the working folder, where records name one and the session does not say
    side: bool = False  # its place says that it is a sub-agent's

    @property
    def session(self) -> SessionFiles:
        """The session as it is read."""
        return SessionFiles(self.id, self.files)


class Draft(NamedTuple):
    """A message to append."""

    role: Literal["user", "assistant", "tool"]  # who speaks; ``tool`` answers the call ``call_id``
    content: Content  # its text or blocks
    parent: str | None = None  # id of the message that it follows; the last one of the session by default
    call_id: str = ""  # the call that a tool result answers
    tool: str = ""  # name of the tool that answers, where the record names it
    is_error: bool = False  # the tool failed


class Compaction(NamedTuple):
    """A compaction to append: an overlay, nothing before it changes."""

    summary: str  # what stands in the place of everything before ``keep_from``
    keep_from: str | None = None  # id of the first message that stays as it is; None keeps none
    tokens_before: int = 0  # tokens of the whole context before it; 0 when nobody counted
    # files that were read, where the record has them; one that was modified too is left out
    read_files: tuple[str, ...] = ()
    modified_files: tuple[str, ...] = ()  # files that were modified
    trigger: Literal["manual", "auto"] = "manual"  # whether a person asked for it
    # Cersei: how many of the oldest messages are summarised; those before ``keep_from`` by default
    messages: int | None = None
    # tokens of what the summary stands for, which the specification with ULIDs notes instead
    tokens_summarised: int = 0
    # how well the summary was proven and which bytes it stands for, where the record has room for it (Claude Code, pi)
    remarks: Mapping[str, object] = {}

    @property
    def file_lists(self) -> dict[str, object]:
        """The two lists of files as records have them."""
        modified = set(self.modified_files)
        return {"readFiles": sorted(set(self.read_files) - modified), "modifiedFiles": sorted(modified)}


def checked(value: object) -> None:
    """Refuse what cannot be written as JSON.

    Raises UsageError: it is no valid Unicode, or holds something that JSON does not know.
    """
    try:
        orjson.dumps(value, default=msgspec.to_builtins)
    except (TypeError, UnicodeEncodeError) as error:
        raise UsageError(f"the message is not valid text or JSON: {error}") from error


class Writer:
    """The operations on sessions of one dialect; each is refused unless a dialect says otherwise.

    Every operation returns only when its record is in the file, except before the client itself would make the file
    (pi); an instance keeps what waits for that, so a session should be written through one instance.

    What they are given went through :func:`checked`. All raise NotFoundError for a message that is not there,
    LockHeldError when another process holds the session's lock, and UnreadableError when a file cannot be opened.
    """

    dialect: ClassVar[str]

    def __init__(self, means: Means) -> None:
        self.means = means

    def path(self, folder: Path, session_id: str) -> Path:
        """Return the first file of a new session with this id in ``folder``, surely inside it.

        Raises UsageError: the client would not take a session from us, or the id could not be a name.
        """
        del folder
        self._refuse(session_id, "sessions that slowwave begins; begin it in its client")

    def folder(self, target: Target) -> Path:
        """Return the folder that holds a session beside others, where a copy of it belongs."""
        return target.path.parent

    def new_id(self, folder: Path, origin: Target | None = None) -> str:
        """Return the id of a session that is to be begun in ``folder``, or forked there from ``origin``.

        Raises UsageError: the dialect makes ids of more than chance; the message says of what.
        """
        del folder, origin
        return self.means.ids()

    def empty(self, folder: Path, asked: str, metadata: Mapping[str, str]) -> tuple[str, Path]:
        """Make a session without messages in ``folder``, and return its id and its first file.

        Args:
            folder: where sessions of the client lie.
            asked: its id, or "" for a new one; crabtalk wants agent and sender, and takes their next number.
            metadata: what the client notes of a session when it begins, by the names of its writer.

        Raises UsageError: the client keeps no session without messages, or does not note that.
        """
        del folder, metadata
        self._refuse(asked or "a new session", "sessions without messages; append the first one")

    @contextmanager
    def alone(self, target: Target) -> Generator[None]:
        """Hold whatever the client itself locks, so that it does not write meanwhile; without such a lock only look.

        Raises RefusedError: a running client has the session open; the message says which.
        """
        del target
        yield

    def message(self, target: Target, draft: Draft) -> str:
        """Append a message and return its id ("" where messages have none); a new session is begun."""
        del draft
        self._refuse(target.id, "messages that slowwave appends")

    def tombstone(self, target: Target, message_id: str) -> None:
        """Hide a message; its bytes stay."""
        del message_id
        self._refuse(target.id, "tombstones and would still send the message; use rm or fork")

    def compaction(self, target: Target, compaction: Compaction) -> str:
        """Append a compaction and return the id of its summary ("" where records have none)."""
        del compaction
        self._refuse(target.id, "compaction records")

    def clear(self, target: Target, calls: Collection[str], text: str) -> None:
        """Let a text stand in the place of what these calls returned; their outputs stay in the file."""
        del calls, text
        self._refuse(target.id, "records that clear what a tool returned")

    def branch(self, target: Target, message_id: str | None, summary: str | None) -> str:
        """Go on from an older message (None: from before the first), with a summary of what is left behind.

        Returns the id of the record that says so.
        """
        del message_id, summary
        self._refuse(target.id, "records of branches; append with the older message as the parent")

    def label(self, target: Target, message_id: str, label: str | None) -> str:
        """Give a message a label, or take it away (None), and return the id of the record."""
        del message_id, label
        self._refuse(target.id, "labels")

    def name(self, target: Target, name: str) -> None:
        """Give the session the name that its client shows; an empty one clears it where the client can."""
        del name
        self._refuse(target.id, "names of sessions")

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy a session under a new id into ``folder``, whole or not at all; the original is not touched.

        ``folder``: where the copy goes. ``at``: copy only the path from the first message to this one. Returns the
        files of the copy, the first one first.
        """
        del folder, new_id, at
        self._refuse(target.id, "forks that slowwave makes; fork it in its client")

    def refresh(self, target: Target) -> None:
        """Put right what stands beside a session of what is in it, once something was taken out of it."""

    def _add(
        self,
        path: Path,
        lines: Callable[[], Sequence[bytes]],
        *,
        create: bool = False,
        then: Callable[[], None] | None = None,
    ) -> None:
        """Append lines in one write; ``lines`` makes them, and ``then`` is called, under the lock."""

        def records() -> list[bytes]:
            return [line.removesuffix(b"\n") for line in lines()]

        means = self.means
        append_records(path, records, create=create, then=then, fsync=means.fsync, announce=means.announce)

    def _refuse(self, session_id: str, what: str) -> NoReturn:
        raise UsageError(f"{session_id}: {self.dialect} has no {what}; nothing was written")


# Finding what a new record refers to, from the end of a file: the last record, or the one with an id.

_PADDING = b" \t\r\n\0"
_FIRST_LINES = 20
_BOM = b"\xef\xbb\xbf"


def first_record(path: Path) -> dict[str, Any]:
    """Return the first object of a file, damaged lines before it passed over; empty when its first lines hold none."""
    with open_regular(path) as file:
        for line in islice(file, _FIRST_LINES):
            found = _object(line.removeprefix(_BOM).strip(_PADDING))
            if found:
                return found
    return {}


def records_backward(path: Path, *words: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file from the last to the first; damaged lines are passed over.

    ``words``: only lines that hold one of these are looked at.
    """
    for _, raw in lines_backward(path, words=words):
        found = _object(raw.strip(_PADDING))
        if found:
            yield found


class Found(NamedTuple):
    """A record and the offset at which its line begins."""

    record: dict[str, Any]
    offset: int


def record_with(paths: Sequence[Path], value: str, is_it: Callable[[dict[str, Any]], bool]) -> Found | None:
    """Return the last record that holds the string ``value`` and that ``is_it``, or None.

    Bytes are searched from the end; only lines that hold the value are decoded.
    """
    needle = msgspec.json.encode(value)
    for path in reversed(paths):
        end: int | None = None
        while (at := find_last(path, needle, end=end)) is not None:
            start, raw = line_around(path, at)
            found = _object(raw.strip(_PADDING))
            if found and is_it(found):
                return Found(found, start)
            end = start
    return None


def unknown(message_id: str, session_id: str) -> NotFoundError:
    """Return the error for a message that is not there."""
    return NotFoundError(f"session {session_id} shows no message {message_id!r}; `slowwave sessions show` names them")


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value: object = msgspec.json.decode(raw)
    except REFUSALS:
        return {}
    return fields_of(value)


# What the writers of clients without trees have in common: who may say what, and text that is none.


def valid(make: Callable[[], bytes]) -> bytes:
    """Return the line that ``make`` makes.

    Raises UsageError: what goes into it is no valid text, or nothing that JSON knows.
    """
    try:
        return make()
    except (TypeError, UnicodeEncodeError) as error:
        raise UsageError(f"not valid text or JSON: {error}; nothing was written") from error


def check_speaker(draft: Draft, *, acts: bool) -> None:
    """Refuse a message that its speaker could not have said.

    ``acts``: it calls tools or thinks. Raises UsageError: only an assistant acts, and only a tool answers a call.
    """
    if acts and draft.role != "assistant":
        raise UsageError(f"only an assistant thinks and calls tools, not a {draft.role}; nothing was written")
    if (draft.role == "tool") != bool(draft.call_id):
        raise UsageError("a tool's message, and no other, names the call that it answers; nothing was written")


# Writing the copy of a session: whole or not at all, in parts where the client has them.

_BUFFER = 1 << 20

# The part and the offset at which a record begins.
Where = tuple[int, int]


class CopiedLine(msgspec.Struct, gc=False):
    """The fields that decide whether and how a line is copied."""

    type: object = None
    uuid: object = None
    deleted_uuid: object = None
    sessionId: object = None  # noqa: N815 - the client's spelling
    session_id: object = None


LINES = msgspec.json.Decoder(CopiedLine)
# Returns a line as it stands in the copy, None for one that is not copied.
Copied = Callable[[bytes, CopiedLine], bytes | None]


def write_fork(
    files: SessionFiles, base: Path, copied: Copied, only: Container[Where] | None = None, part_bytes: int | None = None
) -> list[Path]:
    """Write the fork of a session to ``base`` and its parts, and return their paths.

    What cannot be read of the original is not in the copy; with ``only``, nothing but the lines that begin there is.
    Raises UsageError: a session with the new id exists; UnreadableError: the original cannot be read, or holds no
    message.
    """
    written = write_session(_forked_lines(files, copied, only), base, part_bytes)
    if not written:
        raise UnreadableError(files.paths[0], "holds no message to copy")
    return written


def write_session(lines: Iterator[bytes], base: Path, part_bytes: int | None) -> list[Path]:
    """Write a session that did not exist, from lines with or without newlines, and return its files; none without one.

    Every part is complete and durable under a temporary name before the first one gets its own; the base file comes
    last. Raises UsageError: the file exists.
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
    bare = (line.removesuffix(b"\n") for line in lines)
    waiting = next(bare, None)

    def portion() -> Iterator[bytes]:
        nonlocal waiting
        size = 0
        while waiting is not None:
            size += len(waiting) + 1
            if part_bytes is not None and size > part_bytes and size > len(waiting) + 1:
                return
            yield waiting
            waiting = next(bare, None)

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


def _forked_lines(files: SessionFiles, copied: Copied, only: Container[Where] | None) -> Iterator[bytes]:
    """Yield the lines of the fork of a session, without newlines; with ``only``, those that begin at these places."""
    for part, path in enumerate(files.paths):
        for span, line in read_records(path, LINES, [], part=part):
            if (only is None or (part, span.offset) in only) and (raw := copied(span.raw, line)) is not None:
                yield raw


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


def marked(raw: bytes, mark: Mapping[str, object]) -> bytes:
    """Return the object with one more field at its end, unless it has that field already."""
    (key,) = mark
    if f'"{key}"'.encode() in raw and key in _fields(raw):
        return raw
    return raw[:-1].rstrip() + b"," + json.dumps(mark, separators=(",", ":")).encode()[1:]


def _fields(raw: bytes) -> dict[str, object]:
    # bytes that are not UTF-8 must not stop a copy
    return cast("dict[str, object]", json.loads(raw.decode("utf-8", "surrogateescape")))
