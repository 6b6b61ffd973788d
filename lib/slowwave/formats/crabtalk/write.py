"""Writing to crabtalk's sessions: messages, compact markers, titles and copies under the next number.

Messages have neither ids nor times, so nothing can refer to one: a marker hides all that is before it, a fork copies
all of it. A title renames the file; whoever still has the old name finds the session by its id.
"""

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple, TypeVar

import orjson

from slowwave.errors import MovedError, NotFoundError, RefusedError, UnreadableError, UsageError
from slowwave.files import NO_LINKS, TEMP_PREFIX, at_fault_point, fsync_folder, move_file, private_folder, write_all
from slowwave.formats import Message, Text, Thinking, ToolCall, ToolResult, offset_time
from slowwave.formats.changes import file_state, rewrite_without
from slowwave.formats.crabtalk import is_transcript, running_since
from slowwave.formats.crabtalk.dialect import (
    Meta,
    changed_line,
    checked_agent,
    id_of,
    latest_session,
    meta_line_of,
    place_of,
    sender_slug,
    session_id,
    session_meta,
    titled_name,
)
from slowwave.formats.lines import open_regular
from slowwave.formats.sessions import SUFFIX
from slowwave.formats.writing import Block, Compaction, Draft, Target, Writer, check_speaker, json_line, valid
from slowwave.locks import locked_file

# Lines as crabtalk writes them (RFC 0064), for appending: one JSON object with its newline, nothing decided here.
#
# Empty fields of a message are left out; who sent it and whether it was injected are never written. The fields of RFC
# 0135 (``agent`` of a message, ``title`` and ``archived_at`` of a marker) are there only when they are given.


def meta_line(agent: str, sender: str, *, at: datetime, title: str = "", uptime: int = 0) -> bytes:
    """Return the first line; rewriting it later keeps the time of creation."""
    record = {"agent": agent, "created_by": sender, "created_at": offset_time(at)}
    return json_line({**record, "title": title, "uptime_secs": uptime})


def message_line(
    role: str,
    content: str = "",
    *,
    reasoning: str = "",
    call_id: str = "",
    calls: Iterable[ToolCall] = (),
    agent: str = "",
) -> bytes:
    """Return a message; the arguments of calls become JSON in a string."""
    fields: dict[str, object] = {
        "content": content,
        "reasoning_content": reasoning,
        "tool_call_id": call_id,
        "tool_calls": [_call(call) for call in calls],
        "agent": agent,
    }
    return json_line({"role": role} | {key: value for key, value in fields.items() if value})


def line_of(message: Message) -> bytes | None:
    """Return a message of any dialect as crabtalk would keep it (results one a line), or None where it would not.

    What a harness injected is put in anew before every run (``auto_injected``), a system's message is kept.
    """
    if message.origin == "injected" and message.role != "system":
        return None
    blocks = message.blocks
    lines = [message_line("tool", block.text, call_id=block.id) for block in blocks if isinstance(block, ToolResult)]
    reasoning = "\n".join(block.text for block in blocks if isinstance(block, Thinking))
    if message.text or reasoning or message.calls or not lines:
        role = "user" if message.role == "tool" else message.role
        lines.append(message_line(role, message.text, reasoning=reasoning, calls=message.calls))
    return b"".join(lines)


def compact_line(summary: str, *, title: str | None = None, archived_at: datetime | None = None) -> bytes:
    """Return the marker that hides everything before it."""
    record: dict[str, object] = {"compact": summary}
    if title is not None:
        record["title"] = title
    if archived_at is not None:
        record["archived_at"] = offset_time(archived_at)
    return json_line(record)


def _call(call: ToolCall) -> dict[str, object]:
    arguments = call.args if isinstance(call.args, str) else orjson.dumps(call.args).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


