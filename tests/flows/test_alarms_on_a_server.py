"""Alarms on a real server: a planted cause becomes an event, and the automation of the example takes it up."""

import itertools
import os
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from slowwave.service.server import own_server
from tests.faults.test_silent_failures import Village
from tests.flows.test_server import LIMIT_S, call, run

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

EXAMPLE = files("slowwave.observability").joinpath("automations.yaml")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("server")
    with own_server(home, {**os.environ, "HOME": str(home)}) as address:
        yield address


def events(api: str, prefix: str) -> list[dict[str, Any]]:
    asked = {"filter": {"event": {"prefix": [prefix]}}, "limit": 50}
    return call(api, "/events/filter", asked)["events"]


def when_there(api: str, prefix: str, number: int) -> list[dict[str, Any]]:
    """Return events as soon as there are so many; the server takes them up in the background."""
    deadline = time.monotonic() + LIMIT_S
    for _ in itertools.count():
        found = events(api, prefix)
        if len(found) >= number:
            return found
        assert time.monotonic() < deadline, f"{len(found)} events {prefix}"
        time.sleep(0.5)
    raise AssertionError


@pytest.mark.flow
def test_the_example_has_an_automation_for_each_way_to_fail() -> None:
    from prefect.events.schemas.automations import AutomationCore  # noqa: PLC0415 - tests of the library never pay

    wanted = [AutomationCore.model_validate(one) for one in yaml.safe_load(EXAMPLE.read_text())["automations"]]
    assert [one.name for one in wanted] == ["slowwave: alarm", "slowwave: no night", "slowwave: run ended badly"]


def test_a_planted_cause_triggers_the_automation_and_shows_the_report(api: str, tmp_path: Path) -> None:
    document = yaml.safe_load(EXAMPLE.read_text())
    for automation in document["automations"]:
        automation["actions"] = [{"type": "do-nothing"}]
    example = tmp_path / "automations.yaml"
    example.write_text(yaml.safe_dump(document), encoding="utf-8")
    env = {"PREFECT_API_URL": api, "PREFECT_HOME": str(tmp_path / "prefect")}
    created = run("prefect", "automation", "create", "--from-file", str(example), **env)
    assert created.returncode == 0, created.stderr

    village = Village(tmp_path / "home")
    village.work(5, 12, {"type": "hologram", "uuid": "h", "sessionId": "s"})
    done = run("slowwave", "run", "nightly", "--json", **village.environ, **env)
    assert done.returncode == 0, done.stderr

    (over,) = when_there(api, "slowwave.run.", 1)
    (alarm,) = when_there(api, "slowwave.alarm.", 1)
    assert over["payload"]["dreams"] == 1
    assert alarm["event"] == "slowwave.alarm.unknown-records"
    assert alarm["resource"]["prefect.resource.id"].startswith("slowwave.nightly.")
    assert "hologram" in alarm["payload"]["summary"]
    triggered = when_there(api, "prefect.automation.triggered", 1)
    assert {one["resource"]["prefect.resource.name"] for one in triggered} == {"slowwave: alarm"}
    (report,) = call(api, "/artifacts/filter", {"artifacts": {"key": {"any_": ["nights"]}}})
    assert report["data"].startswith("## Alarms")
    assert "unknown\\-records" in report["data"] or "unknown-records" in report["data"]
