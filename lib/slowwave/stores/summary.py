"""What a listing shows of a session: its summary, the row kept between two listings, titles without secrets.

A session is read for the catalogue as a whole, or only the bytes that were appended since the last time.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats import REFUSALS, Message, Problem, SessionFiles, SessionOrigin, Span, Text, Transcript, parse_time
from slowwave.formats.claude.records import split_typed
from slowwave.formats.client import RecordDialect, RowDialect, Told
from slowwave.formats.lines import hash_before, open_regular, read_records
from slowwave.formats.registry import by_name, client_of
from slowwave.formats.sessions import (
    PACKED_SUFFIX,
    FoundFile,
    FoundSession,
    Signature,
    Source,
    StoreProblem,
    StoreProblemKind,
    key_in_database,
    session_stem,
    signatures,
)
from slowwave.formats.tail import find_last, line_around

# The pieces of one message of Claude Code stand close together, with at most a few tool results between them.
_REMEMBERED_IDS = 16
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "agent-name": "agentName"}
# Strongest first: a person's own title, a generated one, an agent's name; then a title of client 1.0.
_TITLE_ORDER = ("custom-title", "ai-title", "agent-name")
_MESSAGES = ("user", "assistant", "system")
_ABSENT = msgspec.Raw()


class ListedRecord(msgspec.Struct, gc=False):
    """The fields of any record that a listing needs; the message stays undecoded."""

    type: object = None
    uuid: object = None
    timestamp: object = None
    sessionId: object = None  # noqa: N815 - the clients' spelling, here and below
    cwd: object = None
    isSidechain: object = None  # noqa: N815
    is_sidechain: object = None
    isMeta: object = None  # noqa: N815
    isCompactSummary: object = None  # noqa: N815
    message: msgspec.Raw = _ABSENT
    customTitle: object = None  # noqa: N815
    aiTitle: object = None  # noqa: N815
    agentName: object = None  # noqa: N815
    summary: object = None
    leafUuid: object = None  # noqa: N815
    deleted_uuid: object = None
    role: object = None
    content: msgspec.Raw = _ABSENT
    forkedFrom: object = None  # noqa: N815
    forked_from: object = None


class _Message(msgspec.Struct, gc=False):
    id: object = None
    content: msgspec.Raw = _ABSENT


class _Block(msgspec.Struct, gc=False):
    type: object = None
    text: object = None


record_decoder = msgspec.json.Decoder(ListedRecord)
_message_decoder = msgspec.json.Decoder(_Message)
_content_decoder = msgspec.json.Decoder(str | list[_Block])


class Summary(msgspec.Struct):
    """The running state; it can be stored, read back and fed with the records that came since."""

    dialect: str  # whose rules hold
    records: int = 0  # JSON objects read
    messages: int = 0  # messages of the main conversation, tombstoned ones left out, pieces of one message joined
    side_messages: int = 0  # messages of sub-agents that lie in the same file
    tool_calls: int = 0  # calls that the assistant made
    bad_lines: int = 0
    titles: dict[str, str] = {}  # the newest title of each kind
    # titles that this file holds for sessions ending in some message (client 1.0 writes them anywhere), in the order in
    # which they were last written
    leaves: dict[str, str] = {}
    own_leaves: dict[str, bool] = {}  # those whose message is in this very session; most are about other sessions
    first_prompt: str = ""  # the first text that a person typed, shortened
    side_prompt: str = ""  # the first task of a sub-agent, shortened
    first_uuid: str = ""  # id of the first message; forks share it with their origin
    last_uuid: str = ""  # id of the last message
    created: str = ""  # time of the first record that has one
    last_activity: str = ""  # newest time of any record
    cwd: str = ""  # the first working folder that was named: where the session began
    is_fork: bool = False  # records say that they were copied from another session
    tombstones: dict[str, bool] = {}  # ids that tombstones name; their records do not count
    message_ids: list[str] = []
    has_header: bool = False  # the record that says what the session is was met; later ones are copies
    is_sub_agent: bool = False  # the header says that all of it is a sub-agent's
    parent: str = ""  # the session that a header or a copied record names as the one it was started or forked from
    # the first session that a record of Claude Code names; a sub-agent's names the one that started it
    session: str = ""

    @property
    def title(self) -> str:
        """The title that the client would show, or ""."""
        named = next((self.titles[kind] for kind in _TITLE_ORDER if self.titles.get(kind)), "")
        return named or next((self.leaves[leaf] for leaf in reversed(self.leaves) if leaf in self.own_leaves), "")

    @property
    def is_side(self) -> bool:
        """Whether everything in it was said by or to a sub-agent."""
        return self.is_sub_agent or (self.side_messages > 0 and not self.messages)

    def add(self, record: ListedRecord) -> None:
        """Fold one record in."""
        self.records += 1
        if self.leaves and isinstance(record.uuid, str) and record.uuid in self.leaves:
            self.own_leaves[record.uuid] = True
        if self.tombstones and isinstance(record.uuid, str) and record.uuid in self.tombstones:
            return
        if isinstance(record.timestamp, str):
            self._saw_time(record.timestamp)
        if not self.cwd and isinstance(record.cwd, str):
            self.cwd = record.cwd
        kind = record.type
        if kind in _MESSAGES:
            self._add_message(record, kind == "assistant", record.message)
        elif kind is None and record.role in _MESSAGES:
            self._count(_Message(content=record.content), record, record.role == "assistant")
        elif isinstance(kind, str):
            self._add_note(kind, record)

    def _add_note(self, kind: str, record: ListedRecord) -> None:
        if kind == "tombstone":
            if client_of(self.dialect).has_tombstones and isinstance(record.deleted_uuid, str):
                self.tombstones[record.deleted_uuid] = True
        elif kind == "summary":
            if isinstance(record.leafUuid, str) and isinstance(record.summary, str):
                self.leaves.pop(record.leafUuid, None)
                self.leaves[record.leafUuid] = kept_title(record.summary)
        elif kind in _TITLES:
            self.titles[kind] = kept_title(str(getattr(record, _TITLES[kind]) or ""))

    def _add_message(self, record: ListedRecord, is_assistant: bool, raw: msgspec.Raw) -> None:  # noqa: FBT001
        if not len(raw):
            return  # a system record of Claude Code is a note of the client, not a message
        if record.forkedFrom or record.forked_from:
            self.is_fork = True
            self.parent = self.parent or _origin(record)
        if not self.session and isinstance(record.sessionId, str):
            self.session = record.sessionId
        if isinstance(record.uuid, str):
            self.first_uuid = self.first_uuid or record.uuid
            self.last_uuid = record.uuid
        try:
            message = _message_decoder.decode(raw)
        except msgspec.MsgspecError:
            return
        self._count(message, record, is_assistant)

    def _count(self, message: _Message, record: ListedRecord, is_assistant: bool) -> None:  # noqa: FBT001
        side = record.isSidechain is True or record.is_sidechain is True
        if is_assistant:
            if b"tool_use" in bytes(message.content):
                self.tool_calls += sum(block.type == "tool_use" for block in _blocks(message.content))
            if self._is_further_piece(message.id):
                return
        elif not record.isMeta and not record.isCompactSummary:
            if side and not self.side_prompt:
                self.side_prompt = _typed_text(message.content)
            elif not side and not self.first_prompt:
                self.first_prompt = _typed_text(message.content)
        if side:
            self.side_messages += 1
        else:
            self.messages += 1

    def _is_further_piece(self, message_id: object) -> bool:
        if not client_of(self.dialect).has_pieces or not isinstance(message_id, str):
            return False
        if message_id in self.message_ids:
            return True
        self.message_ids.append(message_id)
        if len(self.message_ids) > _REMEMBERED_IDS:
            del self.message_ids[0]
        return False

    def _saw_time(self, stamp: str) -> None:
        if not stamp.endswith(("Z", "+00:00")):
            at = parse_time(stamp)
            if at is None:
                return
            stamp = at.isoformat()
        if not self.created:
            self.created = stamp
        if stamp[:23] > self.last_activity[:23]:
            self.last_activity = stamp


def _origin(record: ListedRecord) -> str:
    """Return the session that a record says it was copied from: an object of Claude Code's, a text of Cersei's."""
    named: object = record.forkedFrom or record.forked_from
    if isinstance(named, dict):
        named = cast("dict[str, object]", named).get("sessionId")
    return named if isinstance(named, str) else ""


def _blocks(content: msgspec.Raw) -> list[_Block]:
    try:
        found = _content_decoder.decode(content)
    except msgspec.MsgspecError:
        return []
    return [_Block("text", found)] if isinstance(found, str) else found


def _typed_text(content: msgspec.Raw) -> str:
    """Return the beginning of what a person typed in ``content`` on one line, or ""."""
    if not len(content):
        return ""
    for block in _blocks(content):
        if block.type == "text" and isinstance(block.text, str):
            for typed in split_typed(block.text):
                if isinstance(typed, Text):
                    return first_words(typed.text)
    return ""


# What is kept of a session between two listings: the row that is shown, and what it takes to see a change.


class SessionRow(msgspec.Struct, gc=False, array_like=True):
    """One session of a listing; :class:`ShownRow` has the same fields as a JSON object."""

    dialect: str
    id: str
    path: str
    parts: int
    project: str
    title: str
    first_prompt: str
    records: int
    messages: int
    bad_lines: int
    bytes: int
    created: str | None
    last_activity: str
    kind: str
    tool_calls: int
    cwd: str
    source: Source = ""
    parent: str = ""
    origin: SessionOrigin = ""
    archive: str = ""  # the pack that it lies in, when slowwave archived it


class ShownRow(SessionRow, gc=False, array_like=False):
    """A row as it is printed; other programs rely on the names."""

    @classmethod
    def of(cls, row: SessionRow) -> "ShownRow":
        """Return the printed form of a row."""
        return cls(*msgspec.structs.astuple(row))


class Hints(msgspec.Struct, gc=False, array_like=True):
    """What a row's title, kind and parent follow from, together with the other sessions of its project."""

    title: str
    side: bool
    is_fork: bool
    first_uuid: str
    last_uuid: str
    leaves: dict[str, str]
    parent: str


