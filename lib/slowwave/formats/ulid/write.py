"""Writing to sessions of the specification with ULIDs: numbered records, metadata that agree with them, copies.

The number of a record is chosen under the lock of the log, so that of two messages at once one waits for the other
(S7.10). The log is only ever appended to (S7.2, S7.6).
"""

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import CorruptStateError, UsageError
from slowwave.files import TEMP_PREFIX, at_fault_point, atomic_write, fsync_folder, private_folder
from slowwave.formats import REFUSALS, Problem, SessionFiles, Text, Thinking, ToolCall, clean, millisecond_time
from slowwave.formats.lines import read_records
from slowwave.formats.tail import lines_backward
from slowwave.formats.ulid import LOG, METADATA
from slowwave.formats.ulid.dialect import (
    DECODER,
    SCHEMA,
    ULID,
    Counted,
    Record,
    UlidMaker,
    checked_ulid,
    encoded,
    integer,
    is_message,
    new_metadata,
    read_metadata,
    rebuilt,
)
from slowwave.formats.writing import (
    Block,
    Compaction,
    Draft,
    Means,
    Target,
    Writer,
    check_speaker,
    client_blocks,
    json_line,
    records_backward,
    unknown,
    valid,
)
from slowwave.locks import locked_file

_ROLES = {"user": "user", "assistant": "assistant", "tool": "toolResult"}
# What belongs to the run that a session came from, and not to its copy.
_NOT_COPIED = ("cronJobId", "metrics")


# Lines of the specification, for appending: one JSON object with its newline, nothing decided here.
#
# Content is always a list of blocks (S7.12), and a file that was read and modified is modified only (S7.16).


def message_line(
    role: str,
    blocks: Sequence[Text | ToolCall],
    *,
    seq: int,
    at: datetime,
    call_id: str | None = None,
    is_error: bool = False,
) -> bytes:
    """Return a message; ``call_id`` and ``is_error`` belong to the role ``toolResult``."""
    said: dict[str, object] = {"role": role, "content": client_blocks(blocks, call=("toolCall", "arguments"))}
    if role == "toolResult":
        said |= {"toolCallId": call_id, "isError": is_error}
    return _line("message", seq, said, at)


def compaction_line(compaction: Compaction, *, seq: int, at: datetime, first_kept: int) -> bytes:
    """Return a compaction, which counts the tokens of the messages that were summarised."""
    told = {"firstKeptSeq": first_kept, "summary": compaction.summary, "tokensBefore": compaction.tokens_summarised}
    return _line("compaction", seq, {**told, **compaction.file_lists}, at)


def _line(kind: str, seq: int, fields: Mapping[str, object], at: datetime) -> bytes:
    head = {"recordType": kind, "schemaVersion": SCHEMA, "seq": seq}
    return json_line({**head, **fields, "timestamp": millisecond_time(at)})


