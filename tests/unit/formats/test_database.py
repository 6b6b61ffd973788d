"""A client's database is read as it stands, and nothing in its folder changes by that."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from slowwave.errors import UnreadableError
from slowwave.formats.database import opened_read_only, tables_of, text_of

# A client that keeps its database open, its rows still in the log, until its standard input ends; then it dies.
CLIENT = """
import os, sqlite3, sys
rows = sqlite3.connect("c.db")
rows.execute("pragma journal_mode=wal")
rows.execute("pragma wal_autocheckpoint=0")
rows.execute("create table t(a)")
rows.executemany("insert into t values(?)", [("x" * 100,)] * 500)
rows.commit()
print("ready", flush=True)
sys.stdin.read()
os._exit(9)
"""


def seen(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}


def count(path: Path) -> int:
    with opened_read_only(path) as rows:
        return rows.execute("SELECT count(*) FROM t").fetchone()[0]


def test_reading_changes_nothing_whoever_has_it_open_and_however_it_was_left(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert client.stdout is not None
    assert client.stdout.readline() == b"ready\n"
    held = seen(tmp_path)
    assert sorted(held) == ["c.db", "c.db-shm", "c.db-wal"]
    assert count(path) == 500
    assert seen(tmp_path) == held

    client.communicate()
    left = seen(tmp_path)
    assert count(path) == 500
    assert seen(tmp_path) == left

    (tmp_path / "c.db-shm").unlink()
    copied = seen(tmp_path)
    assert count(path) == 500
    assert seen(tmp_path) == copied


def test_a_database_without_a_log_gets_none(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    with closing(sqlite3.connect(path)) as rows:
        rows.execute("pragma journal_mode=wal")
        rows.execute("create table t(a)")
        rows.execute("insert into t values(1)")
        rows.commit()
    before = seen(tmp_path)
    assert sorted(before) == ["c.db"]
    assert count(path) == 1
    assert seen(tmp_path) == before
    assert tables_of(path) == {"t"}


def test_a_client_that_writes_meanwhile_ends_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as client:
        client.execute("create table t(a)")
        with pytest.raises(sqlite3.OperationalError, match="read it again"), opened_read_only(path):
            client.execute("insert into t values(1)")


def test_nothing_is_written_through_it(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    with closing(sqlite3.connect(path)) as client:
        client.execute("create table t(a)")
        client.commit()
    with pytest.raises(sqlite3.OperationalError, match="readonly"), opened_read_only(path) as rows:
        rows.execute("insert into t values(1)")


def test_what_is_no_database_has_no_tables(tmp_path: Path) -> None:
    (tmp_path / "c.db").write_bytes(b"SQLite format 3\0" + b"x" * 100)
    assert tables_of(tmp_path / "c.db") == frozenset()
    with pytest.raises(UnreadableError, match="no readable database"):
        tables_of(tmp_path / "missing")


def test_text_is_text_also_where_it_is_no_utf8() -> None:
    assert [text_of(v) for v in (b"a\xff", "b", 3, None)] == ["a\ufffd", "b", "", ""]
