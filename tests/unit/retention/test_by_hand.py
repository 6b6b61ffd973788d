"""Sessions that a person removes and brings back: in the audit log as all others, and never when they are held."""

import json
from pathlib import Path
from uuid import UUID

import pytest

from slowwave.cli import main
from slowwave.errors import DONE, REFUSED
from slowwave.formats.openclaw.store import read_store
from slowwave.retention.audit import AuditLog
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.trash import trash_folder, trash_items
from tests.unit.retention.fleets import ADD
from tests.unit.retention.homes import Home

OWN = str(UUID(int=1))


@pytest.fixture
def home(own_home: Path) -> Home:
    return Home(own_home)


def told(home: Home) -> list[tuple[str, str]]:
    assert AuditLog(home.environ).verify() == []
    return [(line.action, line.session) for line in AuditLog(home.environ).lines()]


def test_removing_and_restoring_are_written_down_once(home: Home) -> None:
    home.add("claude", 1, 5, side=True)
    before = home.clients()
    assert main(["sessions", "rm", OWN]) == DONE
    assert told(home) == [("trash", OWN)]
    (line,) = AuditLog(home.environ).lines()
    (item,) = trash_items(trash_folder(home.environ))
    assert (line.item, line.files, line.size) == (item.id, 3, sum(len(data) for data, _, _ in before.values()))
    assert main(["sessions", "restore", OWN]) == DONE
    assert told(home) == [("trash", OWN), ("restore", OWN)]
    assert home.clients() == before
    home.clock.at = home.clock.at.replace(year=2030)
    home.set(max_age="unlimited")
    assert home.run().counts.get("freed") is None
    assert [action for action, _ in told(home) if action != "archive"] == ["trash", "restore"]


def test_what_was_removed_by_hand_is_freed_after_its_grace(home: Home) -> None:
    home.add("claude", 1, 5)
    home.add("claude", 2, 5)
    assert main(["sessions", "rm", OWN]) == DONE
    home.set(max_age="unlimited", rescue="1s")
    home.clock.at = home.clock.at.replace(year=2030)
    assert home.run().counts["freed"] == 1
    assert [action for action, _ in told(home) if action != "archive"] == ["trash", "free"]


@pytest.mark.parametrize(
    "hold",
    [["--session", OWN], ["--person", "Erika Mustermann"], ["--project", "shop"], ["--since", "2020-01-01"]],
    ids=lambda hold: hold[0],
)
def test_what_is_held_is_not_removed_by_hand(home: Home, hold: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    home.add("claude", 1, 5, "call ERIKA mustermann", side=True)
    before = home.clients()
    assert main(["retain", "hold", *hold, "--reason", "a lawsuit"]) == DONE
    assert main(["sessions", "rm", OWN]) == REFUSED
    assert "a lawsuit" in capsys.readouterr().err
    assert home.clients() == before
    assert main(["sessions", "rm", OWN, "--dry-run"]) == REFUSED


def test_a_sub_agent_of_a_held_session_is_not_removed_by_hand(home: Home) -> None:
    home.add("claude", 1, 5, side=True)
    before = home.clients()
    assert main(["retain", "hold", "--session", OWN, "--reason", "why"]) == DONE
    assert main(["sessions", "rm", "agent-1"]) == REFUSED
    assert home.clients() == before


@pytest.mark.parametrize("freed", [False, True])
@pytest.mark.parametrize("dialect", ["codex", "clawdbot"])
def test_what_the_client_noted_in_its_index_comes_back(home: Home, dialect: str, *, freed: bool) -> None:
    for number in (1, 2):
        ADD[dialect](home, number, 50 if number == 1 else 5)
    indexes = {name: data for name, (data, _, _) in home.clients().items() if name.endswith(_INDEX[dialect])}
    assert home.run().counts["removed"] == 1
    assert {name: home.clients()[name][0] for name in indexes} != indexes
    if freed:
        home.clock.advance(days=8)
        assert home.run().counts["freed"] == 1
        assert trash_items(trash_folder(home.environ)) == []
    assert main(["sessions", "restore", OWN]) == DONE
    assert _noted(home, indexes) == {name: _entries(dialect, data) for name, data in indexes.items()}
    assert len(list(Shelf(home.data / "archive").sessions())) == 1


_INDEX = {"codex": "session_index.jsonl", "clawdbot": "sessions.json"}


def _noted(home: Home, indexes: dict[str, bytes]) -> dict[str, object]:
    dialect = "codex" if any(name.endswith("jsonl") for name in indexes) else "clawdbot"
    return {name: _entries(dialect, home.clients()[name][0]) for name in indexes}


def _entries(dialect: str, data: bytes) -> object:
    return sorted(data.splitlines()) if dialect == "codex" else json.loads(data)


def test_entries_without_a_transcript_come_back_from_the_trash(home: Home) -> None:
    home.set(openclaw="own")
    path = ADD["clawdbot"](home, 1, 50)
    ADD["clawdbot"](home, 2, 5)
    path.unlink()
    keys = set(read_store(path.with_name("sessions.json")))
    assert home.run().counts["openclaw_entries"] == 1
    (item,) = trash_items(trash_folder(home.environ))
    assert set(read_store(path.with_name("sessions.json"))) == keys - {note.key for note in item.notes}
    assert main(["sessions", "restore", item.id]) == DONE
    assert set(read_store(path.with_name("sessions.json"))) == keys
