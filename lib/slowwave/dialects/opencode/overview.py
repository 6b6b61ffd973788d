"""Which sessions an opencode database or storage tree holds, without reading what was said in them."""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from slowwave.dialects.opencode.export import file_bytes
from slowwave.dialects.opencode.records import object_in, session_of
from slowwave.errors import UnreadableError
from slowwave.records.database import opened_read_only, text_of
from slowwave.records.lenient import whole

if TYPE_CHECKING:
    import sqlite3

# A prompt comes before the first answer.
_MOST_LOOKED_INTO = 6
_NUMBERS = tuple(f"SELECT session_id, count(*) FROM {table} GROUP BY session_id" for table in ("message", "part"))  # noqa: S608 - names of our own


class Overview(msgspec.Struct, frozen=True):
    """What is known of a session beside its messages.

    Attributes:
        id: the session's id.
        directory: the working folder.
        is_child: another session started it.
        is_fork: its title says that it is a copy (``... (fork #2)``); nothing else does.
        is_archived: a person put it away.
    """

    id: str
    directory: str = ""
    is_child: bool = False
    is_fork: bool = False
    is_archived: bool = False


def overview_of(fields: dict[str, Any]) -> Overview:
    """Return the overview of a session from its row (``time_updated``) or its JSON (``time``)."""
    session = session_of(fields)
    times = object_in(fields, "time")
    return Overview(
        session.id,
        session.directory,
        bool(session.parent),
        session.is_fork,
        bool(fields.get("time_archived") or times.get("archived")),
    )


def overview_in_file(path: Path) -> Overview:
    """Return the overview of a session of a storage tree; one without an id when the file tells nothing.

    Raises:
        UnreadableError: the file cannot be read.
    """
    return overview_of(whole(file_bytes(path).strip()))


def directory_in(messages: Path) -> str:
    """Return the working folder that the messages of a session in a tree name: the first versions kept it nowhere else.

    Answers name it; only the first few files are looked into.
    """
    try:
        paths = sorted(path for path in messages.iterdir() if path.suffix == ".json")[:_MOST_LOOKED_INTO]
        found = (object_in(whole(file_bytes(path).strip()), "path").get("cwd") for path in paths)
        return next((cwd for cwd in found if cwd and isinstance(cwd, str)), "")
    except (OSError, UnreadableError):
        # The reader of the session reports what cannot be read; without a folder it has no project.
        return ""


class Rows:
    """An open database."""

    def __init__(self, rows: "sqlite3.Connection") -> None:
        self._rows = rows

    def changes(self) -> list[tuple[str, int, int]]:
        """Return of every session its id, when it was changed in milliseconds, and how many rows it has.

        Only indexes of messages and parts are looked into.
        """
        numbers: Counter[bytes] = Counter()
        for query in _NUMBERS:
            numbers.update(dict(self._rows.execute(query)))
        known = {text_of(name) for (name,) in self._rows.execute("SELECT name FROM pragma_table_info('session')")}
        time = next((name for name in ("time_updated", "time_created") if name in known), "0")
        found = self._rows.execute(f"SELECT id, {time} FROM session ORDER BY id")  # noqa: S608 - a name of our own
        return [(text_of(i), at if isinstance(at, int) else 0, numbers[i]) for i, at in found]

    def overview(self, session: str) -> Overview:
        """Return what is known of a session; one without an id when there is no such session."""
        cursor = self._rows.execute("SELECT * FROM session WHERE id = ?", (session,))
        row = cursor.fetchone() or ()
        columns = [column[0] for column in cursor.description]
        return overview_of({name: _value(value) for name, value in zip(columns, row, strict=False)})

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
