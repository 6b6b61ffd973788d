"""The flow of a backfill: the bytes of a direct run, a preview that changes nothing, one task run a shard."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from slowwave.jobs.backfill import plan
from slowwave.service.server import entrypoint_of, load_job
from tests.flows.test_watching import name_of
from tests.unit.jobs.backfill.rig import World, filled

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]


@pytest.fixture
def world(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = filled(own_home / "world", sessions=6)
    for name, value in made.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(plan.sharded, "__kwdefaults__", {"most_sessions": 2, "enough_bytes": 1 << 30})
    monkeypatch.setattr(plan.cut, "__kwdefaults__", {"most_sessions": 1, "enough_bytes": 1 << 30})
    return made


def flow_state(world: World, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Any:
    monkeypatch.chdir(Path.cwd())
    given = world.given(**more).model_dump(mode="json")
    return load_job(entrypoint_of("backfill"))(given, return_state=True)


def test_a_flow_leaves_the_bytes_of_a_direct_run(world: World, monkeypatch: pytest.MonkeyPatch):
    state = flow_state(world, monkeypatch)
    assert (state.name, state.result()["counts"]["extracted"]) == ("Completed", 6), state.message
    by_flow = world.memories()
    for folder in [*world.store.glob("*/memory"), world.root / "state" / "slowwave" / "backfills"]:
        shutil.rmtree(folder)
    world.backfill()
    assert world.memories() == by_flow
    state = flow_state(world, monkeypatch, run_id="b2")
    assert state.name == "Skipped"
    # also a run that finds nothing to do has a name, before it has looked
    assert re.fullmatch(r"backfill \d{4}-\d\d-\d\d \d\d:\d\d", name_of(state.state_details.flow_run_id))


def test_a_preview_plans_and_changes_nothing(world: World, monkeypatch: pytest.MonkeyPatch):
    state = flow_state(world, monkeypatch, action="preview")
    assert (state.name, state.result()["counts"]["sessions"]) == ("Planned", 6)
    assert name_of(state.state_details.flow_run_id).endswith(" (preview)")
    assert world.memories() == {}


def test_the_form_describes_every_field(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(Path.cwd())
    schema = load_job(entrypoint_of("backfill")).parameters.model_dump()
    fields = schema["definitions"]["BackfillParameters"]["properties"]
    assert {name for name, field in fields.items() if not field.get("description")} == set()
    assert {"action", "since", "until", "projects", "dialects", "limit", "upgrade"} <= set(fields)
    assert os.environ["HOME"] == str(world.root / "home")