class CrabtalkWriter(Writer):
    """Sessions of crabtalk."""

    dialect = "crabtalk"

    def path(self, folder: Path, session_id: str) -> Path:
        """Return the file of a new session, which is called ``AGENT_SENDER_NUMBER``.

        Raises UsageError: the id is none, or not behind all numbers that the agent and the sender have.
        """
        agent, sender, number = identity(session_id, folder)
        due = next_number(folder, agent, sender)
        if number < due:
            raise UsageError(f"{session_id}: the next session of {agent} and {sender} is {agent}_{sender}_{due}")
        return folder / f"{session_id}.jsonl"

    def new_id(self, folder: Path, origin: Target | None = None) -> str:
        """Return agent, sender and the next number of theirs, for a copy of ``origin``.

        Raises UsageError: nothing says whose session it is.
        """
        if origin is None:
            raise UsageError("a session of crabtalk is called AGENT_SENDER_NUMBER: name it so")
        meta = session_meta(now_at(origin)).meta
        return session_id(meta.agent, meta.created_by, next_number(folder, meta.agent, meta.created_by))

    def begin(self, folder: Path, agent: str, sender: str) -> Path:
        """Begin a session without messages under the next number, and return its file.

        Raises UsageError: the agent's name cannot begin a file's name, or a name is no valid text.
        """
        line = valid(lambda: meta_line(checked_agent(agent), sender, at=self.means.clock.now()))
        return create(folder, agent, sender, [line], fsync=self.means.fsync)

    def empty(self, folder: Path, asked: str, metadata: Mapping[str, str]) -> tuple[str, Path]:
        """Begin the next session of an agent and a sender, ``AGENT_SENDER``."""
        agent, _, sender = asked.rpartition("_")
        if metadata or not agent or not sender:
            raise UsageError("name AGENT_SENDER, whose next session it is; crabtalk notes nothing else of one")
        path = self.begin(folder, agent, sender)
        return path.name.removesuffix(SUFFIX), path

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

        Raises UsageError: a message before it is to be kept: crabtalk keeps none.
        """
        if compaction.keep_from is not None:
            raise UsageError(f"{target.id}: crabtalk keeps no message before a compact marker; nothing was written")
        self._append(target, valid(lambda: compact_line(compaction.summary)))
        return ""

    def name(self, target: Target, name: str) -> None:
        """Give the session a title, and its file the name that goes with it; an empty one leaves the file's name.

        Raises RefusedError: crabtalk runs: it would go on writing to the name that the file had.
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

        Raises UsageError: ``at`` names a message, or the copy's id is not of the same agent and sender, or is taken.
        """
        if at is not None:
            raise UsageError(f"{target.id}: messages of crabtalk have no ids, so all of it is copied or nothing")
        source = now_at(target)
        found = session_meta(source)
        agent, sender, number = identity(new_id, folder)
        if (agent, sender) != (found.meta.agent, sender_slug(found.meta.created_by)):
            raise UsageError(f"{new_id}: a copy of {target.id} stays one of {found.meta.agent} and its sender")
        created = offset_time(self.means.clock.now())
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
        meta = meta_line(agent, sender, at=self.means.clock.now())
        try:
            create(target.path.parent, agent, sender, [meta, line], number=number, fsync=self.means.fsync)
        except FileExistsError:
            return False
        return True

    def _append(self, target: Target, line: bytes) -> None:
        def append(path: Path) -> None:
            session_meta(path)  # crabtalk would refuse the file, and with it the record
            self._add(path, lambda: [line])

        with_file(target, append)

    @contextmanager
    def alone(self, target: Target) -> Generator[None]:
        """Look whether crabtalk runs and wrote to the session since it started: then it has the session in memory.

        Raises RefusedError: it has; what is appended would not be in what it sends.
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
    return message_line(draft.role, text, reasoning=thought, call_id=draft.call_id, calls=calls)


# The files of a folder of crabtalk's sessions: found by what they are, made under a number that nobody else has.
#
# crabtalk takes the next number by looking and then truncates whatever has the name, so that of two that begin at once
# one wipes the other. Here a file gets its name by a link, complete, and only when no other file has it.


def next_number(folder: Path, agent: str, sender: str) -> int:
    """Return the number that the next session gets.

    As in crabtalk names alone count, so that a number is never given twice, whatever is in the files.
    """
    slug = sender_slug(sender)
    places = (place_of(name, agent) for name in session_names(folder))
    return max((place.seq for place in places if place is not None and place.sender == slug), default=0) + 1


