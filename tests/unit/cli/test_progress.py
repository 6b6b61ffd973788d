"""Progress of a run: bars where a person looks, JSON lines where a program asks, else a line where it takes long."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.cli.progress import Bars, Going, Patient
from slowwave.cli.run import shown_progress
from slowwave.jobs.backfill.folder import Pace
from slowwave.observability.progress import LOOK, Nobody, watched_by, watcher, words


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work() -> None:
    watcher().plan("extract", 2)
    watcher().done("extract", "-p")
    watcher().done("extract", "-q\x1b[31m")


def test_nobody_watches_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(watcher(), Nobody)
    with shown_progress("auto", quiet=True):
        assert isinstance(watcher(), Nobody)
        work()
    assert capsys.readouterr() == ("", "")


def test_who_sees_no_bars_is_told_where_a_run_is_that_takes_long(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress("auto", quiet=False):
        work()
    assert capsys.readouterr() == ("", "")  # it did not take long
    with Patient(3600) as stages, watched_by(stages):
        work()
        assert capsys.readouterr().err == ""
        stages.speak()
        assert capsys.readouterr().err == "Reading sessions\n"
        watcher().plan("land", 1)
        assert capsys.readouterr().err == "Adding what was found\n"


def test_the_wait_ends_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with Patient(0) as stages:
        stages._timer.join()
    assert capsys.readouterr().err == "Looking for sessions\n"


def test_a_program_gets_a_line_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress("json", quiet=True):
        work()
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in err.splitlines()]
    assert out == ""
    assert [(line["progress"], line["done"], line["total"]) for line in lines] == [("extract", n, 2) for n in range(3)]
    assert lines[1]["what"] == "-p"


def test_a_person_at_a_terminal_sees_a_bar_without_what_a_terminal_would_obey(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with shown_progress("auto", quiet=False):
        assert isinstance(watcher(), Bars)
        watcher().plan(LOOK, 3)  # a step that is known already gets another size
        work()
    assert "Looking for sessions" in terminal.getvalue()
    assert "Reading sessions" in terminal.getvalue()
    assert "2/2" in terminal.getvalue()
    assert "q [31m" in terminal.getvalue()
    assert "q\x1b[31m" not in terminal.getvalue()


def test_bars_are_there_before_anything_slow_is_imported(tmp_path: Path) -> None:
    program = """
import sys
from slowwave.cli import main, progress

def drawn():
    print(*sys.modules, sep="\\n")
    sys.exit()

progress._bars = drawn
sys.stderr.isatty = lambda: True
main(["run", "nightly"])
"""
    environ = {"HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines())
    assert "slowwave.cli.run" in loaded
    assert loaded & {"prefect", "pydantic", "httpx", "slowwave.jobs.story", "slowwave.extraction.job"} == set()


def test_each_stage_is_a_line_in_words_and_a_long_one_tells_its_tenths(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress("lines", quiet=True):
        work()
        watcher().plan("land", 40)
        for _ in range(40):
            watcher().done("land", "")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[:5] == [
        "Looking for sessions",
        "Reading sessions",
        "  1 of 2  p",
        "  2 of 2  q [31m",
        "Adding what was found",
    ]
    assert [line.split()[0] for line in err.splitlines()[5:]] == [str(n) for n in range(4, 41, 4)]


@pytest.mark.parametrize(("wish", "quiet"), [("none", False), ("auto", True)])
def test_a_terminal_stays_quiet_where_it_should(monkeypatch: pytest.MonkeyPatch, wish: str, quiet: bool) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with shown_progress(wish, quiet=quiet):  # pyright: ignore[reportArgumentType] - parametrised
        work()
    assert terminal.getvalue() == ""


def test_a_run_tells_every_project_and_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PREFECT_HOME", "")  # --sample sets it for the process; this takes it back
    sample = str(tmp_path / "sample")
    assert main(["run", "nightly", "--direct", "--json", "--progress", "json", "--sample", sample]) == 0
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in err.splitlines()]
    assert json.loads(out)["job"] == "nightly"
    steps = dict.fromkeys(line["progress"] for line in lines)
    assert list(steps) == ["look", "extract", "consolidate", "end_dreaming", "retain_at_night"]
    assert all(words(step) != step for step in steps)
    ends = {line["progress"]: (line["done"], line["total"]) for line in lines}
    assert ends == {step: (2, 2) if step in ("extract", "consolidate") else (1, 1) for step in steps}
    assert {line["what"] for line in lines if line["what"]} == {"-home-ana-tern", "-home-ana-quill"}


def test_what_is_told_of_a_stage_stands_below_its_name_where_two_are_at_work(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with shown_progress("lines", quiet=True):
        watcher().plan("read", 2)
        watcher().plan("land", 1)
        watcher().done("read", "-home-ana-tern")
        watcher().done("read", "-home-ana-" + "far-" * 20 + "away")
        watcher().done("land", "")
    assert capsys.readouterr().err.splitlines() == [
        "Looking for sessions",
        "Reading sessions",
        "  1 of 2  tern",
        "  2 of 2  ...-far-far-far-far-far-far-far-far-away",
        "Adding what was found",
    ]


class Ticking:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def test_how_long_a_step_still_takes_comes_from_its_pace_and_is_left_out_while_nothing_tells() -> None:
    clock = Ticking()
    unknown, paced = Going(20, None, clock), Going(20, Pace(sessions=0.1).left_of([1] * 20), clock)
    assert (str(unknown), str(paced)) == ("", "0:03:10 left")  # nobody waits behind the last one
    clock.now += 1
    for going in (unknown, paced):
        going.on()
    # one that was read at once says nothing about the others; the pace does, and counts down until the next one
    assert (str(unknown), str(paced)) == ("", "0:03:10 left")
    clock.now += 7
    assert str(paced) == "0:03:03 left"
    for _ in range(19):
        clock.now += 10
        unknown.on()
        paced.on()
    assert (str(unknown), str(paced)) == ("", "")


def test_how_long_a_step_still_takes_comes_from_how_fast_it_went_where_that_is_slower_than_the_pace() -> None:
    clock = Ticking()
    free, paced = Going(10, None, clock), Going(10, Pace(sessions=10).left_of([1] * 10), clock)
    for _ in range(5):
        clock.now += 2
        free.on()
        paced.on()
    assert (str(free), str(paced)) == ("0:00:10 left", "0:00:10 left")
    clock.now += 30
    assert str(free) == "0:00:00 left"


def test_a_pace_of_bytes_knows_which_sessions_are_left() -> None:
    left = Pace(megabytes=1.0).left_of([5_000_000, 1_000_000, 2_000_000, 9_000_000])
    assert left is not None
    assert [left(done) for done in range(5)] == [8.0, 8.0, 3.0, 2.0, 0.0]
    assert Pace().left_of([1]) is None


def test_the_bar_of_a_paced_step_shows_how_long_it_still_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with shown_progress("auto", quiet=False):
        watcher().plan("read", 3, Pace(sessions=0.01).left_of([1, 1, 1]))
        watcher().done("read", "-p")
    assert " 0:03:20 left" in terminal.getvalue()
    assert "-:--:--" not in terminal.getvalue()
