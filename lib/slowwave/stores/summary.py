"""What a listing shows of a session, folded from its records one by one, so that new bytes can be added later."""

from typing import cast

import msgspec

from slowwave.formats.claude.messages import split_typed
from slowwave.formats.model import Text
from slowwave.formats.times import parse_time
from slowwave.stores.kept import first_words, kept_title

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
            if self.dialect == "cersei" and isinstance(record.deleted_uuid, str):
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
        if self.dialect != "claude" or not isinstance(message_id, str):
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
