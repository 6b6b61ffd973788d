"""What a check of a clone runs, in which order, and within which time."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCRIPT = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
STEPS = re.findall(r"timeout (\d+)m make ([\w-]+)", SCRIPT)


def test_the_suite_comes_last_and_the_full_drills_before_it() -> None:
    assert [name for _, name in STEPS] == ["check", "run", "run", "drills", "e2e", "model-server", "test"]


def test_the_time_limits_leave_room_within_ninety_minutes() -> None:
    assert sum(int(minutes) for minutes, _ in STEPS) <= 85


def test_the_drills_are_run_in_full() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ndrills:")[2].split("\n")[1]
    assert recipe.startswith("\tDRILLS=full ")
    assert "tests/faults" in recipe
