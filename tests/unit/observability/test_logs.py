"""Structured logs: a JSON object a line where the settings ask for it, and nothing anywhere else."""

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import SettingsError
from slowwave.observability.night import Alarm
from slowwave.observability.telemetry import heard_by, is_told, json_logs, log_night, log_report, log_step
from slowwave.report import Gate, Phases, Report, Span
from slowwave.secrets import logger_of
from tests.unit.observability.nights import a_night

KEY = "sk-proj-" + "Ab3dE5gH7jK9mN1pQ3sT5vW7yZ" * 2


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_steps_alarms_and_the_end_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with json_logs(str(path), "r7"):
        log_step(Span("extract", "-p", 0.0, 1.23456))
        log_night(a_night(outcome="PartlyFailed", alarms=[Alarm("failures", "1 failure", 1)]), "it met one")
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
    assert json.loads(err)["message"] == "extract of all projects: 0.1 s"


def test_a_file_that_cannot_be_opened_is_an_error_of_the_settings(tmp_path: Path) -> None:
    with (
        pytest.raises(SettingsError, match=r"telemetry\.log_file"),
        json_logs(str(tmp_path / "missing" / "log"), "r1"),
    ):
        pass


def test_what_a_dream_did_and_what_was_refused_damaged_or_failed_are_lines(tmp_path: Path) -> None:
    report = Report(
        "nightly",
        gates=[Gate("time", "-p", passed=False, reason="2 of 24 hours"), Gate("lock", "-p", passed=True, reason="ok")],
        warnings=["/a.jsonl:7 (offset 90, 3 bytes): garbage: no JSON"],
        failures=["-p: consolidate: broke"],
        phases={"-p": Phases({"person": 2, "claude": 1}, 4, 3, 0), "-q": Phases({"person": 1}, 0, 0, 0)},
    )
    with json_logs(str(tmp_path / "log"), "r7"):
        log_report(report, {"-p": "shop"})
    assert [(line["level"], line["message"]) for line in lines(tmp_path / "log")] == [
        (
            "info",
            (
                "shop: oriented on 3 lines of 2 writers (1 of claude, 2 of person), "
                "gathered 4 waiting facts, consolidated 3, pruned 0 lines"
            ),
        ),
        ("info", "-q: nothing new to dream over"),
        ("info", "shop: not now: 2 of 24 hours"),
        ("warning", "/a.jsonl:7 (offset 90, 3 bytes): garbage: no JSON"),
        ("error", "-p: consolidate: broke"),
    ]
    assert lines(tmp_path / "log")[0]["gathered"] == 4


def test_who_watches_a_run_is_told_only_of_projects_where_something_was_done() -> None:
    heard: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())
    handler.addFilter(is_told)
    gates = [Gate("time", "-p", passed=False, reason="2 of 24 hours")]
    with heard_by(handler):
        log_report(Report("nightly", gates=gates, spans=[Span("extract", "-p", 0.0, 0.01)]), {"-p": "shop"})
        log_report(Report("nightly", phases={"-p": Phases({}, 0, 0, 0)}, failures=["-p: consolidate: broke"]))
        counts = {"extracted": 2, "candidates": 3}
        log_report(Report("nightly", counts=counts, spans=[Span("extract", "-q", 0.0, 0.31)]), {"-q": "tern"})
    assert heard == ["-p: consolidate: broke", "extract of tern: 2 sessions read, 3 facts noted, 0.3 s"]


def test_where_nobody_listens_the_report_alone_tells(capfd: pytest.CaptureFixture[str]) -> None:
    done = (
        "from slowwave.observability.telemetry import *; log_report(Report('nightly', warnings=['w'], failures=['f']))"
    )
    assert subprocess.run([sys.executable, "-c", done], check=True).returncode == 0
    assert capfd.readouterr().err == ""
