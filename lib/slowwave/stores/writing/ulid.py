"""Writing to sessions of the specification with ULIDs: numbered records, metadata that agree with them, copies.

The number of a record is chosen under the lock of the log, so that of two messages at once one waits for the other
(S7.10). The log is only ever appended to (S7.2, S7.6).
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from slowwave.errors import UsageError
from slowwave.formats.append import append_records, locked_file
from slowwave.formats.model import Text, Thinking, ToolCall
from slowwave.formats.times import millisecond_time
from slowwave.formats.ulid import dialect
from slowwave.formats.ulid.dialect import integer
from slowwave.formats.ulid.metadata import Counted, UlidMaker, new_metadata, rebuilt
from slowwave.stores.writing.base import Block, Compaction, Draft, Means, Target, Writer
from slowwave.stores.writing.linear import check_speaker, valid
from slowwave.stores.writing.ulid_history import copied, files_before, first_kept
from slowwave.stores.writing.ulid_log import create, end_of, log_path, metadata_of, write_metadata

_ROLES = {"user": "user", "assistant": "assistant", "tool": "toolResult"}
# What belongs to the run that a session came from, and not to its copy.
_NOT_COPIED = ("cronJobId", "metrics")


class UlidWriter(Writer):
    """Sessions of the specification."""

    dialect = "ulid"

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._make_id = UlidMaker(means.clock)

    def path(self, folder: Path, session_id: str) -> Path:
        """Return the log of a new session.

        Raises:
            UsageError: the id is no ULID (S7.8).
        """
        return log_path(folder, session_id)

    def new_id(self, folder: Path, origin: Target | None = None) -> str:
        """Return a ULID that sorts behind all that were made before it."""
        del folder, origin
        return self._make_id()

    def begin(self, folder: Path, session_id: str, **metadata: str) -> Path:
        """Make a session without messages and return its log (S7.1).

        Args:
            folder: the folder of all sessions.
            session_id: its ULID.
            metadata: model, name, cron_job (S7.7) and prompt, as :func:`new_metadata` takes them.

        Raises:
            UsageError: the id is no ULID, or a session has it.
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
            return dialect.message_line(role, blocks, seq=seq, at=now, call_id=call_id, is_error=draft.is_error)

        return self._append(path, line, now)

    def compaction(self, target: Target, compaction: Compaction) -> str:
        """Append a compaction and return its number; lists of files go on from those of the one before (S7.15).

        Raises:
            NotFoundError: the log has no message ``keep_from``.
            UsageError: it would part a tool's result from its call (S7.13).
        """
        path = _log(target)
        first = None if compaction.keep_from is None else first_kept(path, compaction.keep_from)
        now = self.means.clock.now()

        def line(seq: int) -> bytes:
            read, modified = files_before(path)
            return dialect.compaction_line(
                compaction.summary,
                seq=seq,
                at=now,
                first_kept=seq + 1 if first is None else first,
                tokens_before=compaction.tokens_summarised,
                read_files=read | set(compaction.read_files),
                modified_files=modified | set(compaction.modified_files),
            )

        return self._append(path, line, None)

    def name(self, target: Target, name: str) -> None:
        """Give the session a name in its metadata; an empty one takes it away."""
        path = _log(target)
        with locked_file(path):
            metadata = metadata_of(path)
            metadata.pop("name", None)
            write_metadata(path, metadata | ({"name": name} if name else {}))

    def refresh(self, target: Target) -> dict[str, object]:
        """Put the metadata right where they do not agree with the log, and return them (S7.4)."""
        path = _log(target)
        with locked_file(path):
            metadata = metadata_of(path)
            write_metadata(path, metadata)
        return metadata

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
            return [valid(lambda: line(seq)).removesuffix(b"\n")]

        def then() -> None:
            count = integer(metadata["messageCount"]) or 0
            last = str(metadata["lastMessageAt"])
            if spoken_at is not None:
                count, last = count + 1, millisecond_time(spoken_at)
            write_metadata(path, rebuilt(metadata, path.parent.name, Counted(count, last)))

        append_records(path, lines, then=then, fsync=self.means.fsync, announce=self.means.announce)
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


WRITER = UlidWriter
