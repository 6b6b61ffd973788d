"""What Claude Code would delete is archived before it does, and what is gone already is said."""

import errno
import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from slowwave.cli import main
from slowwave.context import Run
from slowwave.errors import DONE
from slowwave.formats import claude as client
from slowwave.jobs.status import kept_by
from slowwave.jobs.story import run_job
from slowwave.memory import ExtractedRange, SessionRef
from slowwave.memory.candidates import append_batches
from slowwave.observability.night import read_nights
from slowwave.report import Report
from slowwave.retention.audit import AuditLog
from slowwave.retention.rescue import cleanup_days
from slowwave.stores.archive.pack import Pack
from slowwave.stores.archive.shelf import Shelf, rescue_packs
from tests.unit.retention.homes import Home


def kept(tmp_path: Path, **retention: object) -> Home:
    """Return a home in which no rule removes anything."""
    return Home(tmp_path, max_age="unlimited", **retention)


def night(home: Home, *, dry_run: bool = False) -> Report:
    """Run a whole night, in which retention is not enforced."""
    home.runs += 1
    return run_job("nightly", Run(f"n{home.runs}", home.settings, home.clock, home.environ, dry_run=dry_run))


def actions(report: Report) -> list[tuple[str, str]]:
    return [(item.action, item.target[-1]) for item in report.items]


@pytest.mark.parametrize(("days", "due"), [(21.9, False), (22.1, True), (29.9, True), (40, True)])
def test_what_is_due_within_eight_days_is_archived_and_stays(tmp_path: Path, days: float, *, due: bool) -> None:
    home = kept(tmp_path)
    path = home.add("claude", 1, days, side=True)
    before = home.clients()
    report = home.run()
    assert report.counts.get("rescued", 0) == due
    assert home.clients() == before
    packed = [one.session for one in Shelf(home.data / "archive").sessions()]
    assert [{Path(file.path).name for file in one.files if file.kind == "file"} for one in packed] == (
        [{path.name, "agent-1.jsonl", "one.txt"}] if due else []
    )
    if due:
        assert home.run().counts.get("rescued") is None  # it lies in a pack as it is
        assert [(line.action, line.rule) for line in AuditLog(home.environ).lines()] == [("archive", "rescue")]


def test_a_night_that_removes_nothing_archives_what_is_due_and_says_what_that_takes(tmp_path: Path) -> None:
    home = Home(tmp_path, max_age="1d", purge=True)  # rules that no night asks as long as retention.enforce is off
    home.add("claude", 1, 29, side=True)
    home.add("codex", 2, 400)
    before = home.clients()
    report = night(home)
    archive = home.data / "archive"
    taken = sum(path.stat().st_size for path in rescue_packs(archive))
    assert taken
    assert (report.counts["rescued"], report.counts["rescued_bytes"]) == (1, taken)
    assert ("rescue room", str(archive)) in [(item.action, item.target) for item in report.items]
    assert not {"removed", "freed", "purged", "refused"} & set(report.counts)
    assert before.items() <= home.clients().items()
    assert night(home).counts.get("rescued") is None
    kept = kept_by(home.settings.retention, home.environ)
    assert (kept.rescued, kept.rescued_bytes, kept.rescue) == (1, taken, "8d")


def test_a_session_that_is_resumed_after_a_night_is_archived_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = kept(tmp_path)
    for name, value in home.environ.items():
        monkeypatch.setenv(name, value)
    path = home.add("claude", 1, 29)
    night(home)
    home.clock.advance(days=1)
    path.write_bytes(path.read_bytes() * 2)
    home.touch(path, 29)
    assert [night(home).counts.get("rescued") for _ in range(2)] == [1, None]
    path.unlink()
    assert main(["sessions", "restore", path.stem]) == DONE
    assert path.stat().st_size == max(one.session.size for one in Shelf(home.data / "archive").sessions())


def test_off_ends_it(tmp_path: Path) -> None:
    home = kept(tmp_path, rescue="off")
    home.add("claude", 1, 29)
    assert night(home).counts.get("rescued") is None
    assert home.run().counts.get("rescued") is None
    assert rescue_packs(home.data / "archive") == []
    assert kept_by(home.settings.retention, home.environ).rescue == "off"