def create(
    folder: Path, agent: str, sender: str, chunks: Iterable[bytes], *, number: int | None = None, fsync: bool = False
) -> Path:
    """Write a new session, whole or not at all, and return its file.

    Args:
        folder: where; it is made when it is missing.
        agent: the agent's name.
        sender: who talks to it.
        chunks: the content, the line of metadata first.
        number: its number; by default the next free one, also when others begin sessions at the same time.
        fsync: return only when it is on the disk.

    Raises FileExistsError: a session has this very number; OSError: the disk is full, or the folder cannot be written
    to.
    """
    private_folder(folder)
    temp = folder / f"{TEMP_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
    try:
        _fill(temp, chunks, fsync=fsync)
        numbers = count(next_number(folder, agent, sender)) if number is None else (number,)
        for chosen in numbers:
            path = folder / f"{agent}_{sender_slug(sender)}_{chosen}{SUFFIX}"
            if _publish(temp, path, agent):
                if fsync:
                    fsync_folder(folder)
                return path
    finally:
        temp.unlink(missing_ok=True)
    raise FileExistsError(f"session {number} of {agent} and {sender} exists already")


def copied(path: Path, offset: int, head: bytes) -> Iterator[bytes]:
    """Yield what a file holds now, with ``head`` in the place of everything before ``offset``."""
    rest = _from(path, offset)
    yield head
    first = next(rest, b"\n")
    if not first.startswith((b"\n", b"\r\n")):
        yield b"\n"
    yield first
    yield from rest


# What a new session of crabtalk may be called: agent, sender and number, the number behind all that are there.


class Identity(NamedTuple):
    """Whose session it is, and its number among those of the two."""

    agent: str
    sender: str
    number: int


def identity(asked: str, folder: Path) -> Identity:
    """Return what the id of a session says that is to be begun in ``folder``.

    Raises UsageError: it is no such id; the message names the next one where it can.
    """
    match = _ID.match(asked)
    if match is None or sender_slug(match["sender"]) != match["sender"]:
        hint = ""
        agent, _, sender = asked.rpartition("_")
        if agent and sender == sender_slug(sender):
            hint = f"; the next one of {agent} and {sender} is {asked}_{next_number(folder, agent, sender)}"
        raise UsageError(f"session id {asked!r}: crabtalk's are called AGENT_SENDER_NUMBER{hint}")
    return Identity(checked_agent(match["agent"]), match["sender"], int(match["number"]))


# The names of crabtalk's files, which change with every title, while others write to them.


def now_at(target: Target) -> Path:
    """Return where the session lies now: a title may have renamed its file since it was found."""
    return target.path if target.path.exists() else file_of(target.path.parent, target.id)


T = TypeVar("T")


def with_file(target: Target, act: Callable[[Path], T]) -> T:
    """Do something with the session's file, also when it is renamed meanwhile or a message comes in between."""
    for attempt in range(1, _MOST_ATTEMPTS + 1):
        try:
            path = now_at(target)
            return act(path)
        except (NotFoundError, UnreadableError, MovedError) as error:
            is_there = isinstance(error, UnreadableError) and error.path.exists()
            if is_there or attempt == _MOST_ATTEMPTS:
                raise
    raise AssertionError


def rename(path: Path, agent: str, title: str) -> None:
    """Give a file the name that goes with a new title, unless another file has it."""
    place = place_of(path.name, agent)
    name = titled_name(path.name, title)
    if place is None or name == path.name or place.titles[-1:] == (sender_slug(title),):
        return
    try:
        move_file(path, path.with_name(name))
    except FileExistsError:
        return  # another file has the name; the title stands in the metadata, and they decide


