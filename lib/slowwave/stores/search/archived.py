"""The archived sessions that the index holds: what it read of them in their place stays, and else the pack is read."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

import msgspec
from msgspec.structs import replace

from slowwave.errors import UnreadableError
from slowwave.places import archive_folder
from slowwave.stores.archive.opened import laid_out
from slowwave.stores.archive.shelf import Shelf, Shelved
from slowwave.stores.rows import SessionRow
from slowwave.stores.search.sources import key_of, stamp

# device and inode in a stamp: a file in a pack has neither
_PLACE = slice(8, 10)


class ArchivedSources:
    """The archive of one user, as the index reads it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Read the tables of all packs."""
        self._environ = environ
        self._shelf = Shelf(archive_folder(environ))
        self._known: dict[bytes, tuple[Shelved, SessionRow]] = {
            key_of(row): (one, row) for one, row in self._shelf.rows()
        }

    def __contains__(self, key: object) -> bool:
        """Say whether a session is archived, by its key in the index."""
        return key in self._known

    def stamp_of(self, row: SessionRow) -> bytes:
        """Return the stamp of a session in the archive.

        Raises:
            UnreadableError: it is there no longer.
        """
        one, _ = self._found(row)
        first = next((file for file in one.session.files if file.path == row.path), None)
        return stamp(row, (first.size, first.mtime_ns, 0, 0) if first else (0, 0, 0, 0))

    def is_same(self, known: bytes | None, now: bytes) -> bool:
        """Say whether what was indexed is what is archived: all but the place of its file is the same."""
        return known is not None and _placeless(known) == _placeless(now)

    @contextmanager
    def in_place(self, row: SessionRow) -> Generator[SessionRow]:
        """Yield the row as if the session lay in its place, where it can be read as long as the block runs.

        Raises:
            UnreadableError: its pack is damaged, or it is there no longer.
        """
        one, own = self._found(row)
        with laid_out(one, own, self._environ, shelf=self._shelf) as (found, _):
            yield replace(row, path=found.path, archive="")

    def _found(self, row: SessionRow) -> tuple[Shelved, SessionRow]:
        found = self._known.get(key_of(row))
        if found is None:
            raise UnreadableError(row.path, "is archived no longer")
        return found


def _placeless(stamp_: bytes) -> list[object]:
    fields = msgspec.msgpack.decode(stamp_, type=list[object])
    fields[_PLACE] = []
    return fields
