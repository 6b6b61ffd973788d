"""What slowwave did to each session, beside the transcripts: appended compactions, failures in a row, what was undone.

One file a session under ``$XDG_STATE_HOME/slowwave/compactions/``. The compactions themselves stand in the transcripts;
without this file they stay, and can be explained and undone no longer.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple
from uuid import UUID

import msgspec

from slowwave.errors import UnreadableError
from slowwave.files import state_folder
from slowwave.formats.lines import open_plain, open_regular
from slowwave.journal import Form, Journal, name_for


class Dropped(NamedTuple):
    """A range of bytes in one part of a session; ``sha256`` is "" where only the place was noted."""

    part: int
    offset: int
    length: int
    sha256: str = ""


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """One compaction that slowwave appended.

    Attributes:
        id: names it on the command line.
        run: the run that did it.
        path: the file that grew, or was made.
        before: its size before; None when it was made.
        after: its size after.
        sha256: of the bytes between.
        mtime_ns: the time of the file before.
        message: what the client calls the summary, "" where it has no name.
        trigger: why it was done.
        tokens_before: the context before.
        tokens_after: an estimate of the context after.
        kept: how many messages stay as they are.
        summarised: how many messages the summary stands for.
        keep_from: the first message that stays, None where none does.
        dropped: the bytes that the summary stands for, with their digests.
        source: ``ledger``, or ``model`` where a model told the summary's narrative, ``person`` where
            somebody wrote it; ``prune`` where only outputs of
            tools were cleared, whose bytes ``dropped`` names.
        proof: the share of the probes that the summary answers, by kind, and what it does not, with where that stands.
        notes: what else there is to say about the summary.
    """

    id: str = ""
    run: str
    path: str = ""
    before: int | None = None
    after: int = 0
    sha256: str = ""
    mtime_ns: int = 0
    message: str = ""
    trigger: str
    tokens_before: int
    tokens_after: int
    kept: int
    summarised: int
    keep_from: str | None
    dropped: list[Dropped]
    source: str = "ledger"
    proof: dict[str, Any] = {}
    notes: list[str] = []


class Expected(msgspec.Struct, frozen=True):
    """What a client goes on from after a compaction.

    Attributes:
        summary: the text that it sends first.
        stays: digest of what it sends behind that.
        messages: how many messages these are.
        guess: the size before, which has to become less.
        planned: the size that was planned.
        is_whole: there is no new summary, these are all messages.
    """

    summary: str
    stays: str
    messages: int
    guess: int
    planned: int
    is_whole: bool = False


class Pending(msgspec.Struct, frozen=True):
    """A compaction that was about to be appended: after a kill nobody else could tell whose the bytes are.

    Attributes:
        done: what is noted once it is there.
        expected: what is looked at before.
    """

    done: Appended
    expected: Expected


class Breaker(NamedTuple):
    """How compactions of one session went; never changed, every outcome gives a new one.

    Attributes:
        compactions: how many succeeded.
        failures: how many failed since the last that succeeded.
        is_open: too many failed in a row; it stays open, since trying again at every turn costs a model call each.
    """

    compactions: int = 0
    failures: int = 0
    is_open: bool = False

    def succeeded(self) -> "Breaker":
        """Return the breaker after a compaction."""
        return self._replace(compactions=self.compactions + 1, failures=0)

    def failed(self) -> "Breaker":
        """Return the breaker after a failure."""
        failures = self.failures + 1
        return self._replace(failures=failures, is_open=self.is_open or failures >= MOST_FAILURES)


class Book(msgspec.Struct):
    """What is known of one session.

    Attributes:
        session: its id.
        dialect: its dialect.
        path: its first file, links resolved.
        compactions: those that stand, oldest first.
        failures: failures in a row.
        is_stopped: too many of them; it stays so until the content changes or a person compacts by hand.
        error: the last failure.
        failed_at: the content at the last failure.
        undone_at: the content that a person went back to; it is not compacted again by itself.
        flushed_at: the content whose memories were saved.
        pending: the compaction that is being appended, noted before the transcript is touched.
        is_undoing: the last compaction is being taken back.
    """

    session: str
    dialect: str
    path: str
    compactions: list[Appended] = []
    failures: int = 0
    is_stopped: bool = False
    error: str = ""
    failed_at: str = ""
    undone_at: str = ""
    flushed_at: str = ""
    pending: Pending | None = None
    is_undoing: bool = False

    def breaker(self, stamp: str) -> Breaker:
        """Return the breaker as it stands for a content: failures of another content do not count."""
        if self.failed_at != stamp:
            return Breaker(len(self.compactions))
        return Breaker(len(self.compactions), self.failures, self.is_stopped)

    def fail(self, error: str, stamp: str) -> None:
        """Note a failure."""
        after = self.breaker(stamp).failed()
        self.failures, self.is_stopped, self.failed_at, self.error = after.failures, after.is_open, stamp, error

    def succeed(self, done: Appended) -> None:
        """Note a compaction that stands."""
        self.compactions = [*self.compactions, done]
        self.failures, self.is_stopped, self.failed_at, self.error, self.undone_at = 0, False, "", "", ""
        self.pending = None


_FORM = Form(Book, "is not a record of compactions", "move it away to start afresh")


def folder_of(environ: Mapping[str, str]) -> Path:
    """Return where the books are."""
    return state_folder(environ) / "compactions"


def read_book(folder: Path, session: str, dialect: str, path: Path) -> Book:
    """Return what is known of a session; nothing where nothing was done.

    Raises:
        CorruptStateError: its file is damaged: that never counts as nothing done.
    """
    return _journal(folder).find(_name(path)) or Book(session, dialect, os.path.realpath(path))


def write_book(folder: Path, book: Book) -> None:
    """Write what is known of a session.

    Raises:
        OSError: the folder cannot be written.
    """
    _journal(folder).intend(_name(Path(book.path)), book)


def all_books(folder: Path) -> list[Book]:
    """Return every book.

    Raises:
        CorruptStateError: one is damaged.
    """
    return [book for _, book in _journal(folder).left()]


def file_of(folder: Path, path: Path) -> Path:
    """Return where the book of a session lies, whose first file is given."""
    return _journal(folder).place(_name(path))


def _journal(folder: Path) -> Journal[Book]:
    return Journal(folder, _FORM)


def _name(path: Path) -> str:
    return name_for(os.fsencode(os.path.realpath(path)))


# The bytes that a compaction stands for, with what proves later that they still are what was summarised.

_BLOCK_BYTES = 1 << 20
# Its bytes are what was summarised; they are not, or are gone; nobody noted what they were.
Condition = Literal["intact", "changed", "unknown"]


def digested(paths: Sequence[Path], ranges: Iterable[tuple[int, int, int]]) -> list[Dropped]:
    """Return ranges (part, offset and length), in order, with the digests of what stands there now.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    found: list[Dropped] = []
    for part, places in groupby(sorted(ranges), key=lambda place: place[0]):
        with open_plain(paths[part]) as file:
            found += [Dropped(*place, _digest(file, *place[1:])) for place in places]
    return found


