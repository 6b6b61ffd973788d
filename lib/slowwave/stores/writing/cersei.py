"""Writing Cersei's sessions: entries in part files, tombstones and summaries."""

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import ClassVar, NamedTuple

import msgspec

from slowwave.errors import UsageError
from slowwave.files import private_folder
from slowwave.formats.append import SUFFIX, append_forking, append_record, numbered_parts, session_stem
from slowwave.formats.cersei import encode
from slowwave.formats.cersei.dialect import CERSEI
from slowwave.formats.cersei.records import CerseiMessage
from slowwave.formats.claude.dialect import CLAUDE
from slowwave.formats.claude.encode import result_block
from slowwave.formats.claude.records import Node, Tree
from slowwave.formats.lines import open_regular, read_records
from slowwave.formats.model import REFUSALS, SessionFiles, Span
from slowwave.formats.tail import lines_backward
from slowwave.formats.times import parse_time
from slowwave.stores.roots import base_path
from slowwave.stores.writing.base import ClaimedWriter, Compaction, Content, Draft, Target, record_with, unknown
from slowwave.stores.writing.fork import LINES, Place, write_fork


class CerseiWriter(ClaimedWriter):
    """Cersei's ``write_user_message``, ``write_assistant_message``, ``tombstone`` and ``write_summary``."""

    dialect: ClassVar[str] = "cersei"

    def message(self, target: Target, draft: Draft) -> str:
        """Append an entry; results are blocks of a user entry.

        Raises:
            NotFoundError: the parent is not there.
            UsageError: a user's entry is to have a parent: only those of the assistant name one.
        """
        if draft.parent is not None:
            if draft.role != "assistant":
                raise UsageError(f"{target.id}: an entry of a user names no parent in cersei; leave the parent out")
            if record_with(_parts(target), draft.parent, lambda entry: entry.get("uuid") == draft.parent) is None:
                raise unknown(draft.parent, target.id)
        made = self.means.ids()
        cwd = last_record(SessionFiles(target.id, target.files)).cwd or target.cwd
        at = self.means.clock.now()
        if draft.role == "assistant":
            line = encode.assistant_line(
                draft.content, uuid=made, parent=draft.parent, session=target.id, cwd=cwd, at=at
            )
        else:
            line = encode.user_line(said(draft), uuid=made, session=target.id, cwd=cwd, at=at)
        self._append(target, lambda: line)
        return made

    def tombstone(self, target: Target, message_id: str) -> None:
        """Append the entry that hides a message in every part; it may come before the message."""
        line = encode.tombstone_line(message_id, at=self.means.clock.now())
        self._append(target, lambda: line)

    def compaction(self, target: Target, compaction: Compaction) -> str:
        """Append a summary of the oldest messages that were not hidden yet, up to the first one that stays.

        Raises:
            NotFoundError: the first message that is to stay is not among those that are still sent.
        """
        made = self.means.ids()

        def line() -> bytes:
            count = compaction.messages
            if count is None:
                count = _messages_before(SessionFiles(target.id, _parts(target)), compaction.keep_from)
            at = self.means.clock.now()
            return encode.summary_line(compaction.summary, uuid=made, session=target.id, compacted=count, at=at)

        self._append(target, line)
        return made

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy all entries, or those up to a message; tombstones and summaries belong to what they concern."""
        files = SessionFiles(target.id, target.files)
        only = None if at is None else cersei_path(files, at)
        return write_fork(files, self.dialect, base_path(folder, new_id), new_id, self.means.part_bytes, only)

    def _append(self, target: Target, line: Callable[[], bytes]) -> None:
        private_folder(target.path.parent)
        append_forking(
            _base(target),
            lambda: line().rstrip(b"\n"),
            self.means.part_bytes,
            fsync=self.means.fsync,
            announce=self.means.announce,
        )


def _base(target: Target) -> Path:
    """Return the first part, also where it is missing."""
    return target.path.with_name(session_stem(target.path.name)[0] + SUFFIX)


def _parts(target: Target) -> tuple[Path, ...]:
    """Return all parts as they lie there now: another writer may have begun one since the session was found."""
    names = numbered_parts(_base(target))
    return tuple(target.path.with_name(names[number]) for number in sorted(names))


def _messages_before(files: SessionFiles, keep_from: str | None) -> int:
    """Return how many of the messages that are still sent stand before one of them; all for None.

    Raises:
        NotFoundError: it is not among them.
    """
    sent = [m.id for m in CERSEI.context(CERSEI.read(files)) if isinstance(m, CerseiMessage)]  # not the summary before
    if keep_from is None:
        return len(sent)
    if keep_from not in sent:
        raise unknown(keep_from, files.id)
    return sent.index(keep_from)


def said(draft: Draft) -> Content:
    """Return what a user entry holds: the words, or the result of a tool as a block."""
    if draft.role != "tool":
        return draft.content
    return [result_block(draft.call_id, draft.content, is_error=draft.is_error)]


def cersei_path(files: SessionFiles, message_id: str) -> set[Place]:
    """Return the places of the entries up to a message, and of the tombstones that concern them, wherever they lie.

    Raises:
        NotFoundError: no message that counts has this id.
    """
    shown = {m.id for m in CERSEI.read(files).messages}
    if message_id not in shown:
        raise unknown(message_id, files.id)
    entries = [
        (span, line) for part, path in enumerate(files.paths) for span, line in read_records(path, LINES, [], part=part)
    ]
    end = next(i for i, (_, line) in enumerate(entries) if line.uuid == message_id)
    taken = {line.uuid for _, line in entries[: end + 1]}
    return {_place(span) for i, (span, line) in enumerate(entries) if i <= end or line.deleted_uuid in taken - {None}}


# The last record of a session, read from its end: what a new record is chained to.


class LastRecord(NamedTuple):
    """Id of the record that the conversation goes on from, its working folder, git branch and client, where known.

    ``newest`` is the time of the last record of the file, which may be another one.
    """

    uuid: str | None
    cwd: str
    branch: str
    version: str = ""
    newest: datetime | None = None


def last_record(files: SessionFiles) -> LastRecord:
    """Return the record that was appended last to the main conversation; damaged lines are passed over.

    The file order is the append order: after a rewind the newest line is on the branch that goes on.
    """
    return next((_record(line, line) for line in _backward(files) if _is_main(line)), _NOTHING)


WRITER = CerseiWriter


# Writing the bare-message files of Cersei: a role and content, and nothing else.


class BareWriter(ClaimedWriter):
    """Messages only: the form has no ids, so nothing can refer to another message."""

    dialect: ClassVar[str] = "cersei-bare"

    def message(self, target: Target, draft: Draft) -> str:
        """Append a message; it gets no id.

        Raises:
            UsageError: it is to follow an older message: without ids it can only follow the last one.
        """
        if draft.parent is not None:
            raise UsageError(f"{target.id}: messages of {self.dialect} have no ids, so each follows the last one")
        private_folder(target.path.parent)
        line = encode.bare_line("user" if draft.role == "tool" else draft.role, said(draft))
        append_record(target.path, line.rstrip(b"\n"), fsync=self.means.fsync)
        return ""

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy all messages.

        Raises:
            UsageError: only a path is wanted: messages without ids name none.
        """
        if at is not None:
            raise UsageError(f"{target.id}: messages of {self.dialect} have no ids, so a fork copies all of them")
        files = SessionFiles(target.id, target.files)
        return write_fork(files, self.dialect, base_path(folder, new_id), new_id, self.means.part_bytes)


BARE_WRITER = BareWriter


# Which records make up the way to one message: what a branch that becomes a session of its own takes along.


def claude_path(files: SessionFiles, message_id: str) -> set[Place]:
    """Return the places of the records from the first message to this one, over compactions.

    Args:
        files: the session.
        message_id: a record's uuid, or the API's id of a message: then all its pieces are taken.

    Raises:
        NotFoundError: no record of the main conversation has it.
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
    return {_place(n.span) for n in tree.nodes if n.env.uuid in chain}


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


def _place(span: Span) -> Place:
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


_decoder = msgspec.json.Decoder(_Line)
_CHAINED = ("user", "assistant", "system", "attachment")
# The client notes its leaf at the end of every turn: further back there is no note, or the client writes none.
_LAST_TURN_BYTES = 2 << 20
_NOTHING = LastRecord(None, "", "")


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
    return line.type in _CHAINED and isinstance(line.uuid, str) and not is_side


def _record(line: _Line, newest: _Line) -> LastRecord:
    at = parse_time(_text(newest.timestamp))
    return LastRecord(str(line.uuid), _text(line.cwd), _text(line.gitBranch), _text(line.version), at)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
