"""A night whose process is killed at any moment: status and doctor tell of it, and the next night is complete."""

import json
import os
import random
import re
import signal
from pathlib import Path

import pytest

from slowwave.jobs import story
from slowwave.observability.night import STOPPED
from slowwave.observability.page import report_path
from slowwave.report import Report
from tests.faults.calls import counted, killed_at
from tests.faults.night_town import Town, in_child, killed_when, said
from tests.unit.consolidation.dreams import no_fsync

DRILLS = os.environ.get("DRILLS", "")
STEPS = ("extract", "consolidate")  # over each project

pytestmark = pytest.mark.drill


@pytest.fixture
def town(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Town:
    monkeypatch.setattr(os, "fsync", no_fsync)
    return Town(own_home)


def the_next_night_is_complete(town: Town, expected: dict[str, bytes]) -> None:
    before = len(town.nights())
    report = town.direct("next")
    assert report.failures == []
    assert town.memories() == expected
    assert town.note() is None
    nights = town.nights()
    told = [night for night in nights if night.found_by == "next"]
    assert len(nights) == before + len(told) + 1
    last = next(night for night in nights if night.run_id == "next")
    assert [alarm.name for alarm in last.alarms] == ["stopped"] * bool(told)
    for night in told:
        assert night.outcome == STOPPED
        assert any(night.failures[0] in warning for warning in report.warnings)


def test_a_night_killed_before_any_of_its_changes_is_followed_by_a_complete_one(town: Town) -> None:
    expected = town.of_one_night()
    number = counted(town.root, town.direct)
    town.forget()
    chance = random.Random(number)
    sample = {"": 6, "full": 60, "all": number}[DRILLS]
    told = 0
    for point in [*sorted(chance.sample(range(1, number), sample - 1)), number]:
        assert killed_at(point, town.root, town.direct)
        # right at its beginning there is no note yet, at its end none any more
        assert town.note() or town.nights() or not town.memories()
        told += bool(town.note())
        the_next_night_is_complete(town, expected)
        town.forget()
    assert told > sample // 2


def test_a_night_killed_while_it_works_is_named_with_its_place_and_its_reason(
    town: Town, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = town.of_one_night()
    chance = random.Random(7)
    for _ in range(25 if DRILLS else 3):
        what_is_said_of_it(capsys, killed_in_its_middle(town, chance))
        the_next_night_is_complete(town, expected)
        code, said_now = said(capsys, "status")
        assert code == 0
        # a night that was killed when all was done leaves the next one nothing to do
        assert re.search("Last run: nightly of 2026-03-02 03:30.*(completed|nothing to do)", said_now)
        assert "alarm      stopped: nightly of 2026-03-02 03:30: nightly stopped while " in said_now
        assert "stopped before its end" in report_path(town.environ).read_text()
        town.forget()


def killed_in_its_middle(town: Town, chance: random.Random) -> int:
    """Kill a night as soon as its note says that so many of its steps are done; return what its process was."""
    for _ in range(20):
        town.forget()
        at = chance.choice(STEPS), chance.randrange(len(town.keys))
        child = in_child(town.direct)
        is_killed = killed_when(
            lambda at=at: (n := town.note()) is not None and n.step == at[0] and n.done >= at[1], child
        )
        if is_killed and town.note():
            return child
    raise AssertionError("every night was over before it could be killed")


def what_is_said_of_it(capsys: pytest.CaptureFixture[str], pid: int) -> None:
    why = f"its process {pid} is gone: it was killed"
    code, status = said(capsys, "status")
    assert code == 0
    (line,) = [line for line in status.splitlines() if line.startswith("  stopped")]
    assert line.startswith("  stopped    2026-03-02 03:30: nightly stopped while ")
    assert why in line
    assert "Last run: nightly of 2026-03-02 03:30" in status
    told = json.loads(said(capsys, "status", "--json")[1])["lately"]
    assert why in told["stopped"][0]["failures"][0]
    assert told["last"]["outcome"] == STOPPED
    code, checks = said(capsys, "doctor")
    assert code == 6
    (at,) = [n for n, line in enumerate(checks.splitlines()) if line.startswith("WRONG  runs")]
    assert why in checks.splitlines()[at]
    assert checks.splitlines()[at + 1].strip() == "fix: slowwave run nightly, or wait for its next time"


def test_a_night_at_work_is_not_taken_for_a_stopped_one(town: Town, capsys: pytest.CaptureFixture[str]) -> None:
    begun, begins = os.pipe()

    def hold(report: Report, _names: object = None) -> None:
        if report.spans:  # of a step, and not of what was found before the first one
            os.write(begins, b".")
            signal.pause()

    def work() -> None:
        story.log_report = hold
        town.direct()

    child = in_child(work)
    try:
        assert os.read(begun, 1)
        code, status = said(capsys, "status")
        assert (code, "  stopped" in status) == (0, False)
        assert (
            f"At work: nightly since 2026-03-02 03:30, while reading sessions, 0 of 3 done (process {child} on"
            in status
        )
        assert "1 at work, none stopped" in said(capsys, "doctor")[1]
        other = town.direct("another", "consolidation.min_sessions=1000")
        assert not any("stopped" in warning for warning in other.warnings)
        assert town.note() is not None
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
