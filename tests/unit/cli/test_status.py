"""``slowwave status``: what it says of nights, of dreams to come, and where the report is."""

import json
from pathlib import Path

import msgspec
import pytest

from slowwave.cli import main
from slowwave.cli.status_nights import of_nights
from slowwave.jobs.status import Budget, Lately
from slowwave.observability.night import Alarm, append_night, history_path
from tests.unit.observability.nights import a_night


def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}


def test_the_last_night_its_alarms_and_its_budget_are_said() -> None:
    night = a_night(1, failed=2, outcome="PartlyFailed")
    past = Lately(night, "2026-03-01T03:30:00+00:00", 5.0, [Alarm("failures", "2 failures in nightly", 2)])
    past.budget = Budget(1_000_000, 2.5, 912_345, 0.8)
    assert list(of_nights(past)) == [
        "",
        (
            "Last run: nightly of 2026-03-02 03:30, 5.0 h ago: failed in part; "
            "the last without a failure began 2026-03-01T03:30"
        ),
        "  alarm      failures: 2 failures in nightly",
        "  budget     the last run spent 912,345 of 1,000,000 tokens, 0.8000 of 2.5 USD",
    ]


def test_a_night_long_ago_is_told_in_days_and_without_a_model_no_budget() -> None:
    lines = list(of_nights(Lately(a_night(), "", 80.0)))
    assert lines[1:] == ["Last run: nightly of 2026-03-01 03:30, 3 days ago: completed"]


def test_nothing_is_said_before_the_first_night() -> None:
    assert list(of_nights(Lately())) == []


def test_html_writes_the_report_and_prints_where_it_is(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append_night(environ(own_home), a_night(alarms=[Alarm("loss", "a dream was parked", 1)]))
    assert main(["status", "--html"]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path == own_home / "state" / "slowwave" / "report.html"
    assert "a dream was parked" in path.read_text()


def test_html_without_a_history_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--html"]) == 3
    assert "no night was recorded yet" in capsys.readouterr().err


def test_json_has_what_the_history_says(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    night = a_night(dreams=2)
    append_night(environ(own_home), night)
    assert main(["status", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"projects", "problems", "retention", "lately", "backfills", "learned"}
    assert told["lately"]["last"] == msgspec.to_builtins(night)


def test_a_damaged_history_is_told_and_ends_with_code_6(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append_night(environ(own_home), a_night())
    with history_path(environ(own_home)).open("a") as file:
        file.write("{torn\n")
    assert main(["status"]) == 6
    assert "line 2 does not parse" in capsys.readouterr().out
    assert main(["status", "--html"]) == 6
