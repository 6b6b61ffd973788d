"""The history of nights: it only grows, survives a torn line, and refuses what a newer program wrote."""

from pathlib import Path

import msgspec
import pytest

from slowwave.observability.night import append_night, history_path, read_nights
from tests.unit.observability.nights import a_busy_month, a_night


def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def test_what_is_appended_is_read_again_in_the_order_of_time(tmp_path: Path):
    nights = a_busy_month()
    for night in reversed(nights):
        append_night(environ(tmp_path), night)
    assert read_nights(environ(tmp_path)) == (nights, [])


def test_no_history_is_no_problem(tmp_path: Path):
    assert read_nights(environ(tmp_path)) == ([], [])


def test_a_torn_line_costs_itself_only_and_is_named(tmp_path: Path):
    append_night(environ(tmp_path), a_night(0))
    path = history_path(environ(tmp_path))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    append_night(environ(tmp_path), a_night(1))
    nights, problems = read_nights(environ(tmp_path))
    assert nights == [a_night(0), a_night(1)]
    assert len(problems) == 1
    assert "line 2 does not parse" in problems[0]


@pytest.mark.parametrize("at", ["yesterday", "2026-13-01T03:30:00+00:00", ""])
def test_a_night_at_no_time_costs_itself_only_and_is_named(tmp_path: Path, at: str):
    append_night(environ(tmp_path), a_night(0))
    append_night(environ(tmp_path), msgspec.structs.replace(a_night(1), at=at))
    nights, problems = read_nights(environ(tmp_path))
    assert nights == [a_night(0)]
    assert len(problems) == 1
    assert "line 2 does not parse" in problems[0]


def test_a_line_of_a_newer_program_is_left_out_and_says_so(tmp_path: Path):
    append_night(environ(tmp_path), msgspec.structs.replace(a_night(0), v=2))
    nights, problems = read_nights(environ(tmp_path))
    assert nights == []
    assert "newer slowwave" in problems[0]


def test_nobody_else_may_read_the_history(tmp_path: Path):
    append_night(environ(tmp_path), a_night(0))
    assert history_path(environ(tmp_path)).stat().st_mode & 0o077 == 0