def test_beyond_the_quota_nothing_is_archived_and_the_night_fails_and_says_so(tmp_path: Path) -> None:
    home = kept(tmp_path)
    small, large = home.add("claude", 1, 25), home.add("claude", 2, 29)
    # what cannot be packed smaller, so that it finds no room however often it is asked
    noise = Random(1).randbytes(20_000).hex()
    large.write_bytes(large.read_bytes().replace(b"hello 2", noise.encode()))
    home.touch(large, 29)
    home.set(rescue_max_bytes="30 kB")
    for rescued in (1, None):
        report = night(home)
        assert (report.counts.get("rescued"), report.counts["rescue_left_out"]) == (rescued, 1)
        (said,) = report.failures
        assert "1 session of" in said
        assert "raise retention.rescue_max_bytes" in said
        assert [one.session.id for one in Shelf(home.data / "archive").sessions()] == [small.stem]
        # it came to its end: the next one has nothing to clear away
        assert report.counts.get("resumed") is None
    assert [alarm.name for alarm in read_nights(home.environ)[0][-1].alarms] == ["failures", "rescue"]
    home.set(rescue_max_bytes="unlimited")
    assert night(home).counts["rescued"] == 1
    assert night(home).failures == []


def test_a_dry_night_says_what_it_would_archive(tmp_path: Path) -> None:
    home = kept(tmp_path)
    home.add("claude", 1, 29)
    report = night(home, dry_run=True)
    assert (report.counts["would_rescue"], home.data.exists()) == (1, False)


def test_a_session_that_went_on_after_it_was_rescued_is_rescued_again(tmp_path: Path) -> None:
    home = kept(tmp_path)
    path = home.add("claude", 1, 28)
    home.run()
    path.write_bytes(path.read_bytes() + path.read_bytes())
    home.touch(path, 1)
    assert home.run().counts.get("rescued") is None
    home.touch(path, 29)
    assert home.run().counts["rescued"] == 1
    newest = max(Shelf(home.data / "archive").sessions(), key=lambda one: one.session.size)
    with Pack(newest.pack) as pack:
        assert b"".join(pack.blocks(newest.session.files[-1])) == path.read_bytes()


def test_an_old_sub_agent_of_a_young_session_is_due(tmp_path: Path) -> None:
    home = kept(tmp_path)
    path = home.add("claude", 1, 28, side=True)
    home.touch(path, 2)
    assert home.run().counts["rescued"] == 1
    assert home.run().counts.get("rescued") is None


def test_an_old_file_beside_a_young_session_is_due(tmp_path: Path) -> None:
    """Claude Code deletes by the time of each file: one that is resumed for months loses its old results of tools."""
    home = kept(tmp_path)
    path = home.add("claude", 1, 28, side=True)
    for young in (path, path.with_suffix("") / "subagents" / "agent-1.jsonl"):
        home.touch(young, 2)
    assert home.run().counts["rescued"] == 1
    assert home.run().counts.get("rescued") is None


@pytest.mark.parametrize(
    "place", ["file-history/{}/00@v1", "tasks/{}/1.json", "todos/{}.json", "todos/{}-agent-1.json"]
)
def test_what_the_client_keeps_of_a_young_session_in_its_home_is_due(tmp_path: Path, place: str) -> None:
    home = kept(tmp_path)
    path = home.add("claude", 1, 2)
    old = home.root / ".claude" / place.format(path.stem)
    old.parent.mkdir(parents=True)
    old.write_bytes(b"as it was")
    home.touch(old, 28)
    assert home.run().counts["rescued"] == 1
    assert home.run().counts.get("rescued") is None


def test_what_another_project_needs_of_the_home_is_not_rescued_night_after_night(tmp_path: Path) -> None:
    home = kept(tmp_path)
    path = home.add("claude", 1, 2)
    twin = path.parent.with_name("-home-ann-other") / path.name
    twin.parent.mkdir()
    twin.write_bytes(path.read_bytes())
    home.touch(twin, 2)
    old = home.root / ".claude" / "tasks" / path.stem / "1.json"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"{}")
    home.touch(old, 28)
    runs = [home.run().counts.get("rescued") for _ in range(2)]
    assert runs == [None, None]