class StoredRow(msgspec.Struct, gc=False):
    """A row as the catalogue keeps it, with undecoded hints; a listing in which nothing changed needs the row alone."""

    row: SessionRow  # what is shown
    size: int  # of the last part, as are ``mtime_ns``, ``dev`` and ``ino``
    mtime_ns: int
    dev: int
    ino: int
    parts: list[Signature] | None  # all parts of a session that has several, else None
    problem: str  # why it is no session, or ""
    hints: bytes  # encoded :class:`Hints`
    in_database: bool = False  # its file holds other sessions, too
    told: str = ""  # what a file beside it told of it

    @property
    def key(self) -> str:
        """The key of the session that it describes."""
        return key_in_database(self.row.path, self.row.id) if self.in_database else self.row.path

    def is_still(self, found: FoundSession) -> bool:
        """Say whether the session has the same files, sizes and times as when it was read, and nothing else is told."""
        now = signatures(found.files)
        then = self.parts or [(now[-1][0], self.size, self.mtime_ns, self.dev, self.ino)]
        # what is told no more, as of a job's session after the next run of it, still holds
        return now == then and found.told in ("", self.told)

    def as_found(self) -> FoundSession:
        """Return the session as the walk finds it."""
        folder, _, name = self.row.path.rpartition("/")
        parts = self.parts or [(os.fsencode(name), self.size, self.mtime_ns, self.dev, self.ino)]
        files = [FoundFile(os.fsdecode(part[0]), *part[1:]) for part in parts]
        row = self.row
        numbers = [session_stem(file.name)[1] for file in files]
        return FoundSession(
            folder, row.id, files, row.kind == "subagent", [] if numbers == [1] else numbers, row.dialect, row.cwd,
            source=row.source, in_database=self.in_database, origin=row.origin, told=self.told,
        )  # fmt: skip

    def as_problem(self) -> StoreProblem:
        """Return why it is no session."""
        kind, _, detail = self.problem.partition(": ")
        return StoreProblem(msgspec.convert(kind, StoreProblemKind), self.row.path, detail)


