"""The flows against a test server: same bytes as without Prefect, named states, artifacts, contained failures."""

import os
import re
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from slowwave.consolidation.gates import render_state
from slowwave.context import Run
from slowwave.errors import SettingsError, SlowwaveError
from slowwave.jobs import portions, steps
from slowwave.jobs.parameters import NightlyParameters, run_of
from slowwave.jobs.story import run_job
from slowwave.memory.candidates import read_candidates
from slowwave.memory.folder import STATE_FILE
from slowwave.observability.progress import note_path, read_notes
from slowwave.report import Report
from slowwave.samples import build
from slowwave.service.server import entrypoint_of, load_job
from slowwave.stores.projects import Project
from tasks import stages
from tests.unit.compaction.job.talks import NOW as NIGHT
from tests.unit.compaction.job.talks import Talk
from tests.unit.secrets.keys import give_key

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_server")]

INODES = re.compile(rb'"inodes": \{[^}]*\}')
NOW = datetime(2026, 3, 9, 6, 30, tzinfo=UTC)


class Cancelled(BaseException):
    """What a cancellation looks like to the work; Prefect's own signal would end the tests' process as well."""


def given(store: Path, **more: Any) -> dict[str, Any]:
    return {"store": [str(store)], "now": NOW.isoformat(), "run_id": "r1", **more}


def flow_state(job: str, parameters: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a flow as the command does and return its final state."""
    monkeypatch.chdir(Path.cwd())
    return load_job(entrypoint_of(job))(parameters, return_state=True)


def report_of(state: Any) -> dict[str, Any]:
    report = state.result(raise_on_failure=False)
    assert isinstance(report, dict), report
    return report  # pyright: ignore[reportUnknownVariableType]


def about_facts(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the items about one session or memory; notes on a whole project come once for each portion of it."""
    return [item for item in report["items"] if item["target"] != item["project"]]


def tree(home: Path) -> dict[str, bytes]:
    """Return the bytes of every file of a home but for what can be rebuilt.

    The numbers of inodes in a dream's manifest are the file system's own choice.
    """
    kept = [p for p in sorted(home.rglob("*")) if p.is_file() and "state" not in p.relative_to(home).parts[:1]]
    found = {str(p.relative_to(home)): p.read_bytes() for p in kept}
    return {name: INODES.sub(b"", data) if name.endswith("manifest.json") else data for name, data in found.items()}


def artifacts(key: str) -> list[Any]:
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - tests of the library never pay for it
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey  # noqa: PLC0415 - as above

    with get_client(sync_client=True) as client:
        return client.read_artifacts(artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[key])))


def a_report(project: Project, run: Run, **fields: Any) -> Report:
    return Report("consolidate", run.id, memories={project.key: str(project.memory)}, **fields)


SMALL = [
    *("compaction.context_window=3000", "compaction.reserve_tokens=500", "compaction.keep_recent_tokens=600"),
    "extraction.idle=0s",
]


