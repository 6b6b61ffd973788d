"""Rows of databases are found again by the name that a span gave them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from slowwave.formats.database import RowReader, StaleRowsError, names_row
from tests.unit.formats.opencode_files import Session, database, read, words


def events(folder: Path, *rows: tuple[str, int, str | None, bytes | None, int | None]) -> Path:
    path = folder / "openclaw-agent.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute(
            "CREATE TABLE transcript_events (session_id text, seq int, event_json text, event_zstd blob,"
            " event_utf8_bytes int)"
        )
        db.executemany("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?)", rows)
        db.commit()
    return path


def test_every_span_of_a_database_names_the_row_that_its_bytes_are_in(tmp_path: Path) -> None:
    session = Session()
    session.user("naïve 🙂")
    session.answer(words("ok"))
    path = database(tmp_path, session)
    spans = [span for message in read(path).messages for span in message.sources]
    assert len(spans) == 2
    with RowReader() as rows:
        assert [rows.read(path, getattr(span, "record", "")) for span in spans] == [span.raw for span in spans]
        assert rows.read(path, "part/prt_none") is None
        assert rows.read(path, "message/" + str(read(path).messages[0].id)) is not None


def test_plain_and_packed_events_are_read_and_damaged_ones_are_empty(tmp_path: Path) -> None:
    event = json.dumps({"type": "message", "text": "x" * 3000}).encode()
    packed = zstandard.ZstdCompressor().compress(event)
    path = events(
        tmp_path,
        ("agent/a", 0, '{"type": "session"}', None, None),
        ("agent/a", 1, None, packed, len(event)),
        ("agent/a", 2, None, packed[:-9], len(event)),
    )
    with RowReader() as rows:
        found = [rows.read(path, f"transcript_events/agent/a/{seq}") for seq in range(4)]
    assert found == [b'{"type": "session"}', event, b"", None]


@pytest.mark.parametrize("name", ["", "prt_1", "part/", "tables/x", "part", "0190/part"])
def test_what_names_no_row(name: str) -> None:
    assert not names_row(name)


def test_no_database_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"SQLite format 3\0" + b"x" * 90)
    for path in (tmp_path / "x.db", tmp_path / "none.db", tmp_path):
        with RowReader() as rows, pytest.raises(OSError, match=r"."):
            rows.read(path, "part/prt_1")


def test_what_was_read_while_the_client_wrote_is_not_trusted(tmp_path: Path) -> None:
    session = Session()
    session.user("hi")
    path = database(tmp_path, session)
    reader = RowReader()
    assert reader.__enter__().read(path, "part/none") is None
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM part")
        db.commit()
    with pytest.raises(StaleRowsError):
        reader.__exit__(None, None, None)
