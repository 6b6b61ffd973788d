"""The dialect of Cersei's transcripts: snake_case entries in part files, with tombstones and summaries.

Two modes say what is sent again. ``seed`` (default) does what Cersei's document promises: tombstones applied, the
latest summary is one user message in the place of the ``messages_compacted`` oldest messages that were not hidden yet;
what an earlier summary hid stays hidden. ``code`` does what its loader does: summaries are never messages and hide
nothing.
"""

import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple, cast

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats import (
    REFUSALS,
    Block,
    Content,
    Message,
    Origin,
    Problem,
    Role,
    SessionFiles,
    Span,
    Text,
    ToolResult,
    Transcript,
    decoded,
    parse_time,
)
from slowwave.formats.cersei import BARE_ROLES
from slowwave.formats.client import Notes
from slowwave.formats.lines import PACKED, hash_before, open_regular, opened, read_records, relaxed_collector
from slowwave.formats.messages import LazyMessage, PlainMessage, blocks_of, chain
from slowwave.formats.sessions import session_stem
from slowwave.formats.tail import FileMark, Suffix, mark_of

# Entries as they are decoded at load, the messages made of them, and the end of a session.

MESSAGE_TYPES = frozenset({"user", "assistant", "system"})
# Enough of a content to see what its first block is.
_START = 64
KNOWN_TYPES = MESSAGE_TYPES | {"summary", "tombstone"}


class Body(msgspec.Struct, gc=False):
    """A Cersei ``Message``; also a whole line of its bare-message file."""

    role: str = ""
    content: msgspec.Raw = msgspec.Raw()
    id: str | None = None


class Fields(msgspec.Struct, gc=False):
    """The fields of a line but the one that tells what it is."""

    uuid: str | None = None
    parent_uuid: str | None = None
    timestamp: str | None = None
    session_id: str | None = None
    cwd: str | None = None
    is_sidechain: bool | None = None
    message: Body | None = None
    summary: str | None = None
    messages_compacted: int | None = None
    deleted_uuid: str | None = None


class Entry(Fields, gc=False):
    """Any line of a transcript (code: ``TranscriptEntry``, tagged by ``type``)."""

    type: str = ""


DECODER = msgspec.json.Decoder(Entry)


class CerseiMessage(LazyMessage, gc=False, eq=False):
    """An entry with its place, and the message that it is; the content is decoded when it is first looked at."""

    entry: Entry
    span: Span
    parent: str | None = None  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    @property
    def role(self) -> Role:
        """The type of the entry; the role of a bare message."""
        return cast("Role", self.entry.type)

    @property
    def id(self) -> str | None:
        """The entry's uuid, or the id of a bare message."""
        return self.entry.uuid or (self.entry.message.id if self.entry.message else None)

    @property
    def cwd(self) -> str:
        """The working folder that the entry names, or ""."""
        return self.entry.cwd or ""

    @property
    def timestamp(self) -> datetime | None:
        """When the entry was written; bare messages have no time."""
        return parse_time(self.entry.timestamp)

    @property
    def sidechain(self) -> bool:
        """True for a sub-agent's message."""
        return bool(self.entry.is_sidechain)

    @property
    def is_result(self) -> bool:
        """True when the content begins with a tool's result."""
        body = self.entry.message
        return body is not None and b'"tool_result"' in bytes(memoryview(body.content)[:_START])

    def _content(self) -> Content:
        body = self.entry.message
        blocks = tuple(blocks_of(decoded(body.content))) if body else ()
        origin = "injected" if self.sidechain and self.role == "user" else _origin(self.role, blocks)
        return Content(blocks, (self.span,) * len(blocks), origin)


def _origin(role: Role, blocks: tuple[Block, ...]) -> Origin:
    if role == "assistant":
        return "model"
    if role == "system":
        return "injected"
    if any(isinstance(b, ToolResult) for b in blocks):
        return "tool"
    # Compaction inside the agent replaces old messages by this element, in a user message (code: compact.rs).
    if any(isinstance(b, Text) and b.text.lstrip().startswith("<context_summary>") for b in blocks):
        return "summary"
    return "typed"


def summary_message(entry: Entry, span: Span) -> Message:
    """Return a summary entry as the user message that stands for the messages it compacted (seed)."""
    return PlainMessage(
        "user",
        (Text(entry.summary or ""),),
        (span,),
        "summary",
        entry.uuid,
        parse_time(entry.timestamp),
        entry.cwd or "",
    )


