"""prefect.yaml: every key is one that Prefect reads, every entrypoint loads, no schedule falls into the lost hour.

Prefect ignores unknown keys of a deployment without a word, and loads a placeholder for a flow that does not import.
"""

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, cast, get_args, get_origin

import pytest
from prefect.client.schemas.schedules import CronSchedule
from prefect.exceptions import ObjectNotFound

from slowwave.cli import main
from slowwave.cli.service import _deploy  # pyright: ignore[reportPrivateUsage]
from slowwave.errors import SlowwaveError, UnreadableError, UsageError
from slowwave.jobs import JOBS
from slowwave.jobs.parameters import CompactParameters, ConsolidateParameters, NightlyParameters, run_of
from slowwave.jobs.steps import STEPS
from slowwave.service.deployments import (
    COUNTS_FOR,
    Deployed,
    Schedules,
    as_set,
    at_hour,
    from_home,
    full_name,
    in_pool,
    in_time_zone,
    of_others,
    read_project,
    time_zone,
    when,
)
from slowwave.service.deployments import POOL as USUAL_POOL
from slowwave.service.server import entrypoint_of, load_job, project_root

TOP = {"name", "prefect-version", "build", "push", "pull", "definitions", "deployments"}
DEPLOYMENT = {
    "name", "version", "version_type", "tags", "description", "schedule", "schedules", "paused", "concurrency_limit",
    "flow_name", "entrypoint", "parameters", "enforce_parameter_schema", "build", "push", "pull", "work_pool",
    "triggers", "sla",
}  # fmt: skip
SCHEDULE = {
    "cron", "interval", "rrule", "timezone", "anchor_date", "active", "parameters", "slug", "replaces", "day_or"
}  # fmt: skip
POOL = {"name", "work_queue_name", "job_variables"}
LIMIT = {"limit", "collision_strategy", "grace_period_seconds"}


def unknown_keys(document: dict[str, Any]) -> list[str]:
    """Return every key of a project file that Prefect would ignore or refuse."""
    found = [f"{key}" for key in document if key not in TOP]
    for deployment in document["deployments"]:
        parts: list[tuple[str, dict[str, Any], set[str]]] = [("", deployment, DEPLOYMENT)]
        parts += [("schedules.", schedule, SCHEDULE) for schedule in deployment.get("schedules", [])]
        parts += [("work_pool.", deployment.get("work_pool", {}), POOL)]
        parts += [("concurrency_limit.", deployment.get("concurrency_limit", {}), LIMIT)]
        found += [f"{deployment['name']}.{at}{key}" for at, part, known in parts for key in part if key not in known]
    return found


def deployments() -> list[dict[str, Any]]:
    return read_project(project_root())["deployments"]


def test_every_key_is_known() -> None:
    assert unknown_keys(read_project(project_root())) == []


@pytest.mark.parametrize("at", ["", "schedules", "work_pool", "concurrency_limit"])
def test_a_planted_key_is_found(at: str) -> None:
    document = in_time_zone(read_project(project_root()), "UTC")
    nightly = document["deployments"][0]
    part = nightly[at] if at else nightly
    (part[0] if isinstance(part, list) else part)["concurency_limit"] = 1
    assert any(key.startswith("nightly.") for key in unknown_keys(document))


def test_prefect_itself_knows_every_key_that_this_test_allows() -> None:
    from prefect.cli.deploy._models import DeploymentConfig, RawScheduleConfig  # noqa: PLC0415 - a slow import

    assert set(DeploymentConfig.model_fields) >= DEPLOYMENT
    assert set(RawScheduleConfig.model_fields) >= SCHEDULE


def test_every_job_is_deployed_and_every_deployment_is_a_job() -> None:
    assert [d["name"] for d in deployments()] == list(JOBS) == list(STEPS)
    assert [d["entrypoint"] for d in deployments()] == [entrypoint_of(job) for job in JOBS]
    files = {path.stem for path in (project_root() / "flows").glob("*.py")} - {"__init__"}
    assert files == set(JOBS)


