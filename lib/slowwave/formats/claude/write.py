"""Writing Claude Code's sessions: records chained by ``parentUuid``, compactions, titles, forks."""

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec

from slowwave.errors import RefusedError, UsageError
from slowwave.files import private_folder
from slowwave.formats import REFUSALS, SessionFiles, Span, millisecond_time, object_in, parse_time, text_or_empty
from slowwave.formats.claude import UNKNOWN
from slowwave.formats.claude.dialect import CLAUDE
from slowwave.formats.claude.records import ROWS, Node, Tree
from slowwave.formats.claude.resume import FIRST_THAT_KEEPS, resumed, version_of
from slowwave.formats.lines import open_regular
from slowwave.formats.sessions import SIDE_FOLDER, StoredSession, base_path
from slowwave.formats.tail import lines_backward
from slowwave.formats.writing import (
    Compaction,
    Content,
    CopiedLine,
    Draft,
    Means,
    Target,
    Where,
    Writer,
    client_blocks,
    json_line,
    marked,
    record_with,
    unknown,
    with_value,
    write_fork,
)

# Lines as Claude Code writes them, for appending: one JSON object with its newline, nothing decided here.
#
# ``content`` is text or a list of blocks, of the Anthropic API or dialect-free ones. Names and order of the fields are
# those of real files of version 2.0 and later, without what only the client itself can know.


VERSION = "2.1.330"
# The client's own name for messages that no model made.
MODEL = "<synthetic>"
# Times are written in milliseconds: records that are to be told apart are at least so far from each other.
TICK = timedelta(milliseconds=1)
_CONTINUED = (
    "This session is being continued from a previous conversation that ran out of context."
    " The summary below covers the earlier portion of the conversation.\n\nSummary:\n"
)


def blocks_of(content: Content) -> list[Mapping[str, object]]:
    """Return content as blocks of the API; text becomes one text block, mappings stay as they are."""
    return client_blocks(content, call=("tool_use", "input"), thinking={"signature": ""})


def result_block(call_id: str, content: Content, *, is_error: bool) -> Mapping[str, object]:
    """Return the block in which a user record answers a call."""
    body = content if isinstance(content, str) else blocks_of(content)
    return {"type": "tool_result", "tool_use_id": call_id, "content": body, "is_error": is_error}


class Head(NamedTuple):
    """What every record begins and ends with."""

    uuid: str  # its own id
    parent: str | None  # uuid of the record before it, None for the first
    session: str  # id of the session
    cwd: str  # the working folder
    at: datetime  # when it is written
    branch: str = ""  # the git branch
    version: str = VERSION  # the client that is written for

    def around(self, fields: Mapping[str, object]) -> bytes:
        """Return the line of a record that says ``fields`` between its envelope and its time."""
        envelope: dict[str, object] = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": self.version,
            "gitBranch": self.branch,
        }
        return json_line({**envelope, **fields, "uuid": self.uuid, "timestamp": millisecond_time(self.at)})


def user_line(content: Content, head: Head) -> bytes:
    """Return a user record."""
    body = content if isinstance(content, str) else blocks_of(content)
    return head.around({"type": "user", "message": {"role": "user", "content": body}})


