"""All packs of a user: what was archived, finding it, putting it back, taking it out, and reading it all again.

A pack that is damaged is named as a problem and never stops the others. Packs are never changed in place: one that
loses a session is written anew beside the old one, read back, and takes its place in one step.
"""

import os
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import SlowwaveError, UnreadableError
from slowwave.files import TEMP_PREFIX, at_fault_point, fsync_folder, open_file
from slowwave.formats.append import locked_file
from slowwave.processes import is_running
from slowwave.stores.archive.model import SUFFIX, PackedFile, PackedSession, Table, may_name
from slowwave.stores.archive.reading import Pack
from slowwave.stores.archive.restoring import put_back
from slowwave.stores.archive.rewriting import rewrite
from slowwave.stores.archive.rows import rows_of
from slowwave.stores.archive.tables import table_bytes, table_of
from slowwave.stores.model import StoreProblem
from slowwave.stores.rows import SessionRow

_LOCK = ".lock"
# Tables by pack, as long as it is the same file: packs never change in place, and one process asks many times.
_tables: dict[Path, tuple[tuple[int, int, int], Table]] = {}
# Packs that were passed over unread when one thing was looked for: who asks twice asks often, and reads them.
_passed_over: dict[Path, tuple[int, int, int]] = {}


class Shelved(NamedTuple):
    """An archived session and the pack that it lies in."""

    pack: Path
    session: PackedSession


