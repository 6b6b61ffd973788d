"""Writing to crabtalk's sessions: messages, compact markers, titles and copies under the next number.

Messages have neither ids nor times, so nothing can refer to one: a marker hides all that is before it, a fork copies
all of it. A title renames the file; whoever still has the old name finds the session by its id.
"""

import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from slowwave.dialects.crabtalk import encode
from slowwave.dialects.crabtalk.meta import changed_line, session_meta
from slowwave.dialects.crabtalk.names import checked_agent, place_of, sender_slug, session_id, titled_name
from slowwave.dialects.model import Text, Thinking, ToolCall
from slowwave.errors import MovedError, NotFoundError, RefusedError, UnreadableError, UsageError
from slowwave.records.append import append_records
from slowwave.records.lines import open_regular
from slowwave.records.lock import locked_file
from slowwave.records.rewrite import file_state, rewrite_without
from slowwave.stores.moving import move_file
from slowwave.stores.writing.base import Block, Compaction, Draft, Target, Writer
from slowwave.stores.writing.crabtalk_files import create, file_of, finish_rename, next_number
from slowwave.stores.writing.linear import check_speaker, valid

T = TypeVar("T")
# A slug holds no underscore, an agent's name may.
_ID = re.compile(r"(?P<agent>.+)_(?P<sender>[^_]*)_(?P<number>[1-9][0-9]{0,8})\Z", re.DOTALL)
_BLOCK = 1 << 20
# A title can rename a session while it is looked for, but not again and again.
_MOST_ATTEMPTS = 5


class _Identity(NamedTuple):
    agent: str
    sender: str
    number: int