def stored_row(found: FoundSession, seen: Summary) -> StoredRow:
    """Return the row of a session that was just read."""
    side = found.side or found.kind == "subagent" or seen.is_side
    messages = seen.messages + (seen.side_messages if side else 0)
    prompt = seen.side_prompt if side and not seen.first_prompt else seen.first_prompt
    activity = seen.last_activity or _iso(found.mtime_ns)
    row = SessionRow(
        seen.dialect, found.id, found.path, len(found.files), "", seen.title, prompt, seen.records, messages,
        seen.bad_lines, found.size, seen.created or None, activity, "subagent" if side else "main", seen.tool_calls,
        found.cwd or seen.cwd, found.source, origin=found.origin,
    )  # fmt: skip
    hints = Hints(
        seen.title, side, seen.is_fork or found.kind == "fork", seen.first_uuid, seen.last_uuid, seen.leaves,
        _parent(found, seen, side=side),
    )  # fmt: skip
    return _stored(found, row, "", msgspec.msgpack.encode(hints))


def _parent(found: FoundSession, seen: Summary, *, side: bool) -> str:
    """Return the session that one belongs to or was forked from, as far as it tells itself."""
    named = found.parent or seen.parent or (seen.session if side else "")
    return named if named != found.id else ""


def no_session(found: FoundSession, problem: str) -> StoredRow:
    """Return what is kept of a file that is no session, so that it is not looked into each time."""
    row = SessionRow("", found.id, found.path, len(found.files), "", "", "", 0, 0, 0, found.size, None, "", "", 0, "")
    stored = _stored(found, row, problem, b"")
    if problem.startswith("unreadable"):
        stored.size = -1  # permissions change without a trace in size and time, so it is tried again each time
    return stored