def assistant_line(content: Content, head: Head, message_id: str) -> bytes:
    """Return an assistant record; text becomes one text block, since the client wants a list here."""
    blocks = blocks_of(content)
    calls = any(block.get("type") == "tool_use" for block in blocks)
    message: dict[str, object] = {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    return head.around({"message": message, "type": "assistant"})


def title_line(title: str, *, session: str) -> bytes:
    """Return the record by which the client remembers a title that a person gave."""
    return json_line({"type": "custom-title", "customTitle": title, "sessionId": session})


def prompt_line(prompt: str, *, leaf: str, session: str) -> bytes:
    """Return the record by which client 2.1 remembers which record it goes on from."""
    return json_line({"type": "last-prompt", "lastPrompt": prompt, "leafUuid": leaf, "sessionId": session})


def compaction_lines(compaction: Compaction, head: Head, boundary: str, kept: Sequence[str]) -> list[bytes]:
    """Return the boundary and the summary of a full compaction, in this order.

    ``head``: that of the summary, as if it followed the conversation. ``boundary``: the boundary's uuid. ``kept`` are
    the uuids of all records, oldest first, that stay: they lie before the boundary, and the client moves them behind
    the summary. A summary without a boundary is ignored (client 2.1.330, clients.md 5.3).
    """
    metadata: dict[str, object] = {"trigger": compaction.trigger, "preTokens": compaction.tokens_before}
    if kept:
        metadata["preservedSegment"] = {"headUuid": kept[0], "anchorUuid": head.uuid, "tailUuid": kept[-1]}
        metadata["preservedMessages"] = {"anchorUuid": head.uuid, "uuids": list(kept), "allUuids": list(kept)}
    if compaction.remarks:
        metadata["slowwave"] = dict(compaction.remarks)
    first: dict[str, object] = {
        "logicalParentUuid": head.parent,
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "isMeta": False,
        "level": "info",
        "compactMetadata": metadata,
    }
    second: dict[str, object] = {
        "type": "user",
        "message": {"role": "user", "content": _CONTINUED + compaction.summary},
        "isVisibleInTranscriptOnly": True,
        "isCompactSummary": True,
    }
    behind = head._replace(parent=boundary, at=head.at + TICK)
    return [head._replace(uuid=boundary, parent=None).around(first), behind.around(second)]


class LastRecord(NamedTuple):
    """Id of the record that the conversation goes on from, its working folder, git branch and client, where known.

    ``newest`` is the time of the last record of the file, which may be another one.
    """

    uuid: str | None
    cwd: str
    branch: str
    version: str = ""
    newest: datetime | None = None


class ClaimedWriter(Writer):
    """Writes to files called after their session's id, which no client locks."""

    def path(self, folder: Path, session_id: str) -> Path:
        """Return ``ID.jsonl``."""
        return base_path(folder, session_id)

    @contextmanager
    def alone(self, target: Target) -> Generator[None]:
        """Look whether a running client notes the session as open (clients.md 4.1)."""
        _refuse_claimed(self.dialect, target, self.means)
        yield


def _refuse_claimed(dialect: str, target: Target, means: Means) -> None:
    """Refuse a session that a running client says to have open.

    Raises RefusedError: one does; the message names its process.
    """
    folder = target.path.parent
    inside = next((above for above in target.path.parents if above.name == SIDE_FOLDER), None)
    if target.side and inside is not None:
        folder = inside.parent.parent  # PROJECT/SESSION/subagents
    kind = "subagent" if target.side else "main"
    files = SessionFiles(target.id, target.files or (target.path,))
    reason = UNKNOWN.claimed_by(StoredSession(dialect, files, kind, folder, 0, 0), means.home, means.clock.now())
    if reason:
        raise RefusedError(f"session {target.id} is {reason}; close it there first")


class ClaudeWriter(ClaimedWriter):
    """Records as client 2.1 writes them; what it goes on from is looked up under the lock.

    It knows no tombstones, no labels and no branch summaries. A message under an older one is a rewind.
    """

    dialect: ClassVar[str] = "claude"

    @contextmanager
    def alone(self, target: Target) -> Generator[None]:
        """Look whether the client notes the session as open; one of a sub-agent is refused.

        Raises UsageError: the session is a sub-agent's, which nobody resumes by itself.
        """
        if target.side:
            raise UsageError(f"{target.id}: a sub-agent's session belongs to the session it works for; write there")
        with super().alone(target):
            yield

    def message(self, target: Target, draft: Draft) -> str:
        """Append a record under the last one, or under an older one; then the client is told where it goes on.

        Client 2.1 goes on below the record that its last ``last-prompt`` names, so a new branch needs a new note.
        """
        made = self.means.ids()

        def lines() -> list[bytes]:
            last = self._leaf(target)
            known = draft.parent in (None, last.uuid)
            parent = last.uuid if known else self._uuid(target, str(draft.parent))
            head = self._head(target, last, made, parent)
            if draft.role == "assistant":
                found = [assistant_line(draft.content, head, f"msg_{made.replace('-', '')}")]
            else:
                found = [user_line(said(draft), head)]
            if parent != last.uuid:
                prompt = draft.content if isinstance(draft.content, str) and draft.role == "user" else ""
                found.append(prompt_line(prompt, leaf=made, session=target.id))
            return found

        self._append(target, lines)
        return made

    def compaction(self, target: Target, compaction: Compaction) -> str:
        """Append a boundary and a summary in one write; what stays is named by its records.

        Raises NotFoundError: the client would not send the message that is to stay first; UsageError: messages are to
        stay, and the session is one of a client that would drop them (before 2.1).
        """
        boundary, made = self.means.ids(), self.means.ids()

        def lines() -> list[bytes]:
            last = self._leaf(target)
            if last.uuid is None:
                raise UsageError(f"{target.id}: holds no message to summarise; nothing was written")
            kept = () if compaction.keep_from is None else self._kept(target, compaction.keep_from)
            return compaction_lines(compaction, self._head(target, last, made, last.uuid), boundary, kept)

        self._append(target, lines)
        return made

    def name(self, target: Target, name: str) -> None:
        """Append the title that a person gave; the last one counts.

        Raises UsageError: the name is empty: the client takes no title away.
        """
        if not name.strip():
            raise UsageError(f"{target.id}: claude keeps a title once it has one; give it another one")
        self._add(target.path, lambda: [title_line(name.strip(), session=target.id)], create=True)

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy all message lines, as ``--fork-session`` does, or those on the way to one message; uuids stay."""
        files = target.session
        only = None if at is None else claude_path(files, at)

        def copied(raw: bytes, line: CopiedLine) -> bytes | None:
            if line.type not in _COPIED or not isinstance(line.uuid, str):
                return None
            mark = {"forkedFrom": {"sessionId": files.id, "messageUuid": line.uuid}}
            return marked(with_value(raw, "sessionId", line.sessionId, new_id), mark)

        return write_fork(files, base_path(folder, new_id), copied, only)

    def _leaf(self, target: Target) -> LastRecord:
        # also of a new session: another writer may have begun it meanwhile
        return leaf_record(SessionFiles(target.id, target.files or (target.path,)))

    def _head(self, target: Target, last: LastRecord, made: str, parent: str | None) -> Head:
        """Return the head of the next record, in the folder, branch and version of the last one."""
        now = self.means.clock.now()
        # clients before 2.1 go on from the newest record, of two with one time from the first
        at = now if last.newest is None else max(now, last.newest + TICK)
        return Head(made, parent, target.id, last.cwd or target.cwd, at, last.branch, last.version or VERSION)

    def _uuid(self, target: Target, message_id: str) -> str:
        """Return the uuid of a record, given by that or by the API's id of its message (then its last piece).

        Raises NotFoundError: no record has this id; UsageError: a compaction came after it: the client would go on from
        somewhere else.
        """
        files = target.files or (target.path,)
        found = record_with(files, message_id, lambda record: _is(record, message_id))
        if found is None:
            raise unknown(message_id, target.id)
        boundary = record_with(files, "compact_boundary", lambda record: record.get("subtype") == "compact_boundary")
        if boundary is not None and boundary.offset > found.offset:
            raise UsageError(
                f"{target.id}: {message_id} lies before the last compaction, and claude continues after that;"
                " nothing was written, fork the session at it"
            )
        return str(found.record["uuid"])

    def _kept(self, target: Target, message_id: str) -> Sequence[str]:
        """Return the uuids of all live records from a message on, oldest first."""
        tree = CLAUDE.read(target.session).tree
        if version_of(tree) < FIRST_THAT_KEEPS:
            raise UsageError(f"{target.id}: claude before version 2.1 keeps no message before a compaction; keep none")
        nodes = resumed(tree)
        live = [(n.env.uuid or "", n.env.message.id if n.env.message else None) for n in nodes]
        first = next((i for i, ids in enumerate(live) if message_id in ids), None)
        if first is None:
            raise unknown(message_id, target.id)
        return [uuid for uuid, _ in live[first:]]

    def _append(self, target: Target, lines: Callable[[], list[bytes]]) -> None:
        private_folder(target.path.parent)
        self._add(target.path, lines, create=True)


def _is(record: dict[str, Any], message_id: str) -> bool:
    names = (record.get("uuid"), object_in(record, "message").get("id"))
    return isinstance(names[0], str) and message_id in names


_COPIED = (*ROWS, "progress")


def said(draft: Draft) -> Content:
    """Return what a user entry holds: the words, or the result of a tool as a block."""
    if draft.role != "tool":
        return draft.content
    return [result_block(draft.call_id, draft.content, is_error=draft.is_error)]


def claude_path(files: SessionFiles, message_id: str) -> set[Where]:
    """Return the places of the records from the first message to this one, over compactions.

    ``message_id``: a record's uuid, or the API's id of a message: then all its pieces are taken. Raises NotFoundError:
    no record of the main conversation has it.
    """
    tree = CLAUDE.read(files).tree
    ends = [n for n in tree.by_uuid.values() if message_id in (n.env.uuid, _message_id(n))]
    if not ends:
        raise unknown(message_id, files.id)
    last = ends[-1]
    chain: set[str] = set()
    at: str | None = last.env.uuid
    while at is not None:
        above = at
        for above in tree.walk(at):
            chain.add(above)
        logical = tree.by_uuid[above].fields().get("logicalParentUuid") if above in tree.by_uuid else None
        at = logical if isinstance(logical, str) and logical in tree.by_uuid and logical not in chain else None
    chain |= _beside(tree, chain, last)
    # a uuid may stand on several records
    return {place_of(n.span) for n in tree.nodes if n.env.uuid in chain}


def _beside(tree: Tree, chain: set[str], last: Node) -> set[str]:
    """Return the pieces and results of parallel tool calls that the walk misses, as far as they came before."""
    messages = {_message_id(tree.by_uuid[u]) for u in chain} - {None}
    pieces = {u for u, n in tree.by_uuid.items() if _message_id(n) in messages and n.index <= last.index}
    results = {
        u
        for u, n in tree.by_uuid.items()
        if n.index <= last.index and tree.parents[u] in pieces and b'"tool_result"' in n.span.raw
    }
    return pieces | results


def _message_id(node: Node) -> str | None:
    return node.env.message.id if node.env.type == "assistant" and node.env.message else None


def place_of(span: Span) -> Where:
    """Return where a record begins."""
    return span.part, span.offset


class _Line(msgspec.Struct, gc=False):
    type: object = None
    uuid: object = None
    parent: object = msgspec.field(default=None, name="parentUuid")
    cwd: object = None
    gitBranch: object = None  # noqa: N815 - the client's spelling
    version: object = None
    subtype: object = None
    timestamp: object = None
    leafUuid: object = None  # noqa: N815
    explicit: object = None
    isSidechain: object = None  # noqa: N815
    is_sidechain: object = None


# The client notes its leaf at the end of every turn: further back there is no note, or the client writes none.
_LAST_TURN_BYTES = 2 << 20
_NOTHING = LastRecord(None, "", "")


def last_record(files: SessionFiles) -> LastRecord:
    """Return the record that was appended last to the main conversation; damaged lines are passed over.

    The file order is the append order: after a rewind the newest line is on the branch that goes on.
    """
    return next((_record(line, line) for line in _backward(files) if _is_main(line)), _NOTHING)


_decoder = msgspec.json.Decoder(_Line)


def leaf_record(files: SessionFiles) -> LastRecord:
    """Return the record that Claude Code would go on from, read from the end of the session.

    That is the last record, unless the last ``last-prompt`` names one that it does not hang under, or exactly the
    named one is meant; a ``last-prompt`` from before the last compaction says nothing any more (client 2.1.330).
    """
    if not any(_has_note(path) for path in files.paths):
        return last_record(files)
    newest: _Line | None = None
    named: object = None
    above: object = None  # the next record on the way from the newest one to the root
    exact = False
    for line in _backward(files):
        if line.type == "last-prompt" and named is None:
            named, exact = line.leafUuid, line.explicit is True
        if not _is_main(line):
            continue
        if newest is None:
            newest, above = line, line.uuid
        if line.uuid == named:
            return _record(newest if line.uuid == above and not exact else line, newest)
        if line.uuid == above:
            above = line.parent
        if line.subtype == "compact_boundary":
            break
    return _NOTHING if newest is None else _record(newest, newest)


def _has_note(path: Path) -> bool:
    """Say whether the client may have noted its leaf in the last turn; a look at bytes that costs next to nothing."""
    with open_regular(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _LAST_TURN_BYTES))
        return b'"last-prompt"' in file.read()


def _backward(files: SessionFiles) -> Iterator[_Line]:
    """Yield the lines that can be read from the last to the first."""
    for path in reversed(files.paths):
        for _, raw in lines_backward(path):
            try:
                yield _decoder.decode(raw.strip(b" \t\r\n\0"))
            except REFUSALS:
                continue


def _is_main(line: _Line) -> bool:
    is_side = line.isSidechain is True or line.is_sidechain is True
    return line.type in ROWS and isinstance(line.uuid, str) and not is_side


def _record(line: _Line, newest: _Line) -> LastRecord:
    cwd, branch, version = map(text_or_empty, (line.cwd, line.gitBranch, line.version))
    return LastRecord(str(line.uuid), cwd, branch, version, parse_time(text_or_empty(newest.timestamp)))
