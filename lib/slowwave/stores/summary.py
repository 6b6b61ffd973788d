"""What a listing shows of a session: its summary, the row kept between two listings, titles without secrets."""

import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import cast

import msgspec

from slowwave.formats.claude.records import split_typed
from slowwave.formats.model import SessionOrigin, Text, parse_time
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import (
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
    """The running state; it can be stored, read back and fed with the records that came since.

    Attributes:
        dialect: whose rules hold.
        records: JSON objects read.
        messages: messages of the main conversation, tombstoned ones left out, pieces of one message joined.
        side_messages: messages of sub-agents that lie in the same file.
        tool_calls: calls that the assistant made.
        titles: the newest title of each kind.
        leaves: titles that this file holds for sessions ending in some message (client 1.0 writes them anywhere), in
            the order in which they were last written.
        own_leaves: those whose message is in this very session; most are about other sessions.
        first_prompt: the first text that a person typed, shortened.
        side_prompt: the first task of a sub-agent, shortened.
        first_uuid: id of the first message; forks share it with their origin.
        last_uuid: id of the last message.
        created: time of the first record that has one.
        last_activity: newest time of any record.
        cwd: the first working folder that was named: where the session began.
        is_fork: records say that they were copied from another session.
        tombstones: ids that tombstones name; their records do not count.
        has_header: the record that says what the session is was met; later ones are copies.
        is_sub_agent: the header says that all of it is a sub-agent's.
        parent: the session that a header or a copied record names as the one it was started or forked from.
        session: the first session that a record of Claude Code names; a sub-agent's names the one that started it.
    """

    dialect: str
    records: int = 0
    messages: int = 0
    side_messages: int = 0
    tool_calls: int = 0
    bad_lines: int = 0
    titles: dict[str, str] = {}
    leaves: dict[str, str] = {}
    own_leaves: dict[str, bool] = {}
    first_prompt: str = ""
    side_prompt: str = ""
    first_uuid: str = ""
    last_uuid: str = ""
    created: str = ""
    last_activity: str = ""
    cwd: str = ""
    is_fork: bool = False
    tombstones: dict[str, bool] = {}
    message_ids: list[str] = []
    has_header: bool = False
    is_sub_agent: bool = False
    parent: str = ""
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
    """A row as the catalogue keeps it, with undecoded hints; a listing in which nothing changed needs the row alone.

    Attributes:
        row: what is shown.
        size: of the last part, as are ``mtime_ns``, ``dev`` and ``ino``.
        parts: all parts of a session that has several, else None.
        problem: why it is no session, or "".
        hints: encoded :class:`Hints`.
        in_database: its file holds other sessions, too.
        told: what a file beside it told of it.
    """

    row: SessionRow
    size: int
    mtime_ns: int
    dev: int
    ino: int
    parts: list[Signature] | None
    problem: str
    hints: bytes
    in_database: bool = False
    told: str = ""

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
    from slowwave.secrets.redactor import NAMELESS  # noqa: PLC0415 - a listing in which nothing is new needs no rules

    return NAMELESS(text)
