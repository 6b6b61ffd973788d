"""The sessions of one project folder: write, load, list, resume, hide, fork (the API of Cersei's ``MemoryManager``).

Every record is one ``write`` under the session's lock, in part files where the dialect has them. A session that a
running client has open is not written to.
"""

import os
import uuid as uuids
from collections.abc import Callable, Sequence
from pathlib import Path

from slowwave.clock import Clock, SystemClock
from slowwave.dialects import by_name
from slowwave.dialects.base import Dialect
from slowwave.dialects.cersei import encode as cersei_encode
from slowwave.dialects.cersei.dialect import Cersei, Mode
from slowwave.dialects.claude import encode as claude_encode
from slowwave.dialects.model import Message, SessionFiles, Transcript
from slowwave.errors import NotFoundError, RefusedError, UnknownDialectError, UnreadableError, UsageError
from slowwave.records.append import PART_BYTES, append_forking, append_record
from slowwave.stores.forking import write_fork
from slowwave.stores.head import DIALECTS, read_head
from slowwave.stores.ids import base_path, meant_session, newest_session
from slowwave.stores.last import LastRecord, last_record
from slowwave.stores.live import claimed_by
from slowwave.stores.model import StoreProblem
from slowwave.stores.removal import stored_session
from slowwave.stores.rows import SessionRow, StoredRow, resolve, stored_row
from slowwave.stores.scan import scan
from slowwave.stores.walk import FoundSession, Known, Walk

# a line of another client's form would be lost to it, or break its session
WRITABLE = ("cersei", "claude", "cersei-bare")

Content = str | Sequence[dict[str, object]]


def new_uuid() -> str:
    """Return a random id in the form that both clients use."""
    return str(uuids.uuid4())


