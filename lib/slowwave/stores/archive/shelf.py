"""All packs of a user: what was archived, finding it, putting it back, taking it out, and reading it all again.

A pack that is damaged is named as a problem and never stops the others. Packs are never changed in place: one that
loses a session is written anew beside the old one, read back, and takes its place in one step.
"""

import hashlib
import io
import os
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import msgspec

from slowwave.errors import CorruptStateError, RefusedError, SlowwaveError, UnreadableError
from slowwave.files import (
    TEMP_PREFIX,
    at_fault_point,
    fsync_folder,
    hash_of,
    move_file,
    open_file,
    private_folder,
    write_all,
)
from slowwave.formats.sessions import StoreProblem
from slowwave.locks import is_running, locked_file
from slowwave.stores.archive.pack import (
    SUFFIX,
    Pack,
    PackedFile,
    PackedSession,
    Table,
    digest,
    may_name,
    rewrite,
    table_bytes,
    table_of,
)
from slowwave.stores.summary import SessionRow, ShownRow

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

        ``about``: packs in which this text, for example an id, surely does not stand may be left out. Raises
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

        Raises CorruptStateError: it is damaged; UnreadableError: it cannot be opened.
        """
        return Pack(path, table=self._table(path))

    def restore(self, one: tuple[Path, PackedSession]) -> list[str]:
        """Put everything of a session back where it was, with its modes and times, and return what is worth a word.

        The pack keeps its copy. Calling it again after a kill goes on. Raises RefusedError: something else lies at one
        of the places; nothing was written; CorruptStateError: the pack is damaged; nothing was written; OSError:
        something cannot be written.
        """
        from slowwave.formats.notes import put_back as put_notes_back  # noqa: PLC0415 - only restoring needs it

        with self._alone(), Pack(one[0]) as pack:
            return put_back(pack, one[1]) + put_notes_back(one[1].notes)

    def without(self, ids: Collection[str]) -> None:
        """Take sessions out of all packs for good, with what was archived of their sub-agents.

        A sub-agent that is named itself goes alone. Each pack changes in one step; calling it again after a kill goes
        on. What a killed process left beside the packs goes, too. Raises CorruptStateError: a pack that would have to
        change is damaged, or was not read back as it was written; those before it have changed; OSError: a pack cannot
        be written.
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
        """Remove what killed processes left beside the packs. Raises OSError: it cannot be removed."""
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


# What a listing shows of archived sessions: their rows as they were, kept in the pack's table.

SOURCE = "archived"


def kept_row(row: SessionRow) -> dict[str, Any]:
    """Return a row in the form that :attr:`PackedSession.row` has."""
    return msgspec.to_builtins(ShownRow.of(row))


def with_rows(session: PackedSession, paths: Sequence[Path], rows: "RowsByPath") -> PackedSession:
    """Return a session with the rows of all sessions that go with its files.

    ``session``: what is to be packed. ``paths``: everything of it in the file system. ``rows``: a listing, before
    anything is moved.
    """
    own: dict[str, Any] = {}
    inside: list[dict[str, Any]] = []
    for row in rows.below(paths):
        if row.id == session.id and not own:
            own = kept_row(row)
        else:
            inside.append(kept_row(row))
    return msgspec.structs.replace(session, row=own, inside=tuple(inside))


class RowsByPath:
    """The rows of a listing, found by where their files lie."""

    def __init__(self, rows: Iterable[SessionRow]) -> None:
        """Sort them once."""
        self._rows = sorted((row for row in rows if not row.archive), key=lambda row: row.path)
        self._paths = [row.path for row in self._rows]

    def below(self, paths: Iterable[Path]) -> Iterator[SessionRow]:
        """Yield the rows whose first file is one of some paths, or lies below one."""
        for path in map(str, paths):
            for begin, whole in ((path, True), (f"{path}/", False)):
                at = bisect_left(self._paths, begin)
                while at < len(self._paths) and self._paths[at].startswith(begin):
                    if whole and self._paths[at] != path:
                        break
                    yield self._rows[at]
                    at += 1


def rows_of(pack: Path, session: PackedSession) -> list[SessionRow]:
    """Return the rows of an archived session and of the sub-agents that went with it, its own first."""
    kept = [session.row, *session.inside] if session.row else [_bare(session), *session.inside]
    rows = [SessionRow(*msgspec.structs.astuple(msgspec.convert(one, ShownRow))) for one in kept]
    for row in rows:
        row.source, row.archive = SOURCE, str(pack)
    return rows


