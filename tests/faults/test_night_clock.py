"""A clock that is set by two hours, between nights and within one: the next night is complete, and status says it."""

import json
import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli.status import of_nights
from slowwave.consolidation import job
from slowwave.consolidation.lock import refusal
from slowwave.context import FixedClock
from slowwave.jobs.status import lately
from slowwave.locks import start_ticks
from slowwave.memory.book import read_book
from slowwave.memory.candidates import read_candidates
from slowwave.memory.folder import LOCK_FILE
from slowwave.observability.progress import LOOK, LeftBy, watched_by, words
from slowwave.service.checks import runs
from tests.faults.night_town import Town
from tests.unit.consolidation.dreams import no_fsync

DRILLS = os.environ.get("DRILLS", "")
HOUR = timedelta(hours=1)
BOTH = pytest.mark.parametrize("hours", [2, -2])

pytestmark = pytest.mark.drill


@pytest.fixture
def town(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Town:
    monkeypatch.setattr(os, "fsync", no_fsync)
    made = Town(own_home, projects=2)
    real, first = time.time, made.clock.now()
    # whoever asks the machine itself sees its clock set as well
    monkeypatch.setattr(time, "time", lambda: real() + (made.clock.now() - first).total_seconds())
    return made


def known(town: Town) -> tuple[list[str], list[str]]:
    """Return what is remembered and what was noted; times, which the clock decides, left out."""
    memories = sorted((town.root / ".claude" / "projects").glob("*/memory"))
    texts = [f"{memory.parent.name}: {one.text}" for memory in memories for one in read_book(memory).active]
    return sorted(texts), sorted(c.id for memory in memories for c in read_candidates(memory)[0])


def a_day_of_work(town: Town) -> None:
    for number, key in enumerate(town.keys):
        town.folder, town.cwd = town.root / ".claude" / "projects" / key, f"/home/ann/shop{number}"
        town.work()


def undisturbed(town: Town, *nights: float) -> tuple[list[str], list[str]]:
    """Return what is known after nights at these hours, people at work before the second, and forget it."""
    first = town.clock.now()
    for number, hour in enumerate(nights):
        town.clock.at = first + hour * HOUR
        assert town.direct(f"undisturbed{number}").failures == []
    town.clock.at = first
    found = known(town)
    town.forget()
    return found


# two hours earlier are still a night of the schedule (decision 60)
@pytest.mark.parametrize("hours", [2, -2, -6])
def test_a_clock_that_is_set_between_nights_costs_a_day_at_most(town: Town, hours: int) -> None:
    first = town.clock.now()
    town.direct("night1")
    town.clock.at = first + 24 * HOUR
    a_day_of_work(town)
    town.clock.at = first + (24 + hours) * HOUR
    report = town.direct("night2")
    assert report.failures == []
    late = [gate for gate in report.gates if gate.gate == "time" and not gate.passed]
    if hours == -6:
        due = f"not before {first + 20 * HOUR:%Y-%m-%d %H:%M}"
        assert {gate.reason.partition(" UTC")[0] for gate in late} == {due}
    else:
        assert late == []
    town.clock.at = first + 48 * HOUR
    assert town.direct("night3").failures == []
    found = known(town)
    town.forget()
    assert found == undisturbed(town, 24, 48)
    assert [night.alarms for night in town.nights()] == []


def test_a_clock_that_was_set_back_behind_the_last_night_shuts_every_gate_and_says_so(town: Town) -> None:
    first = town.clock.now()
    town.direct("night1")
    before = known(town)
    town.clock.at = first - 2 * HOUR
    report = town.direct("night2")
    assert report.failures == []
    assert known(town) == before
    shut = {gate.gate: gate.reason for gate in report.gates if not gate.passed}
    assert "which is in the future: the clock ran backwards" in shut["time"]
    past = lately(town.settings().model, town.environ, town.clock.now())
    lines = list(of_nights(past))
    assert lines[1] == "Last run: nightly of 2026-03-02 03:30, in 2.0 h by this clock: completed"
    assert lines[2] == "  clock      it is 2026-03-02 01:30 UTC, before the last run began: the clock was moved"
    check = runs(town.settings(), town.environ, town.clock.now())
    assert (check.ok, check.fix) == (False, "set this machine's clock; later nights pass by themselves")
    town.clock.at = first + 24 * HOUR
    a_day_of_work(town)
    assert town.direct("night3").failures == []
    found = known(town)
    assert runs(town.settings(), town.environ, town.clock.now()).ok
    town.forget()
    town.clock.at = first
    assert found == undisturbed(town, 0, 24)


class Hand:
    """Sets a clock once so many steps of a night are done."""

    def __init__(self, clock: FixedClock, by: timedelta, after: int) -> None:
        self.clock, self.by, self.left = clock, by, after

    def plan(self, step: str, total: int, left: LeftBy | None = None) -> None:
        del left
        assert total, step

    def done(self, step: str, what: str) -> None:
        assert words(step) != step, what
        self.left -= step != LOOK
        if not self.left:
            self.clock.at += self.by


@BOTH
@pytest.mark.parametrize("after", [1, 3, 5] if DRILLS else [3])
def test_a_clock_that_is_set_within_a_night_changes_nothing_of_what_is_remembered(
    town: Town, hours: int, after: int
) -> None:
    first = town.clock.now()
    with watched_by(Hand(town.clock, hours * HOUR, after)):
        assert town.direct("night1").failures == []
    assert town.clock.now() == first + hours * HOUR
    assert town.note() is None
    town.clock.at = first + 24 * HOUR + abs(hours) * HOUR
    a_day_of_work(town)
    assert town.direct("night2").failures == []
    assert [(night.outcome, night.alarms) for night in town.nights()] == [("Completed", [])] * 2
    found = known(town)
    town.forget()
    assert found == undisturbed(town, 0, 24)


@BOTH
def test_a_dream_and_a_night_at_work_are_not_taken_for_dead_when_the_clock_is_set(
    town: Town, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    seen: list[str] = []
    stale = town.settings().consolidation.lock_stale
    real: Callable[..., Any] = job.apply_plan

    def committing(*given: Any, **more: Any) -> Any:
        town.clock.at += hours * HOUR
        locks = (town.root / ".claude" / "projects").glob(f"*/memory/{LOCK_FILE}")
        seen.extend(refusal(lock.parent, stale, time.time) for lock in locks)
        assert [note.run_id for note in lately(town.settings().model, town.environ, town.clock.now()).at_work] == ["r1"]
        town.clock.at -= hours * HOUR
        return real(*given, **more)

    monkeypatch.setattr(job, "apply_plan", committing)
    assert town.direct().failures == []
    assert len(seen) == len(town.keys)
    assert all(reason.startswith(f"held by process {os.getpid()} on ") for reason in seen)


@BOTH
def test_a_session_that_a_client_has_open_stays_untouched_when_the_clock_is_set(town: Town, hours: int) -> None:
    session = next((town.root / ".claude" / "projects" / town.keys[0]).glob("*.jsonl"))
    claims = town.root / ".claude" / "sessions"
    claims.mkdir()
    claim = {"sessionId": session.stem, "procStart": str(start_ticks(os.getpid()))}
    (claims / f"{os.getpid()}.json").write_text(json.dumps(claim))
    town.clock.at += hours * HOUR
    report = town.direct()
    closed = [gate for gate in report.gates if not gate.passed and "open in a running client" in gate.reason]
    assert closed or any("open in a running client" in item.reason for item in report.items)
    noted = {c.session.id for key in town.keys for c in read_candidates(session.parents[1] / key / "memory")[0]}
    assert session.stem not in noted