def _stored(found: FoundSession, row: SessionRow, problem: str, hints: bytes) -> StoredRow:
    last = found.files[-1]
    parts = signatures(found.files) if len(found.files) > 1 else None
    return StoredRow(
        row, last.size, last.mtime_ns, last.dev, last.ino, parts, problem, hints, found.in_database, found.told
    )


def resolve(stored: Iterable[StoredRow]) -> None:
    """Set title, kind and parent of the rows of one project, as far as only its sessions together tell them.

    Client 1.0 writes a session's title into whichever file it has open, and a fork is known by the first message that
    it shares with an older session.
    """
    pairs = [(s.row, msgspec.msgpack.decode(s.hints, type=Hints)) for s in stored if not s.problem]
    leaves: dict[str, str] = {}
    for _, hints in pairs:
        leaves.update(hints.leaves)
    origins = _origins(pairs)
    for row, hints in pairs:
        row.title = hints.title or leaves.get(hints.last_uuid, "")
        row.parent = hints.parent
        if hints.side:
            row.kind = "subagent"
        else:
            origin = origins.get(hints.first_uuid, row)
            is_copy = hints.is_fork or origin is not row
            row.kind = "fork" if is_copy else "main"
            if is_copy and not row.parent and origin is not row:
                row.parent = origin.id


