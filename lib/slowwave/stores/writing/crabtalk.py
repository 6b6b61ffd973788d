"""Writing to crabtalk's sessions: messages, compact markers, titles and copies under the next number.

Messages have neither ids nor times, so nothing can refer to one: a marker hides all that is before it, a fork copies
all of it. A title renames the file; whoever still has the old name finds the session by its id.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from slowwave.errors import RefusedError, UsageError
from slowwave.formats import crabtalk
from slowwave.formats.append import append_records, locked_file
from slowwave.formats.crabtalk import changed_line, checked_agent, sender_slug, session_id, session_meta
from slowwave.formats.model import Text, Thinking, ToolCall
from slowwave.formats.rewrite import file_state, rewrite_without
from slowwave.stores.writing.base import Block, Compaction, Draft, Target, Writer
from slowwave.stores.writing.crabtalk_files import copied, create, next_number
from slowwave.stores.writing.crabtalk_ids import identity
from slowwave.stores.writing.crabtalk_rename import finish_rename, now_at, rename, with_file
from slowwave.stores.writing.crabtalk_running import running_since
from slowwave.stores.writing.linear import check_speaker, valid


class CrabtalkWriter(Writer):
    """Sessions of crabtalk."""

    dialect = "crabtalk"

    def path(self, folder: Path, session_id: str) -> Path:
        """Return the file of a new session, which is called ``AGENT_SENDER_NUMBER``.

        Raises:
            UsageError: the id is none, or not behind all numbers that the agent and the sender have.
        """
        agent, sender, number = identity(session_id, folder)
        due = next_number(folder, agent, sender)
        if number < due:
            raise UsageError(f"{session_id}: the next session of {agent} and {sender} is {agent}_{sender}_{due}")
        return folder / f"{session_id}.jsonl"

    def new_id(self, folder: Path, origin: Target | None = None) -> str:
        """Return agent, sender and the next number of theirs, for a copy of ``origin``.

        Raises:
            UsageError: nothing says whose session it is.
        """
        if origin is None:
            raise UsageError("a session of crabtalk is called AGENT_SENDER_NUMBER: name it so")
        meta = session_meta(now_at(origin)).meta
        return session_id(meta.agent, meta.created_by, next_number(folder, meta.agent, meta.created_by))

    def begin(self, folder: Path, agent: str, sender: str) -> Path:
        """Begin a session without messages under the next number, and return its file.

        Raises:
            UsageError: the agent's name cannot begin a file's name, or a name is no valid text.
        """
        line = valid(lambda: crabtalk.meta_line(checked_agent(agent), sender, at=self.means.clock.now()))
        return create(folder, agent, sender, [line], fsync=self.means.fsync)

    def empty(self, folder: Path, asked: str, metadata: Mapping[str, str]) -> tuple[str, Path]:
        """Begin the next session of an agent and a sender, ``AGENT_SENDER``."""
        agent, _, sender = asked.rpartition("_")
        if metadata or not agent or not sender:
            raise UsageError("name AGENT_SENDER, whose next session it is; crabtalk notes nothing else of one")
        path = self.begin(folder, agent, sender)
        return path.name.removesuffix(".jsonl"), path

    def message(self, target: Target, draft: Draft) -> str:
        """Append a message; a new session is begun with its metadata."""
        if draft.parent is not None:
            self._refuse(target.id, "tree in which a message follows another than the last")
        line = valid(lambda: _line(draft))
        if target.files or not self._began(target, line):
            self._append(target, line)
        return ""

    def compaction(self, target: Target, compaction: Compaction) -> str:
        """Append a marker, behind which crabtalk goes on reading.

        Raises:
            UsageError: a message before it is to be kept: crabtalk keeps none.
        """
        if compaction.keep_from is not None:
            raise UsageError(f"{target.id}: crabtalk keeps no message before a compact marker; nothing was written")
        self._append(target, valid(lambda: crabtalk.compact_line(compaction.summary)))
        return ""

    def name(self, target: Target, name: str) -> None:
        """Give the session a title, and its file the name that goes with it; an empty one leaves the file's name.

        Raises:
            RefusedError: crabtalk runs: it would go on writing to the name that the file had.
        """
        if running_since(self.means.home, target.path) is not None:
            raise RefusedError(f"session {target.id}: crabtalk runs and knows the file by its name; stop it first")

        def titled(found_at: Path) -> None:
            with locked_file(found_at):
                path = finish_rename(found_at)
            state = file_state(path)
            found = session_meta(path)
            line = valid(lambda: changed_line(found.span, {"title": name}))
            rewrite_without(path, [(found.span.offset, len(found.span.raw))], [(0, line)], expect=state)
            # under the lock, so that of two titles at once one does not leave a second name of the file
            with locked_file(path):
                rename(path, found.meta.agent, name)

        with_file(target, titled)

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy a session under the number of ``new_id``; its messages stay byte for byte as they are.

        Raises:
            UsageError: ``at`` names a message, or the copy's id is not of the same agent and sender, or is taken.
        """
        if at is not None:
            raise UsageError(f"{target.id}: messages of crabtalk have no ids, so all of it is copied or nothing")
        source = now_at(target)
        found = session_meta(source)
        agent, sender, number = identity(new_id, folder)
        if (agent, sender) != (found.meta.agent, sender_slug(found.meta.created_by)):
            raise UsageError(f"{new_id}: a copy of {target.id} stays one of {found.meta.agent} and its sender")
        created = crabtalk.time_of_creation(self.means.clock.now())
        head = changed_line(found.span, {"created_at": created, "uptime_secs": 0})
        content = copied(source, found.span.offset + len(found.span.raw), head)
        try:
            copy = create(folder, agent, sender, content, number=number, fsync=self.means.fsync)
        except FileExistsError as error:
            raise UsageError(f"{new_id}: exists already; nothing was copied") from error
        return [copy]

    def _began(self, target: Target, line: bytes) -> bool:
        """Begin a session with a message; False when it exists meanwhile."""
        agent, sender, number = identity(target.id, target.path.parent)
        meta = crabtalk.meta_line(agent, sender, at=self.means.clock.now())
        try:
            create(target.path.parent, agent, sender, [meta, line], number=number, fsync=self.means.fsync)
        except FileExistsError:
            return False
        return True

    def _append(self, target: Target, line: bytes) -> None:
        record = line.removesuffix(b"\n")

        def append(path: Path) -> int:
            session_meta(path)  # crabtalk would refuse the file, and with it the record
            return append_records(path, lambda: [record], fsync=self.means.fsync, announce=self.means.announce)

        with_file(target, append)

    @contextmanager
    def alone(self, target: Target) -> Generator[None]:
        """Look whether crabtalk runs and wrote to the session since it started: then it has the session in memory.

        Raises:
            RefusedError: it has; what is appended would not be in what it sends.
        """
        started = running_since(self.means.home, target.path)
        if started is not None and target.path.exists() and target.path.stat().st_mtime_ns > started:
            raise RefusedError(f"session {target.id} was written to since crabtalk started, which runs; stop it first")
        yield


def _line(draft: Draft) -> bytes:
    blocks: tuple[Block, ...] = (Text(draft.content),) if isinstance(draft.content, str) else tuple(draft.content)
    own = [type(block).__name__ for block in blocks if isinstance(block, Mapping)]
    if own:
        raise UsageError("a message of crabtalk has one text and calls, and no blocks of its own; nothing was written")
    text = "\n".join(block.text for block in blocks if isinstance(block, Text))
    thought = "\n".join(block.text for block in blocks if isinstance(block, Thinking))
    calls = [block for block in blocks if isinstance(block, ToolCall)]
    check_speaker(draft, acts=bool(thought or calls))
    # that a tool failed says its text alone: crabtalk has no field for it
    return crabtalk.message_line(draft.role, text, reasoning=thought, call_id=draft.call_id, calls=calls)


WRITER = CrabtalkWriter
