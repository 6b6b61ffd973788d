"""What a listing shows of archived sessions: their rows as they were, kept in the pack's table."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from slowwave.stores.archive.model import PackedSession
from slowwave.stores.rows import SessionRow, ShownRow

SOURCE = "archived"


def kept_row(row: SessionRow) -> dict[str, Any]:
    """Return a row in the form that :attr:`PackedSession.row` has."""
    return msgspec.to_builtins(ShownRow.of(row))


def with_rows(session: PackedSession, paths: Sequence[Path], rows: "RowsByPath") -> PackedSession:
    """Return a session with the rows of all sessions that go with its files.

    Args:
        session: what is to be packed.
        paths: everything of it in the file system.
        rows: a listing, before anything is moved.
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
    return [_row(one, pack) for one in kept]


def _row(kept: dict[str, Any], pack: Path) -> SessionRow:
    row = msgspec.convert(kept, ShownRow)
    whole = SessionRow(*msgspec.structs.astuple(row))
    whole.source, whole.archive = SOURCE, str(pack)
    return whole


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
