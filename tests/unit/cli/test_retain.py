"""``slowwave retain`` and ``run retain`` as a person calls them, in a home of their own."""

import json
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from slowwave.cli import main
from slowwave.errors import DONE, REFUSED, UNREADABLE, USAGE
from slowwave.retention.holds import Facts, held_reason, read_holds
from tests.unit.retention.fleets import ADD
from tests.unit.retention.homes import Home

AGE = ("--set", "retention.max_age=30d", "--set", "retention.require_extracted=false")
SURE = (*AGE, "--set", "retention.confirm=2")


@pytest.fixture
def home(own_home: Path) -> Home:
    made = Home(own_home)
    made.clock.at = datetime.now(UTC)
    made.add("claude", 1, 40, "Call Erika Mustermann", "yes")
    made.add("claude", 2, 40, "something else", "no")
    made.add("claude", 3, 1, "young", "yes")
    return made


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def lines(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_nothing_goes_before_somebody_says_so(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    before = home.clients()
    assert main(["run", "retain", "--direct", *SURE, "--json"]) == DONE
    assert printed(capsys)["counts"]["would_remove"] == 2
    assert main(["retain", "plan", *AGE]) == DONE
    assert "Would be archived and moved into the trash: 2" in capsys.readouterr().out
    assert home.clients() == before
    assert main(["run", "retain", "--direct", *SURE, "--apply", "--dry-run", "--json"]) == DONE
    assert printed(capsys)["counts"]["would_remove"] == 2
    assert main(["run", "retain", "--direct", *SURE, "--set", "retention.enforce=true", "--json"]) == DONE
    assert printed(capsys)["counts"]["removed"] == 2


def test_most_of_a_fleet_goes_only_after_its_number_was_said(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    before = home.clients()
    run = ["run", "retain", "--direct", *AGE, "--apply", "--json"]
    for said in ([], ["--confirm", "1"], ["--force"]):
        assert main([*run, *said]) == REFUSED
        report = printed(capsys)
        assert [(gate["gate"], gate["passed"]) for gate in report["gates"]] == [("confirm", False)]
        assert "2 of 3 sessions would go, more than half: add --confirm 2" in report["gates"][0]["reason"]
        assert (report["counts"]["waiting"], "removed" in report["counts"]) == (2, False)
    assert home.clients() == before
    assert main([*run[:-1], "--dry-run"]) == DONE
    assert "add --confirm 2" in capsys.readouterr().out
    assert main([*run, "--confirm", "2"]) == DONE
    assert printed(capsys)["counts"]["removed"] == 2
    assert main(["run", "extract", "--direct", "--confirm", "2"]) == USAGE


@pytest.mark.usefixtures("home")
def test_no_age_at_all_asks_for_the_number_however_few_go(capsys: pytest.CaptureFixture[str]) -> None:
    for number in (2, 3):
        assert main(["retain", "hold", "--session", str(UUID(int=number)), "--reason", "why"]) == DONE
    capsys.readouterr()
    run = ["run", "retain", "--direct", *AGE, "--set", "retention.max_age=0d", "--apply", "--json"]
    assert main(run) == REFUSED
    assert "1 of 3 sessions would go, whatever their age" in printed(capsys)["gates"][0]["reason"]
    assert main([*run, "--confirm", "1"]) == DONE
    assert printed(capsys)["counts"]["removed"] == 1


def test_a_plan_lists_every_session_with_its_age_limit_rule_and_date(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(4, 30):
        home.add("pi", number, 2)
    assert main(["retain", "hold", "--session", str(UUID(int=2)), "--reason", "why"]) == DONE
    capsys.readouterr()
    assert main(["retain", "plan", *AGE, "--json"]) == DONE
    report = printed(capsys)
    rows = {item["target"]: item for item in report["items"] if "rule" in item}
    assert set(rows) == {str(UUID(int=number)) for number in range(1, 30)}
    assert Counter(row["action"] for row in rows.values()) == {"remove": 1, "refused": 1, "stay": 27}
    gone, held, young = (rows[str(UUID(int=number))] for number in (1, 2, 3))
    assert gone["limit"] == held["limit"] == young["limit"] == "retention.max_age = 30d"
    assert (gone["age_days"], young["age_days"], young["reason"]) == (40, 1, "within all limits")
    now = datetime.now(UTC)
    for row, days in ((gone, -10), (young, 29)):
        assert abs(datetime.fromisoformat(row["due"]) - now - timedelta(days=days)) < timedelta(hours=2)
    assert main(["retain", "plan", *AGE]) == DONE
    said = capsys.readouterr().out
    assert all(target in said for target in rows)
    assert "Stays: 27" in said
    assert said.count("within all limits (retention.max_age = 30d)") == 1
    (line,) = [line for line in said.splitlines() if str(UUID(int=1)) in line]
    assert line.startswith("    40 days old     ")
    assert "last active 20" in line
    assert ", old enough at 20" in line
    assert main(["retain", "plan", "--set", "retention.keep_last=1"]) == DONE
    assert "no max_age, max_count or max_bytes is set" not in capsys.readouterr().out
    assert main(["retain", "plan"]) == DONE
    assert capsys.readouterr().out.count("no max_age, max_count or max_bytes is set") == 1


def test_a_hold_a_run_the_trash_and_back(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    before = home.clients()
    hold = ["retain", "hold", "--person", "erika mustermann", "--reason", "request 17", "--by", "ann"]
    assert main([*hold, "--json"]) == DONE
    name = printed(capsys)["id"]
    assert main(["retain", "holds", "--json"]) == DONE
    assert [(one["id"], one["person"], one["by"], one["sessions"]) for one in lines(capsys)] == [
        (name, "erika mustermann", "ann", 1)
    ]
    assert main(["run", "retain", "--direct", *SURE, "--apply", "--json"]) == DONE
    report = printed(capsys)
    assert (report["counts"]["removed"], report["counts"]["refused_held"]) == (1, 1)
    refused = next(item for item in report["items"] if item["action"] == "refused")
    assert (refused["rule"], refused["guard"]) == ("max_age", "held")
    assert refused["bytes"] > 0
    assert main(["retain", "trash", "--json"]) == DONE
    (item,) = lines(capsys)
    assert (item["due"], item["reason"]) == (False, "retention: max_age")
    assert main(["status", "--json"]) == DONE
    kept = printed(capsys)["retention"]
    assert (kept["trash"], kept["trash_bytes"], kept["holds"]) == (1, item["bytes"], 1)
    assert main(["status"]) == DONE
    assert "Retention: 1 item in the trash" in capsys.readouterr().out
    assert main(["sessions", "restore", item["id"]]) == DONE
    assert home.clients() == before
    assert main(["retain", "release", name]) == DONE
    capsys.readouterr()
    assert main(["retain", "audit", "--json"]) == DONE
    # what is held was archived, too: Claude Code itself would delete it
    assert [line["action"] for line in lines(capsys)] == ["hold", "archive", "trash", "archive", "restore", "release"]


@pytest.mark.usefixtures("home")
def test_a_hold_says_how_many_sessions_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    for option, text, number in (
        ("--project", "shop", 3),
        ("--person", "erika mustermann", 1),
        ("--project", "zzz", 0),
    ):
        assert main(["retain", "hold", option, text, "--reason", "why"]) == DONE
        said = capsys.readouterr()
        assert f"holds {number} session" in said.out
        assert ("holds nothing yet" in said.err) == (number == 0)
    assert main(["run", "retain", "--direct", *SURE, "--apply"]) == DONE
    capsys.readouterr()
    assert main(["retain", "holds"]) == DONE
    out = capsys.readouterr().out
    assert [f" {number} session" in out for number in (3, 1, 0)] == [True] * 3


def test_a_hold_of_one_day_is_told_in_the_zone_of_who_asks(
    home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        day = ["--since", "2026-03-05", "--until", "5 March 2026"]
        assert main(["retain", "hold", *day, "--reason", "why"]) == DONE
        assert main(["retain", "holds"]) == DONE
        said = capsys.readouterr().out
        assert said.count("since 2026-03-05 00:00 JST, until 2026-03-05 23:59 JST") == 2
        (hold,) = read_holds(home.environ)
        assert hold.since.endswith("T00:00:00+09:00")
        last = datetime(2026, 3, 5, 14, 59, 59, tzinfo=UTC).timestamp()  # the last second of the day in Tokyo
        for name, is_held in (("2026-03-05", True), ("2026-03-04", False)):
            assert main(["retain", "release", read_holds(home.environ)[0].id]) == DONE
            assert main(["retain", "hold", "--since", name, "--until", name, "--reason", "why"]) == DONE
            (hold,) = read_holds(home.environ)
            assert bool(held_reason(hold, Facts((), (), lambda: (last, last), tuple))) == is_held
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_log_shows_who_meddled_with_it(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "retain", "--direct", *SURE, "--apply"]) == DONE
    assert main(["retain", "audit", "--verify"]) == DONE
    log = home.root / "data" / "slowwave" / "audit.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole.replace(b"max_age", b"max_aga", 1))
    capsys.readouterr()
    assert main(["retain", "audit", "--verify", "--json"]) == UNREADABLE
    assert printed(capsys)["whole"] is False
    log.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    assert main(["retain", "audit", "--verify"]) == UNREADABLE
    assert "missing at the end" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["retain", "hold", "--reason", "why"],
        ["retain", "hold", "--session", "s", "--reason", " "],
        ["retain", "hold", "--person", "...", "--reason", "why"],
        ["retain", "hold", "--since", "2026-02-01", "--until", "2026-01-01", "--reason", "why"],
        ["retain", "hold", "--since", "soon", "--reason", "why"],
        ["retain", "hold", "--since", "03/04/2026", "--reason", "why"],
        ["retain", "hold", "--until", "05.03.2026", "--reason", "why"],
        ["run", "retain", "--direct", "--set", "retention.max_age=6m"],
        ["run", "nightly", "--direct", "--apply"],
        ["run", "retain", "--direct", "--set", "retention.keep_within=1y", "--set", "retention.max_age=1d"],
    ],
)
def test_what_makes_no_sense_is_refused_with_a_remedy(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == USAGE
    assert capsys.readouterr().err.startswith("slowwave: ")


def test_an_unknown_hold_is_not_released(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["retain", "release", "h0"]) == UNREADABLE
    assert "slowwave retain holds" in capsys.readouterr().err


def test_what_was_not_extracted_stays_however_short_it_is(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    long = home.add("claude", 9, 50, *(f"say {number}" for number in range(40)))
    only_age = ["--set", "retention.max_age=30d", "--set", "retention.confirm=3"]
    assert main(["run", "retain", "--direct", *only_age, "--apply", "--json"]) == DONE
    report = printed(capsys)
    assert ("removed" in report["counts"], report["counts"]["refused_not_extracted"]) == (False, 3)
    assert long.exists()
    assert main(["run", "extract", "--direct", "--json"]) == DONE
    capsys.readouterr()
    assert main(["run", "retain", "--direct", *only_age, "--apply", "--json"]) == DONE
    assert printed(capsys)["counts"]["removed"] == 3
    assert not long.exists()


def test_the_night_removes_only_where_the_settings_say_so(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "nightly", "--direct", *SURE]) == DONE
    assert not (home.root / "data" / "slowwave" / "trash").exists()
    assert main(["run", "nightly", "--direct", *SURE, "--set", "retention.enforce=true", "--json"]) == DONE
    capsys.readouterr()
    assert len(list((home.root / "data" / "slowwave" / "trash").iterdir())) == 2


def test_packs_are_verified_with_the_log(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "retain", "--direct", *SURE, "--apply"]) == DONE
    capsys.readouterr()
    assert main(["retain", "audit", "--verify"]) == DONE
    assert "1 pack, every file as it was archived" in capsys.readouterr().out
    (pack,) = (home.data / "archive").glob("*.swpack")
    data = bytearray(pack.read_bytes())
    data[20] ^= 1
    pack.write_bytes(data)
    assert main(["retain", "audit", "--verify", "--json"]) == UNREADABLE
    said = printed(capsys)
    assert (said["whole"], said["flaws"], said["packs"], len(said["damaged"])) == (False, [], 1, 1)
    assert main(["retain", "audit", "--verify"]) == UNREADABLE
    assert str(pack) in capsys.readouterr().err


def test_purge_for_this_run_alone(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    path = ADD["cersei"](home, 9, 5)
    assert main(["run", "retain", "--direct", "--apply", "--json"]) == DONE
    assert "purged" not in printed(capsys)["counts"]
    assert main(["run", "extract", "--direct", "--set", "extraction.min_messages=0", "--json"]) == DONE
    capsys.readouterr()
    assert main(["run", "retain", "--direct", "--purge", "--json"]) == DONE
    assert printed(capsys)["counts"]["would_purge"] == 1
    assert b"hidden" in path.read_bytes()
    assert main(["run", "retain", "--direct", "--purge", "--apply"]) == DONE
    assert "Hidden for good, and taken out of their files: 1" in capsys.readouterr().out
    assert b"hidden" not in path.read_bytes()
    assert main(["run", "extract", "--direct", "--purge"]) == USAGE