class Shelf:
    """The packs in one folder; it need not exist.

    Args:
        folder: the folder.

    Attributes:
        problems: packs that could not be read when they were looked at last, and why.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[StoreProblem] = []

    def packs(self) -> list[Path]:
        """Return the paths of all packs, the oldest names first."""
        try:
            names = os.listdir(self.folder)  # noqa: PTH208 - names only
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UnreadableError(self.folder, error.strerror or "cannot be listed") from error
        return [self.folder / name for name in sorted(names) if name.endswith(SUFFIX) and name[0] != "."]

    def sessions(self, about: str = "") -> Iterator[Shelved]:
        """Yield every archived session, pack by pack; one that was archived twice comes twice.

        Args:
            about: packs in which this text, for example an id, surely does not stand may be left out.

        Raises:
            UnreadableError: the folder cannot be listed.
        """
        self.problems = []
        packs = self.packs()
        for gone in {path for path in _tables if path.parent == self.folder} - set(packs):
            del _tables[gone]
        for path in packs:
            table = self._table(path, about)
            yield from (Shelved(path, session) for session in (table.sessions if table else ()))

    def latest(self) -> list[Shelved]:
        """Return every archived session once, as it was when it was archived last."""
        newest: dict[tuple[str, str, str], Shelved] = {}
        for one in self.sessions():
            key = (one.session.dialect, one.session.id, one.session.files[-1].path if one.session.files else "")
            if key not in newest or newest[key].session.at <= one.session.at:
                newest[key] = one
        return list(newest.values())

    def rows(self) -> Iterator[tuple[Shelved, SessionRow]]:
        """Yield a row for every archived session and for every sub-agent that went with one, of each place the last."""
        every = sorted(self.latest(), key=lambda one: one.session.at)
        newest = {(row.path, row.id): (one, row) for one in every for row in rows_of(*one)}
        yield from newest.values()

    def find(self, name: str) -> list[Shelved]:
        """Return the sessions with this id, or in which a sub-agent has it, those that were archived last first.

        Only tables in which the id stands are decoded.
        """
        found = [one for one in self.sessions(name) if name in ids_of(one.session)]
        return sorted(found, key=lambda one: one.session.at, reverse=True)

    def open(self, path: Path) -> Pack:
        """Return a pack, open; its table is read once for all calls.

        Raises:
            CorruptStateError: it is damaged.
            UnreadableError: it cannot be opened.
        """
        return Pack(path, table=self._table(path))

    def holds(self, session: PackedSession) -> bool:
        """Say whether some pack has a session of this id with at least these files, byte for byte, at these places."""
        wanted = {_content(file) for file in session.files}
        return any(
            wanted <= {_content(file) for file in one.session.files}
            for one in self.sessions(session.id)
            if one.session.id == session.id and one.session.dialect == session.dialect
        )

    def restore(self, one: tuple[Path, PackedSession]) -> list[str]:
        """Put everything of a session back where it was, with its modes and times, and return what is worth a word.

        The pack keeps its copy. Calling it again after a kill goes on.

        Raises:
            RefusedError: something else lies at one of the places; nothing was written.
            CorruptStateError: the pack is damaged; nothing was written.
            OSError: something cannot be written.
        """
        from slowwave.stores.client_index import put_back as put_notes_back  # noqa: PLC0415 - only restoring needs it

        with self._alone(), Pack(one[0]) as pack:
            return put_back(pack, one[1]) + put_notes_back(one[1].notes)

    def without(self, ids: Collection[str]) -> None:
        """Take sessions out of all packs for good, with what was archived of their sub-agents.

        A sub-agent that is named itself goes alone. Each pack changes in one step; calling it again after a kill goes
        on. What a killed process left beside the packs goes, too.

        Raises:
            CorruptStateError: a pack that would have to change is damaged, or was not read back as it was written;
                those before it have changed.
            OSError: a pack cannot be written.
        """
        if not self.folder.is_dir():
            return
        with self._alone():
            for path in self.packs():
                rewrite(path, lambda session: _without(session, ids))

    def check(self) -> list[StoreProblem]:
        """Read every file of every pack back and return what is wrong, by pack."""
        found: list[StoreProblem] = []
        for path in self.packs():
            try:
                with Pack(path) as pack:
                    for session in pack.table.sessions:
                        try:
                            pack.check(session)
                        except UnreadableError as error:
                            found.append(StoreProblem("damaged", str(path), f"session {session.id}: {error.reason}"))
            except UnreadableError as error:
                found.append(StoreProblem("damaged", str(path), error.reason))
        return found

    def clear_away(self) -> None:
        """Remove what killed processes left beside the packs.

        Raises:
            OSError: it cannot be removed.
        """
        if self.folder.is_dir():
            with self._alone():
                pass

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Hold the shelf against others that change it, and clear away what killed ones left."""
        with locked_file(self.folder / _LOCK, create=True):
            for name in os.listdir(self.folder):  # noqa: PTH208 - names only
                pid = name.removeprefix(TEMP_PREFIX).partition("-")[0]
                if name.startswith(TEMP_PREFIX) and pid.isdigit() and not is_running(int(pid)):
                    at_fault_point("unlink", self.folder / name)
                    (self.folder / name).unlink(missing_ok=True)
            fsync_folder(self.folder)
            yield

    def _table(self, path: Path, about: str = "") -> Table | None:
        """Return the table of a pack; None where it cannot be read, or surely does not have ``about`` in it."""
        try:
            at = path.stat()
            stamp = (at.st_ino, at.st_size, at.st_mtime_ns)
            known = _tables.get(path)
            if known is None or known[0] != stamp:
                with os.fdopen(open_file(path), "rb", buffering=0) as file:
                    data = table_bytes(path, file.fileno())
                if _passed_over.get(path) != stamp and not may_name(data, about):
                    _passed_over[path] = stamp
                    return None
                known = _tables[path] = stamp, table_of(path, data)
        except (OSError, SlowwaveError) as error:
            reason = error.reason if isinstance(error, UnreadableError) else str(error)
            self.problems.append(StoreProblem("damaged", str(path), reason))
            return None
        return known[1]


def ids_of(session: PackedSession) -> set[str]:
    """Return the ids of a session and of the sub-agents that went with it."""
    return {session.id, *(str(row["id"]) for row in session.inside)}


def _content(file: PackedFile) -> tuple[str, str, int, str]:
    return file.path, file.kind, file.size, file.hash


def _without(session: PackedSession, ids: Collection[str]) -> PackedSession | None:
    """Return what stays of a session when some ids go; None when all of it goes."""
    from msgspec.structs import replace  # noqa: PLC0415 - only where something is taken out

    if session.id in ids:
        return None
    gone = {str(row["path"]) for row in session.inside if row["id"] in ids}
    if not gone:
        return session
    inside = tuple(row for row in session.inside if row["path"] not in gone)
    return replace(session, files=tuple(file for file in session.files if file.path not in gone), inside=inside)
