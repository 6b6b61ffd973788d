"""Structured logs: a JSON object a line where the settings ask for it, and nothing anywhere else."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import SettingsError
from slowwave.observability.logs import json_logs, log_night, log_step
from slowwave.observability.night import Alarm
from slowwave.report import Span
from slowwave.secrets.logs import logger_of
from tests.unit.observability.nights import a_night

KEY = "sk-proj-" + "Ab3dE5gH7jK9mN1pQ3sT5vW7yZ" * 2


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_steps_alarms_and_the_end_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with json_logs(str(path), "r7"):
        log_step(Span("extract", "-p", 0.0, 1.23456))
        log_night(a_night(outcome="PartlyFailed", alarms=[Alarm("failures", "1 failure", 1)]))
    step, alarm, end = lines(path)
    assert (step["event"], step["step"], step["project"], step["seconds"]) == ("step", "extract", "-p", 1.235)
    assert (alarm["level"], alarm["alarm"], alarm["message"]) == ("warning", "failures", "1 failure")
    assert (end["event"], end["outcome"]) == ("run", "PartlyFailed")
    assert {line["run_id"] for line in lines(path)} == {"r7"}


def test_errors_come_with_their_traceback_and_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = logger_of("slowwave.somewhere")
    with json_logs(str(path), "r7"):
        try:
            int(f"token={KEY}")
        except ValueError:
            log.exception("broke on\ntwo lines with %s", KEY)
    assert KEY not in path.read_text()
    (line,) = lines(path)
    assert "ValueError" in line["error"]
    assert line["message"].startswith("broke on\ntwo lines")


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    root = logging.getLogger("slowwave")
    before = (list(root.handlers), root.level)
    with json_logs(str(tmp_path / "log"), "r1"), json_logs("", "r1"):
        pass
    assert (list(root.handlers), root.level) == before
    with json_logs("", "r1"):
        assert (list(root.handlers), root.level) == before


def test_standard_error_is_a_place(capsys: pytest.CaptureFixture[str]) -> None:
    with json_logs("-", "r1"):
        log_step(Span("extract", "", 0.0, 0.1))
    out, err = capsys.readouterr()
    assert out == ""
    assert json.loads(err)["message"] == "extract of all projects"


def test_a_file_that_cannot_be_opened_is_an_error_of_the_settings(tmp_path: Path) -> None:
    with (
        pytest.raises(SettingsError, match=r"telemetry\.log_file"),
        json_logs(str(tmp_path / "missing" / "log"), "r1"),
    ):
        pass