def around(ranges: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return one range a part, from the first to the last byte: few enough to travel with the transcript."""
    stops: dict[int, tuple[int, int]] = {}
    for part, offset, length in ranges:
        start, stop = stops.get(part, (offset, 0))
        stops[part] = min(start, offset), max(stop, offset + length)
    return [(part, start, stop - start) for part, (start, stop) in sorted(stops.items())]


def conditions(paths: Sequence[Path], ranges: Sequence[Dropped]) -> list[Condition]:
    """Say of each range whether what was summarised can be read back there."""
    files: dict[int, BinaryIO | None] = {}
    try:
        return [_condition(_opened(paths, one.part, files), one) for one in ranges]
    finally:
        for file in files.values():
            if file is not None:
                file.close()


def _condition(file: BinaryIO | None, one: Dropped) -> Condition:
    if not one.sha256:
        return "unknown"
    return "intact" if file is not None and _digest(file, one.offset, one.length) == one.sha256 else "changed"


def _opened(paths: Sequence[Path], part: int, files: dict[int, BinaryIO | None]) -> BinaryIO | None:
    if part not in files:
        try:
            files[part] = open_plain(paths[part])
        except (IndexError, UnreadableError):
            files[part] = None
    return files[part]


def _digest(file: BinaryIO, offset: int, length: int) -> str:
    file.seek(offset)
    digest = hashlib.sha256()
    while length and (block := file.read(min(length, _BLOCK_BYTES))):
        digest.update(block)
        length -= len(block)
    return digest.hexdigest()


# The breaker that stops compacting a session after failures in a row (Cersei: ``AutoCompactState``).

MOST_FAILURES = 3


# Ids and times of what is appended, derived from the session itself: the same input leaves the same bytes.
_TAIL_BYTES = 4096


def content_stamp(paths: Sequence[Path]) -> str:
    """Return what changes whenever something is appended to one of these files, or its end is rewritten.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    digest = hashlib.sha256()
    for path in paths:
        with open_regular(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            digest.update(b"%d\0%b\0" % (size, file.read()))
    return digest.hexdigest()[:32]


def ids_of(session: str, stamp: str) -> Callable[[], str]:
    """Return a maker of UUIDs that gives the same ones for the same content of the same session."""
    number = 0

    def make() -> str:
        nonlocal number
        number += 1
        return str(
            UUID(
                bytes=hashlib.sha256(f"{session}\0{stamp}\0{number}".encode(errors="replace")).digest()[:16], version=4
            )
        )

    return make


def time_of(at: datetime | None, paths: Sequence[Path]) -> datetime:
    """Return the time of a compaction: that of the last message, else of the last change.

    A session that was compacted must not look as if somebody had worked in it.
    """
    return at or datetime.fromtimestamp(max(path.stat().st_mtime for path in paths), UTC)
