"""Drills of silent failures, with real nights: a planted cause is an alarm by the next run, a quiet month is none."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slowwave.consolidation import plan
from slowwave.context import FixedClock, Run
from slowwave.jobs.story import run_job
from slowwave.observability.night import read_nights
from slowwave.settings import load_settings
from tests.unit.consolidation.dreams import no_fsync
from tests.unit.observability.receiver import receiving
from tests.unit.secrets.keys import give_key

FIRST = datetime(2026, 3, 2, 3, 30, tzinfo=UTC)
NIGHTS = 30
TOOLS = ("cat", "grep", "sed", "awk", "find", "sort", "uniq", "head", "tail", "cut", "paste", "make", "tar", "gzip")


class Village:
    """A home in which people work by day, and slowwave by night."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = FixedClock(FIRST)
        self.environ = {
            "HOME": str(root),
            "XDG_STATE_HOME": str(root / "state"),
            "XDG_DATA_HOME": str(root / "data"),
            "XDG_CONFIG_HOME": str(root / "config"),
        }
        give_key(root / "config")
        self.overrides = ["alarms.silent_nights=3", "alarms.backlog=5d"]
        self.sessions = 0
        self.cwd = "/home/ann/shop"
        self.folder = root / ".claude" / "projects" / "-home-ann-shop"
        self.folder.mkdir(parents=True)

    def work(self, sessions: int = 5, turns: int = 12, *extra: dict[str, object]) -> None:
        """Write sessions as Claude Code does, each with one wish of its own; ``extra`` records end the last one."""
        for left in reversed(range(sessions)):
            self.sessions += 1
            name = f"00000000-0000-4000-8000-{self.sessions:012}"
            rows = [self._row(name, number) for number in range(2 * turns)]
            rows += () if left else extra
            path = self.folder / f"{name}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            at = (self.clock.now() - timedelta(hours=6)).timestamp()
            os.utime(path, (at, at))

    def _row(self, session: str, number: int) -> dict[str, object]:
        tool = TOOLS[self.sessions % len(TOOLS)]
        wish = f"the api of {tool} is frozen until version {self.sessions}" if number == 0 else "go on"
        at = self.clock.now() - timedelta(hours=8) + timedelta(minutes=number)
        said = {"role": "user", "content": wish}
        answer = {"role": "assistant", "content": [{"type": "text", "text": "All done with it. " * 120}]}
        return {
            "type": "assistant" if number % 2 else "user",
            "uuid": f"{session}-{number}",
            "parentUuid": f"{session}-{number - 1}" if number else None,
            "sessionId": session,
            "cwd": self.cwd,
            "version": "2.1.0",
            "timestamp": at.isoformat().replace("+00:00", "Z"),
            "message": answer if number % 2 else said,
        }

    def night(self, *overrides: str) -> list[str]:
        """Run a night, go on to the next evening, and return the names of its alarms."""
        settings = load_settings(self.environ, overrides=[*self.overrides, *overrides], cwd=self.root)
        run_job("nightly", Run(f"r{self.clock.now():%m%d}", settings, self.clock, self.environ))
        self.clock.advance(days=1)
        return [alarm.name for alarm in read_nights(self.environ)[0][-1].alarms]


@pytest.fixture
def village(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Village:
    monkeypatch.setattr("os.fsync", no_fsync)
    made = Village(tmp_path)
    made.work()
    assert made.night() == []
    (first,) = read_nights(made.environ)[0]
    assert first.dreams == 1
    return made


WORKING: dict[str, Callable[[Village, int], None]] = {
    "nobody works": lambda _village, _day: None,
    "five sessions a day": lambda village, _day: village.work(5),
    "two sessions a day, a dream every third night": lambda village, _day: village.work(2),
    "small talk": lambda village, _day: village.work(3, turns=2),
}


@pytest.mark.parametrize("way", WORKING)
def test_thirty_quiet_nights_raise_no_alarm(village: Village, way: str) -> None:
    raised: list[list[str]] = []
    for day in range(NIGHTS):
        WORKING[way](village, day)
        raised.append(village.night())
    assert raised == [[]] * NIGHTS


def test_a_failure_is_an_alarm_the_same_night(village: Village) -> None:
    (village.folder / "memory" / ".consolidation_state.json").write_text("{")
    village.work()
    assert village.night() == ["failures"]


def test_a_store_that_is_gone_is_an_alarm_the_same_night(village: Village) -> None:
    village.folder.rename(village.root / "elsewhere")
    assert village.night() == ["silence"]


def test_a_new_type_of_record_is_an_alarm_the_same_night_and_only_then(village: Village) -> None:
    hologram: dict[str, object] = {"type": "hologram", "uuid": "h", "sessionId": "s", "depth": 3}
    village.work(5, 12, hologram)
    assert village.night() == ["unknown-records"]
    village.work(5, 12, hologram)
    assert village.night() == []


def test_a_dream_that_loses_too_much_is_an_alarm_the_same_night(
    village: Village, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nearly_all(*_plan: object) -> tuple[int, float]:
        return 9, 0.9

    monkeypatch.setattr(plan, "lost_share", nearly_all)
    village.work()
    assert village.night() == ["loss"]
    assert "9 of" in read_nights(village.environ)[0][-1].lossy[0]


def test_a_dream_for_review_by_the_settings_is_no_alarm(village: Village) -> None:
    village.work()
    assert village.night("consolidation.mode=review") == []
    assert read_nights(village.environ)[0][-1].parked == 1


def test_candidates_that_no_dream_takes_up_are_an_alarm_as_soon_as_they_are_too_old(village: Village) -> None:
    closed = ("consolidation.min_sessions=1000", "consolidation.max_wait=1000d", "alarms.silent_nights=0")
    village.work()
    assert [village.night(*closed) for _ in range(7)] == [[]] * 6 + [["backlog"]]


@pytest.mark.parametrize(
    "cause",
    [
        ("consolidation.min_sessions=1000",),
        ("consolidation.min_hours=100000",),
        ("extraction.min_messages=100000", "extraction.ended_after=1000d"),
        ("extraction.idle=1000d",),
    ],
)
def test_nights_without_a_dream_are_an_alarm_when_they_are_as_many_as_allowed(
    village: Village, cause: tuple[str, ...]
) -> None:
    raised: list[list[str]] = []
    for _ in range(4):
        village.work()
        raised.append(village.night(*cause))
    assert raised == [[], [], ["silence"], ["silence"]]


def test_an_alarm_reaches_the_webhook_once_a_night(village: Village) -> None:
    (village.folder / "memory" / ".consolidation_state.json").write_text("{")
    with receiving() as receiver:
        village.night(f"alarms.webhook={receiver.address}/hook")
        assert len(receiver.got) == 1
        (village.folder / "memory" / ".consolidation_state.json").unlink()
        village.night(f"alarms.webhook={receiver.address}/hook")
        assert len(receiver.got) == 1
    assert json.loads(receiver.got[0][1])["alarms"][0]["name"] == "failures"


def test_a_webhook_that_is_away_costs_the_night_nothing(village: Village) -> None:
    hologram: dict[str, object] = {"type": "hologram", "uuid": "h", "sessionId": "s"}
    village.work(5, 12, hologram)
    with receiving() as receiver:
        address = receiver.address
    assert village.night(f"alarms.webhook={address}") == ["unknown-records"]
    assert read_nights(village.environ)[0][-1].dreams == 1