def _origins(pairs: list[tuple[SessionRow, Hints]]) -> dict[str, SessionRow]:
    """Return by the id of a first message the session that began with it first; of equals the first by its path."""
    origins: dict[str, tuple[tuple[bool, str, str], SessionRow]] = {}
    for row, hints in pairs:
        if hints.first_uuid and not hints.side:
            age = (hints.is_fork, row.created or "", row.path)
            other = origins.get(hints.first_uuid)
            if other is None or age < other[0]:
                origins[hints.first_uuid] = (age, row)
    return {uuid: row for uuid, (_, row) in origins.items()}


def _iso(mtime_ns: int) -> str:
    return datetime.fromtimestamp(mtime_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# The short texts of a session that the catalogue and the search index keep: titles and first prompts, without secrets.
#
# Both are files of slowwave's own that outlive what they quote, so a secret is taken out once, when a text is taken in.
# What ``sessions show`` prints is the person's own file, as it is.

PROMPT_CHARS = 160
# So much more is looked at than is kept: of a secret that the cut parts in two, the first half would not be known.
_BEHIND_CHARS = 1_000
# a digit, a sign that is no punctuation, letters that no word has in a row, or what seeds of wallets are called
_SIGN = re.compile(
    r"[^A-Za-z\s.,;'\"()\-/?_`<>\u0080-\uffff]|\S{24}|[a-z][A-Z]|(?i:[b-df-hj-np-tv-xz]{6}|phrase|mnemonic|seed)"
    r"|(?:[a-z]{3,20}[\-._]){3}|[\u0300-\u036f\uff01-\uff5e]"
)


def first_words(text: str) -> str:
    """Return the beginning of a prompt on one line."""
    head = text.lstrip()[: PROMPT_CHARS + _BEHIND_CHARS]
    flat = " ".join(_clean(head).split())
    if len(flat) < PROMPT_CHARS and len(text) > len(head):
        flat = " ".join(_clean(text).split())  # most of the beginning is blank
    return flat[:PROMPT_CHARS]


# a client writes the title of a session again and again
@lru_cache(maxsize=256)
def kept_title(title: str) -> str:
    """Return a title as it is kept."""
    return _clean(title)


def is_plain_talk(text: str) -> bool:
    """Say whether a text has no sign of any secret, so that the rules, which take 40 ms to load, need not be asked."""
    if _SIGN.search(text):
        return False
    lowered = text.lower()
    return not any(noun in lowered for noun in _of_any_word())


@cache
def _of_any_word() -> tuple[str, ...]:
    """Return the nouns of secrets that may be any word, as answers to questions of security are."""
    from slowwave.secrets.nouns import words  # noqa: PLC0415 - as the rules: nothing new, nothing loaded

    return tuple(noun.lower() for head in ("answer", "short-answer") for noun in words(head))


def _clean(text: str) -> str:
    if is_plain_talk(text):
        return text
    from slowwave.secrets import NAMELESS  # noqa: PLC0415 - a listing in which nothing is new needs no rules

    return NAMELESS(text)


_BLOCK = 1 << 16


class Mark(msgspec.Struct, frozen=True):
    """How far a session was read, and what to compare before going on from there."""

    files: list[Signature]  # the parts as they were
    cursor: int  # offset behind the last newline that was read in the last part
    check: bytes  # hash of the bytes before the cursor
    state: Summary  # the summary at the cursor


class Scanned(msgspec.Struct, frozen=True):
    """A session's mark, and its summary including a last line that has no newline yet."""

    mark: Mark
    summary: Summary


def scan(found: FoundSession, dialect: str, before: Mark | None = None) -> Scanned:
    """Return the summary of a session, read from the end of ``before`` when that still holds.

    Raises UnreadableError: a part cannot be opened or read.
    """
    if fold_of(dialect) is None or found.in_database or found.files[-1].name.endswith(PACKED_SUFFIX):
        return Scanned(Mark(signatures(found.files), 0, b"", Summary(dialect)), _anew(found, dialect))
    if before is not None and _continues(found, before):
        known = len(before.state.tombstones)
        scanned = _read(found, _copy(before.state), before)
        if len(scanned.summary.tombstones) == known:
            return _with_leaves(found, scanned, before.state.leaves)
    tombstones: dict[str, bool] = {}
    while True:
        # a tombstone may stand behind what it deletes, so a session that shows new ones is read again knowing them
        scanned = _read(found, Summary(dialect, tombstones=dict(tombstones)), None)
        if len(scanned.summary.tombstones) == len(tombstones):
            return _with_leaves(found, scanned, {})
        tombstones = scanned.summary.tombstones


def _anew(found: FoundSession, dialect: str) -> Summary:
    """Return the summary of a session that no cursor leads into."""
    if found.in_database:
        return summary_of_rows(found, dialect)
    if not isinstance(by_name(dialect), RecordDialect):
        return summary_of_whole(found, dialect)
    summary = Summary(dialect)
    for index in range(len(found.files)):
        _fold(found, index, 0, summary, None)
    return summary


def _with_leaves(found: FoundSession, scanned: Scanned, known: Mapping[str, str]) -> Scanned:
    """Find the titles of client 1.0 that are about a message before them; one behind them was met while reading."""
    for leaf in scanned.summary.leaves:
        if leaf not in known and any(_has_record(Path(found.folder, file.name), leaf) for file in found.files):
            for state in (scanned.summary, scanned.mark.state):
                if leaf in state.leaves:
                    state.own_leaves[leaf] = True
    return scanned


def _has_record(path: Path, uuid: str) -> bool:
    needle = msgspec.json.encode(uuid)
    end: int | None = None
    while (at := find_last(path, needle, end=end)) is not None:
        end, line = line_around(path, at)
        try:
            if record_decoder.decode(line.strip()).uuid == uuid:
                return True
        except REFUSALS:
            continue  # a damaged line names no record
    return False


def _read(found: FoundSession, state: Summary, before: Mark | None) -> Scanned:
    first = len(before.files) - 1 if before else 0
    start = before.cursor if before else 0
    last = len(found.files) - 1
    for index in range(first, last):
        _fold(found, index, start, state, None)
        start = 0
    path = Path(found.folder, found.files[last].name)
    cursor, check = _checked_end(path, found.files[last].size, start)
    mark = _fold(found, last, start, state, cursor)
    return Scanned(Mark(signatures(found.files), cursor, check, mark), state)


def _fold(found: FoundSession, index: int, start: int, state: Summary, cursor: int | None) -> Summary:
    """Fold one part into ``state``; return a copy of the state as it was at ``cursor``."""
    path = Path(found.folder, found.files[index].name)
    problems: list[Problem] = []
    at_cursor: Summary | None = None
    bad = _BadLines(state)
    fold = fold_of(state.dialect)
    if fold is None:
        raise ValueError(f"sessions of {state.dialect} are read as a whole")
    for span, record in read_records(path, fold.decoder, problems, part=index, start=start):
        bad.yields(span.number, len(problems))
        if cursor is not None and at_cursor is None and span.offset >= cursor:
            bad.settle(_before(path, problems, cursor))
            at_cursor = _copy(state)
        fold.add(state, span, record)
    bad.yields(0, len(problems))
    if cursor is not None and at_cursor is None:
        bad.settle(_before(path, problems, cursor))
        at_cursor = _copy(state)
    bad.settle(problems)
    return at_cursor or state


class _BadLines:
    """Counts lines of which something could not be read, each once."""

    def __init__(self, state: Summary) -> None:
        self.state = state
        self.yielded: set[int] = set()
        self._last = self._problems = 0
        self.counted = 0  # all bad lines up to this one

    def yields(self, line: int, problems: int) -> None:
        """Note a line that gave a record (0 at the end); padding behind a record is reported only after it."""
        if problems != self._problems:
            self.yielded |= {self._last, line}
        self._last, self._problems = line, problems

    def settle(self, problems: list[Problem]) -> None:
        for problem in problems:
            if problem.kind in HARMLESS or (problem.kind == "nul" and problem.line in self.yielded):
                continue
            end = problem.line + problem.lines
            self.state.bad_lines += max(0, end - max(problem.line, self.counted + 1))
            self.counted = max(self.counted, end - 1)


def _before(path: Path, problems: list[Problem], cursor: int) -> list[Problem]:
    """Return what is wrong with lines before ``cursor``; a run of bad lines that goes on behind it is cut there."""
    found = [p for p in problems if p.offset < cursor]
    if found and found[-1].lines > 1 and found[-1].offset + found[-1].length > cursor:
        found[-1] = msgspec.structs.replace(found[-1], lines=_newlines(path, found[-1].offset, cursor))
    return found


def _newlines(path: Path, start: int, stop: int) -> int:
    with open_regular(path) as file:
        fd = file.fileno()
        return sum(os.pread(fd, min(_BLOCK, stop - at), at).count(b"\n") for at in range(start, stop, _BLOCK))


def _copy(state: Summary) -> Summary:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=Summary)


