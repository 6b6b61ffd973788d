"""A ninth client is one module: by nothing but its ``CLIENT`` it is listed, read, resumed, written to and retained."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slowwave.context import FixedClock
from slowwave.errors import UsageError
from slowwave.formats import SessionFiles, Text
from slowwave.formats.registry import CLIENTS, by_name, detect, read_for_context
from slowwave.formats.writing import Draft, Means
from slowwave.settings import Settings
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import list_sessions
from slowwave.stores.roots import Writers, found_sessions, held, meant_session
from tests.unit.formats import jotter
from tests.unit.retention.homes import NOW, Home
from tests.unit.stores.store_builder import write


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Let jotter be known, and let one notebook lie in its home."""
    monkeypatch.setitem(CLIENTS, jotter.CLIENT.name, jotter.CLIENT)
    lines = [
        {"jot": "a1", "by": "me", "text": "buy milk", "at": "2026-10-01T10:00:00.000Z"},
        {"jot": "a2", "by": "machine", "text": "done", "at": "2026-10-01T10:00:05.000Z"},
        {"jot": "a3", "by": "cat", "text": "meow", "at": "2026-10-01T10:00:06.000Z"},
    ]
    found = Home(tmp_path)
    path = write(tmp_path / ".jotter" / "notebooks" / "errands.jot", *lines)
    found.touch(path, 1)
    return found


def notebook(home: Home) -> Path:
    return home.root / ".jotter" / "notebooks" / "errands.jot"


def said(path: Path) -> list[str]:
    dialect = detect(path)
    messages = dialect.context(read_for_context(dialect, SessionFiles("errands", (path,))))
    return [block.text for message in messages for block in message.blocks if isinstance(block, Text)]


def test_its_sessions_are_listed(home: Home) -> None:
    listing = list_sessions(Settings(), home.environ, Catalogue(home.root / "state" / "catalogue"))
    (row,) = listing.rows
    assert (row.id, row.dialect, row.messages, row.first_prompt) == ("errands", "jotter", 2, "buy milk")
    assert listing.problems == []


def test_they_are_told_by_content_and_read_with_nothing_lost(home: Home) -> None:
    assert detect(notebook(home)).name == "jotter"
    transcript = by_name("jotter").read(SessionFiles("errands", (notebook(home),)))
    assert (transcript.records, transcript.unknown_types, transcript.problems) == (3, {"cat": 1}, [])
    assert said(notebook(home)) == ["buy milk", "done"]


def test_a_message_is_appended_and_what_it_has_no_record_for_is_refused(home: Home) -> None:
    before = notebook(home).read_bytes()
    writers = Writers(Means(FixedClock(datetime(2026, 11, 21, tzinfo=UTC)), home.root, lambda: "a4"))
    found = meant_session("errands", found_sessions(Settings(), home.environ, []))
    with held(writers.known(found)) as (writer, session):
        assert writer.message(session, Draft("user", "and bread")) == "a4"
        with pytest.raises(UsageError, match="jotter has no names"):
            writer.name(session, "Errands")
    assert notebook(home).read_bytes().startswith(before)
    assert said(notebook(home)) == ["buy milk", "done", "and bread"]


def test_retention_keeps_what_is_young_and_puts_what_is_old_into_the_trash(home: Home) -> None:
    assert home.run().counts.get("removed", 0) == 0
    at = (NOW - timedelta(days=40)).timestamp()
    os.utime(notebook(home), (at, at))
    assert home.run().counts["removed"] == 1
    assert not notebook(home).exists()
    assert len(list((home.data / "trash").glob("*/manifest.json"))) == 1
