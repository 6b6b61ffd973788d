"""What other programs import: sessions of every client, what their clients would send, and the gates of a dream.

Everything else is for slowwave's own commands and may change; ``docs/library.md`` shows these in use. A session that
exists is written in its own dialect; one that a running client has open is not written to.
"""

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from slowwave.consolidation.gates import changed_since, read_state, render_state, session_gate, time_gate
from slowwave.consolidation.lock import DreamLock, refusal
from slowwave.consolidation.lock import held as held_by_dream
from slowwave.context import Clock, SystemClock
from slowwave.errors import NotFoundError, UnreadableError
from slowwave.files import atomic_write, private_folder
from slowwave.formats import Message, SessionFiles, Transcript
from slowwave.formats.cersei.dialect import Cersei, Mode
from slowwave.formats.changes import PART_BYTES
from slowwave.formats.client import Dialect
from slowwave.formats.registry import CLIENTS, by_name, read_for_context
from slowwave.formats.sessions import FoundSession, Known, Place, StoredSession, StoreProblem, Walk
from slowwave.formats.writing import Compaction, Content, Draft, Means, checked, new_uuid
from slowwave.memory.folder import STATE_FILE
from slowwave.report import Gate
from slowwave.settings import Settings
from slowwave.stores.roots import (
    Opened,
    Writers,
    held,
    known_head,
    meant_session,
    newest_session,
    read_head,
    session_of_path,
)
from slowwave.stores.summary import SessionRow, StoredRow, resolve, scan, stored_row