# The end of a compacted Cersei session: its last summary, the messages before it that stay, and what follows.
#
# What a summary hides is a number of messages, and a tombstone may stand anywhere, also before what it deletes (code:
# the loader collects all of them first). So what stands before the summary is looked at, too, though no further than
# its kinds (:class:`Glance`). Where that does not surely tell which messages stay, or so many do that most of the
# session would be held, the whole session is read.

_MARK = b'"summary"'


class Tail(NamedTuple):
    """The newest summary, then what stays of before it and everything behind it, and what was no clean record there."""

    placed: list[CerseiMessage]
    problems: list[Problem]


def tail_of(files: SessionFiles, notes: Notes | None = None) -> Tail | None:
    """Return the newest summary with the messages that are still sent, None where only the whole session tells them.

    ``notes``: where what was counted before the summary may be kept.
    """
    if any(path.name.endswith(PACKED) for path in files.paths):
        return None  # places are those of plain bytes
    counted = Counted(notes, files)
    suffix = Suffix(files.paths, DECODER)
    found = _newest_summary(suffix)
    if found is None:
        return None
    glance = counted.glance_before(*suffix.begin)
    for _, entry in suffix.records[: found + 1]:
        glance.add(entry)
    for _, entry in suffix.records[found + 1 :]:
        if entry.type == "tombstone":
            glance.add(entry)
    if not suffix.is_steady():
        return None
    counted.keep()
    span, summary = suffix.records[found]
    behind = suffix.records[found + 1 :]
    if summary.uuid in glance.deleted:
        return None
    before = _kept(suffix, len(behind), glance)
    if before is None:
        return None
    placed = [CerseiMessage(entry, at) for at, entry in (*before, *behind) if _is_spoken(entry, glance.deleted)]
    return Tail([CerseiMessage(summary, span), *placed], [*files.problems, *suffix.problems])


# What stands before the newest summary of a Cersei session, looked at without decoding what its messages say.
#
# Whatever this cannot read as exactly one entry of a known type (damage, glued lines, types of tomorrow) is read as
# everywhere else, so that messages, tombstones and summaries are those that the whole session has.


class Seen(NamedTuple):
    """All that counts of what was looked at; of the messages, how many they are and which of them are deleted.

    A tombstone that comes later may delete more of them. Then there are fewer than are counted here, never more.
    """

    messages: int
    gone: list[int]
    summaries: list[tuple[int, int, str | None]]
    deleted: list[str]


