"""What is kept of a session between two listings: the row that is shown, and what it takes to see a change."""

import os
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from slowwave.formats.append import session_stem
from slowwave.formats.model import SessionOrigin
from slowwave.stores.model import StoreProblem, StoreProblemKind
from slowwave.stores.summary import Summary
from slowwave.stores.walk import FoundFile, FoundSession, Signature, Source, key_in_database, signatures


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