@pytest.mark.parametrize("job", JOBS)
def test_every_entrypoint_loads_from_anywhere_and_takes_its_parameters(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flow = load_job(entrypoint_of(job))
    assert flow.name == job
    wanted = next(d for d in deployments() if d["name"] == job)
    assert flow.validate_parameters(wanted["parameters"])["params"].store == []
    assert Path.cwd() == project_root()


def fields_of(job: str) -> dict[str, dict[str, Any]]:
    """Return the fields of a job's run form, as Prefect stores them."""
    schema = load_job(entrypoint_of(job)).parameters.model_dump_for_openapi()
    params = schema["properties"]["params"]
    assert params["description"], "the form says nothing at its head"
    model = params["$ref"].rpartition("/")[2]
    fields = schema["definitions"][model]["properties"]
    # the form of a deployment starts from this
    assert set(params["default"]) == set(fields)
    return fields


@pytest.mark.parametrize("job", JOBS)
def test_the_run_form_explains_every_field_and_shows_its_default(job: str) -> None:
    fields = fields_of(job)
    assert {"store", "project", "force", "dry_run", "overrides", "run_id", "config", "now"} <= set(fields)
    for name, field in fields.items():
        assert field["description"], name
        assert "_" not in name or field["title"] != name.replace("_", " ").title(), f"{name}: a title of its own"
        assert "default" in field, name
    assert sorted(field["position"] for field in fields.values()) == list(range(len(fields)))


def test_what_a_job_has_of_its_own_stands_first_and_choices_are_lists() -> None:
    nightly = fields_of("nightly")
    by_place = sorted(nightly, key=lambda name: nightly[name]["position"])
    assert by_place[:3] == ["mode", "compaction", "project"]
    assert nightly["mode"]["enum"] == ["as set", "auto", "review"]
    assert fields_of("compact")["prune"]["enum"] == ["as set", "first", "only", "off"]


def test_a_choice_in_the_form_is_the_setting_and_an_override_wins(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    plain = run_of(NightlyParameters(), environ).settings
    assert (plain.consolidation.mode, plain.compaction.nightly) == ("auto", False)
    chosen = run_of(NightlyParameters(mode="review", compaction="true"), environ).settings
    assert (chosen.consolidation.mode, chosen.compaction.nightly) == ("review", True)
    both = NightlyParameters(mode="review", overrides=["consolidation.mode=auto"])
    assert run_of(both, environ).settings.consolidation.mode == "auto"
    assert run_of(CompactParameters(focus="the API"), environ).settings.compaction.focus == "the API"


def test_every_choice_of_a_form_is_one_that_the_settings_take(tmp_path: Path) -> None:
    for model in (NightlyParameters, ConsolidateParameters, CompactParameters):
        for name, field in model.model_fields.items():
            for choice in get_args(field.annotation) if get_origin(field.annotation) is Literal else ():
                run_of(model.model_validate({name: choice}), {"HOME": str(tmp_path)})


def test_the_night_is_at_half_past_three_and_never_in_the_hour_that_clocks_skip() -> None:
    crons = {d["name"]: [(s["cron"], s["active"]) for s in d["schedules"]] for d in deployments() if d["schedules"]}
    assert crons == {
        "nightly": [("30 3 * * *", True)],
        # off: it changes transcripts, which is asked for once
        "compact": [("30 4 * * *", False)],
        "retain": [("30 5 * * 0", True)],
    }
    assert all(cron.split()[1] != "2" for each in crons.values() for cron, _ in each)


def test_a_second_night_is_not_started_and_what_a_person_asks_for_waits() -> None:
    for deployment in deployments():
        scheduled = bool(deployment["schedules"])
        strategy = "CANCEL_NEW" if scheduled else "ENQUEUE"
        # a backfill of hours leaves room for the run that pauses it
        limit = 2 if deployment["name"] == "backfill" else 1
        assert deployment["concurrency_limit"] == {"limit": limit, "collision_strategy": strategy}
        assert deployment["tags"][:2] == ["slowwave", "scheduled" if scheduled else "on-demand"]


def _set(there: Schedules, zone: str | None = None) -> dict[str, list[dict[str, Any]]]:
    kept = as_set(in_time_zone(read_project(project_root()), "Asia/Tokyo"), there, zone)
    return {d["name"]: d["schedules"] for d in kept["deployments"] if d["schedules"]}


def _cron(cron: str, slug: str | None = None, *, active: bool = True) -> dict[str, Any]:
    return {"cron": cron, "timezone": "Europe/Berlin", "slug": slug, "active": active}


def test_a_schedule_stays_as_somebody_has_set_it() -> None:
    found = _set(
        {"compact": [_cron("30 4 * * *", "compact")], "nightly": [_cron("5 1 * * *", "nightly", active=False)]}
    )
    assert found["compact"] == [_cron("30 4 * * *", "compact")]
    assert found["nightly"] == [_cron("5 1 * * *", "nightly", active=False)]
    # what the server has none of is as the document says it
    assert [(s["cron"], s["timezone"]) for s in found["retain"]] == [("30 5 * * 0", "Asia/Tokyo")]
    assert _set({}) == _set({"nightly": []})


def test_a_schedule_that_somebody_put_in_the_place_of_ours_stays_and_gets_its_name() -> None:
    mine, each = _cron("20 20 * * *"), {"interval": 18_000.0, "timezone": "UTC", "slug": None, "active": True}
    assert _set({"nightly": [mine]})["nightly"] == [{**mine, "slug": "nightly"}]
    assert _set({"nightly": [mine, each]})["nightly"] == [{**mine, "slug": "nightly"}, {**each, "slug": "nightly-2"}]
    named = _set({"nightly": [mine, _cron("5 1 * * *", "nightly")]})["nightly"]
    assert [(s["cron"], s["slug"]) for s in named] == [("20 20 * * *", "nightly-2"), ("5 1 * * *", "nightly")]


def test_a_zone_that_is_asked_for_goes_before_the_one_that_was_set() -> None:
    (nightly,) = _set({"nightly": [_cron("5 1 * * *", "nightly")]}, "America/Lima")["nightly"]
    assert (nightly["cron"], nightly["timezone"]) == ("5 1 * * *", "America/Lima")


def test_a_night_begins_at_the_hour_that_is_asked_for() -> None:
    document = read_project(project_root())
    moved = at_hour(document, "1:05", "Europe/Berlin")
    crons = {d["name"]: d["schedules"] for d in moved["deployments"] if d["schedules"]}
    assert crons.pop("nightly") == [_cron("5 1 * * *", "nightly")]
    assert crons == {d["name"]: d["schedules"] for d in document["deployments"] if d["name"] in crons}
    assert at_hour(document, None, "UTC") == document == read_project(project_root())


@pytest.mark.parametrize("at", ["24:00", "3", "03:60", "03:30:00", "3 am", "", "-1:00"])
def test_what_is_no_hour_is_refused(at: str) -> None:
    with pytest.raises(UsageError, match="no time of a day; use 24 hours, like 03:30"):
        at_hour(read_project(project_root()), at, "UTC")


def test_when_a_schedule_is_due_is_said_in_words() -> None:
    assert when(_cron("5 1 * * *")) == "01:05 every day (Europe/Berlin)"
    assert when(_cron("30 5 * * 0")) == "05:30 every Sunday (Europe/Berlin)"
    assert when(_cron("30 5 1 * *")) == "30 5 1 * * (Europe/Berlin)"
    assert when({"interval": 18_000.0, "timezone": "UTC"}) == "every 18000 s (UTC)"
    assert when({"rrule": "FREQ=DAILY", "timezone": "UTC"}) == "FREQ=DAILY (UTC)"


def test_the_operators_zone_replaces_the_one_in_the_file_and_leaves_it_alone() -> None:
    document = read_project(project_root())
    moved = in_pool(in_time_zone(document, "Asia/Tokyo"), "night")
    assert [s["timezone"] for d in moved["deployments"] for s in d["schedules"]] == ["Asia/Tokyo"] * 3
    assert {d["work_pool"]["name"] for d in moved["deployments"]} == {"night"}
    assert document == read_project(project_root())


def test_the_deployments_of_two_pools_have_names_of_their_own() -> None:
    document = read_project(project_root())
    usual, ada, ben = ({full_name(d) for d in in_pool(document, p)["deployments"]} for p in (USUAL_POOL, "ada", "ben"))
    assert usual == {full_name(d) for d in document["deployments"]}
    assert {"nightly/nightly-ada", "backfill/backfill-ada"} <= ada
    assert (usual & ada, ada & ben, usual & ben) == (set(), set(), set())


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(UsageError, match="--timezone Mars/Olympus: unknown"):
        time_zone("Mars/Olympus")
    assert time_zone("Europe/Berlin") == "Europe/Berlin"
    assert time_zone(None)


def test_a_broken_project_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "prefect.yaml").write_text("deployments: [", encoding="utf-8")
    with pytest.raises(UnreadableError, match=r"prefect\.yaml"):
        read_project(tmp_path)


@pytest.fixture(autouse=True)
def back_again() -> Any:
    """Loading a job enters the project; the next test starts where this one did."""
    before = Path.cwd()
    yield
    os.chdir(before)


class Server:
    """Has a nightly that somebody deployed from a folder."""

    api_url = "http://127.0.0.1:4200/api"

    def __init__(self, folder: Path | None, by: str = "") -> None:
        step = {"prefect.deployments.steps.set_working_directory": {"directory": str(folder)}}
        schedule = SimpleNamespace(
            active=True, slug="nightly", schedule=CronSchedule(cron="30 3 * * *", timezone="UTC")
        )
        self._nightly = SimpleNamespace(
            pull_steps=[step] if folder else None,
            tags=["slowwave", *([f"home {by}"] if by else [])],
            schedules=[schedule],
            work_pool_name="slowwave",
        )

    def read_deployment_by_name(self, name: str) -> Any:
        if not name.startswith("nightly/"):
            raise ObjectNotFound(ValueError(name))
        return self._nightly


def test_deployments_of_another_checkout_or_home_are_named_before_they_are_taken_over(tmp_path: Path) -> None:
    document, other = from_home(read_project(project_root()), Path("/home/me")), tmp_path / "b"
    assert "home /home/me" in document["deployments"][0]["tags"]

    def found(folder: Path | None, by: str = "") -> list[str]:
        return of_others(cast("Any", Server(folder, by)), document, tmp_path, Path("/home/me"))

    assert found(tmp_path) == found(tmp_path, "/home/me") == []
    then = "pool slowwave, 03:30 every day (UTC)"
    assert found(other) == [f"nightly/nightly: runs {other}, {then}"]
    assert found(tmp_path, "/home/you") == [f"nightly/nightly: runs {tmp_path}, deployed from home /home/you, {then}"]
    assert found(None) == [f"nightly/nightly: was not made by slowwave deploy, {then}"]


def test_what_another_home_deployed_is_not_replaced_without_being_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []

    def doing(what: str, answer: Any = None) -> Callable[..., Any]:
        def do(*_given: Any, **_how: Any) -> Any:
            done.extend([what] if what else [])
            return answer

        return do

    there = nullcontext(Server(project_root(), "/home/you"))
    for name, what, answer in (
        ("slowwave.service.deployments.require_compatible", "", "3"),
        ("slowwave.service.deployments.require_pool", "pool", None),
        ("slowwave.service.deployments.require_entrypoints", "", None),
        ("slowwave.service.deployments.doubts", "", ()),
        ("slowwave.service.deployments.has_worker", "", True),
        ("slowwave.cli.service._api", "", Server.api_url),
        ("slowwave.cli.service._deploy", "deployed", None),
        ("prefect.client.orchestration.get_client", "", there),
    ):
        monkeypatch.setattr(name, doing(what, answer))
    deploy = ["deploy", "--timezone", "UTC", "--no-automations"]
    assert main(deploy) == 4
    out, err = capsys.readouterr()
    assert "deployed from home /home/you" in out
    assert "nothing was deployed: 1 are not ours; --replace takes them over" in err
    assert done == []
    assert main([*deploy, "--replace"]) == 0
    assert done == ["pool", "deployed"]


@pytest.mark.parametrize(
    ("options", "then"),
    [
        ((), "--apply goes on anyway, but one that runs makes the pool again."),
        (("--apply",), "Stop it if it runs: it makes the pool again."),
    ],
)
def test_a_worker_that_was_heard_of_lately_is_told_with_what_to_do(
    options: tuple[str, ...], then: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Deployed({}, "slowwave", {}, (), ("worker-1",))

    def nothing(*_: object, **__: object) -> nullcontext[object]:
        return nullcontext(SimpleNamespace(api_url="http://127.0.0.1:1/api"))

    def the_same(*_: object) -> Deployed:
        return found

    monkeypatch.setattr("prefect.client.orchestration.get_client", nothing)
    monkeypatch.setattr("slowwave.service.deployments.require_compatible", nothing)
    monkeypatch.setattr("slowwave.service.deployments.take_out", nothing)
    monkeypatch.setattr("slowwave.cli.service._api", nothing)
    monkeypatch.setattr("slowwave.service.deployments.deployed", the_same)
    assert main(["deploy", "--remove", *options]) == 0
    told = capsys.readouterr()
    _, _, alive, look, goes_on, *rest = told.out.splitlines()
    assert alive == f"worker-1 of pool slowwave may still be running: it was heard of lately ({COUNTS_FOR})."
    assert "`ps ax | grep '[w]orker start'`" in look
    assert goes_on == f"  {then}"
    assert rest == ([] if options else ["To take it out: slowwave deploy --remove --apply"])
    assert "first" not in told.out, "it is no refusal"
    assert not told.err


def test_each_deployment_is_told_when_prefect_has_registered_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prefect = tmp_path / "python"
    prefect.write_text(
        "#!/bin/sh\necho \"| Deployment 'nightly/nightly' successfully created with id '1'. |\"\nexit $CODE\n"
    )
    prefect.chmod(0o755)
    monkeypatch.setattr("slowwave.cli.service.sys.executable", str(prefect))
    monkeypatch.setenv("CODE", "0")
    _deploy({"deployments": []})
    assert capsys.readouterr().err == "  nightly/nightly\n"
    monkeypatch.setenv("CODE", "1")
    with pytest.raises(SlowwaveError, match=r"prefect deploy failed: .* successfully created"):
        _deploy({"deployments": []})