@pytest.mark.parametrize("name", ["compact", "nightly"])
def test_a_flow_compacts_as_a_direct_run_does(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stores = [tmp_path / way for way in ("flow", "direct")]
    talks = [Talk(store / "projects" / "-home-ann-shop", "claude").grow(6) for store in stores]
    later = NIGHT.isoformat()
    parameters = given(stores[0] / "projects", overrides=[*SMALL, "compaction.nightly=true"], now=later)
    report = report_of(flow_state(name, parameters, monkeypatch))
    assert report["counts"]["compacted"] == 1

    environ = {"HOME": str(own_home), "XDG_STATE_HOME": str(tmp_path / "state")}
    again = NightlyParameters.model_validate(
        given(stores[1] / "projects", overrides=[*SMALL, "compaction.nightly=true"], now=later)
    )
    direct = run_job(name, run_of(again, environ))
    assert direct.counts["compacted"] == 1
    assert talks[0].path.read_bytes() == talks[1].path.read_bytes()


def test_a_flow_leaves_the_same_bytes_and_the_same_report_as_a_direct_run(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = build(own_home, NOW).home
    give_key(own_home / "config")
    parameters = given(store, overrides=["extraction.batch_sessions=2"])
    direct = run_job("nightly", run_of(NightlyParameters.model_validate(parameters), os.environ))
    expected = tree(store)
    shutil.rmtree(store)
    build(own_home, NOW)
    give_key(own_home / "config")

    state = flow_state("nightly", parameters, monkeypatch)

    assert direct.counts["candidates"] > 0
    found = read_candidates(Path(direct.memories["-home-ana-tern"]))[0]
    agents = {candidate.session.dialect for candidate in found}
    assert agents == {"claude", "cersei", "pi", "codex", "opencode"}
    assert state.name == "Completed", state.message
    assert tree(store) == expected
    report = report_of(state)
    assert sorted(report["counts"].items()) == sorted(direct.counts.items())
    assert about_facts(report) == about_facts(direct.to_builtins())
    assert report["dream_ids"] == direct.dream_ids


def test_a_second_night_is_skipped_with_its_reason_and_changes_nothing(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = build(own_home, NOW).home
    flow_state("nightly", given(store), monkeypatch)
    before = tree(store)

    later = (NOW + timedelta(hours=1)).isoformat()
    state = flow_state("nightly", given(store, now=later, run_id="r2"), monkeypatch)

    assert (state.type.value, state.name) == ("COMPLETED", "Skipped")
    due = "not before 2026-03-10 02:30 UTC: a project dreams at most every 20 hours"
    since = "nothing new was noted since the last dream (2026-03-09 06:30 UTC)"
    assert state.message == f"nightly r2 did nothing: quill, tern: {due}, and {since}."
    assert tree(store) == before


def test_a_night_that_came_too_soon_for_what_waits_says_when_and_how_to_run_it_now(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = build(own_home, NOW).home
    flow_state("extract", given(store), monkeypatch)
    for noted in store.rglob("candidates.jsonl"):
        (noted.parents[1] / STATE_FILE).write_bytes(render_state(int(NOW.timestamp()) - 3600))

    state = flow_state("nightly", given(store, run_id="r2"), monkeypatch)

    due = "not before 2026-03-10 01:30 UTC: a project dreams at most every 20 hours"
    forced = "To run it all the same: slowwave run nightly --force"
    assert (
        state.message == f"nightly r2 did nothing: quill, tern: {due} (the last dream: 2026-03-09 05:30 UTC). {forced}"
    )


def test_a_dry_run_plans_shows_the_plan_and_changes_nothing(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = build(own_home, NOW).home
    before = tree(store)

    state = flow_state("extract", given(store, dry_run=True), monkeypatch)

    assert state.name == "Planned"
    assert tree(store) == before
    assert any("candidate" in artifact.data for artifact in artifacts("extract-plan"))
    assert list((own_home / "state" / "slowwave" / "runs").iterdir()) == []


def test_a_night_publishes_its_funnel_and_its_memory_diff(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = build(own_home, NOW).home
    monkeypatch.setattr("tasks.runs.STEPS", 5)
    asked = given(store, run_id="published", overrides=["extraction.batch_sessions=2"])
    state = flow_state("nightly", asked, monkeypatch)

    (funnel,) = [a for a in artifacts("nightly-funnel") if str(a.flow_run_id) == str(state.state_details.flow_run_id)]
    (diff,) = [a for a in artifacts("nightly-memory-diff") if a.flow_run_id == funnel.flow_run_id]
    assert "-home-ana-tern" in funnel.data
    assert "# Memory diff of nightly published" in diff.data
    assert "slowwave memory undo" in diff.data
    (progress,) = [a for a in artifacts("nightly-progress") if a.flow_run_id == funnel.flow_run_id]
    assert progress.data == 100.0


def test_what_breaks_in_one_project_stays_there_and_fails_the_run_by_name(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = build(own_home, NOW).home

    def consolidate(project: Project, run: Run) -> Report:
        if "quill" in project.key:
            raise OSError(28, "No space left on device", str(project.memory))
        return steps.consolidate(project, run)

    def group_portion(manifest: Path, _step: object, index: int, environ: Mapping[str, str]) -> portions.Reports:
        return portions.group_portion(manifest, consolidate, index, environ)

    monkeypatch.setattr("tasks.stages.group_portion", group_portion)
    state = flow_state("nightly", given(store), monkeypatch)

    assert (state.type.value, state.name) == ("FAILED", "Failed")
    assert "No space left on device" in state.message
    report = report_of(state)
    assert len(report["failures"]) == 1
    assert len(report["dream_ids"]) == 1


def test_a_portion_that_breaks_as_a_whole_is_named_and_the_others_go_on(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = build(own_home, NOW).home

    def group_portion(*_: object) -> dict[str, Report]:
        raise MemoryError("full")

    monkeypatch.setattr("tasks.stages.group_portion", group_portion)
    state = flow_state("nightly", given(store), monkeypatch)

    report = report_of(state)
    assert (state.name, report["failures"]) == ("Failed", ["consolidate_group 0: MemoryError: full"])
    assert report["counts"]["candidates"] > 0


def test_a_parked_dream_is_named(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = build(own_home, NOW).home

    def consolidate(project: Project, run: Run) -> Report:
        return a_report(project, run, parked=[f"{project.key}: would lose 40 %"])

    def group_portion(manifest: Path, _step: object, index: int, environ: Mapping[str, str]) -> portions.Reports:
        return portions.group_portion(manifest, consolidate, index, environ)

    monkeypatch.setattr("tasks.stages.group_portion", group_portion)
    state = flow_state("consolidate", given(store), monkeypatch)
    assert (state.type.value, state.name) == ("COMPLETED", "Parked")
    assert "would lose 40 %" in state.message


@pytest.mark.parametrize("place", [(stages, "group_portion"), (stages, "name_run")], ids=["at work", "just planned"])
def test_a_cancellation_passes_through_and_leaves_no_more_than_a_note_of_it(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, place: tuple[ModuleType, str]
) -> None:
    store = build(own_home, NOW).home
    seen: list[object] = []

    def cancelled(*given: object) -> None:
        seen.append(given)
        raise Cancelled

    monkeypatch.setattr(*place, cancelled)
    with pytest.raises(Cancelled):
        flow_state("consolidate", given(store), monkeypatch)
    assert len(seen) == 1
    (left,) = (own_home / "state" / "slowwave" / "runs").iterdir()
    (note,), _ = read_notes({"HOME": str(own_home), "XDG_STATE_HOME": str(own_home / "state")})
    assert left == note_path({"XDG_STATE_HOME": str(own_home / "state")}, note.run_id)
    assert note.ended == "Cancelled"


def test_wrong_parameters_are_refused_before_anything_runs(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = build(own_home, NOW).home
    before = tree(store)
    unknown = flow_state("nightly", given(store, stroe="x"), monkeypatch)
    wrong = flow_state("nightly", given(store, overrides=["extraction.idle=soon"]), monkeypatch)
    none = flow_state("nightly", given(store, project="nowhere"), monkeypatch)
    assert "stroe" in str(unknown.result(raise_on_failure=False))
    assert isinstance(wrong.result(raise_on_failure=False), SettingsError)
    assert isinstance(none.result(raise_on_failure=False), SlowwaveError)
    assert tree(store) == before
