"""Nothing that the scheduler is given of a run holds a secret: artifacts, states, the report, and the log."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from slowwave.jobs import workers
from slowwave.jobs.story import Run
from slowwave.report import Gate, Item, Report
from slowwave.samples import build, secrets
from slowwave.stores.model import Project
from tests.flows.test_jobs import NOW, artifacts, flow_state, given, report_of

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_no_secret_reaches_the_scheduler(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    store = build(own_home, NOW).home
    real = workers.consolidate

    def consolidate(project: Project, run: Run) -> Report:
        if "quill" in project.key:
            raise ValueError(f"stumbled over {TOKEN}")
        report = real(project, run)
        report.items.append(Item(f"s {TOKEN}", "add", f"said {TOKEN}", project.key, f"use {TOKEN}"))
        report.gates.append(Gate("time", project.key, passed=False, reason=f"until {TOKEN}"))
        report.warnings.append(f"{project.memory}: cannot read {TOKEN}")
        return report

    def propose_portion(*_: Any) -> Report:
        return Report("consolidate", parked=["nothing"])

    monkeypatch.setattr(workers, "consolidate", consolidate)
    monkeypatch.setattr("tasks.consolidation.propose_portion", propose_portion)
    with caplog.at_level(logging.DEBUG):
        state = flow_state("nightly", given(store, run_id="discreet"), monkeypatch)
    pages = [a.data for job in ("funnel", "memory-diff", "progress") for a in artifacts(f"nightly-{job}")]
    shown = (
        json.dumps([report_of(state), state.message, pages], default=str) + caplog.text + "".join(capfd.readouterr())
    )
    assert "[secret:github]" in shown
    assert [name for name, secret in {"token": TOKEN, **secrets()}.items() if secret in shown] == []
