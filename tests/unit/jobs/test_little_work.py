"""Who works little has a memory too: short sessions, nights with a moving clock, and nothing done twice."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from slowwave.context import Run
from slowwave.jobs.status import standings
from slowwave.jobs.story import run_job
from slowwave.memory.book import read_book
from slowwave.memory.candidates import read_candidates
from slowwave.observability.night import read_nights
from slowwave.report import Report
from slowwave.settings import Settings
from tests.unit.retention.homes import DIALECTS, NOW, Home

WISHES = {
    1: "We use ripgrep here, never grep.",
    2: "Our formatter is ruff, and we never use black here.",
    3: "From now on use the old importer for all new customers.",
}
# of compacting and erasing, of reading a session, of judging what it was told, and of asking a server
OF_WORK = (
    *("slowwave.compaction", "slowwave.retention.erase", "slowwave.retention.purge", "slowwave.extraction.offline"),
    *("slowwave.extraction.classifier", "slowwave.consolidation.effect", "urllib.request", "http.client", "pydantic"),
)
NIGHT = """
import gc
import sys
from datetime import datetime
from slowwave.cli import main
from slowwave.context import SystemClock
SystemClock.now = lambda clock: datetime.fromisoformat(sys.argv[1])
code = main(["run", "nightly", "--direct", "--json"])
assert gc.get_freeze_count() > 10_000, "the collector goes through all modules"
sys.stdout = sys.__stdout__
print(*sys.modules)
sys.exit(code)
"""


def night(home: Home) -> Report:
    return run_job("nightly", Run(f"r{home.clock.now():%m%d}", Settings(), home.clock, home.environ))


def kept(memory: Path) -> dict[str, bytes]:
    """Return the bytes of a memory folder, but for the lock of whoever looked last."""
    return {str(p): p.read_bytes() for p in sorted(memory.rglob("*")) if p.is_file() and p.suffix != ".lock"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_three_short_sessions_are_remembered_after_a_week(tmp_path: Path, dialect: str) -> None:
    home = Home(tmp_path)
    for number, wish in WISHES.items():
        home.add(dialect, number, 1 / 12, wish, "have a look at the tests")
    days: dict[str, int] = {}
    memory = tmp_path
    for day in range(9):
        home.clock.at = NOW + timedelta(days=day)
        report = night(home)
        assert report.failures == []
        (memory,) = map(Path, report.memories.values())
        if read_candidates(memory)[0]:
            days.setdefault("read", day)
        if report.dream_ids:
            days.setdefault("dreamt", day)
        before = kept(memory)
        assert night(home).dream_ids == []
        assert kept(memory) == before
    # its builder gives some clients' messages a time of its own
    assert days in ({"read": 1, "dreamt": 8}, {"read": 0, "dreamt": 6})
    said = " ".join(m.text for m in read_book(memory).active)
    assert "ripgrep" in said
    assert "formatter" in said


def test_old_short_sessions_are_remembered_in_the_first_night(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.add("claude", 1, 20, WISHES[1], "have a look at the tests")
    home.clock.advance(days=9)
    report = night(home)
    assert len(report.dream_ids) == 1
    (reason,) = (gate.reason for gate in report.gates if gate.gate == "sessions")
    assert reason.startswith("1 session: a first dream comes with 5, or once something noted here is a week old (the")


def test_a_month_of_small_talk_in_several_projects_raises_no_alarm(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for day in range(30):
        home.add("claude", day, -day + 1 / 12, "have a look at the tests", "thanks", cwd=f"/w{day % 9}")
        home.clock.at = NOW + timedelta(days=day)
        assert night(home).failures == []
    assert {alarm.name for past in read_nights(home.environ)[0] for alarm in past.alarms} == set()


def test_status_says_what_a_project_waits_for(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.add("claude", 1, 2, WISHES[1], "have a look at the tests")
    night(home)
    (row,) = standings(Settings(), home.environ, home.clock)[0]
    (reason,) = (gate.reason for gate in row.gates if not gate.passed)
    assert " days, so from 2026-11-27 " in reason
    assert (row.due, "or once something noted here is a week old (the oldest: " in reason) == (False, True)
    home.clock.advance(days=7)
    assert standings(Settings(), home.environ, home.clock)[0][0].due


def test_a_night_with_nothing_to_do_loads_nothing_that_only_work_needs(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for number, wish in WISHES.items():
        home.add("claude", number, 20, wish, "have a look at the tests")
    night(home)
    done = subprocess.run(
        [sys.executable, "-c", NIGHT, (home.clock.now() + timedelta(hours=1)).isoformat()],
        env={**os.environ, **home.environ},
        capture_output=True,
        check=True,
    )
    loaded = set(done.stdout.decode().split())
    assert {"slowwave.consolidation.inbox", "slowwave.secrets.finder"} < loaded
    assert {name for name in loaded if name.startswith(OF_WORK)} == set()