def _continues(found: FoundSession, before: Mark) -> bool:
    """Say whether the parts are those of ``before`` with bytes added at the end, and nothing else."""
    old = before.files
    new = signatures(found.files)
    if len(old) > len(new) or new[: len(old) - 1] != old[:-1]:
        return False
    now, then = new[len(old) - 1], old[-1]
    if (now[0], now[3:]) != (then[0], then[3:]) or now[1] < then[1]:
        return False
    try:
        return _check(Path(found.folder, found.files[len(old) - 1].name), before.cursor) == before.check
    except (OSError, UnreadableError):
        return False


def _check(path: Path, cursor: int) -> bytes:
    with open_regular(path) as file:
        return hash_before(file.fileno(), cursor)


def _checked_end(path: Path, size: int, start: int) -> tuple[int, bytes]:
    """Return the offset behind the last newline within ``size`` bytes, at least ``start``, and its hash."""
    with open_regular(path) as file:
        fd = file.fileno()
        end = size
        while end > start:
            begin = max(start, end - _BLOCK)
            newline = os.pread(fd, end - begin, begin).rfind(b"\n")
            if newline >= 0:
                return begin + newline + 1, hash_before(fd, begin + newline + 1)
            end = begin
        return start, hash_before(fd, start)


# How the records of each dialect are folded into what a listing shows, one by one, so that only new bytes are read.
#
# Claude Code's and Cersei's records go into the summary as they are; those of the other clients tell what they are by
# the same rules as when the session is read.


