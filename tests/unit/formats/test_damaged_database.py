"""A database that is damaged where SQLite's own message about it is no text."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from slowwave.formats.database import opened_read_only, tables_of
from slowwave.formats.registry import sniff
from tests.fuzz.invariants import check_session


def damaged(folder: Path) -> Path:
    """Return a database whose schema has a name of bytes that are no UTF-8, and no statement of SQL."""
    path = folder / "s.jsonl"
    with closing(sqlite3.connect(path)) as rows:
        rows.execute("CREATE TABLE session (id TEXT)")
        rows.execute("PRAGMA writable_schema = ON")
        rows.execute("UPDATE sqlite_master SET name = CAST(X'E0FF' AS TEXT), sql = 'CREATE nothing'")
        rows.commit()
    return path


def test_it_is_a_database_without_tables(tmp_path: Path) -> None:
    path = damaged(tmp_path)
    assert tables_of(path) == frozenset()
    assert sniff(path) is None


def test_asking_it_is_an_error_of_the_database(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.DatabaseError, match="damaged"), opened_read_only(damaged(tmp_path)) as rows:
        rows.execute("SELECT * FROM session")


def test_reading_it_as_a_session_is_refused_in_one_line(tmp_path: Path) -> None:
    assert check_session("opencode", [damaged(tmp_path)]) is None