class Glance:
    """Tombstones, summaries and the number of messages, in the order in which they were added.

    Args:
        before: what was seen of the same session before the first thing that is added.

    Attributes:
        deleted: what tombstones delete.
    """

    def __init__(self, before: Seen | None = None) -> None:
        self._before = before or Seen(0, [], [], [])
        self.deleted: set[str] = set(self._before.deleted)
        self._count = self._before.messages
        self._summaries: list[tuple[int, int, str | None]] = [*self._before.summaries]
        self._uuids: list[str | None] = []
        self._packed: list[bytes] = []

    def seen(self) -> Seen:
        """Return what was seen so far, with which another one can go on."""
        return Seen(self._count, self._gone(), self._summaries.copy(), sorted(self.deleted))

    def add_file(self, path: Path, stop: int | None, *, start: int = 0) -> bool:
        """Look at the lines of a file from byte ``start`` on, or at those before byte ``stop``; each begins a line.

        Returns whether the last line was a plain one, so that the next one surely begins with a record of its own.
        """
        at = start
        while at >= 0 and (stop is None or at < stop):
            at = self._plain(path, at, stop)
            if at >= 0:
                at = self._odd(path, at, stop)
            else:
                return True
        return at == start

    def add(self, entry: Entry) -> None:
        """Count one entry."""
        if entry.type == "tombstone":
            self._mark(entry, deletes=True)
        elif entry.type == "summary":
            self._mark(entry, deletes=False)
        elif entry.type in MESSAGE_TYPES and entry.message is not None:
            self._say([entry.uuid])

    @property
    def is_exact(self) -> bool:
        """Whether no message is deleted of which only the number is known."""
        return self._before.messages == 0 or self.deleted <= set(self._before.deleted)

    def kept(self) -> int:
        """Return how many messages before the last summary stay; each summary hides the oldest that are left."""
        gone = self._gone()
        hidden = total = 0
        for count, number, uuid in self._summaries:
            if uuid not in self.deleted:
                total = count - bisect_left(gone, count)
                hidden = min(hidden + max(0, number), total)
        return total - hidden

    def _gone(self) -> list[int]:
        """Return which messages tombstones delete."""
        if not self.deleted:
            return []
        gone = self._before.gone.copy()
        before = self._before.messages
        # one pack after another is unpacked and let go
        for uuids in itertools.chain(map(_UNPACK.decode, self._packed), [self._uuids]):
            if not self.deleted.isdisjoint(uuids):
                gone += [before + index for index, uuid in enumerate(uuids) if uuid in self.deleted]
            before += len(uuids)
        return gone

    def _say(self, uuids: list[str | None]) -> None:
        self._count += len(uuids)
        self._uuids += uuids
        if len(self._uuids) >= _PACKED:
            self._packed.append(_PACK.encode(self._uuids))
            self._uuids.clear()

    def _mark(self, entry: "Entry | _Marker", *, deletes: bool) -> None:
        if not deletes:
            self._summaries.append((self._count, entry.messages_compacted or 0, entry.uuid))
        elif entry.deleted_uuid is not None:
            self.deleted.add(entry.deleted_uuid)

    def _plain(self, path: Path, at: int, stop: int | None) -> int:
        """Look at plain lines from byte ``at`` on; return where the first other one begins, -1 behind the last line."""
        with opened(path) as file:
            file.seek(at)
            while stop is None or at < stop:
                lines = file.readlines(_BLOCK_BYTES)
                if not lines:
                    break
                if stop is not None:
                    _cut(lines, stop - at)
                read = self._take(lines)
                at += sum(map(len, lines[:read]))
                if read < len(lines):
                    return at
        return -1

    def _take(self, lines: list[bytes]) -> int:
        """Count what plain lines say; return how many there are before the first other one."""
        entries: list[_Lean] = []
        with suppress(*REFUSALS):
            entries.extend(map(_LEAN.decode, lines))
        begin = 0
        for index, entry in enumerate(entries):
            if isinstance(entry, _Marker):
                self._say(_uuids(entries[begin:index]))
                self._mark(entry, deletes=isinstance(entry, _Tombstone))
                begin = index + 1
        self._say(_uuids(entries[begin:]))
        return len(entries)

    def _odd(self, path: Path, at: int, stop: int | None) -> int:
        """Look at some lines as every reading does; return where the next record begins, or -1."""
        ignored: list[Problem] = []
        for span, entry in read_records(path, DECODER, ignored, start=at):
            if (stop is not None and span.offset >= stop) or span.number > _ODD_LINES:
                return span.offset
            self.add(entry)
        return -1


def _kept(suffix: Suffix[Entry], behind: int, glance: Glance) -> list[tuple[Span, Entry]] | None:
    """Grow a suffix until it has the messages before its summary that stay, and return them; None for too many.

    ``behind``: how many of its records follow the summary. ``glance``: what stands before the summary.
    """
    count = glance.kept()
    if count == 0:
        return []
    if not glance.is_exact:
        return None
    while True:
        records = suffix.records[: len(suffix.records) - behind - 1]
        found = [record for record in records if _is_spoken(record[1], glance.deleted)]
        if len(found) >= count:
            return found[-count:] if suffix.is_steady() else None
        if not suffix.grow():
            return None


def _newest_summary(suffix: Suffix[Entry]) -> int | None:
    """Grow a suffix until it has a summary; return which of its records the newest one is."""
    while suffix.back_to(_MARK):
        for index in range(len(suffix.records) - 1, -1, -1):
            if suffix.records[index][1].type == "summary":
                return index
        if not suffix.grow():  # words of a conversation only; not one step for each of them
            break
    return None


def _is_spoken(entry: Entry, deleted: set[str]) -> bool:
    """Say whether an entry is a message that is still there."""
    return entry.type in MESSAGE_TYPES and entry.message is not None and entry.uuid not in deleted


# What was counted before the newest summary of a Cersei session, kept so that only new lines are looked at next time.
#
# It is a cache by the rules of the catalogue: files with the same device, inode, size and time are trusted, one that
# has grown by the hash of the bytes before the cursor as well. Throwing it away costs nothing but time.