class Sessions:
    """The sessions in one folder.

    Args:
        folder: the project folder; it is made when the first session is written.
        dialect: of new sessions, ``cersei`` or ``claude``; one that exists is written in its own.
        clock: gives the time of new records.
        ids: gives the ids of new records and forks.
        part_bytes: Cersei: no part file grows past this.
        cwd: the working folder that new sessions name.
        mode: Cersei: how summaries are read, ``seed`` or ``code``.
        home: the user's home, where running clients note their sessions.
        fsync: make every record durable before it counts as written.
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
        self.ids = ids
        self.part_bytes = part_bytes
        self.cwd = cwd
        self.mode: Mode = mode
        self.home = home or Path.home()
        self.fsync = fsync
        self.problems: list[StoreProblem] = []

    def write_user_message(self, session_id: str, content: Content, *, parent: str | None = None) -> str:
        """Append what a user says and return its id; an unknown session is begun.

        Raises:
            UsageError: the id could not be a file name, or the content is not valid text.
            RefusedError: a running client has the session open.
        """
        return self._write("user", session_id, content, parent)

    def write_assistant_message(self, session_id: str, content: Content, parent: str | None = None) -> str:
        """Append what the assistant says, linked to ``parent``, and return its id.

        Claude Code chains every record to the one before it, so there ``parent`` defaults to the last one.

        Raises:
            UsageError: the id could not be a file name, or the content is not valid text.
            RefusedError: a running client has the session open.
        """
        return self._write("assistant", session_id, content, parent)

    def write_summary(self, session_id: str, text: str, messages_compacted: int) -> str:
        """Append a summary of the messages before it and return its id (Cersei only).

        Raises:
            UsageError: the session is of a dialect without such summaries.
        """
        base, dialect, _ = self._writable(session_id)
        if dialect != "cersei":
            raise UsageError(f"{session_id}: only a session of Cersei takes summary entries; this is {dialect}")
        made = self.ids()
        now = self.clock.now()
        line = cersei_encode.summary_line(text, uuid=made, session=session_id, compacted=messages_compacted, at=now)
        self._append(base, dialect, line)
        return made

    def tombstone(self, session_id: str, uuid: str) -> None:
        """Hide one message from every later load; its bytes stay in the file.

        Raises:
            NotFoundError: there is no such session.
            UsageError: the session's client knows no tombstones and would still show the message.
            RefusedError: a running client has the session open.
        """
        self.find(session_id, exactly=True)
        base, dialect, _ = self._writable(session_id)
        if dialect != "cersei":
            raise UsageError(
                f"{session_id}: {dialect} knows no tombstones and would still send the message; use rm or fork"
            )
        self._append(base, dialect, cersei_encode.tombstone_line(uuid, at=self.clock.now()))

    def load(self, session_id: str) -> list[Message]:
        """Return the messages of a session as a resumed run would start with: tombstones applied, summaries by mode.

        Raises:
            NotFoundError: there is no such session.
            UnknownDialectError: its content is of no known dialect.
        """
        dialect, files = self._opened(self.find(session_id))
        return list(dialect.context(dialect.read(files)))

    def transcript(self, session_id: str) -> Transcript:
        """Return everything in a session, also what a resumed run would not see.

        Raises:
            NotFoundError: there is no such session.
            UnknownDialectError: its content is of no known dialect.
        """
        dialect, files = self._opened(self.find(session_id))
        return dialect.read(files)

    def last_session_id(self) -> str | None:
        """Return the id of the main session that was written to last, or None."""
        try:
            return newest_session(self._found()).id
        except NotFoundError:
            return None

    def find(self, session_id: str, *, exactly: bool = False) -> FoundSession:
        """Return the session with this id, or the only one that begins so.

        Raises:
            NotFoundError: none or several fit.
        """
        known = self._found()
        return meant_session(session_id, [s for s in known if s.id == session_id] if exactly else known)

    def fork(self, session_id: str) -> str:
        """Copy a session under a new id, which is returned; the original is not touched.

        Raises:
            NotFoundError: there is no such session.
            UnknownDialectError: its content is of no known dialect.
            UsageError: sessions of its dialect are read only.
        """
        dialect, files = self._opened(self.find(session_id))
        _check_writable(session_id, dialect.name)
        new_id = self.ids()
        write_fork(files, dialect.name, base_path(Path(self.folder), new_id), new_id, self.part_bytes)
        return new_id

    def _found(self) -> list[FoundSession]:
        if not self.folder.is_dir():
            return []
        return list(Walk[Known](self.problems).sessions(os.fspath(self.folder)))

    def _opened(self, found: FoundSession) -> tuple[Dialect, SessionFiles]:
        head = read_head(found)
        if isinstance(head, StoreProblem):
            kind = UnreadableError if head.kind == "unreadable" else UnknownDialectError
            raise kind(head.path, head.detail, f"expected a session of a known dialect: {DIALECTS}")
        dialect = Cersei(self.mode) if head.dialect == "cersei" else by_name(head.dialect)
        return dialect, SessionFiles(found.id, tuple(Path(found.folder, file.name) for file in found.files))

    def _writable(self, session_id: str) -> tuple[Path, str, LastRecord]:
        """Return the base file, the dialect and the last record of a session that may be written to."""
        base = base_path(self.folder, session_id)
        known = [s for s in self._found() if s.id == session_id]
        if not known or not known[0].size:
            _check_writable(session_id, self.dialect)
            return base, self.dialect, LastRecord(None, "", "")
        dialect, files = self._opened(known[0])
        _check_writable(session_id, dialect.name)
        reason = claimed_by(stored_session(known[0], dialect.name), self.home)
        if reason:
            raise RefusedError(f"session {session_id} is {reason}; close it there first")
        return base, dialect.name, last_record(files)

    def _write(self, role: str, session_id: str, content: Content, parent: str | None) -> str:
        base, dialect, last = self._writable(session_id)
        made = self.ids()
        cwd = last.cwd or self.cwd
        try:
            line = self._line(role, dialect, content, made, session_id, cwd, parent, last)
        except (TypeError, UnicodeEncodeError) as error:
            raise UsageError(f"the message is not valid text or JSON: {error}") from error
        if dialect != "claude" or parent:
            self._append(base, dialect, line)
            return made

        def chained() -> bytes:
            # another writer may have come in between: with one parent for both, a resumed run would lose one of them
            newest = last_record(SessionFiles(session_id, (base,)))
            if newest.uuid == last.uuid:
                return line.rstrip(b"\n")
            return self._line(role, dialect, content, made, session_id, cwd, None, newest).rstrip(b"\n")

        self._append(base, dialect, chained)
        return made

    def _line(
        self,
        role: str,
        dialect: str,
        content: Content,
        made: str,
        session: str,
        cwd: str,
        parent: str | None,
        last: LastRecord,
    ) -> bytes:
        now = self.clock.now()
        if dialect == "cersei-bare":
            return cersei_encode.bare_line(role, content)
        if dialect == "cersei":
            if role == "user":
                return cersei_encode.user_line(content, uuid=made, session=session, cwd=cwd, at=now)
            return cersei_encode.assistant_line(content, uuid=made, parent=parent, session=session, cwd=cwd, at=now)
        parent = parent or last.uuid
        if role == "user":
            return claude_encode.user_line(
                content, uuid=made, parent=parent, session=session, cwd=cwd, at=now, branch=last.branch
            )
        return claude_encode.assistant_line(
            content,
            uuid=made,
            parent=parent,
            session=session,
            cwd=cwd,
            at=now,
            message_id=f"msg_{made.replace('-', '')}",
            branch=last.branch,
        )

    def _append(self, base: Path, dialect: str, line: bytes | Callable[[], bytes]) -> None:
        base.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if dialect == "cersei" and isinstance(line, bytes):
            append_forking(base, line.rstrip(b"\n"), self.part_bytes, fsync=self.fsync)
        else:
            append_record(base, line.rstrip(b"\n") if isinstance(line, bytes) else line, fsync=self.fsync)

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


def _check_writable(session_id: str, dialect: str) -> None:
    if dialect not in WRITABLE:
        raise UsageError(f"{session_id}: a session of {dialect} is read only; nothing was written to it")