def _bare(session: PackedSession) -> dict[str, Any]:
    """Return what is known of a session that was packed without a row."""
    files = [file for file in session.files if file.kind == "file"]
    # what a client needs most was packed last
    path = files[-1].path if files else ""
    last = datetime.fromtimestamp(session.last, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return kept_row(
        SessionRow(
            session.dialect, session.id, path, 1, session.project, "", "", 0, 0, 0, session.size, None, last, "main", 0,
            session.root,
        )
    )  # fmt: skip


# Putting an archived session back in its place: every file with name, bytes, mode and time, and nothing replaced.


def put_back(pack: Pack, session: PackedSession) -> list[str]:
    """Write all files of a session, those last that its client needs most, and return what was there already.

    Raises RefusedError: something else lies at one of the places; nothing was written; CorruptStateError: the pack is
    damaged; nothing was written; OSError: something cannot be written; calling it again goes on.
    """
    pack.check(session)
    there = {file.path for file in session.files if _is_there(file)}
    for file in session.files:
        path = Path(file.path)
        if file.kind == "folder":
            # it takes its own mode when everything is in it
            _make_folder(path)
        elif file.path not in there:
            _make_folder(path.parent)
            _put(pack, file, path)
        else:
            _temporary(path).unlink(missing_ok=True)  # of a run that was killed when the file had its name
    for file in reversed(session.files):
        if file.kind == "folder":
            Path(file.path).chmod(file.mode)
            os.utime(file.path, ns=(file.mtime_ns, file.mtime_ns))
            fsync_folder(Path(file.path).parent)
    return [f"{file.path}: is there already, as it was" for file in session.files if file.path in there]


def _make_folder(path: Path) -> None:
    if not path.is_dir():
        at_fault_point("mkdir", path)
        private_folder(path)


def _put(pack: Pack, file: PackedFile, path: Path) -> None:
    """Write one file beside its place under a name that no client takes for a transcript, then give it its own."""
    temp = _temporary(path)
    at_fault_point("write", temp)
    temp.unlink(missing_ok=True)
    try:
        if file.kind == "link":
            temp.symlink_to(file.hash)
            os.utime(temp, ns=(file.mtime_ns, file.mtime_ns), follow_symlinks=False)
        else:
            _write(pack, file, temp)
        move_file(temp, path)
    except FileExistsError as error:
        temp.unlink(missing_ok=True)
        raise RefusedError(f"{path}: somebody wrote there meanwhile; move it away, then restore again") from error
    except OSError:
        temp.unlink(missing_ok=True)
        raise


def _temporary(path: Path) -> Path:
    # the same name on every try, so that a second one also clears away what a killed first one left
    return path.with_name(f"{TEMP_PREFIX}back-{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}")


def _write(pack: Pack, file: PackedFile, temp: Path) -> None:
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        found = digest()
        for block in pack.blocks(file):
            found.update(block)
            write_all(fd, block)
        if found.hexdigest() != file.hash:
            raise CorruptStateError(pack.path, f"{file.path} is not what was packed", "put the pack back from a copy")
        os.fchmod(fd, file.mode)
        os.utime(fd, ns=(file.mtime_ns, file.mtime_ns))
        at_fault_point("fsync", temp)
        os.fsync(fd)
    finally:
        os.close(fd)


def _is_there(file: PackedFile) -> bool:
    """Say whether a file lies in its place as it was archived: restored by hand, or by a run that was killed."""
    path = Path(file.path)
    if file.kind == "folder":
        if os.path.lexists(path) and (path.is_symlink() or not path.is_dir()):
            raise RefusedError(f"{path}: is not a folder any more; move it away, then restore again")
        return False
    if not os.path.lexists(path):
        return False
    if file.kind == "link":
        same = path.is_symlink() and os.fspath(path.readlink()) == file.hash
    else:
        same = path.is_file() and not path.is_symlink() and path.stat().st_size == file.size
        same = same and hash_of(path, digest) == file.hash
    if not same:
        raise RefusedError(
            f"{path}: something else is there now; move it away, then restore again, or restore it beside (--as NEW-ID)"
        )
    return True


# Files in packs by a path of their own: that of the pack, and behind it the one that they had in their place.
#
# So evidence names what lies in an archive as it names any other file: ``archive/2026.swpack/home/ann/.claude/...``.

_MARK = f"{SUFFIX}/"


def is_inside(path: Path) -> bool:
    """Say whether a path names a file in a pack."""
    return _MARK in os.fspath(path)


def place_of(pack: Path, file: PackedFile) -> Path:
    """Return the path of a file in a pack."""
    return Path(f"{pack}{file.path}")


def pack_of(place: Path) -> Path:
    """Return the pack that a file lies in."""
    return Path(os.fspath(place).partition(_MARK)[0] + SUFFIX)


def original_of(place: Path) -> Path:
    """Return where a file in a pack lay."""
    return Path("/" + os.fspath(place).partition(_MARK)[2])


class PackedPlaces:
    """The files in the packs of some folders; a pack that is damaged holds none.

    ``folders``: where packs lie; folders without any are passed over, and so are databases in their place.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._shelves = [Shelf(folder) for folder in dict.fromkeys(folders) if not folder.is_file()]
        self._by_name: dict[str, list[Path]] | None = None
        self._files: dict[Path, tuple[Shelf, Path, PackedFile]] = {}

    def __contains__(self, place: object) -> bool:
        """Say whether a path names one of them."""
        self._load()
        return place in self._files

    def named(self, path: Path) -> list[Path]:
        """Return the files that have the name of a path, those first that had all of it; newest archive first."""
        found = self._load().get(path.name, [])
        return sorted(found, key=lambda place: original_of(place) != path)

    def every(self) -> Iterator[Path]:
        """Yield all of them."""
        self._load()
        yield from self._files

    def open(self, place: Path) -> BinaryIO:
        """Open one for reading; only the frames that are read are decompressed.

        Raises UnreadableError: there is no such file, or its pack is damaged.
        """
        self._load()
        if place not in self._files:
            raise UnreadableError(place, "is not a file in a pack")
        shelf, pack, file = self._files[place]
        return cast("BinaryIO", io.BufferedReader(_Stream(shelf.open(pack), file), _Stream.AHEAD))

    def _load(self) -> dict[str, list[Path]]:
        if self._by_name is None:
            self._by_name = {}
            for shelf in self._shelves:
                for one in sorted(shelf.sessions(), key=lambda one: one.session.at, reverse=True):
                    for file in one.session.files:
                        if file.kind == "file":
                            place = place_of(one.pack, file)
                            self._files[place] = shelf, one.pack, file
                            self._by_name.setdefault(place.name, []).append(place)
        return self._by_name


class _Stream(io.RawIOBase):
    """The plain bytes of one file in a pack; the frame that was read last is kept."""

    AHEAD = 1 << 16

    def __init__(self, pack: Pack, file: PackedFile) -> None:
        self._pack = pack
        self._file = file
        # where each frame ends in the plain bytes, and begins in the pack
        self._ends = list(accumulate(plain for _, plain in file.chunks))
        self._at = 0
        self._frame: tuple[int, bytes] = (-1, b"")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._file.size}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: "memoryview[int]") -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self._at >= self._file.size:
            return 0
        number = bisect_right(self._ends, self._at)
        begin = self._ends[number - 1] if number else 0
        if self._frame[0] != number:
            self._frame = number, next(self._pack.blocks(self._file, begin))
        data = self._frame[1][self._at - begin :][: len(buffer)]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._pack.close()
        super().close()


# What was archived since its client was about to delete it: packs of their own, and the room that these take.
_NAME = "rescue"


def pack_name(run_id: str) -> str:
    """Return what packs of a run are called, up to their number."""
    return f"{run_id}-{_NAME}"


def rescue_packs(archive: Path) -> list[Path]:
    """Return these packs. Raises UnreadableError: the archive cannot be listed."""
    names = ((path, path.name.removesuffix(SUFFIX).rpartition("-")[0]) for path in Shelf(archive).packs())
    return [path for path, name in names if name.endswith(f"-{_NAME}")]


def rescued_bytes(archive: Path) -> int:
    """Return the bytes that they take.

    Raises UnreadableError: the archive cannot be listed; OSError: a pack cannot be looked at.
    """
    return sum(path.stat().st_size for path in rescue_packs(archive))
