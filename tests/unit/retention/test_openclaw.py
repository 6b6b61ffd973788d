"""OpenClaw's own maintenance within a run: its order and its numbers, under the guards, with its entries."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from slowwave.files import archive_folder
from slowwave.formats.openclaw.store import read_store
from slowwave.report import Report, RetainItem
from slowwave.retention.audit import AuditLog
from slowwave.retention.holds import Fleet, place_hold
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.discovery import known_projects
from slowwave.stores.trash import restore, trash_folder, trash_items
from tests.unit.formats.openclaw_files import session
from tests.unit.retention.homes import DAY, NOW, Home

DAYS = {"agent:main:main": 400, "agent:main:telegram:dm:1": 40, "agent:main:cron:job": 35, "agent:main:work": 2}


def store_of(home: Home, days: Mapping[str, float] = DAYS, settings: dict[str, Any] | None = None) -> Path:
    """Write a store with a session for each key that was updated so many days ago."""
    folder = home.root / ".openclaw" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    entries: dict[str, Any] = {}
    for number, (key, ago) in enumerate(days.items()):
        made = session(f"s{number}", version=3)
        made.user(f"hello {number}")
        made.model("well")
        path = folder / f"s{number}.jsonl"
        path.write_bytes(made.data())
        home.touch(path, ago)
        entries[key] = {"sessionId": f"s{number}", "updatedAt": int((NOW.timestamp() - ago * DAY) * 1000)}
    (folder / "sessions.json").write_text(json.dumps(entries, indent=2), encoding="utf-8")
    if settings is not None:
        (home.root / ".openclaw" / "openclaw.json").write_text(json.dumps({"session": {"maintenance": settings}}))
    return folder


def own(tmp_path: Path, **retention: Any) -> Home:
    return Home(tmp_path, max_age="unlimited", openclaw="own", **retention)


def told(report: Report) -> list[tuple[str, str, str]]:
    return [(i.target, i.action, i.rule) for i in report.items if isinstance(i, RetainItem)]


def keys(folder: Path) -> list[str]:
    return list(read_store(folder / "sessions.json"))


def test_jobs_and_hooks_are_classed_by_their_keys(tmp_path: Path) -> None:
    kinds = {
        "agent:main:main": "interactive",
        "agent:main:cron:job": "cron",
        "cron:job": "cron",
        "agent:main:hook:mail": "cron",
        "agent:main:subagent:one": "subagent",
    }
    home = Home(tmp_path, max_age="unlimited", classes=[{"source": "cron", "max_age": "30d"}])
    store_of(home, dict.fromkeys(kinds, 40))
    fleet = Fleet(known_projects(home.settings, home.environ).projects)
    found = {Path(subject.id).stem: subject.source for subject in fleet.subjects()}
    assert found == {f"s{number}": kind for number, kind in enumerate(kinds.values())}
    assert sorted(target for target, *_ in told(home.run())) == ["s1", "s2", "s3"]


def test_by_default_it_is_left_to_the_client(tmp_path: Path) -> None:
    home = Home(tmp_path, max_age="unlimited")
    folder = store_of(home)
    assert home.run().counts.get("removed") is None
    assert keys(folder) == list(DAYS)


def test_stale_sessions_go_with_their_entries_and_come_back_with_them(tmp_path: Path) -> None:
    home = own(tmp_path)
    folder = store_of(home)
    before = home.clients()
    dry = home.run(apply=False)
    gone = [("s1", "remove", "openclaw.pruneAfter"), ("s2", "remove", "openclaw.pruneAfter")]
    assert told(dry) == [*gone, ("s0", "stay", ""), ("s3", "stay", "")]
    assert home.clients() == before
    report = home.run()
    assert told(report) == [("s1", "removed", "openclaw.pruneAfter"), ("s2", "removed", "openclaw.pruneAfter")]
    assert keys(folder) == ["agent:main:main", "agent:main:work"]
    assert sorted(path.name for path in folder.iterdir()) == ["s0.jsonl", "s3.jsonl", "sessions.json"]
    assert AuditLog(home.environ).verify() == []
    assert home.run().counts.get("removed") is None
    for item in trash_items(trash_folder(home.environ)):
        restore(item, trash_folder(home.environ))
    assert sorted(keys(folder)) == sorted(DAYS)
    assert {n: one for n, one in home.clients().items() if n.endswith(".jsonl")} == {
        n: one for n, one in before.items() if n.endswith(".jsonl")
    }


def test_guards_keep_what_maintenance_would_remove(tmp_path: Path) -> None:
    home = own(tmp_path)
    folder = store_of(home)
    place_hold(home.environ, home.clock.at, reason="a lawsuit", by="ann", session="s1")
    report = home.run()
    assert ("s1", "refused", "openclaw.pruneAfter") in told(report)
    assert "agent:main:telegram:dm:1" in keys(folder)
    assert (folder / "s1.jsonl").exists()


def test_the_disk_budget_takes_artifacts_first_then_what_nobody_typed_into(tmp_path: Path) -> None:
    home = own(tmp_path)
    folder = store_of(home, {"agent:main:main": 1, "agent:main:dm": 9, "agent:main:cron:job": 2})
    for name in ("gone.jsonl.deleted.2026-01-24T10-00-00.000Z",):
        (folder / name).write_bytes((folder / "s0.jsonl").read_bytes())
        home.touch(folder / name, 3)
    total = sum(path.stat().st_size for path in folder.iterdir())
    one = (folder / "s0.jsonl").stat().st_size
    limits = {"maxDiskBytes": total - 1, "highWaterBytes": total - one - 1}
    (home.root / ".openclaw" / "openclaw.json").write_text(json.dumps({"session": {"maintenance": limits}}))
    report = home.run()
    assert [(target, rule) for target, _, rule in told(report)] == [
        ("gone.deleted.2026-01-24T10-00-00.000Z", "openclaw.maxDiskBytes"),
        ("s2", "openclaw.maxDiskBytes"),
    ]
    assert keys(folder) == ["agent:main:main", "agent:main:dm"]


def test_settings_that_only_warn_or_are_none_remove_nothing_and_are_told(tmp_path: Path) -> None:
    for name, settings in (("a", {"mode": "warn"}), ("b", {"pruneAfter": "soon"})):
        home = own(tmp_path / name)
        folder = store_of(home, settings=settings)
        report = home.run()
        assert keys(folder) == list(DAYS)
        assert [text for text in report.warnings if text.startswith("openclaw: ")]


def test_settings_that_cannot_be_read_stop_its_maintenance(tmp_path: Path) -> None:
    home = own(tmp_path)
    folder = store_of(home)
    (home.root / ".openclaw" / "openclaw.json").write_text("{")
    assert [text for text in home.run().warnings if "neither JSON nor JSON5" in text]
    assert keys(folder) == list(DAYS)


def test_a_stale_entry_without_a_transcript_goes_into_the_trash_alone(tmp_path: Path) -> None:
    home = own(tmp_path)
    folder = store_of(home)
    (folder / "s1.jsonl").unlink()
    home.run(apply=False)
    assert "agent:main:telegram:dm:1" in keys(folder)
    assert home.run().counts["openclaw_entries"] == 1
    assert keys(folder) == ["agent:main:main", "agent:main:work"]
    [item] = [item for item in trash_items(trash_folder(home.environ)) if not item.files]
    restore(item, trash_folder(home.environ))
    assert "agent:main:telegram:dm:1" in keys(folder)


def test_only_so_many_go_in_one_run(tmp_path: Path) -> None:
    home = own(tmp_path, per_run=1)
    folder = store_of(home)
    assert home.run().counts["waiting"] == 1
    assert len(keys(folder)) == 3
    home.run()
    assert len(keys(folder)) == 2


def test_what_the_client_itself_is_about_to_remove_is_archived_first(tmp_path: Path) -> None:
    home = Home(tmp_path, max_age="unlimited")
    # within eight days: what goes now, and what goes in a week; main and protected chats never
    folder = store_of(home, {**DAYS, "agent:main:telegram:dm:2": 23}, {"mode": "enforce", "pruneAfter": "30d"})
    before = home.clients()
    planned = home.run(apply=False)
    assert sorted(item.target for item in planned.items if item.action == "rescue") == ["s1", "s2", "s4"]
    done = home.run()
    assert done.counts["rescued"] == 3
    assert all("OpenClaw" in item.reason for item in done.items if item.action == "rescued")
    assert home.clients() == before
    assert "rescued" not in home.run().counts  # all of it lies in a pack
    (folder / "s1.jsonl").unlink()
    archived = {one.session.id for one in Shelf(archive_folder(home.environ)).sessions()}
    assert archived == {"s1", "s2", "s4"}


@pytest.mark.parametrize("settings", [{"mode": "warn"}, {"pruneAfter": False}])
def test_nothing_is_rescued_of_a_client_that_removes_nothing(tmp_path: Path, settings: dict[str, Any]) -> None:
    home = Home(tmp_path, max_age="unlimited")
    store_of(home, settings=settings)
    assert "rescued" not in home.run().counts


def test_settings_that_cannot_be_read_are_told_and_nothing_is_guessed(tmp_path: Path) -> None:
    home = Home(tmp_path, max_age="unlimited")
    store_of(home)
    (home.root / ".openclaw" / "openclaw.json").write_text("{")
    done = home.run()
    assert "rescued" not in done.counts
    assert any("cannot tell what OpenClaw removes" in warning for warning in done.warnings)
