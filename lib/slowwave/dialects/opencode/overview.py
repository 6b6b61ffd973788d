"""Which sessions an opencode database or storage tree holds, without reading what was said in them."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from slowwave.dialects.claude.records import whole
from slowwave.dialects.opencode.export import file_bytes
from slowwave.dialects.opencode.records import object_in, session_of
from slowwave.errors import UnreadableError
from slowwave.records.database import opened_read_only, text_of

if TYPE_CHECKING:
    import sqlite3


class Overview(msgspec.Struct, frozen=True):
    """What is known of a session beside its messages.

    Attributes:
        id: the session's id.
        directory: the working folder.
        is_child: another session started it.
        is_fork: its title says that it is a copy (``... (fork #2)``); nothing else does.
        is_archived: a person put it away.
        updated: when the client changed it last, in milliseconds; 0 when it does not say.
        rows: how many messages and parts it has, in a database.
    """

    id: str
    directory: str = ""
    is_child: bool = False
    is_fork: bool = False
    is_archived: bool = False
    updated: int = 0
    rows: int = 0


def overview_of(fields: dict[str, Any], rows: int = 0) -> Overview:
    """Return the overview of a session from its row (``time_updated``) or its JSON (``time``)."""
    session = session_of(fields)
    times = object_in(fields, "time")
    updated = fields.get("time_updated") or times.get("updated") or fields.get("time_created") or times.get("created")
    return Overview(
        session.id,
        session.directory,
        bool(session.parent),
        session.is_fork,
        bool(fields.get("time_archived") or times.get("archived")),
        updated if isinstance(updated, int) else 0,
        rows,
    )


def overview_in_file(path: Path) -> Overview:
    """Return the overview of a session of a storage tree; one without an id when the file tells nothing.

    Raises:
        UnreadableError: the file cannot be read.
    """
    return overview_of(whole(file_bytes(path).strip()))


class Rows:
    """An open database."""

    def __init__(self, rows: "sqlite3.Connection") -> None:
        self._rows = rows

    def sessions(self) -> list[Overview]:
        """Return the overview of every session; only indexes of messages and parts are looked into."""
        numbers: dict[str, int] = {}
        for table in ("message", "part"):
            for session, number in self._rows.execute(f"SELECT session_id, count(*) FROM {table} GROUP BY session_id"):  # noqa: S608 - two names of our own
                numbers[text_of(session)] = numbers.get(text_of(session), 0) + number
        cursor = self._rows.execute("SELECT * FROM session ORDER BY id")
        columns = [column[0] for column in cursor.description]
        found = (dict(zip(columns, map(_value, row), strict=True)) for row in cursor)
        return [overview_of(fields, numbers.get(str(fields.get("id")), 0)) for fields in found]

    def ids(self) -> set[str]:
        """Return the ids of all sessions."""
        return {text_of(identity) for (identity,) in self._rows.execute("SELECT id FROM session")}

    def size(self, session: str) -> int:
        """Return how many bytes the messages and parts of a session have."""
        query = "SELECT coalesce(sum(length(CAST(data AS BLOB))), 0) FROM {} WHERE session_id = ?"
        return sum(self._rows.execute(query.format(table), (session,)).fetchone()[0] for table in ("message", "part"))


@contextmanager
def opened_rows(path: Path) -> Generator[Rows]:
    """Open a database of opencode, read-only.

    Raises:
        UnreadableError: it cannot be opened, is damaged, or its client wrote to it meanwhile.
    """
    import sqlite3  # noqa: PLC0415 - few stores have a database

    try:
        with opened_read_only(path) as rows:
            yield Rows(rows)
    except (sqlite3.Error, OSError) as error:
        raise UnreadableError(path, f"no readable opencode database: {error}") from error


def _value(value: object) -> object:
    return text_of(value) if isinstance(value, bytes) else value