# Counting what is shorter costs less than a millisecond or two of keeping it.
LEAST_BYTES = 4 << 20


class _Count(msgspec.Struct, array_like=True, frozen=True):
    """What stands before byte ``cursor`` of the last of some parts, and the hash of the bytes before it."""

    version: int
    files: list[FileMark]  # the parts as they were before they were read
    cursor: int
    check: bytes
    seen: Seen


_VERSION = 2
_COUNTED_DECODER = msgspec.msgpack.Decoder(_Count)


class Counted:
    """The counts of one session in some notes.

    ``notes``: where they are kept; None to count every time. ``files``: the session. Raises UnreadableError: a part is
    missing.
    """

    def __init__(self, notes: Notes | None, files: SessionFiles) -> None:
        self._notes = notes
        self._paths = files.paths
        self._now = [mark_of(path) for path in files.paths] if notes else []
        self._fresh: _Count | None = None

    def glance_before(self, part: int, stop: int) -> Glance:
        """Return what stands before byte ``stop`` of a part, which begins a line; look only at what is new."""
        known = self._known(part, stop)
        glance, is_plain = self._glanced(part, stop, known)
        if not glance.is_exact:  # something was deleted of which the note has the number only
            known = None
            glance, is_plain = self._glanced(part, stop, None)
        before = self._bytes(len(known.files) - 1, known.cursor) if known else 0
        if self._notes and is_plain and self._bytes(part, stop) - before >= LEAST_BYTES:
            self._fresh = _Count(_VERSION, self._now[: part + 1], stop, self._hash(part, stop), glance.seen())
        return glance

    def _glanced(self, part: int, stop: int, known: _Count | None) -> tuple[Glance, bool]:
        """Look at what a note does not tell; say whether the last line was a plain one, too."""
        glance = Glance(known.seen if known else None)
        first, at = (len(known.files) - 1, known.cursor) if known else (0, 0)
        is_plain = True
        for index in range(first, part + 1):
            is_plain = glance.add_file(self._paths[index], stop if index == part else None, start=at)
            at = 0
        return glance, is_plain

    def keep(self) -> None:
        """Keep what was counted; the caller has made sure that the parts did not change meanwhile."""
        if self._notes and self._fresh:
            self._notes.put(self._name, msgspec.msgpack.encode(self._fresh))

    def _known(self, part: int, stop: int) -> _Count | None:
        """Return what was counted, when all of it stands before byte ``stop`` of a part and has not changed."""
        note = self._notes.get(self._name) if self._notes else None
        if note is None:
            return None
        try:
            known = _COUNTED_DECODER.decode(note)
        except msgspec.MsgspecError:
            return None  # of another version, or damaged: it is counted again and written anew
        last = len(known.files) - 1
        if known.version != _VERSION or not 0 <= last < len(self._now) or (last, known.cursor) > (part, stop):
            return None
        return known if self._holds(known, last) else None

    def _holds(self, known: _Count, last: int) -> bool:
        then, now = known.files[last], self._now[last]
        if known.files[:last] != self._now[:last] or not now.may_be(then):
            return False
        return then == now or (then.size < now.size and self._hash(last, known.cursor) == known.check)

    def _bytes(self, part: int, stop: int) -> int:
        return sum(file.size for file in self._now[:part]) + stop

    def _hash(self, part: int, cursor: int) -> bytes:
        with open_regular(self._paths[part]) as file:
            return hash_before(file.fileno(), cursor)

    @property
    def _name(self) -> str:
        """The name of its note: what tells a file from all others, however it is called."""
        return f"cersei-{self._now[0].dev:x}-{self._now[0].ino:x}"


# Oddities come in groups, and every one by itself would open the file again.
_ODD_LINES = 100
# Small enough to stay in the processor's cache from reading to decoding.
_BLOCK_BYTES = 128 << 10
# So many uuids are packed at a time: as objects they would be most of the memory that a context needs.
_PACKED = 4096


# a value of another type makes an entry none, as it does in :class:`Entry`
class _Message(Fields, tag_field="type", gc=False):
    pass


class _User(_Message, tag="user", gc=False):
    pass


class _Assistant(_Message, tag="assistant", gc=False):
    pass


class _System(_Message, tag="system", gc=False):
    pass


class _Marker(Fields, tag_field="type", gc=False):
    pass