class Sessions:
    """The sessions in one folder of transcripts, or of session folders (ulid); databases are read elsewhere.

    A message is added under the whole id of its session, since a beginning could as well be a new id; everywhere else
    a unique beginning of the id will do.

    Args:
        folder: the project folder; it is made when the first session is written.
        dialect: of new sessions; one that exists is written in its own.
        clock: gives the time of new records.
        ids: gives the ids of new records and forks.
        part_bytes: Cersei: no part file grows past this.
        cwd: the working folder that new sessions name.
        mode: Cersei: how summaries are read, ``seed`` or ``code``.
        home: the user's home, where running clients note their sessions.
        fsync: make every record durable before it counts as written.

    Whatever is about a session or a message that has to be there raises NotFoundError when there is none of that id, or
    several ids begin so, and UnknownDialectError when the session's content is of no known dialect.
    Everything that writes raises UsageError when the id could not be a name, the content is no valid text, or the
    dialect has no such record, and RefusedError when a running client has the session open.
    """

    def __init__(
        self,
        folder: Path,
        dialect: str = "cersei",
        *,
        clock: Clock | None = None,
        ids: Callable[[], str] = new_uuid,
        part_bytes: int = PART_BYTES,
        cwd: str = "",
        mode: Mode = "seed",
        home: Path | None = None,
        fsync: bool = False,
    ) -> None:
        self.folder = folder
        self.dialect = by_name(dialect).name
        self.clock: Clock = clock or SystemClock()
        self.cwd = cwd
        self.mode: Mode = mode
        self.problems: list[StoreProblem] = []
        self.writers = Writers(Means(self.clock, home or Path.home(), ids, part_bytes, fsync))
        self._opened: dict[str, Opened] = {}

    def write_user_message(self, session_id: str, content: Content, *, parent: str | None = None) -> str:
        """Append what a user says and return its id; an unknown session is begun."""
        return self.write(session_id, Draft("user", content, parent))

    def write_assistant_message(self, session_id: str, content: Content, parent: str | None = None) -> str:
        """Append what the assistant says and return its id.

        Clients that chain records put it under the last one, or under ``parent``.
        """
        return self.write(session_id, Draft("assistant", content, parent))

    def write_tool_result(
        self, session_id: str, call_id: str, content: Content, *, tool: str = "", is_error: bool = False
    ) -> str:
        """Append what a tool answered to a call and return its id."""
        return self.write(session_id, Draft("tool", content, None, call_id, tool, is_error))

    def write(self, session_id: str, draft: Draft) -> str:
        """Append a message and return its id; an unknown session is begun, on disk when its client would."""
        checked(draft)
        opened = self._opened.get(session_id)
        if opened is None or not opened.target.files or not opened.target.path.exists():
            opened = self._open(session_id, begin=True)
        with held(opened) as (writer, target):
            return writer.message(target, draft)

    def write_summary(self, session_id: str, text: str, messages_compacted: int) -> str:
        """Append a summary of the so many oldest messages and return its id (Cersei)."""
        return self.compact(session_id, Compaction(text, messages=messages_compacted))

    def compact(self, session_id: str, compaction: Compaction) -> str:
        """Append a compaction in the form of the session's client and return the id of its summary."""
        checked(compaction)
        with self._held(session_id) as (writer, target):
            return writer.compaction(target, compaction)

    def tombstone(self, session_id: str, uuid: str) -> None:
        """Hide one message from every later load; its bytes stay in the file."""
        checked(uuid)
        with self._held(session_id) as (writer, target):
            writer.tombstone(target, uuid)

    def label(self, session_id: str, message_id: str, label: str | None) -> str:
        """Give a message a label, or take it away (None), and return the id of the record."""
        checked((message_id, label))
        with self._held(session_id) as (writer, target):
            return writer.label(target, message_id, label)

    def name(self, session_id: str, name: str) -> None:
        """Give a session the name that its client shows."""
        checked(name)
        with self._held(session_id) as (writer, target):
            writer.name(target, name)

    def branch(self, session_id: str, message_id: str | None, summary: str | None = None) -> str:
        """Go on from an older message (None: from before the first), and return the id of the record that says so."""
        checked((message_id, summary))
        with self._held(session_id) as (writer, target):
            return writer.branch(target, message_id, summary)

    def fork(self, session_id: str, *, at: str | None = None) -> str:
        """Copy a session under a new id, which is returned; the original is not touched.

        ``at``: copy only the path from the first message to this one.
        """
        with held(self.writers.known(self.find(session_id))) as (writer, target):
            folder = writer.folder(target)
            new_id = writer.new_id(folder, target)
            writer.fork(target, folder, new_id, at)
        return new_id

    def load(self, session_id: str) -> list[Message]:
        """Return the messages of a session as a resumed run would start with: tombstones applied, summaries by mode."""
        dialect, files = self._readable(self.find(session_id))
        return list(dialect.context(dialect.read(files)))

    def transcript(self, session_id: str) -> Transcript:
        """Return everything in a session, also what a resumed run would not see."""
        dialect, files = self._readable(self.find(session_id))
        return dialect.read(files)

    def last_session_id(self) -> str | None:
        """Return the id of the main session that was written to last, or None."""
        try:
            return newest_session(self._found()).id
        except NotFoundError:
            return None

    def find(self, session_id: str) -> FoundSession:
        """Return the session with this id, or the only one that begins so."""
        return meant_session(session_id, self._found())

    def parts(self, session_id: str) -> tuple[Path, ...]:
        """Return all files of a session in reading order."""
        found = self.find(session_id)
        return tuple(Path(found.folder, file.name) for file in found.files)

    def size(self, session_id: str) -> int:
        """Return the bytes of a session over all parts."""
        return self.find(session_id).size

    def stored(self) -> "Sequence[StoredSession]":
        """Return every session of a known dialect as jobs know it."""
        stored: list[StoredSession] = []
        for found in self._found():
            if isinstance(head := read_head(found), StoreProblem):
                continue
            files = SessionFiles(found.id, tuple(Path(found.folder, file.name) for file in found.files))
            kind = "subagent" if found.side or head.side else "main"
            stored.append(StoredSession(head.dialect, files, kind, self.folder, found.size, found.mtime_ns))
        return stored

    def _found(self) -> list[FoundSession]:
        if not self.folder.is_dir():
            return []
        walk = Walk[Known](self.problems)
        places = self._places()
        if not places:
            return list(walk.sessions(os.fspath(self.folder)))
        return [found for place in places for found in CLIENTS[place.kind].sessions(place, walk)]

    def _places(self) -> list[Place]:
        """Return where sessions lie that their clients name in ways of their own; none in other folders."""
        for name in (name for name, client in CLIENTS.items() if client.is_unnamed):
            try:
                places = CLIENTS[name].places(self.folder, (), self.problems)
            except OSError as error:
                raise UnreadableError(self.folder, error.strerror or "cannot be listed") from error
            if not places and name == self.dialect:
                places = [Place(name, os.fspath(self.folder))]
            if places:
                return places
        return []

    def _readable(self, found: FoundSession) -> tuple[Dialect, SessionFiles]:
        name = known_head(found).dialect
        dialect = Cersei(self.mode) if name == "cersei" else by_name(name)
        return dialect, SessionFiles(found.id, tuple(Path(found.folder, file.name) for file in found.files))

    @contextmanager
    def _held(self, session_id: str) -> Generator[Opened]:
        with held(self._open(session_id, begin=False)) as opened:
            yield opened

    def _open(self, session_id: str, *, begin: bool) -> Opened:
        """Return a session as it is now: parts may have been added to it since it was opened last."""
        written = [session for session in self._found() if session.size]
        if any(session.id == session_id for session in written):
            opened = self.writers.known(meant_session(session_id, written))
        elif session_id in self._opened:
            return self._opened[session_id]  # it waits for what its client would wait for
        elif begin:
            opened = self.writers.new(self.dialect, self.folder, session_id, self.cwd)
        else:
            return self.writers.known(meant_session(session_id, written))
        self._opened[session_id] = opened
        return opened

    def list(self) -> list[SessionRow]:
        """Return a row for each session, newest activity first; parts count as one session."""
        found: list[StoredRow] = []
        for session in self._found():
            head = read_head(session)
            if isinstance(head, StoreProblem):
                self.problems.append(head)
            else:
                found.append(stored_row(session, scan(session, head.dialect).summary))
        resolve(found)
        for stored in found:
            stored.row.project = self.folder.name
        return sorted((stored.row for stored in found), key=lambda row: row.last_activity, reverse=True)


