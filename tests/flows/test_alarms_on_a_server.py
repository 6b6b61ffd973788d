"""Alarms on a real server: a planted cause becomes an event, and the automation of the example takes it up."""

import asyncio
import os
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from slowwave.service.server import own_server
from tests.faults.test_silent_failures import Village
from tests.flows.test_server import LIMIT_S, call, run

if TYPE_CHECKING:
    from prefect.events import Event

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

EXAMPLE = files("slowwave.observability").joinpath("automations.yaml")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("server")
    with own_server(home, {**os.environ, "HOME": str(home)}) as address:
        yield address


async def heard_while(api: str, work: Callable[[], object], wanted: dict[str, int]) -> dict[str, list["Event"]]:
    """Do some work, and return the events with each prefix as soon as there are so many of them."""
    from prefect.events.clients import PrefectEventSubscriber  # noqa: PLC0415 - tests of the library never pay
    from prefect.events.filters import EventFilter, EventNameFilter  # noqa: PLC0415 - as above

    heard: dict[str, list[Event]] = {prefix: [] for prefix in wanted}
    asked = EventFilter(event=EventNameFilter(prefix=list(wanted)))
    async with asyncio.timeout(LIMIT_S), PrefectEventSubscriber(api, asked) as subscriber:
        # what the server tells is kept for us meanwhile
        await asyncio.to_thread(work)
        async for event in subscriber:
            next(heard[prefix] for prefix in wanted if event.event.startswith(prefix)).append(event)
            if all(len(heard[prefix]) >= number for prefix, number in wanted.items()):
                return heard
    raise AssertionError(f"the server ended the stream; heard {heard}")


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

    def night() -> None:
        done = run("slowwave", "run", "nightly", "--json", **village.environ, **env)
        assert done.returncode == 0, done.stderr

    wanted = {"slowwave.run.": 1, "slowwave.alarm.": 1, "prefect.automation.triggered": 1}
    (over,), (alarm,), triggered = asyncio.run(heard_while(api, night, wanted)).values()
    assert over.payload["dreams"] == 1
    assert alarm.event == "slowwave.alarm.unknown-records"
    assert alarm.resource.id.startswith("slowwave.nightly.")
    assert "hologram" in alarm.payload["summary"]
    assert {one.resource["prefect.resource.name"] for one in triggered} == {"slowwave: alarm"}
    (report,) = call(api, "/artifacts/filter", {"artifacts": {"key": {"any_": ["nights"]}}})
    assert "\n## Alarms" in report["data"]
    assert "unknown\\-records" in report["data"] or "unknown-records" in report["data"]