class _Tombstone(_Marker, tag="tombstone", gc=False):
    pass


class _Summary(_Marker, tag="summary", gc=False):
    pass


_Lean = _User | _Assistant | _System | _Tombstone | _Summary
_LEAN: msgspec.json.Decoder[_Lean] = msgspec.json.Decoder(_Lean)
_PACK = msgspec.msgpack.Encoder()
_UNPACK = msgspec.msgpack.Decoder(list[str | None])


def _uuids(entries: list[_Lean]) -> list[str | None]:
    return [entry.uuid for entry in entries if entry.message is not None]


def _cut(lines: list[bytes], most: int) -> None:
    """Drop the lines at the end that lie behind the first ``most`` bytes."""
    size = sum(map(len, lines))
    while size > most:
        size -= len(lines.pop())


# The rules of its two modes.

Mode = Literal["seed", "code"]


class CerseiTranscript(Transcript):
    """A session with its entries: everything but tombstones and what they delete, in file order."""

    placed: list[CerseiMessage] = msgspec.field(default_factory=list[CerseiMessage])

    @property
    def entries(self) -> list[tuple[Entry, Span]]:
        """Each entry that counts, with its place."""
        return [(item.entry, item.span) for item in self.placed]


class Cersei:
    """Rules of Cersei's transcripts, in one of the two modes."""

    name = "cersei"

    def __init__(self, mode: Mode = "seed") -> None:
        self.mode: Mode = mode

    def read(self, files: SessionFiles) -> CerseiTranscript:
        """Read all parts of a session; a tombstone deletes its target in any part, also a later one."""
        result = CerseiTranscript(self.name, files, problems=list(files.problems))
        placed: list[CerseiMessage] = []
        with relaxed_collector():
            for part, path in enumerate(files.paths):
                records = read_records(path, DECODER, result.problems, part=part)
                placed += [CerseiMessage(entry, span) for span, entry in records]
            result.records = len(placed)
            deleted = {item.entry.deleted_uuid for item in placed if item.entry.type == "tombstone"}
            if deleted:
                deleted.discard(None)
                placed = [p for p in placed if (e := p.entry).uuid not in deleted and e.type != "tombstone"]
            result.placed = placed
            result.messages = [message for item in placed if (message := _message(item)) is not None]
            chain(result.messages)
        result.unknown_types = Counter([p.entry.type for p in placed if p.entry.type not in KNOWN_TYPES])
        return result

    def tail(self, files: SessionFiles) -> CerseiTranscript | None:
        """Return the newest summary of a session and what follows it, when they hide all the rest (mode ``seed``)."""
        return self._tail(files, None)

    def noted_tail(self, files: SessionFiles, notes: Notes) -> CerseiTranscript | None:
        """Return what ``tail`` does; what stands before the summary is looked at only as far as no note tells it."""
        return self._tail(files, notes)

    def _tail(self, files: SessionFiles, notes: Notes | None) -> CerseiTranscript | None:
        found = tail_of(files, notes) if self.mode == "seed" else None
        if found is None:
            return None
        return CerseiTranscript(self.name, files, problems=found.problems, is_tail=True, placed=found.placed)

    def later(self, path: Path, start: int, *, by_agent: bool) -> list[Message] | None:  # noqa: ARG002
        """Return the messages from an offset on; None behind a tombstone, which hides one that may stand before."""
        found: list[Message] = []
        for span, entry in read_records(path, DECODER, [], start=start):
            if entry.type == "tombstone":
                return None
            if (message := _message(CerseiMessage(entry, span))) is not None:
                found.append(message)
        return found

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return the messages that a resumed run would start with, by the rules of this mode.

        Raises UnreadableError: mode ``code`` meets what Cersei's loader refuses (over 200 MB, bytes that are not
        UTF-8).
        """
        if self.mode == "code":
            return code_messages(transcript.files)
        whole = transcript if isinstance(transcript, CerseiTranscript) else self.read(transcript.files)
        if whole.is_tail:  # what is hidden is not among its entries
            return [message for item in whole.placed if (message := _message(item)) is not None]
        return _seed_messages(whole.placed)


def _message(item: CerseiMessage) -> Message | None:
    """Return the message that an entry shows to a reader, if it is one."""
    if item.entry.type in MESSAGE_TYPES:
        return item if item.entry.message is not None else None
    return summary_message(item.entry, item.span) if item.entry.type == "summary" else None


def _seed_messages(placed: list[CerseiMessage]) -> list[Message]:
    summary: CerseiMessage | None = None
    shown: list[Message] = []
    hidden = 0
    for item in placed:
        if item.entry.type == "summary":
            summary = item
            hidden = min(hidden + max(item.entry.messages_compacted or 0, 0), len(shown))
        elif item.entry.type in MESSAGE_TYPES and item.entry.message is not None:
            shown.append(item)
    if summary is None:
        return shown
    return [summary_message(summary.entry, summary.span), *shown[hidden:]]


# Exactly what Cersei's own loader returns for a session, its defects included (mode ``code``).
#
# Parts are read up to the first gap in their numbers and joined without a separator; a line counts only when it is
# exactly one entry with all its fields; more than 200,000,000 bytes or one byte that is not UTF-8 fail the session.

MOST_BYTES = 200_000_000


def code_messages(files: SessionFiles) -> list[Message]:
    """Return the messages of the user, assistant and system entries that no tombstone names.

    Raises UnreadableError: Cersei refuses this session.
    """
    paths = _contiguous(files.paths)
    total = sum(path.stat().st_size for path in paths)
    if total > MOST_BYTES:
        raise UnreadableError(files.paths[0], f"{total} bytes in {len(paths)} parts; Cersei loads at most {MOST_BYTES}")
    data = b"".join(path.read_bytes() for path in paths)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableError(files.paths[0], "not UTF-8, so Cersei refuses it", "use mode seed") from error
    entries = [entry for line in data.split(b"\n") if (entry := _entry(line)) is not None]
    deleted = {e.deleted_uuid for e, _ in entries if e.type == "tombstone"}
    return [
        CerseiMessage(e, span)
        for e, span in entries
        if e.message is not None and e.type != "summary" and e.uuid not in deleted
    ]


def _contiguous(paths: tuple[Path, ...]) -> list[Path]:
    """Return the base file, if it is there, and the parts 2, 3, ... up to the first missing number."""
    by_number = {session_stem(path.name)[1]: path for path in paths}
    found = [by_number[1]] if 1 in by_number else []
    number = 2
    while number in by_number:
        found.append(by_number[number])
        number += 1
    return found


def _entry(line: bytes) -> tuple[Entry, Span] | None:
    """Return the entry of a line that the loader accepts; it skips every other line without a word."""
    raw = line.strip()
    try:
        entry = DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    match entry.type:
        case "user" | "assistant" | "system":
            whole = entry.uuid and entry.timestamp and entry.session_id is not None and _is_message(entry.message)
        case "summary":
            compacted = entry.messages_compacted
            whole = entry.uuid and entry.summary is not None and compacted is not None and compacted >= 0
        case "tombstone":
            whole = entry.deleted_uuid and entry.timestamp
        case _:
            whole = False
    # The joined text has no offsets of its own, so the spans of this mode carry the bytes only.
    return (entry, Span(0, 0, 0, raw)) if whole else None


def _is_message(body: Body | None) -> bool:
    return body is not None and body.role in ("user", "assistant", "system") and bytes(body.content)[:1] in (b'"', b"[")


CERSEI = Cersei()


# The dialect of Cersei's bare-message file: one ``Message`` a line, without envelope, ids of records or times.
#
# Source of the rules: Cersei's ``JsonlMemory``, which rewrites the whole file at the end of each run.

_BARE_DECODER = msgspec.json.Decoder(Body)


class CerseiBare:
    """Rules of the bare-message file."""

    name = "cersei-bare"

    def read(self, files: SessionFiles) -> Transcript:
        """Read the file; a bad line is reported and does not fail it, as it would in Cersei."""
        result = Transcript(self.name, files, problems=list(files.problems))
        for part, path in enumerate(files.paths):
            for span, body in read_records(path, _BARE_DECODER, result.problems, part=part):
                result.records += 1
                if body.role in BARE_ROLES:
                    result.messages.append(CerseiMessage(Entry(type=body.role, message=body), span))
                else:
                    kind = f"role {body.role}"
                    result.unknown_types[kind] = result.unknown_types.get(kind, 0) + 1
        chain(result.messages)
        return result

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return all messages: the file is exactly what the next run starts with."""
        return transcript.messages


CERSEI_BARE = CerseiBare()
