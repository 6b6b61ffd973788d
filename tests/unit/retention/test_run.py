"""A run of retention from the sessions to the trash and beyond: what goes, what stays, and what is written down."""

from collections import Counter
from pathlib import Path
from uuid import UUID

import pytest

from slowwave.cli import main
from slowwave.errors import DONE, REFUSED, CorruptStateError, LockHeldError, SettingsError
from slowwave.locks import retaining
from slowwave.report import RetainItem
from slowwave.retention.audit import AuditLog, Entry
from slowwave.retention.holds import place_hold
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.trash import restore, trash_folder, trash_items
from tests.unit.retention.homes import DIALECTS, NOW, Home


def actions(home: Home) -> Counter[str]:
    return Counter(line.action for line in AuditLog(home.environ).lines())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_too_old_is_archived_thrown_away_and_freed_after_its_grace(tmp_path: Path, dialect: str) -> None:
    home = Home(tmp_path)
    old, young = home.add(dialect, 1, 40), home.add(dialect, 2, 10)
    report = home.run()
    assert {name: report.counts[name] for name in ("archived", "removed")} == {"archived": 1, "removed": 1}
    assert (old.exists(), young.exists()) == (False, True)
    assert home.run().counts.get("freed") is None
    home.clock.advance(days=8)
    home.touch(young, 10)
    freed = home.run()
    assert freed.counts["freed"] == 1
    assert freed.counts["reclaimed_bytes"] == report.counts["removed_bytes"]
    assert trash_items(trash_folder(home.environ)) == []
    assert len(list(Shelf(home.data / "archive").sessions())) == 1
    assert actions(home) == {"archive": 1, "trash": 1, "free": 1}
    assert AuditLog(home.environ).verify() == []


