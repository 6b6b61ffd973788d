"""The rows of one place as the catalogue keeps them: in three pieces, of which an unchanged place needs only two.

The head says what the folders looked like and what holds for all rows, the rows are what is shown, and the details are
what it takes to see a change of a single session.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

import msgspec

from slowwave.stores.kinds.base import Place
from slowwave.stores.model import StoreProblem
from slowwave.stores.projects import newest_folder
from slowwave.stores.rows import SessionRow, StoredRow
from slowwave.stores.scan import Mark
from slowwave.stores.snapshot import Snapshot
from slowwave.stores.walk import Signature


class Packed(NamedTuple):
    """The pieces of a page, encoded."""

    head: bytes
    rows: bytes
    details: bytes


class DamagedPageError(ValueError):
    """The pieces of a page do not belong together, or are none."""


class _Head(msgspec.Struct, array_like=True):
    """What holds for a place: its folders, how many of its rows are sessions, and its newest working folder."""

    folders: dict[str, Snapshot]
    sessions: int
    newest: tuple[str, int]
    check: int  # of the details, which are decoded only when something has changed


class _Detail(NamedTuple):
    """A stored row without what is shown of it."""

    size: int
    mtime_ns: int
    dev: int
    ino: int
    parts: list[Signature] | None
    problem: str
    hints: bytes
    in_database: bool
    told: str


_encode = msgspec.msgpack.encode
_heads = msgspec.msgpack.Decoder(_Head)
_rows = msgspec.msgpack.Decoder(list[SessionRow])
_details = msgspec.msgpack.Decoder(list[_Detail])


class KnownPage:
    """A page as it was saved.

    Args:
        packed: its pieces.

    Attributes:
        folders: what the folders of the place looked like.
        newest: the newest working folder of its sessions, and when its session changed.

    Raises:
        DamagedPageError: it cannot be read.
    """

    def __init__(self, packed: Packed) -> None:
        try:
            head = _heads.decode(packed.head)
            self._rows = _rows.decode(packed.rows)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise DamagedPageError(str(error)) from error
        if crc32(packed.details) != head.check:
            raise DamagedPageError("its details are others")
        self.folders = head.folders
        self.newest = head.newest
        self._sessions = head.sessions
        self._details = packed.details
        self._stored: list[StoredRow] | None = None

    @property
    def shown(self) -> list[SessionRow]:
        """What is shown of the sessions."""
        return self._rows[: self._sessions]

    @property
    def stored(self) -> list[StoredRow]:
        """Its rows."""
        if self._stored is None:
            pairs = zip(self._rows, _details.decode(self._details), strict=True)
            self._stored = [StoredRow(row, *detail) for row, detail in pairs]
        return self._stored

    @property
    def odd(self) -> list[StoredRow]:
        """The rows of what looks like sessions and is none."""
        return self.stored[self._sessions :] if self._sessions < len(self._rows) else []


def packed_page(rows: Iterable[StoredRow], folders: Mapping[str, Snapshot]) -> Packed:
    """Return the pieces of a page of some rows."""
    # newest first, as they are shown: the pages of a listing are then merged rather than sorted
    rows = sorted(rows, key=lambda stored: (not stored.problem, stored.row.last_activity), reverse=True)
    sessions = [stored for stored in rows if not stored.problem]
    details = _encode(
        [_Detail(s.size, s.mtime_ns, s.dev, s.ino, s.parts, s.problem, s.hints, s.in_database, s.told) for s in rows]
    )
    head = _Head(dict(folders), len(sessions), _newest(sessions), crc32(details))
    return Packed(_encode(head), _encode([stored.row for stored in rows]), details)


def _newest(sessions: Iterable[StoredRow]) -> tuple[str, int]:
    return newest_folder((stored.row.cwd, stored.mtime_ns) for stored in sessions)


class Page:
    """All rows of one place, and what changed since they were saved.

    Attributes:
        place: the place.
        shown: what is shown of the sessions.
        odd: what looks like a session and is none, and why.
        newest: the newest working folder of the sessions, and when its session changed.
        folders: what its folders look like, as far as that tells that nothing has changed in them.
        marks: from where to go on reading those that were read.
        gone: keys of sessions that are no longer there.
        is_changed: it has to be saved.
    """

    def __init__(self, place: Place, rows: Sequence[StoredRow] | KnownPage) -> None:
        """Begin with all of a known page, or with rows."""
        self.place = place
        self.folders: Mapping[str, Snapshot] = {}
        self.marks: dict[str, Mark] = {}
        self.gone: list[str] = []
        self.is_changed = False
        self._rows = rows
        if isinstance(rows, KnownPage):
            self.shown, odd, self.newest = rows.shown, rows.odd, rows.newest
        else:
            sessions = [stored for stored in rows if not stored.problem]
            odd = [stored for stored in rows if stored.problem]
            self.shown, self.newest = [stored.row for stored in sessions], _newest(sessions)
        self.odd: list[StoreProblem] = [stored.as_problem() for stored in odd]

    @property
    def rows(self) -> Sequence[StoredRow]:
        """All rows; those of an unchanged place are decoded when they are asked for."""
        return self._rows.stored if isinstance(self._rows, KnownPage) else self._rows