class Fold(NamedTuple):
    """What a dialect's records are decoded with, and what adds one to a summary."""

    decoder: Any
    add: Callable[[Summary, Span, Any], None]


@cache
def fold_of(dialect: str) -> Fold | None:
    """Return how records of a dialect are folded, None for one whose sessions must be read as a whole."""
    if client_of(dialect).is_folded:
        return Fold(record_decoder, _add_record)
    rules = by_name(dialect)
    return _fold_by(rules) if isinstance(rules, RecordDialect) else None


def _add_record(summary: Summary, _: Span, record: ListedRecord) -> None:
    summary.add(record)


def _fold_by(rules: RecordDialect) -> Fold:
    told_by = rules.told

    def add(summary: Summary, span: Span, record: object) -> None:
        summary.records += 1
        told = told_by(span, record, is_first=summary.records == 1)
        if told.message is not None:
            add_message(summary, told.message)
        else:
            _add_about(summary, told)

    return Fold(rules.decoder, add)


def _add_about(summary: Summary, told: Told) -> None:
    """Take what a record says of the session: the newest title, and the first header; later ones are copies."""
    if told.title is not None:
        summary.titles["custom-title"] = kept_title(told.title)
    if told.kind is not None and not summary.has_header:
        summary.has_header = True
        summary.cwd = told.cwd
        summary.is_sub_agent = told.kind == "subagent"
        summary.is_fork = told.kind == "fork"
        summary.parent = told.parent
    if told.created is not None:
        saw_creation(summary, told.created)


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
        text = first_words(message.text)
        if side:
            summary.side_prompt = summary.side_prompt or text
        else:
            summary.first_prompt = text
    at = message.timestamp
    if at is not None:
        stamp = _stamp(at)
        summary.created = min(summary.created or stamp, stamp)
        summary.last_activity = max(summary.last_activity, stamp)