class UlidWriter(Writer):
    """Sessions of the specification."""

    dialect = "ulid"

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._make_id = UlidMaker(means.clock)

    def path(self, folder: Path, session_id: str) -> Path:
        """Return the log of a new session. Raises UsageError: the id is no ULID (S7.8)."""
        return log_path(folder, session_id)

    def new_id(self, folder: Path, origin: Target | None = None) -> str:
        """Return a ULID that sorts behind all that were made before it."""
        del folder, origin
        return self._make_id()

    def begin(self, folder: Path, session_id: str, **metadata: str) -> Path:
        """Make a session without messages and return its log (S7.1).

        ``folder``: the folder of all sessions. ``metadata``: model, name, cron_job (S7.7) and prompt, as
        :func:`new_metadata` takes them. Raises UsageError: the id is no ULID, or a session has it.
        """
        fresh = new_metadata(session_id, at=self.means.clock.now(), **metadata)
        try:
            return create(folder, session_id, fresh, fsync=self.means.fsync)
        except FileExistsError as error:
            raise UsageError(f"{session_id}: exists already; nothing was written") from error

    def empty(self, folder: Path, asked: str, metadata: Mapping[str, str]) -> tuple[str, Path]:
        """Make a session without messages (S7.1), with a ULID of its own unless one is asked for."""
        session_id = asked or self._make_id()
        return session_id, self.begin(folder, session_id, **metadata)

    def message(self, target: Target, draft: Draft) -> str:
        """Append a message and return its number; a new session is begun."""
        path = _log(target)
        if draft.parent is not None:
            self._refuse(target.id, "tree in which a message follows another than the last")
        blocks = _blocks(draft)
        role, now = _ROLES[draft.role], self.means.clock.now()
        call_id = draft.call_id if draft.role == "tool" else None
        if not target.files:
            self._begin_once(path)

        def line(seq: int) -> bytes:
            return message_line(role, blocks, seq=seq, at=now, call_id=call_id, is_error=draft.is_error)

        return self._append(path, line, now)

    def compaction(self, target: Target, compaction: Compaction) -> str:
        """Append a compaction and return its number; lists of files go on from those of the one before (S7.15).

        Raises NotFoundError: the log has no message ``keep_from``; UsageError: it would part a tool's result from its
        call (S7.13).
        """
        path = _log(target)
        first = None if compaction.keep_from is None else first_kept(path, compaction.keep_from)
        now = self.means.clock.now()

        def line(seq: int) -> bytes:
            read, modified = files_before(path)
            whole = compaction._replace(
                read_files=(*read, *compaction.read_files), modified_files=(*modified, *compaction.modified_files)
            )
            return compaction_line(whole, seq=seq, at=now, first_kept=seq + 1 if first is None else first)

        return self._append(path, line, None)

    def name(self, target: Target, name: str) -> None:
        """Give the session a name in its metadata; an empty one takes it away."""
        path = _log(target)
        with locked_file(path):
            metadata = metadata_of(path)
            metadata.pop("name", None)
            write_metadata(path, metadata | ({"name": name} if name else {}))

    def refresh(self, target: Target) -> None:
        """Put the metadata right where they do not agree with the log (S7.4)."""
        path = _log(target)
        with locked_file(path):
            write_metadata(path, metadata_of(path))

    def folder(self, target: Target) -> Path:
        """Return the folder of all sessions: each is a folder of its own."""
        return _log(target).parent.parent

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy a session under a new ULID, its records byte for byte, up to the message ``at``.

        What the client noted of the session stays, except for what was the run's: its job and its metrics.
        """
        path = _log(target)
        copy = copied(path, at)
        known = {key: value for key, value in metadata_of(path).items() if key not in _NOT_COPIED}
        fresh = new_metadata(new_id, at=self.means.clock.now())
        metadata = rebuilt(known | {key: fresh[key] for key in ("createdAt", "source")}, new_id, copy.counted)
        try:
            return [create(folder, new_id, metadata, copy.log, fsync=self.means.fsync)]
        except FileExistsError as error:
            raise UsageError(f"{new_id}: exists already; nothing was copied") from error

    def _begin_once(self, path: Path) -> None:
        """Make a new session, unless another one made it meanwhile."""
        fresh = new_metadata(path.parent.name, at=self.means.clock.now())
        try:
            create(path.parent.parent, path.parent.name, fresh, fsync=self.means.fsync)
        except FileExistsError:
            return  # the message is added to it

    def _append(self, path: Path, line: Callable[[int], bytes], spoken_at: datetime | None) -> str:
        """Append the record that ``line`` makes of its number, and let the metadata follow."""
        seq = 0
        metadata: dict[str, object] = {}

        def lines() -> Sequence[bytes]:
            nonlocal seq, metadata
            seq, metadata = end_of(path).seq + 1, metadata_of(path)
            return [valid(lambda: line(seq))]

        def then() -> None:
            count = integer(metadata["messageCount"]) or 0
            last = str(metadata["lastMessageAt"])
            if spoken_at is not None:
                count, last = count + 1, millisecond_time(spoken_at)
            write_metadata(path, rebuilt(metadata, path.parent.name, Counted(count, last)))

        self._add(path, lines, then=then)
        return str(seq)


def _log(target: Target) -> Path:
    """Return the log of a session, whose folder must be named by its ULID (S7.8)."""
    return log_path(target.path.parent.parent, target.path.parent.name)


def _blocks(draft: Draft) -> list[Text | ToolCall]:
    blocks: tuple[Block, ...] = (Text(draft.content),) if isinstance(draft.content, str) else tuple(draft.content)
    taken = [_block(block) for block in blocks]
    check_speaker(draft, acts=any(isinstance(block, ToolCall) for block in taken))
    return taken


def _block(block: Block) -> Text | ToolCall:
    match block:
        case Text() | ToolCall():
            return block
        case {"type": "text", "text": str(text), **rest} if not rest:
            return Text(text)
        case {"type": "toolCall", "id": str(own), "name": str(name), "arguments": args, **rest} if not rest:
            return ToolCall(own, name, args)
        case Thinking():
            kind = "thinking"
        case _:
            kind = repr(block.get("type"))
    raise UsageError(f"the specification has text and tool calls, and no block of {kind}; nothing was written")


# The log and the metadata of a session with a ULID: made together, kept in agreement.
#
# Whoever writes holds the lock of the log. The metadata are written after it, so after a kill in between they lag
# behind it; the next writer sees that by the time of the last message, and counts anew.


def log_path(folder: Path, session_id: str) -> Path:
    """Return the log of a session in ``folder``; the id is checked before a path is made of it.

    Raises UsageError: the id is no ULID.
    """
    return folder / checked_ulid(session_id) / LOG


class End(NamedTuple):
    """What the end of a log says."""

    seq: int  # the largest number, 0 without records
    last: str  # the timestamp of the last message, "" without one
    is_distinct: bool  # the message before it has another timestamp, so that this one tells where the log ended


def end_of(path: Path) -> End:
    """Return what the end of a log says, without reading the rest."""
    seq = seen = 0
    times: list[str] = []
    for _, raw in lines_backward(path):
        record = _decoded(raw)
        if record is None:
            continue
        seq = max(seq, integer(record.seq) or 0)
        if is_message(record):
            times.append(record.timestamp if isinstance(record.timestamp, str) else "")
        seen += 1
        if seen >= _NEAR_RECORDS and seq and len(times) > 1:
            break
    return End(seq, times[0] if times else "", len(times) == 1 or (len(times) > 1 and times[0] != times[1]))


def create(
    folder: Path, session_id: str, metadata: dict[str, object], log: bytes = b"", *, fsync: bool = False
) -> Path:
    """Make the folder of a session with its log and its metadata, whole or not at all; return the log (S7.1).

    Raises FileExistsError: the session exists; OSError: the disk is full, or the folder cannot be written to.
    """
    path = log_path(folder, session_id)
    private_folder(folder)
    temp = folder / f"{TEMP_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
    at_fault_point("mkdir", temp)
    temp.mkdir(mode=0o700)
    try:
        atomic_write(temp / LOG, log)
        atomic_write(temp / METADATA, encoded(metadata))
        at_fault_point("rename", path.parent)
        _take_name(temp, path.parent)
    except BaseException:
        for name in (LOG, METADATA):
            (temp / name).unlink(missing_ok=True)
        temp.rmdir()
        raise
    if fsync:
        fsync_folder(folder)
    return path


def metadata_of(path: Path) -> dict[str, object]:
    """Return the metadata of the log at ``path`` as they should be, whatever the file beside it says."""
    try:
        known = read_metadata(path.with_name(METADATA))
    except CorruptStateError:
        known = {}  # the log is the truth; reading the session reports the file
    known_count = integer(known.get("messageCount"))
    count = Counted(known_count, end_of(path).last) if known_count and _tells(known, path) else counted(path)
    return rebuilt(known, path.parent.name, count)


def write_metadata(path: Path, metadata: dict[str, object]) -> None:
    """Replace the metadata of the log at ``path`` in one step."""
    atomic_write(path.with_name(METADATA), encoded(metadata))


# What a new record of a log with a ULID needs of the records before it, and the copy of a log up to one of them.


def first_kept(path: Path, message_id: str) -> int:
    """Return the number of the message that a compaction is to keep, with all that come after it.

    Raises NotFoundError: the log has no such message; UsageError: a tool's result would be kept without its call
    (S7.13).
    """
    messages = [m for m in ULID.read(SessionFiles(path.parent.name, (path,))).spoken if not m.is_summary]
    at = next((i for i, m in enumerate(messages) if m.id == message_id), None)
    if at is None:
        raise unknown(message_id, path.parent.name)
    called = {call.id for m in messages[:at] for call in m.calls}
    parted = sorted(called & {result.id for m in messages[at:] for result in m.results})
    if parted or messages[at].role == "tool":
        ids = ", ".join(parted) or "its own"
        raise UsageError(f"{message_id}: a cut there parts results from their calls ({ids}); keep from an earlier one")
    return messages[at].seq or 0


def files_before(path: Path) -> tuple[set[str], set[str]]:
    """Return the files that were read and modified according to the latest compaction (S7.15)."""
    for record in records_backward(path):
        if record.get("recordType") == "compaction":
            return _names(record.get("readFiles")), _names(record.get("modifiedFiles"))
    return set(), set()


def counted(path: Path) -> Counted:
    """Return what a whole log says."""
    problems: list[Problem] = []
    messages = 0
    last = ""
    for _, record in read_records(path, DECODER, problems):
        if is_message(record):
            messages += 1
            last = record.timestamp if isinstance(record.timestamp, str) else last
    return Counted(messages, last)


class Copy(NamedTuple):
    """The lines of a log up to some message, and what they say."""

    log: bytes
    counted: Counted


def copied(path: Path, at: str | None) -> Copy:
    """Return the records of a log byte for byte, up to the message ``at``; damage is left behind.

    Raises NotFoundError: the log has no such message.
    """
    problems: list[Problem] = []
    lines: list[bytes] = []
    messages, last = 0, ""
    for span, record in read_records(path, DECODER, problems):
        lines.append(span.raw + b"\n")
        if not is_message(record):
            continue
        messages += 1
        last = record.timestamp if isinstance(record.timestamp, str) else last
        if at is not None and str(integer(record.seq)) == at:
            break
    else:
        if at is not None:
            raise unknown(at, path.parent.name)
    return Copy(b"".join(lines), Counted(messages, last))


# A writer without a lock may have put a smaller number behind a larger one, but not far.
_NEAR_RECORDS = 32
# What is counted in a millisecond is counted every time.
_COUNTED_BYTES = 1 << 20


def _take_name(temp: Path, folder: Path) -> None:
    # a rename would take the place of an empty folder, which a client may be about to fill
    if os.path.lexists(folder):
        raise FileExistsError(errno.EEXIST, "exists already", os.fspath(folder))
    try:
        temp.rename(folder)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):  # another one was faster
            raise FileExistsError(errno.EEXIST, "exists already", os.fspath(folder)) from error
        raise


def _tells(known: dict[str, object], path: Path) -> bool:
    """Say whether the metadata of a large log were written after its last message, so that their count holds."""
    if path.stat().st_size < _COUNTED_BYTES:
        return False
    end = end_of(path)
    return end.is_distinct and bool(end.last) and known.get("lastMessageAt") == end.last


def _decoded(raw: bytes) -> Record | None:
    try:
        return DECODER.decode(clean(raw.strip(b" \t\r\n\0")))
    except REFUSALS:
        return None


def _names(value: object) -> set[str]:
    return {name for name in value if isinstance(name, str)} if isinstance(value, list) else set()  # pyright: ignore[reportUnknownVariableType]
