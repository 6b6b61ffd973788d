"""What earlier releases wrote is read by this one; what a newer one wrote is refused with the reason, and left alone.

``tests/releases/0.1`` is the first released form: it is never written anew. A later form gets a folder of its
own, and the code that reads the earlier one stays.
"""

import shutil
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from slowwave.consolidation.inbox import parked_dreams
from slowwave.context import FixedClock
from slowwave.errors import CorruptStateError, SettingsError, UnreadableError
from slowwave.memory.book import read_book
from slowwave.memory.candidates import read_candidates
from slowwave.memory.ledger import PATH as LEDGER
from slowwave.memory.transaction import read_manifest, undo_folder
from slowwave.memory.undo import undo
from slowwave.settings import ModelSettings, RetentionSettings, Settings, load_settings
from slowwave.stores.catalogue import VERSION as CATALOGUE
from slowwave.stores.catalogue import open_database
from slowwave.stores.search.index import VERSION as INDEX
from slowwave.stores.search.index import open_index
from tests.unit.consolidation.dreams import House

FIRST = Path(__file__).parents[1] / "releases" / "0.1"
DREAM = "d20261120T220000Z-347f7808"


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Make a project whose memory folder version 0.1 has left, eleven hours later."""
    house = House(tmp_path, FixedClock(datetime(2026, 11, 21, 9, 0, tzinfo=UTC)))
    house.folder.mkdir(parents=True)
    shutil.copytree(FIRST / "memory", house.memory)
    return house


def test_the_settings_of_the_first_release_mean_the_same(tmp_path: Path) -> None:
    given = load_settings({"HOME": str(tmp_path)}, config=FIRST / "settings.toml")
    # what a model is shown and may say at once was less then, and who wrote it down keeps it
    as_now = msgspec.structs.replace(
        given.model,
        window_tokens=ModelSettings().window_tokens,
        max_output_tokens=ModelSettings().max_output_tokens,
    )
    # and so did what Claude Code deletes soon
    rescue = msgspec.structs.replace(given.retention, rescue=RetentionSettings().rescue)
    assert str(given.retention.rescue) == "3d"
    # what clients' own settings say counts now unless somebody wrote it down
    size = msgspec.structs.replace(given.compaction, reserve_tokens=None, keep_recent_tokens=None)
    assert (given.compaction.reserve_tokens, given.compaction.keep_recent_tokens) == (16_384, 20_000)
    # a confidence says something else since a classifier gives it; who wrote the thresholds down keeps them
    now = Settings()
    least = msgspec.structs.replace(given.extraction, min_confidence=now.extraction.min_confidence)
    accept, review = now.consolidation.accept_confidence, now.consolidation.review_confidence
    asks = msgspec.structs.replace(given.consolidation, accept_confidence=accept, review_confidence=review)
    assert given.extraction.min_confidence == given.consolidation.review_confidence == 0.5
    assert given.consolidation.accept_confidence == 0.6
    sections = {"model": as_now, "retention": rescue, "compaction": size, "extraction": least, "consolidation": asks}
    assert msgspec.structs.replace(given, **sections) == now


def test_the_memories_of_the_first_release_are_read_and_dreamt_on(house: House) -> None:
    before = {m.text for m in read_book(house.memory).active}
    assert len(before) == 11
    candidates, ranges, problems = read_candidates(house.memory)
    assert (len(candidates) > 10, len(ranges) > 5, problems) == (True, True, [])
    house.clock.advance(days=1)
    house.extract(house.candidate("The changelog is written by hand", session="new", category="project"))
    assert house.dream().dream_ids
    after = read_book(house.memory)
    assert before | {"The changelog is written by hand"} <= {m.text for m in after.active}
    assert after.dreams[0] == DREAM
    assert "The changelog is written by hand" in "".join(p.read_text() for p in house.memory.glob("*.md"))


def test_a_dream_of_the_first_release_can_be_undone(house: House) -> None:
    undo(house.memory, DREAM, house.clock.now() + timedelta(hours=1))
    assert read_book(house.memory).active == []
    assert not (house.memory / "constraints.md").exists()
    before = FIRST / "memory" / ".slowwave" / "undo" / DREAM / "before" / "extracted.md"
    assert (house.memory / "extracted.md").read_bytes() == before.read_bytes()


def _newer_settings(tmp_path: Path) -> None:
    path = tmp_path / "slowwave.toml"
    path.write_text("version = 2\n[dreams]\nlucid = true\n", encoding="utf-8")
    load_settings({}, config=path)


def _newer_ledger(tmp_path: Path) -> None:
    path = tmp_path / LEDGER
    path.parent.mkdir(parents=True)
    path.write_bytes((FIRST / "memory" / LEDGER).read_bytes() + b'{"v":2,"event":"lucid","dream":"d","at":"x"}\n')
    read_book(tmp_path)


def _newer_manifest(tmp_path: Path) -> None:
    path = undo_folder(tmp_path, "d1") / "manifest.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(msgspec.json.encode({"v": 2, "id": "d1", "at": "x", "files": {}, "inodes": {}, "more": 1}))
    read_manifest(tmp_path, "d1")


def _newer_parked(tmp_path: Path) -> None:
    path = tmp_path / ".slowwave" / "parked" / "d1.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(msgspec.json.encode({"v": 2, "id": "d1", "at": "x", "reason": "", "operations": []}))
    parked_dreams(tmp_path)


def _newer_index(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {INDEX + 1}")
    open_index(path, [])


@pytest.mark.parametrize(
    ("newer", "error", "says"),
    [
        (_newer_settings, SettingsError, "this slowwave knows form 1 of settings; update slowwave"),
        (_newer_ledger, CorruptStateError, "was written by a newer slowwave; update slowwave"),
        (_newer_manifest, CorruptStateError, r"was written by a newer slowwave \(form 2\); update slowwave"),
        (_newer_parked, CorruptStateError, r"was written by a newer slowwave \(form 2\); update slowwave"),
        (_newer_index, UnreadableError, "a newer slowwave wrote it, in form .*: update slowwave"),
    ],
)
def test_what_a_newer_release_wrote_is_refused_with_the_reason_and_left_as_it_is(
    tmp_path: Path, newer: Callable[[Path], None], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        newer(tmp_path)
    files = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert len(files) == 1
    assert all(files.values())


@pytest.mark.parametrize("version", [0, "1", True, 1.0])
def test_a_version_of_settings_that_none_can_have_is_refused(tmp_path: Path, version: object) -> None:
    path = tmp_path / "slowwave.toml"
    path.write_text(f"version = {msgspec.json.encode(version).decode()}\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="version"):
        load_settings({}, config=path)


def test_a_newer_catalogue_is_left_to_the_newer_release_and_an_older_one_built_anew(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite"
    for version, rebuilt in ((CATALOGUE + 1, False), (CATALOGUE - 1, True)):
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE theirs (x)")
            database.execute(f"PRAGMA user_version = {version}")
        warnings: list[str] = []
        open_database(path, warnings).close()
        (warning,) = warnings
        assert ("is built anew" in warning, "update slowwave" in warning) == (rebuilt, not rebuilt)
        with sqlite3.connect(path) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        assert ("theirs" in tables) == (not rebuilt)