def finish_rename(path: Path) -> Path:
    """Return the one name of a file that a killed process left with two: the longer one, which it was to get."""
    at = path.stat()
    if at.st_nlink == 1:
        return path
    longer, shorter = path.stem + "_", {path.stem[:i] for i, letter in enumerate(path.stem) if letter == "_"}
    names = (name.removesuffix(SUFFIX) for name in session_names(path.parent))
    others = (path.with_name(name + SUFFIX) for name in names if name.startswith(longer) or name in shorter)
    same = [other for other in others if (o := found_file(other)) is not None and os.path.samestat(o, at)]
    *old, last = sorted((path, *same), key=lambda p: len(p.name))
    for name in old:
        at_fault_point("unlink", name)
        name.unlink()
    return last


_BLOCK = 1 << 20


def file_of(folder: Path, session: str) -> Path:
    """Return the file of a session, under whichever title.

    Raises NotFoundError: there is none, or several have the id.
    """
    names = (n for n in session_names(folder) if n == session + SUFFIX or n.startswith(f"{session}_"))
    paths = [folder / name for name in names if id_of(name, _meta(folder / name)) == session]
    # while a file is renamed it has two names for a moment
    found = {(at.st_dev, at.st_ino): path for path in paths if (at := found_file(path)) is not None}
    if len(found) != 1:
        several = f"{len(found)} files" if found else "no file"
        raise NotFoundError(f"{folder}: {several} of session {session!r}; `slowwave sessions list` shows them all")
    return next(iter(found.values()))


def latest_file(folder: Path, agent: str, sender: str) -> Path | None:
    """Return the file of the latest session of an agent and a sender, as its metadata say; None without one."""
    names = (name for name in session_names(folder) if place_of(name, agent) is not None)
    latest = latest_session([(name, _meta(folder / name)) for name in names], agent, sender)
    return None if latest is None else folder / latest


def _from(path: Path, offset: int) -> Iterator[bytes]:
    # what is appended meanwhile is not in it: the end is where it was
    with open_regular(path) as file:
        left = os.fstat(file.fileno()).st_size - offset
        file.seek(offset)
        while left > 0 and (block := file.read(min(_BLOCK, left))):
            left -= len(block)
            yield block


def _fill(temp: Path, chunks: Iterable[bytes], *, fsync: bool) -> None:
    at_fault_point("write", temp)
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        for chunk in chunks:
            write_all(fd, chunk)
        if fsync:
            at_fault_point("fsync", temp)
            os.fsync(fd)
    finally:
        os.close(fd)


def _publish(temp: Path, path: Path, agent: str) -> bool:
    """Give a complete file its name; False when the name or the number is taken."""
    try:
        at_fault_point("link", path)
        _name(temp, path)
    except FileExistsError:
        return False
    if _is_taken(path, agent):
        # since the numbers were looked at, another one took this number and was given a title
        path.unlink()
        return False
    return True


def _name(temp: Path, path: Path) -> None:
    try:
        os.link(temp, path)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        # a file system without links: exclusive all the same, but a kill leaves a part of the file
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            write_all(fd, temp.read_bytes())
        finally:
            os.close(fd)


def _is_taken(path: Path, agent: str) -> bool:
    own = place_of(path.name, agent)
    others = (place_of(name, agent) for name in session_names(path.parent) if name != path.name)
    return own is not None and any(p is not None and (p.sender, p.seq) == (own.sender, own.seq) for p in others)


def session_names(folder: Path) -> list[str]:
    """Return the names of all files that can be sessions; a missing folder has none."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names only
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UnreadableError(folder, error.strerror or "cannot be listed") from error
    return list(filter(is_transcript, names))


def _meta(path: Path) -> Meta | None:
    try:
        line = meta_line_of(path)
    except UnreadableError:
        return None  # renamed since the folder was listed, or not ours to read: its name is left
    return None if line is None else line.meta


def found_file(path: Path) -> os.stat_result | None:
    """Return the state of a file, None when it went away since its folder was listed."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


# A slug holds no underscore, an agent's name may.
_ID = re.compile(r"(?P<agent>.+)_(?P<sender>[^_]*)_(?P<number>[1-9][0-9]{0,8})\Z", re.DOTALL)

# A title can rename a session while it is looked for, but not again and again.
_MOST_ATTEMPTS = 5