def saw_creation(summary: Summary, at: datetime) -> None:
    """Take the time at which a session says that it was created; nothing was said then."""
    stamp = _stamp(at)
    summary.created = min(summary.created or stamp, stamp)


def _stamp(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


# What a listing shows of a session that is read as a whole: its summary is made anew when it changes.
#
# So are storage trees of opencode. Other files are folded in record by record (:func:`fold_of`), and of sessions in
# databases the rows (:func:`summary_of_rows`).

# Reported by the reader, but nothing is missing: the record was read all the same.
HARMLESS = ("bom", "glued", "not-utf8", "gap", "too-large", "nonstandard")


def files_of(found: FoundSession) -> SessionFiles:
    """Return the files of a session as its dialect takes them."""
    return SessionFiles(found.id, tuple(Path(found.folder, file.name) for file in found.files))


def summary_of_whole(found: FoundSession, dialect: str) -> Summary:
    """Return the summary of a session by reading all of it. Raises UnreadableError: a file of it cannot be read."""
    transcript = by_name(dialect).read(files_of(found))
    summary = Summary(
        dialect,
        records=transcript.records,
        bad_lines=sum(p.lines for p in transcript.problems if p.kind not in HARMLESS),
        titles={"ai-title": kept_title(transcript.title)} if transcript.title else {},
        is_fork=transcript.kind == "fork",
        is_sub_agent=transcript.kind == "subagent",
        parent=transcript.parent,
        cwd=next((m.cwd for m in transcript.messages if m.cwd), ""),
    )
    for message in transcript.messages:
        add_message(summary, message)
    if transcript.created is not None:
        saw_creation(summary, transcript.created)
    return summary


# What a listing shows of a session that lies in a database, from one pass over its rows that holds none of them.


def summary_of_rows(found: FoundSession, dialect: str) -> Summary:
    """Return the summary of a session in a database: that of reading all of it, without its memory.

    Raises UnreadableError: the database cannot be read, or the session is gone.
    """
    rules = by_name(dialect)
    if not isinstance(rules, RowDialect):
        return summary_of_whole(found, dialect)
    summary, files = Summary(dialect), files_of(found)
    about = Transcript(dialect, files)
    for message, is_new in rules.passed(files, about):
        summary.is_sub_agent = about.kind == "subagent"
        summary.cwd = summary.cwd or message.cwd
        if is_new:
            add_message(summary, message)
        else:
            summary.tool_calls += len(message.calls)  # of an answer that comes in pieces nothing else is new
        _settle(summary, about)
    _settle(summary, about)
    summary.records = about.records
    summary.is_sub_agent, summary.is_fork = about.kind == "subagent", about.kind == "fork"
    summary.parent = about.parent
    if about.title:
        summary.titles["ai-title"] = kept_title(about.title)
    if about.created is not None:
        saw_creation(summary, about.created)
    return summary


def _settle(summary: Summary, about: Transcript) -> None:
    """Count what could not be read so far and forget it: a database may hold nothing else."""
    if about.problems:
        summary.bad_lines += sum(p.lines for p in about.problems if p.kind not in HARMLESS)
        about.problems.clear()
