"""Nothing that the scheduler is given of a run holds a secret: artifacts, states, the report, and the log."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from slowwave.context import Run
from slowwave.jobs import portions, steps
from slowwave.report import Gate, Item, Report
from slowwave.samples import build, secrets
from slowwave.stores.projects import Project
from tasks import stages
from tests.flows.test_jobs import NOW, artifacts, flow_state, given, report_of

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_no_secret_reaches_the_scheduler(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    store = build(own_home, NOW).home

    def consolidate(project: Project, run: Run) -> Report:
        if "quill" in project.key:
            raise ValueError(f"stumbled over {TOKEN}")
        report = steps.consolidate(project, run)
        report.items.append(Item(f"s {TOKEN}", "add", f"said {TOKEN}", project.key, f"use {TOKEN}"))
        report.gates.append(Gate("time", project.key, passed=False, reason=f"until {TOKEN}"))
        report.warnings.append(f"{project.memory}: cannot read {TOKEN}")
        return report

    def group_portion(manifest: Path, _step: object, index: int, environ: Mapping[str, str]) -> portions.Reports:
        return portions.group_portion(manifest, consolidate, index, environ)

    def whole_portion(*_: object) -> Report:
        return Report("consolidate", parked=["nothing"])

    monkeypatch.setattr("tasks.stages.group_portion", group_portion)
    monkeypatch.setattr("tasks.stages.whole_portion", whole_portion)
    with caplog.at_level(logging.DEBUG):
        state = flow_state("nightly", given(store, run_id="discreet"), monkeypatch)
    pages = [a.data for job in ("funnel", "memory-diff", "progress") for a in artifacts(f"nightly-{job}")]
    shown = (
        json.dumps([report_of(state), state.message, pages], default=str) + caplog.text + "".join(capfd.readouterr())
    )
    assert "[secret:github]" in shown
    assert [name for name, secret in {"token": TOKEN, **secrets()}.items() if secret in shown] == []


class Kept(logging.Handler):
    """Keeps records as a handler of Prefect would send them."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(logging.Formatter("%(message)s").format(record))


@pytest.mark.parametrize("broken", ["tasks.stages.extract_portion", "tasks.stages.plan_job"])
def test_no_secret_of_an_error_reaches_what_prefect_logs_and_keeps(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    store = build(own_home, NOW).home

    def breaks(*_: Any) -> Any:
        raise ValueError(f"stumbled over {TOKEN}") from KeyError(TOKEN)

    monkeypatch.setattr(broken, breaks)
    for task in (stages.OF_EACH["extract"], stages.plan_run):
        monkeypatch.setattr(task, "retry_delay_seconds", [0, 0])
    kept = Kept()
    for name in ("prefect.task_runs", "prefect.flow_runs"):
        logging.getLogger(name).addHandler(kept)
    try:
        state = flow_state("extract", given(store, run_id="broken"), monkeypatch)
    finally:
        for name in ("prefect.task_runs", "prefect.flow_runs"):
            logging.getLogger(name).removeHandler(kept)
    shown = "\n".join((*kept.lines, *messages(), str(state.message), repr(state.data)))
    assert "Traceback" in shown
    assert "stumbled over [secret:github]" in shown
    assert TOKEN not in shown


def messages() -> list[str]:
    """Return the messages of the states of all runs on the server."""
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - tests of the library never pay for it

    with get_client(sync_client=True) as client:
        runs = [*client.read_task_runs(), *client.read_flow_runs()]
    return [str(run.state.message) for run in runs if run.state]