def test_a_session_whose_results_cannot_be_listed_is_told_and_keeps_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = kept(tmp_path)
    first, second = home.add("claude", 1, 2, side=True), home.add("claude", 2, 29)
    closed, listed = os.fspath(first.with_suffix("") / "tool-results"), os.scandir
    iterated = Path.iterdir

    def scandir(path: Any = ".") -> Any:
        if os.fspath(path) == closed:
            raise PermissionError(errno.EACCES, "Permission denied", closed)
        return listed(path)

    def iterdir(path: Path) -> Any:
        scandir(path)
        return iterated(path)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(Path, "iterdir", iterdir)
    report = home.run()
    assert (report.counts["rescued"], len(report.failures)) == (1, 1)
    assert closed in report.failures[0]
    assert [one.session.id for one in Shelf(home.data / "archive").sessions()] == [second.stem]


def test_the_settings_of_the_client_say_how_long_it_keeps(tmp_path: Path) -> None:
    home = kept(tmp_path)
    home.add("claude", 1, 8)
    (tmp_path / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 10}')
    assert home.run().counts["rescued"] == 1


@pytest.mark.parametrize(
    ("text", "days", "said"),
    [
        ("{}", 30, 0),
        ('{"cleanupPeriodDays": 0}', 1, 0),
        ('{"cleanupPeriodDays": 99999}', 99999, 0),
        ('{"cleanupPeriodDays": "7"}', 30, 0),
        ("{", 30, 1),
    ],
)
def test_settings_that_say_nothing_mean_the_clients_default(tmp_path: Path, text: str, days: float, said: int) -> None:
    (tmp_path / "settings.json").write_text(text)
    report = Report("retain")
    assert (cleanup_days(tmp_path, (), report), len(report.warnings)) == (days, said)


def test_the_client_cleans_up_by_the_settings_of_where_it_is_started_unless_a_policy_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy"
    monkeypatch.setattr(client, "CLAUDE_POLICY", policy)
    shop = tmp_path / "shop"

    def days(place: str, number: int) -> float:
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"cleanupPeriodDays": number}))
        return cleanup_days(tmp_path / "home", [str(shop), str(tmp_path / "gone")], Report("retain"))

    assert days("home/settings.json", 90) == 90
    assert days("shop/.claude/settings.json", 20) == 20
    assert days("shop/.claude/settings.local.json", 60) == 60
    assert days("policy/managed-settings.json", 7) == 7
    assert days("policy/managed-settings.d/10-more.json", 400) == 400


def test_other_clients_delete_nothing_by_themselves(tmp_path: Path) -> None:
    home = kept(tmp_path)
    for dialect in ("pi", "codex", "crabtalk"):
        home.add(dialect, 1, 400)
    assert home.run().counts.get("rescued") is None


def test_a_dry_run_says_what_it_would_rescue_and_writes_nothing(tmp_path: Path) -> None:
    home = kept(tmp_path)
    home.add("claude", 1, 29)
    report = home.run(apply=False)
    assert (report.counts["would_rescue"], actions(report)) == (1, [("stay", "1"), ("rescue", "1")])
    assert not home.data.exists()


def test_what_the_rules_remove_is_archived_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.add("claude", 1, 40)
    assert home.run(apply=False).counts.get("would_rescue") is None
    report = home.run()
    assert (report.counts["removed"], report.counts["archived"], report.counts.get("rescued")) == (1, 1, None)


def test_one_that_cannot_be_read_keeps_no_other_from_being_rescued(tmp_path: Path) -> None:
    home = kept(tmp_path)
    first, second = home.add("claude", 1, 29, side=True), home.add("claude", 2, 29)
    pipe = first.with_suffix("") / "tool-results" / "pipe"
    os.mkfifo(pipe)
    report = home.run()
    assert (report.counts["rescued"], len(report.failures)) == (1, 1)
    assert str(pipe) in report.failures[0]
    assert [one.session.id for one in Shelf(home.data / "archive").sessions()] == [second.stem]


def test_what_was_read_once_and_is_nowhere_any_more_is_said(tmp_path: Path) -> None:
    home = kept(tmp_path)
    path, archived = home.add("claude", 1, 5), home.add("claude", 2, 29)
    home.add("claude", 3, 5)
    memory = path.parent / "memory"
    (memory / ".slowwave").mkdir(parents=True)
    append_batches(
        memory,
        [
            ([], [ExtractedRange(SessionRef("claude", one.stem, str(one)), 0, 1, "0" * 64, "x")])
            for one in (path, archived)
        ],
    )
    assert home.run().counts.get("already_gone") is None
    path.unlink()
    archived.unlink()
    report = home.run()
    assert report.counts["already_gone"] == 1  # the other one lies in the archive
    assert ("gone", "1") in actions(report)
    assert json.dumps(report.to_builtins())