def read_session(path: Path) -> Transcript:
    """Read one session of any client, all of its parts; what is damaged is told in ``problems``.

    Raises UnreadableError: the file cannot be opened; UnknownDialectError: it is empty, or of no known dialect.
    """
    dialect, files = _opened(path)
    return by_name(dialect).read(files)


def context_of(path: Path) -> Sequence[Message]:
    """Return what the session's client would send if it were resumed now.

    Raises UnreadableError, UnknownDialectError: as :func:`read_session`.
    """
    name, files = _opened(path)
    dialect = by_name(name)
    return dialect.context(read_for_context(dialect, files))


def _opened(path: Path) -> tuple[str, SessionFiles]:
    found = session_of_path(path.absolute())
    return known_head(found).dialect, SessionFiles(
        found.id, tuple(Path(found.folder, file.name) for file in found.files)
    )


class Dreaming:
    """The gates, the lock and the state of one memory folder's dreams, as in the seed's ``AutoDream``.

    Args:
        memory: the memory folder.
        conversations: the folder that its project's transcripts lie in.
        settings: hours, sessions and the age of a stale lock.
        clock: what time it is.
    """

    def __init__(
        self, memory: Path, conversations: Path, *, settings: Settings | None = None, clock: Clock | None = None
    ) -> None:
        self.memory, self.conversations = memory, conversations
        self._rules = (settings or Settings()).consolidation
        self._clock = clock or SystemClock()

    def gates(self) -> list[Gate]:
        """Return the three gates, each with its reason: time, sessions, lock.

        Raises CorruptStateError: the state does not parse, which never counts as "never ran".
        """
        last, now = read_state(self.memory), self._clock.now()
        changed = changed_since(self._sessions(), last, lambda _session: "")
        shut = refusal(self.memory, self._rules.lock_stale, wall=now.timestamp)
        return [
            time_gate("", last, now, self._rules.min_hours),
            session_gate("", changed, self._rules.min_sessions),
            Gate("lock", "", passed=not shut, reason=shut or "free"),
        ]

    def should_consolidate(self) -> bool:
        """Say whether all gates are open.

        Raises CorruptStateError: as :meth:`gates`.
        """
        return all(gate.passed for gate in self.gates())

    @contextmanager
    def lock(self) -> Generator[DreamLock]:
        """Hold the lock as long as the block runs; it is given up in any case.

        Raises LockHeldError: another process holds it.
        """
        with held_by_dream(self.memory, self._rules.lock_stale) as lock:
            yield lock

    def update_state(self) -> None:
        """Note that a dream was done now; call it inside of :meth:`lock`.

        Raises OSError: the folder cannot be written.
        """
        private_folder(self.memory)
        atomic_write(self.memory / STATE_FILE, render_state(int(self._clock.now().timestamp())))

    def _sessions(self) -> Sequence[StoredSession]:
        return Sessions(self.conversations, clock=self._clock).stored()