class CrabtalkWriter(Writer):
    """Sessions of crabtalk."""

    dialect = "crabtalk"

    def path(self, folder: Path, session_id: str) -> Path:
        """Return the file of a new session, which is called ``AGENT_SENDER_NUMBER``.

        Raises:
            UsageError: the id is none, or not behind all numbers that the agent and the sender have.
        """
        agent, sender, number = _identity(session_id, folder)
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
        meta = session_meta(_now_at(origin)).meta
        return session_id(meta.agent, meta.created_by, next_number(folder, meta.agent, meta.created_by))

    def begin(self, folder: Path, agent: str, sender: str) -> Path:
        """Begin a session without messages under the next number, and return its file.

        Raises:
            UsageError: the agent's name cannot begin a file's name, or a name is no valid text.
        """
        line = valid(lambda: encode.meta_line(checked_agent(agent), sender, at=self.means.clock.now()))
        return create(folder, agent, sender, [line], fsync=self.means.fsync)

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
        self._append(target, valid(lambda: encode.compact_line(compaction.summary)))
        return ""

    def name(self, target: Target, name: str) -> None:
        """Give the session a title, and its file the name that goes with it; an empty one leaves the file's name.

        Raises:
            RefusedError: crabtalk runs: it would go on writing to the name that the file had.
        """
        self._refuse_running(target)

        def titled(found_at: Path) -> None:
            with locked_file(found_at):
                path = finish_rename(found_at)
            state = file_state(path)
            found = session_meta(path)
            line = valid(lambda: changed_line(found.span, {"title": name}))
            rewrite_without(path, [(found.span.offset, len(found.span.raw))], [(0, line)], expect=state)
            # under the lock, so that of two titles at once one does not leave a second name of the file
            with locked_file(path):
                _rename(path, found.meta.agent, name)

        _with_file(target, titled)

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Copy a session under the number of ``new_id``; its messages stay byte for byte as they are.

        Raises:
            UsageError: ``at`` names a message, or the copy's id is not of the same agent and sender, or is taken.
        """
        if at is not None:
            raise UsageError(f"{target.id}: messages of crabtalk have no ids, so all of it is copied or nothing")
        source = _now_at(target)
        found = session_meta(source)
        agent, sender, number = _identity(new_id, folder)
        if (agent, sender) != (found.meta.agent, sender_slug(found.meta.created_by)):
            raise UsageError(f"{new_id}: a copy of {target.id} stays one of {found.meta.agent} and its sender")
        created = encode.time_of_creation(self.means.clock.now())
        head = changed_line(found.span, {"created_at": created, "uptime_secs": 0})
        rest = _from(source, found.span.offset + len(found.span.raw))
        try:
            copy = create(folder, agent, sender, _joined(head, rest), number=number, fsync=self.means.fsync)
        except FileExistsError as error:
            raise UsageError(f"{new_id}: exists already; nothing was copied") from error
        return [copy]

    def _began(self, target: Target, line: bytes) -> bool:
        """Begin a session with a message; False when it exists meanwhile."""
        agent, sender, number = _identity(target.id, target.path.parent)
        meta = encode.meta_line(agent, sender, at=self.means.clock.now())
        try:
            create(target.path.parent, agent, sender, [meta, line], number=number, fsync=self.means.fsync)
        except FileExistsError:
            return False
        return True

    def _append(self, target: Target, line: bytes) -> None:
        record = line.removesuffix(b"\n")

        def append(path: Path) -> int:
            session_meta(path)  # crabtalk would refuse the file, and with it the record
            return append_records(path, lambda: [record], fsync=self.means.fsync)

        _with_file(target, append)

    def _refuse_running(self, target: Target) -> None:
        home = self.means.home / ".crabtalk"
        if home.resolve() in target.path.resolve().parents and _answers(home / "run" / "crabtalk.sock"):
            raise RefusedError(f"session {target.id}: crabtalk runs and knows the file by its name; stop it first")


def _identity(asked: str, folder: Path) -> _Identity:
    match = _ID.match(asked)
    if match is None or sender_slug(match["sender"]) != match["sender"]:
        hint = ""
        agent, _, sender = asked.rpartition("_")
        if agent and sender == sender_slug(sender):
            hint = f"; the next one of {agent} and {sender} is {asked}_{next_number(folder, agent, sender)}"
        raise UsageError(f"session id {asked!r}: crabtalk's are called AGENT_SENDER_NUMBER{hint}")
    return _Identity(checked_agent(match["agent"]), match["sender"], int(match["number"]))


def _now_at(target: Target) -> Path:
    """Return where the session lies now: a title may have renamed its file since it was found."""
    return target.path if target.path.exists() else file_of(target.path.parent, target.id)


def _with_file(target: Target, act: Callable[[Path], T]) -> T:
    """Do something with the session's file, also when it is renamed meanwhile or a message comes in between."""
    for attempt in range(1, _MOST_ATTEMPTS + 1):
        try:
            path = _now_at(target)
            return act(path)
        except (NotFoundError, UnreadableError, MovedError) as error:
            is_there = isinstance(error, UnreadableError) and error.path.exists()
            if is_there or attempt == _MOST_ATTEMPTS:
                raise
    raise AssertionError


def _rename(path: Path, agent: str, title: str) -> None:
    place = place_of(path.name, agent)
    name = titled_name(path.name, title)
    if place is None or name == path.name or place.titles[-1:] == (sender_slug(title),):
        return
    try:
        move_file(path, path.with_name(name))
    except FileExistsError:
        return  # another file has the name; the title stands in the metadata, and they decide


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
    return encode.message_line(draft.role, text, reasoning=thought, call_id=draft.call_id, calls=calls)


def _joined(head: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    first = next(rest, b"\n")
    if not first.startswith((b"\n", b"\r\n")):
        yield b"\n"
    yield first
    yield from rest


def _from(path: Path, offset: int) -> Iterator[bytes]:
    """Yield what the file holds now from ``offset`` on; what is appended meanwhile is not in it."""
    with open_regular(path) as file:
        left = os.fstat(file.fileno()).st_size - offset
        file.seek(offset)
        while left > 0 and (block := file.read(min(_BLOCK, left))):
            left -= len(block)
            yield block


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        try:
            client.connect(os.fspath(path))
        except OSError:
            return False  # no such socket, a leftover of one that ended, or a path longer than a socket's may be
    return True


WRITER = CrabtalkWriter
