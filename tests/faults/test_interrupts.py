"""A Ctrl-C in a run: no traceback, what was done stays, and how to go on; with a real process and a real signal."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.errors import INTERRUPTED
from slowwave.memory.folder import guarded
from slowwave.samples import build
from slowwave.settings import load_settings
from slowwave.stores.discovery import known_projects
from tests.unit.jobs.backfill.rig import filled


def begun(environ: Mapping[str, str], *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "slowwave", "run", *arguments, "--direct", "--progress", "json"]
    return subprocess.Popen(command, env=dict(environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def interrupted_in(process: "subprocess.Popen[str]", step: str) -> str:
    """Interrupt a run when it has come to a step; return what it says in the end."""
    assert process.stderr
    steps = (json.loads(line)["progress"] for line in process.stderr)
    assert step in steps
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert out == ""
    words = [line for line in said.splitlines() if not line.startswith("{")]
    assert len(words) == 1
    assert words[0].startswith("slowwave: interrupted. ")
    return words[0]


def test_an_interrupted_night_says_that_the_next_one_does_the_rest(tmp_path: Path):
    build(tmp_path, datetime.now(UTC))
    environ = {"HOME": str(tmp_path)}
    projects = known_projects(load_settings(environ, cwd=tmp_path), environ).projects
    with ExitStack() as held:
        for project in projects:
            held.enter_context(guarded(project.memory))  # it comes no further than its first write
        said = interrupted_in(begun(environ, "nightly"), "extract")
    assert projects
    assert said.endswith("What was done stays, and the next one does the rest: slowwave run nightly")


def test_an_interrupted_backfill_names_the_command_that_goes_on(tmp_path: Path):
    world = filled(tmp_path, sessions=4, projects=1)
    run = begun(world.environ, "backfill", "--store", str(world.store), "--mb-per-second", "0.0001")
    said = interrupted_in(run, "read")
    assert "interrupted. 0 of 4 sessions are read, which stays. Go on" in said
    assert (found := re.search(r"Go on with: slowwave run backfill --resume (\S+)$", said))
    begun_before = {path.name for path in tmp_path.rglob("backfills/*")}
    assert found[1] in begun_before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["nightly", "--dry-run"], "It only planned"),
        (["backfill", "--since", "2026-01-01"], "Nothing was read yet."),
    ],
)
def test_where_nothing_was_begun_nothing_is_to_go_on_with(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    words: str,
):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("slowwave.cli.run._report", interrupted)
    assert main(["run", "--direct", *options]) == INTERRUPTED
    assert words in capsys.readouterr().err


def test_the_command_that_goes_on_stands_last_also_where_prefect_has_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("slowwave.cli.run._report", interrupted)
    assert main(["run", "nightly", "--prefect"]) == INTERRUPTED
    said = capsys.readouterr().err
    assert "interrupted. Prefect calls this run Crashed" in said
    assert said.endswith("slowwave run nightly\n")


def test_a_backfill_that_hears_no_ctrl_c_says_what_pauses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def ignored(_: int) -> signal.Handlers:
        return signal.SIG_IGN

    monkeypatch.setenv("HOME", str(tmp_path))
    for heard in (True, False):
        if not heard:
            monkeypatch.setattr("slowwave.cli.run.signal.getsignal", ignored)
        main(["run", "backfill", "--dry-run", "--direct"])
        assert ("no Ctrl-C reaches it: slowwave run backfill --pause" in capsys.readouterr().err) is not heard
