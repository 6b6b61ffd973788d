"""``slowwave run`` as a person calls it: exit codes, one line on standard error, JSON for programs."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from slowwave.errors import DONE, PARKED, PARTLY_FAILED, REFUSED, UNREADABLE, USAGE
from slowwave.samples import build


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return build(tmp_path / "home", datetime.now(UTC)).home


def direct(*options: str) -> int:
    return main(["run", "nightly", "--direct", *options])


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return json.loads(capsys.readouterr().out)


def test_a_night_and_a_second_one(store: Path, capsys: pytest.CaptureFixture[str]):
    assert direct("--store", str(store), "--json") == DONE
    first = printed(capsys)
    assert first["job"] == "nightly"
    assert len(first["dream_ids"]) == 2
    assert {"gate", "project", "passed", "reason"} <= set(first["gates"][0])
    assert {"target", "action", "reason"} <= set(first["items"][0])
    assert direct("--store", str(store), "--json") == DONE
    assert printed(capsys)["dream_ids"] == []


def test_two_nights_over_the_sample_leave_the_home_that_they_are_given_empty(own_home: Path, tmp_path: Path):
    command = [sys.executable, "-m", "slowwave", "run", "nightly", "--direct", "--sample", str(tmp_path / "sample")]
    # as a person calls it: without places of their own for state and data
    environ = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}

    first, second = (subprocess.run(command, env=environ, capture_output=True, text=True, check=True) for _ in "ab")

    assert list(own_home.iterdir()) == []
    assert "Learned: " in first.stdout
    assert "16 sessions read" in first.stdout
    assert second.stdout.endswith("\nNothing to do.\n")
    assert {p.name for p in (tmp_path / "sample").iterdir()} == {
        *(".claude", ".codex", ".local", ".pi", ".slowwave-sample.json", "config", "state")
    }


def test_require_turns_a_closed_gate_into_its_own_code(store: Path):
    assert direct("--store", str(store), "--project", "quill") == DONE
    assert direct("--store", str(store), "--project", "quill", "--require") == REFUSED


def test_a_parked_dream_has_its_own_code_and_kept_nothing(store: Path, capsys: pytest.CaptureFixture[str]):
    assert direct("--store", str(store), "--set", "consolidation.mode=review") == PARKED
    shown = capsys.readouterr().out
    assert "A dream would add" in shown
    assert "Learned: " not in shown


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--set", "extraction.idle=soon"], USAGE, "30m"),
        (["--set", "no.such=1"], USAGE, "known keys"),
        (["--config", "/does/not/exist.toml"], USAGE, "cannot be read"),
        (["--store", "/does/not/exist"], UNREADABLE, "--store"),
        (["--project", "nobody"], UNREADABLE, "no project matches"),
    ],
)
def test_bad_input_is_one_line_with_the_remedy(
    store: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, words: str
):
    given = [] if "--store" in options else ["--store", str(store)]
    assert direct(*given, *options) == code
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not list(store.rglob("memory"))


def test_a_corrupt_state_fails_its_project_on_standard_error(store: Path, capsys: pytest.CaptureFixture[str]):
    direct("--store", str(store))
    state = next(store.rglob(".consolidation_state.json"))
    state.write_text("{broken")
    capsys.readouterr()
    assert direct("--store", str(store), "--force") == PARTLY_FAILED
    captured = capsys.readouterr()
    assert ".consolidation_state.json" in captured.err
    assert "repair or remove it" in captured.err
    assert captured.err.count("\n") == 1
    assert state.read_text() == "{broken"


def test_status_answers_for_people_and_programs(store: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["status", "--store", str(store)]) == DONE
    assert "2 due for a dream" in capsys.readouterr().out
    assert main(["status", "--store", str(store), "--json"]) == DONE
    rows = printed(capsys)["projects"]
    assert [row["due"] for row in rows] == [True, True]


def test_an_unknown_job_is_a_usage_error(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        main(["run", "frobnicate"])
    assert caught.value.code == USAGE
    assert "frobnicate" in capsys.readouterr().err
