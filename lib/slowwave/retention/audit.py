"""The audit log: one line for everything that was archived, removed, restored, freed, held or erased.

Every line holds the SHA-256 of the line before it, and a file in another folder the number and the hash of the last
one. So a line that was changed, moved, put in or taken out shows, also at the end. Where that file is gone nobody can
tell about the end: the log says so itself from then on. Lines name sessions by their ids and
contents by their hashes, and hold no words of anybody: what is erased need not be erased here.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

import msgspec

from slowwave.errors import CorruptStateError
from slowwave.files import (
    at_fault_point,
    atomic_write,
    data_folder,
    file_bytes,
    fsync_folder,
    open_file,
    private_folder,
    state_folder,
    write_all,
)
from slowwave.locks import locked_file
from slowwave.quantities import counted
from slowwave.stores.trash import TrashItem

if TYPE_CHECKING:
    from slowwave.stores.archive.shelf import Shelved


LOG = "audit.jsonl"
HEAD = "audit.head"
_FIRST = "0" * 64
_REMEDY = "`slowwave retain audit --verify` shows where; move both files away together to begin a new one"
Action = Literal["archive", "trash", "restore", "free", "purge", "hold", "release", "erase", "rescue", "head-lost"]


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What happened."""

    action: Action  # what was done; ``head-lost`` when nobody could tell any more whether lines before this are missing
    run: str = ""  # id of the run that did it
    session: str = ""  # id of the session, where it is about one
    dialect: str = ""  # its dialect
    rule: str = ""  # the setting that decided, where one did
    files: int = 0  # number of files
    size: int = 0  # bytes of these files, as they were in their place
    sha256: str = ""  # of their contents, in the order of the item; of one file its own
    item: str = ""  # name of the item in the trash, the archive or the list of holds