def test_a_dry_run_tells_the_same_and_leaves_no_trace(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.add("claude", 1, 40, side=True)
    before = home.clients()
    dry = home.run(apply=False)
    assert home.clients() == before
    assert not home.data.exists()
    wet = home.run()
    assert [(i.target, i.rule) for i in dry.items if isinstance(i, RetainItem)] == [
        (i.target, i.rule) for i in wet.items if isinstance(i, RetainItem)
    ]
    assert dry.counts["would_remove"] == wet.counts["removed"] == 1


def test_a_session_goes_with_its_sub_agents_and_comes_back_as_it_was(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = home.add("claude", 1, 40, side=True)
    path.chmod(0o640)
    before = home.clients()
    assert home.run().counts["removed"] == 1
    assert home.clients() == {}
    (item,) = trash_items(trash_folder(home.environ))
    assert restore(item, trash_folder(home.environ)) == []
    assert home.clients() == before


def test_what_was_brought_back_stays_for_the_grace_period(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = home.add("claude", 1, 40)
    home.run()
    (item,) = trash_items(trash_folder(home.environ))
    restore(item, trash_folder(home.environ))
    AuditLog(home.environ).append([Entry(action="restore", session=item.session, item=item.id)], home.clock.at)
    assert home.run().counts["refused_restored"] == 1
    home.clock.advance(days=8)
    assert home.run().counts["removed"] == 1
    assert not path.exists()
    # the pack of the first time is still whole: nothing was archived twice
    assert actions(home)["archive"] == 1


def test_a_session_that_is_alive_stays(tmp_path: Path) -> None:
    home = Home(tmp_path, max_age="1s")
    live, old = home.add("claude", 1, 20 / 24 / 60), home.add("claude", 2, 1)
    report = home.run()
    assert report.counts["refused_live"] == report.counts["removed"] == 1
    assert (live.exists(), old.exists()) == (True, False)


@pytest.mark.parametrize(
    "what",
    [
        {"session": str(UUID(int=1))},
        {"project": "shop"},
        {"person": "erika  mustermann"},
        {"since": "2026-11-01T00:00:00+00:00"},
        {"since": "2026-10-01T00:00:00+00:00", "until": "2026-11-21T00:00:00+00:00"},
    ],
)
def test_what_is_held_stays_until_it_is_released(tmp_path: Path, what: dict[str, str]) -> None:
    home = Home(tmp_path)
    path = home.add("claude", 1, 40, "Call Erika Mustermann", "done")
    other = home.add("pi", 2, 40, "unrelated", cwd="/elsewhere")
    other.write_bytes(other.read_bytes().replace(b"2026-11-20", b"2016-11-20"))
    home.touch(other, 2000)
    place_hold(home.environ, NOW, reason="request 17", by="ann", **what)
    report = home.run()
    assert report.counts["refused_held"] == 1
    assert (path.exists(), other.exists()) == (True, False)
    assert any("request 17; set by ann" in item.reason for item in report.items)


def test_what_is_held_is_not_freed_either(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.add("claude", 1, 40, "Call Erika Mustermann")
    home.run()
    home.clock.advance(days=8)
    place_hold(home.environ, home.clock.at, reason="why", by="ann", person="Erika Mustermann")
    assert home.run().counts["refused_held"] == 1
    assert len(trash_items(trash_folder(home.environ))) == 1


def test_the_only_copy_is_not_freed_when_the_archive_is_gone(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.add("claude", 1, 40)
    home.run()
    (pack,) = (home.data / "archive").glob("*.swpack")
    data = bytearray(pack.read_bytes())
    data[20] ^= 1
    pack.write_bytes(data)
    home.clock.advance(days=8)
    report = home.run()
    assert report.counts["refused_only_copy"] == 1
    assert len(trash_items(trash_folder(home.environ))) == 1


def test_without_an_archive_nothing_is_packed(tmp_path: Path) -> None:
    home = Home(tmp_path, require_archive=False)
    size = home.add("claude", 1, 40).stat().st_size
    assert home.run().counts == {"projects": 1, "sessions": 1, "removed": 1, "removed_bytes": size}
    assert not (home.data / "archive").exists()


def test_a_fork_keeps_what_it_came_from(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.add("pi", 1, 40)
    fork = home.add("pi", 2, 40)
    parent = f'"parentSession": "2026-11-20T10-00-00-000Z_{UUID(int=1)}.jsonl", "type"'
    fork.write_bytes(fork.read_bytes().replace(b'"type"', parent.encode(), 1))
    home.touch(fork, 40)
    report = home.run()
    assert report.counts["refused_referred_to"] == 1
    assert report.counts["removed"] == 1
    assert not fork.exists()
    assert home.run().counts["removed"] == 1


def test_time_that_runs_backwards_stops_the_run(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.add("claude", 1, 40)
    home.run()
    home.add("claude", 2, 40)
    home.clock.advance(days=-1)
    report = home.run()
    assert [(gate.gate, gate.passed) for gate in report.gates] == [("clock", False)]
    assert "removed" not in report.counts
    assert home.run(force=True).counts["removed"] == 1


def test_rules_that_contradict_each_other_stop_the_run(tmp_path: Path) -> None:
    home = Home(tmp_path, keep_within="60d")
    home.add("claude", 1, 40)
    with pytest.raises(SettingsError, match="keep_within"):
        home.run()


def test_damaged_holds_never_count_as_none(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = home.add("claude", 1, 40)
    home.data.mkdir(parents=True)
    (home.data / "holds.json").write_text("{")
    report = home.run()
    assert "holds.json" in report.failures[0]
    assert path.exists()
    with pytest.raises(CorruptStateError):
        place_hold(home.environ, NOW, reason="why", by="ann", session="s")


def test_only_so_many_go_in_one_run_the_oldest_first(tmp_path: Path) -> None:
    home = Home(tmp_path, per_run=2)
    paths = [home.add("claude", number, 40 + number) for number in range(1, 6)]
    report = home.run()
    assert (report.counts["removed"], report.counts["waiting"]) == (2, 3)
    assert [path.exists() for path in paths] == [True, True, True, False, False]
    assert home.run().counts["removed"] == 2


def test_a_chosen_project_alone_loses_sessions(tmp_path: Path) -> None:
    home = Home(tmp_path)
    mine, other = home.add("claude", 1, 40), home.add("pi", 2, 40, cwd="/elsewhere")
    home.run(project="shop")
    assert (mine.exists(), other.exists()) == (False, True)


def test_a_chosen_project_alone_is_freed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.add("claude", 1, 40)
    home.add("pi", 2, 40, cwd="/elsewhere")
    home.run()
    home.clock.advance(days=8)
    home.add("claude", 3, 1)
    assert home.run(project="shop").counts["freed"] == 1
    assert [item.session for item in trash_items(trash_folder(home.environ))] == [str(UUID(int=2))]


def test_a_session_that_changes_after_the_plan_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    path, other = home.add("claude", 1, 40), home.add("claude", 2, 40)
    from slowwave.retention import removal  # noqa: PLC0415 - patched below

    planned = removal.plan_removal

    def grows(*args: object) -> object:
        plan = planned(*args)  # pyright: ignore[reportArgumentType] - passed on
        if plan.session.id == str(UUID(int=1)):
            with path.open("ab") as file:
                file.write(b"{}\n")
            home.touch(path, 39)
        return plan

    monkeypatch.setattr(removal, "plan_removal", grows)
    report = home.run()
    assert report.counts["refused_changed"] == 1
    assert (path.exists(), other.exists()) == (True, False)


def test_a_client_that_writes_between_archive_and_trash_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    path = home.add("claude", 1, 40, side=True)
    result = path.with_suffix("") / "tool-results" / "one.txt"
    from slowwave.retention import removal  # noqa: PLC0415 - patched below

    moved = removal.remove

    def after_a_write(*args: object, **more: object) -> object:
        with result.open("ab") as file:
            file.write(b"more")
        return moved(*args, **more)  # pyright: ignore[reportArgumentType] - passed on

    monkeypatch.setattr(removal, "remove", after_a_write)
    report = home.run()
    assert report.counts["refused_changed"] == 1
    assert result.read_bytes().endswith(b"more")
    assert path.exists()
    assert trash_items(trash_folder(home.environ)) == []


def test_two_runs_at_once_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from slowwave.locks import locked_file  # noqa: PLC0415 - only here

    monkeypatch.setattr("slowwave.locks.COMES_BACK_S", 0.0)
    home = Home(tmp_path)
    home.add("claude", 1, 40)
    lock = tmp_path / "state" / "slowwave" / "retain.lock"
    lock.parent.mkdir(parents=True)
    with locked_file(lock, create=True):
        report = home.run()
    assert [(gate.gate, gate.passed) for gate in report.gates] == [("lock", False)]
    assert home.run().counts["removed"] == 1


def test_an_erasure_waits_for_the_end_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(tmp_path)
    path = home.add("claude", 1, 40)
    monkeypatch.setattr("slowwave.locks.COMES_BACK_S", 0.0)
    for name, value in home.environ.items():
        monkeypatch.setenv(name, value)
    with retaining(home.environ):
        assert main(["run", "erase", "--session", str(UUID(int=1)), "--apply"]) == REFUSED
        assert "at work" in capsys.readouterr().err
        assert main(["run", "erase", "--session", str(UUID(int=1)), "--dry-run"]) == DONE
    assert path.exists()
    assert main(["run", "erase", "--session", str(UUID(int=1)), "--apply"]) == DONE
    assert not path.exists()


def test_a_lock_that_is_held_within_a_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    home.add("claude", 1, 40)

    def held(_self: AuditLog, _entries: object, _at: object) -> None:
        raise LockHeldError("somebody else has the audit log")

    monkeypatch.setattr(AuditLog, "append", held)
    assert [one.partition(": ")[2] for one in home.run(step=True).failures] == ["somebody else has the audit log"]


def test_a_quota_over_all_takes_the_least_missed_first(tmp_path: Path) -> None:
    home = Home(tmp_path, max_age="unlimited", max_bytes=1200, low_water=1.0)
    paths = [home.add("claude", number, number) for number in range(1, 7)]
    report = home.run()
    assert report.counts["removed"] == sum(not path.exists() for path in paths) > 0
    assert [path.exists() for path in paths] == sorted((path.exists() for path in paths), reverse=True)
    assert sum(path.stat().st_size for path in paths if path.exists()) <= 1200