class Line(Entry, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the log: an entry with its number, its time and the hash of the line before it."""

    n: int
    at: str
    prev: str


class _Head(msgspec.Struct, frozen=True):
    """The last line: its number, its hash, and where it begins and ends."""

    n: int = 0
    sha256: str = _FIRST
    start: int = 0
    end: int = 0

    def followed_by(self, raw: bytes) -> "_Head":
        return _Head(self.n + 1, sha256(raw).hexdigest(), self.end, self.end + len(raw))


class Flaw(msgspec.Struct, frozen=True):
    """Something that is wrong with the log: the number of the line, from 1, and what."""

    line: int
    what: str


class AuditLog:
    """The log of one user on one machine."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Name the places of the log; nothing is read yet."""
        self.path = data_folder(environ) / LOG
        self._head = state_folder(environ) / HEAD

    def append(self, entries: Sequence[Entry], at: datetime) -> None:
        """Add lines, durable when this returns.

        A line that a killed process wrote in part is taken away first; whole lines it wrote without noting them count.
        Where what was noted of the last line is gone, the first new line tells that. Raises CorruptStateError: the log
        is not what was noted of it; nothing was written; LockHeldError: another process kept it locked; OSError: it
        cannot be written.
        """
        if not entries:
            return
        private_folder(self.path.parent)
        private_folder(self._head.parent)
        is_new = not self.path.exists()
        with locked_file(self.path, create=True) as log:
            head = self._standing(log)
            end = head.end
            lost: list[Entry] = []
            if not self._head.is_file():
                if head.n:
                    lost = [Entry(action="head-lost", item=HEAD)]
                else:
                    atomic_write(
                        self._head, msgspec.json.encode(head), mode=0o600
                    )  # from the first line on it is there
            lines: list[bytes] = []
            for entry in (*lost, *entries):
                fields = {name: getattr(entry, name) for name in Entry.__struct_fields__}
                line = Line(**fields, n=head.n + 1, at=at.isoformat(), prev=head.sha256)
                lines.append(msgspec.json.encode(line) + b"\n")
                head = head.followed_by(lines[-1])
            at_fault_point("write", self.path)
            os.ftruncate(log, end)
            os.lseek(log, end, os.SEEK_SET)
            write_all(log, b"".join(lines))
            at_fault_point("fsync", self.path)
            os.fsync(log)
            if is_new:
                fsync_folder(self.path.parent)
            atomic_write(self._head, msgspec.json.encode(head), mode=0o600)

    def lines(self) -> Iterator[Line]:
        """Yield all whole lines, oldest first, without checking them against each other.

        Raises CorruptStateError: a line does not parse.
        """
        for number, raw in enumerate(self._raw(), 1):
            try:
                yield msgspec.json.decode(raw, type=Line)
            except msgspec.DecodeError as error:
                raise CorruptStateError(self.path, f"line {number}: {error}", _REMEDY) from error

    def last(self) -> datetime | None:
        """Return the time of the last whole line, None without one; only the end of the log is read.

        Raises CorruptStateError: it does not parse.
        """
        noted = self._noted()
        at: datetime | None = None
        for raw in self._raw(noted.start):
            try:
                at = datetime.fromisoformat(msgspec.json.decode(raw, type=Line).at)
            except (msgspec.DecodeError, ValueError) as error:
                raise CorruptStateError(self.path, f"line {noted.n} or later: {error}", _REMEDY) from error
        return at

    def verify(self) -> list[Flaw]:
        """Return all that is wrong; an empty list when every line is as it was written and none is missing.

        Raises CorruptStateError: what was noted of the last line does not parse.
        """
        flaws: list[Flaw] = []
        noted, seen = self._noted(), _Head()
        for raw in self._raw():
            if flaw := _flaw(raw, seen):
                flaws.append(Flaw(seen.n + 1, flaw))
            seen = seen.followed_by(raw)
            if seen.n == noted.n and seen.sha256 != noted.sha256:
                flaws.append(Flaw(seen.n, "is not the line that was written here"))
        if seen.n < noted.n:
            flaws.append(Flaw(seen.n + 1, f"{counted(noted.n - seen.n, 'line')} missing at the end"))
        if seen.n and not self._head.is_file():
            what = f"or later may be missing: {self._head}, which says how many there are, is gone"
            flaws.append(Flaw(seen.n + 1, what))
        return flaws

    def _standing(self, log: int) -> _Head:
        """Return the last whole line; only what was written since the noted one is read."""
        noted = self._noted()
        seen = noted
        with os.fdopen(os.dup(log), "rb") as file:
            file.seek(noted.start)
            if noted.n and sha256(file.readline()).hexdigest() != noted.sha256:
                raise CorruptStateError(self.path, f"line {noted.n} is not the one that was written here", _REMEDY)
            for raw in file:
                if not raw.endswith(b"\n"):
                    break
                if flaw := _flaw(raw, seen):
                    raise CorruptStateError(self.path, f"line {seen.n + 1} {flaw}", _REMEDY)
                seen = seen.followed_by(raw)
        return seen

    def _noted(self) -> _Head:
        if not self._head.exists():
            return _Head()
        try:
            return msgspec.json.decode(file_bytes(self._head), type=_Head)
        except msgspec.DecodeError as error:
            raise CorruptStateError(self._head, f"does not parse: {error}", _REMEDY) from error

    def _raw(self, start: int = 0) -> Iterator[bytes]:
        if not self.path.exists():
            return
        with os.fdopen(open_file(self.path), "rb") as file:
            file.seek(start)
            for raw in file:
                if raw.endswith(b"\n"):  # else a process was killed while it wrote
                    yield raw


def _flaw(raw: bytes, before: _Head) -> str:
    """Return what is wrong with a line behind another one, or ""."""
    try:
        line = msgspec.json.decode(raw, type=Line)
    except msgspec.DecodeError as error:
        return f"does not parse: {error}"
    if line.n != before.n + 1:
        return f"has the number {line.n}"
    return "" if line.prev == before.sha256 else "does not follow the line before it, which was changed"


# Lines of the audit log about what the job does, and those that a killed run could not write any more.

# how the reason of an item of the trash begins that a run threw away
BY_RUN = "retention: "


def of_item(action: Action, item: TrashItem, run: str) -> Entry:
    """Return the line about an item of the trash."""
    rule = item.reason.removeprefix(BY_RUN) if item.reason.startswith(BY_RUN) else ""
    files = [file for file in item.files if file.kind != "folder"]
    hashes = [file.sha256 for file in files if file.kind == "file"]
    return Entry(
        action=action,
        run=run,
        session=item.session,
        dialect=item.dialect,
        rule=rule,
        files=len(files),
        size=sum(file.size for file in files),
        sha256=hashes[0] if len(hashes) == 1 else sha256("".join(hashes).encode()).hexdigest(),
        item=item.id,
    )


def of_shelved(one: "Shelved", run: str, rule: str = "") -> Entry:
    """Return the line about a session that was archived."""
    files = [file for file in one.session.files if file.kind != "folder"]
    return Entry(
        action="archive",
        run=run,
        session=one.session.id,
        dialect=one.session.dialect,
        rule=rule,
        files=len(files),
        size=one.session.size,
        item=one.pack.name,
    )


class Told:
    """What the log tells already."""

    def __init__(self, log: AuditLog) -> None:
        """Read it."""
        self._log = log
        # the run that wrote each line, by what the line is about
        self._runs: dict[tuple[Action, str, str], str] = {}
        # when a session was brought back last, in seconds since 1970
        self.restored: dict[str, float] = {}
        for line in log.lines():
            self._note(line)
            if line.action == "restore":
                self.restored[line.session] = datetime.fromisoformat(line.at).timestamp()

    def _note(self, one: Entry) -> None:
        self._runs[one.action, one.item, one.session] = one.run

    @property
    def sessions(self) -> set[str]:
        """The ids of all sessions that some line is about."""
        return {session for _, _, session in self._runs}

    def run_of(self, action: Action, item: str, session: str) -> str | None:
        """Return the run that wrote the line about this, None where there is no such line."""
        return self._runs.get((action, item, session))

    def complete(self, archived: "Iterable[Shelved]", thrown: Iterable[TrashItem], run: str, at: datetime) -> None:
        """Write the lines about what is in the archive and the trash that the log does not tell of.

        Raises OSError: the log cannot be written.
        """
        packed = [one for one in archived if ("archive", one.pack.name, one.session.id) not in self._runs]
        items = [item for item in thrown if ("trash", item.id, item.session) not in self._runs]
        missing = [*(of_shelved(one, run) for one in packed), *(of_item("trash", item, run) for item in items)]
        self._log.append(missing, at)
        for one in missing:
            self._note(one)
