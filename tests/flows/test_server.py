"""A real server, a pool of processes and a worker: deployed, triggered with parameters, finished, artifacts there."""

import itertools
import os
import select
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest
import yaml

from slowwave.memory.folder import guarded
from slowwave.observability.progress import read_notes
from slowwave.samples import build
from slowwave.service.server import own_server, stop

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

LIMIT_S = 300


def call(api: str, path: str, body: dict[str, Any] | None = None, method: str | None = None) -> Any:
    """Ask the server's API; what answers nothing gives None."""
    data = None if body is None else orjson.dumps(body)
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{api}{path}", data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return orjson.loads(answer.read() or b"null")


def run(*arguments: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


@contextmanager
def worker(api: str, home: Path) -> Generator[None]:
    """Run a worker until the end of the block; it is ended by its own process id."""
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "slowwave", "--limit", "1"]
    env = {**os.environ, "PREFECT_API_URL": api, "PREFECT_HOME": str(home), "PREFECT_WORKER_QUERY_SECONDS": "1"}
    with (home / "worker.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=home, start_new_session=True
        )
    try:
        yield
    finally:
        stop(process)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("server")
    with own_server(home, {**os.environ, "HOME": str(home)}) as address:
        yield address


def test_a_deployed_night_runs_on_a_worker_with_its_parameters(api: str, own_home: Path, tmp_path: Path) -> None:
    store = build(own_home, datetime.now(UTC)).home
    env = {"PREFECT_API_URL": api, "PREFECT_HOME": str(tmp_path)}

    refused = run("slowwave", "deploy", "--timezone", "Europe/Berlin", **env)
    assert (refused.returncode, "no work pool slowwave" in refused.stderr) == (2, True), refused.stderr

    deployed = run("slowwave", "deploy", "--timezone", "Europe/Berlin", "--create-pool", **env)
    assert deployed.returncode == 0, deployed.stderr
    nightly = call(api, "/deployments/name/nightly/nightly")
    assert [s["schedule"]["timezone"] for s in nightly["schedules"]] == ["Europe/Berlin"]
    assert nightly["global_concurrency_limit"]["limit"] == 1
    # nothing is to be said about a server of ours, and what is to be done next stands at the end
    assert not [line for line in deployed.stderr.splitlines() if line.startswith("slowwave: ")]
    *told, last = deployed.stdout.splitlines()
    assert last.startswith("Next, start a worker of the pool, none is at work: DO_NOT_TRACK=1 prefect worker start")
    assert "  nightly     03:30 every day (Europe/Berlin), which passes over projects that are not due" in told
    the_scheduler_makes_the_runs_of_every_schedule_that_is_on(api)
    (died,) = call(api, "/automations/filter", {})
    assert (died["name"], died["enabled"], died["trigger"]["within"]) == ("slowwave: worker died", True, 180.0)
    what_somebody_switched_stays(api, env)
    declared = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    assert {d["name"] for d in call(api, "/deployments/filter", {})} == {d["name"] for d in declared}

    parameters = orjson.dumps({"store": [str(store)], "overrides": ["consolidation.min_sessions=3"]}).decode()
    start = ("prefect", "deployment", "run", "nightly/nightly", "--param", f"params={parameters}", "--watch")
    with worker(api, tmp_path):
        watched = run(*start, **env)
        cancel_in_the_middle_of_a_dream(api, store, own_home, env)
        log = (tmp_path / "worker.log").read_text(encoding="utf-8", errors="replace")
    assert watched.returncode == 0, watched.stdout + watched.stderr + log

    (flow_run,) = [r for r in call(api, "/flow_runs/filter", {}) if r["state_type"] == "COMPLETED"]
    assert (flow_run["state"]["name"], flow_run["work_pool_name"]) == ("Completed", "slowwave")
    assert flow_run["parameters"]["params"]["store"] == [str(store)]
    keys = {a["key"] for a in call(api, "/artifacts/filter", {}) if a["flow_run_id"] == flow_run["id"]}
    assert keys == {"nightly-funnel", "nightly-memory-diff", "nights"}
    assert list(store.glob(".claude/projects/*/memory/MEMORY.md"))

    # the command records its run with the same server, and finds nothing to do
    again = run("slowwave", "run", "nightly", "--json", "--store", store, **env)
    assert again.returncode == 0, again.stderr
    assert orjson.loads(again.stdout)["dream_ids"] == []
    names = {r["state"]["name"] for r in call(api, "/flow_runs/filter", {}) if r["deployment_id"] is None}
    assert names == {"Skipped"}
    what_was_deployed_is_taken_out(api, env)


def what_was_deployed_is_taken_out(api: str, env: dict[str, str]) -> None:
    """Look what would be taken out, which changes nothing, and take it out; what is not slowwave's stays."""
    every = ("deployments", "automations", "work_pools")
    call(api, "/work_pools/", {"name": "theirs", "type": "process"})
    before = {name: len(call(api, f"/{name}/filter", {})) for name in every}
    looked = run("slowwave", "deploy", "--remove", **env)
    assert looked.returncode == 0, looked.stderr
    assert {name: len(call(api, f"/{name}/filter", {})) for name in every} == before
    taken = run("slowwave", "deploy", "--remove", "--apply", **env)
    assert taken.returncode == 0, taken.stderr
    assert call(api, "/deployments/filter", {}) == call(api, "/automations/filter", {}) == []
    assert [pool["name"] for pool in call(api, "/work_pools/filter", {})] == ["theirs"]


def the_scheduler_makes_the_runs_of_every_schedule_that_is_on(api: str) -> None:
    """Wait for what the server itself will start: a set of packages may import well and still schedule nothing."""
    names = {d["id"]: d["name"] for d in call(api, "/deployments/filter", {})}
    ends = time.monotonic() + LIMIT_S
    made: set[str] = set()
    while made != {"nightly", "retain"} and time.monotonic() < ends:
        runs = call(api, "/flow_runs/filter", {"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}}})
        made = {names[run["deployment_id"]] for run in runs if run["auto_scheduled"]}
    assert made == {"nightly", "retain"}, "the scheduler of this Prefect makes no runs: no night would ever start"


def what_somebody_switched_stays(api: str, env: dict[str, str]) -> None:
    """Switch one schedule on, another off and the automation off; pause the pool; deploy again."""
    for job, active in (("compact", True), ("retain", False)):
        (schedule,) = call(api, f"/deployments/name/{job}/{job}")["schedules"]
        deployment = schedule["deployment_id"]
        call(api, f"/deployments/{deployment}/schedules/{schedule['id']}", {"active": active}, method="PATCH")
    (died,) = call(api, "/automations/filter", {})
    call(api, f"/automations/{died['id']}", {"enabled": False}, method="PATCH")
    call(api, "/work_pools/slowwave", {"is_paused": True}, method="PATCH")
    paused = run("slowwave", "deploy", "--timezone", "Asia/Tokyo", **env)
    assert (paused.returncode, "prefect work-pool resume slowwave" in paused.stderr) == (2, True), paused.stderr
    call(api, "/work_pools/slowwave", {"is_paused": False}, method="PATCH")

    again = run("slowwave", "deploy", "--timezone", "Europe/Berlin", **env)
    assert again.returncode == 0, again.stderr
    found = {d["name"]: [s["active"] for s in d["schedules"]] for d in call(api, "/deployments/filter", {})}
    assert {name: on for name, on in found.items() if on} == {"nightly": [True], "compact": [True], "retain": [False]}
    assert [one["enabled"] for one in call(api, "/automations/filter", {})] == [False]
    the_hour_that_somebody_set_stays(api, env)


def the_hour_that_somebody_set_stays(api: str, env: dict[str, str]) -> None:
    """Put another schedule in the place of the night's, as Prefect's own command does, and deploy again."""

    def hours() -> list[tuple[str, str]]:
        found = call(api, "/deployments/name/nightly/nightly")["schedules"]
        return [(one["schedule"]["cron"], one["schedule"]["timezone"]) for one in found]

    other = [sys.executable, "-m", "prefect", "deployment", "schedule", "create", "nightly/nightly", "--replace", "-y"]
    other += ["--cron", "20 20 * * *", "--timezone", "Asia/Tokyo"]
    subprocess.run(other, env={**os.environ, **env}, check=True, capture_output=True, timeout=LIMIT_S)
    for asked, wanted in (((), ("20 20 * * *", "Asia/Tokyo")), (("--at", "01:15"), ("15 1 * * *", "Asia/Tokyo"))):
        again = run("slowwave", "deploy", *asked, **env)
        assert (again.returncode, hours()) == (0, [wanted]), again.stderr
    again = run("slowwave", "deploy", "--at", "03:30", "--timezone", "Europe/Berlin", **env)
    assert (again.returncode, hours()) == (0, [("30 3 * * *", "Europe/Berlin")]), again.stderr


def cancel_in_the_middle_of_a_dream(api: str, store: Path, home: Path, env: dict[str, str]) -> None:
    """Cancel a run whose dream waits for the lock under which it would write: somebody else holds it."""
    memory = next(store.glob(".claude/projects/*quill/memory"))
    runs = home / "state" / "slowwave" / "runs"
    parameters = orjson.dumps({"store": [str(store)], "project": "quill", "force": True}).decode()
    start = ["deployment", "run", "consolidate/consolidate", "--param", f"params={parameters}", "--watch"]
    command = [sys.executable, "-m", "prefect", *start]
    environ = {**os.environ, **env}
    with subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as watching:
        try:
            with guarded(memory):
                running = the_run_that_has_its_manifest(api, runs)
                call(api, f"/flow_runs/{running['id']}/set_state", {"state": {"type": "CANCELLING"}})
                watching.wait(LIMIT_S)
        finally:
            watching.kill()
    assert call(api, f"/flow_runs/{running['id']}")["state_type"] == "CANCELLED"
    # what is let go of on the way out: the manifest of the run, and every lock; its note says why it ended
    assert list(runs.glob("*.manifest.json")) == []
    (note,), _ = read_notes({"HOME": str(home), "XDG_STATE_HOME": str(home / "state")})
    assert note.ended.startswith("TerminationSignal")
    assert not (memory / ".consolidation_lock").exists()


def the_run_that_has_its_manifest(api: str, runs: Path) -> dict[str, Any]:
    """Return the run that is at work, as soon as it has written what it is about to do."""
    ends = time.monotonic() + LIMIT_S
    while time.monotonic() < ends:
        found = [r for r in call(api, "/flow_runs/filter", {}) if r["state_type"] == "RUNNING"]
        if len(found) == 1 and len(list(runs.glob("*.manifest.json"))) == 1:
            return found[0]
    raise AssertionError("no run began")


def off_of(api: str, job: str) -> str:
    """Return what is said of the schedule of a job, "" where it is on."""
    (schedule,) = call(api, f"/deployments/name/{job}/{job}")["schedules"]
    return "" if schedule["active"] else ", off until somebody switches it on"


def test_serving_schedules_the_night_and_leaves_it_scheduled_when_it_is_stopped(api: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "slowwave", "serve", "--timezone", "Asia/Tokyo"]
    env = {**os.environ, "PREFECT_API_URL": api, "PREFECT_HOME": str(tmp_path)}
    process = subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    try:
        said = list(itertools.takewhile(lambda line: "being served" not in line, process.stdout))
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0
    finally:
        process.kill()
        process.stdout.close()
    page = next(line for line in said if line.startswith("Report and review: "))
    assert "http" not in page  # its token has no place in a log
    passes, plans = (
        ", which passes over projects that are not due",
        ", which only shows its plan unless retention.enforce is set",
    )
    # what is off, somebody may have switched on before, and the other way round
    assert [line for line in said if line != page] == [
        f"Prefect: {api.removesuffix('/api')}\n",
        f"  nightly: 03:30 every day (Asia/Tokyo){passes}{off_of(api, 'nightly')}\n",
        f"  compact: 04:30 every day (Asia/Tokyo){off_of(api, 'compact')}\n",
        f"  retain: 05:30 every Sunday (Asia/Tokyo){plans}{off_of(api, 'retain')}\n",
    ]
    nightly = call(api, "/deployments/name/nightly/nightly")
    (schedule,) = [s for s in nightly["schedules"] if s["schedule"]["timezone"] == "Asia/Tokyo"]
    assert (nightly["paused"], schedule["active"]) == (False, True)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells when somebody else's child ends")
def test_a_server_of_ours_ends_with_its_parent_also_when_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from slowwave.service.server import own_server\n"
        "with own_server(Path(sys.argv[1]), os.environ) as api: print(api, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        try:
            address = parent.stdout.readline().strip()
            (server,) = psutil.Process(parent.pid).children()
        finally:
            parent.kill()
    assert address.startswith("http://127.0.0.1:")
    try:
        assert has_ended(server.pid)
    finally:
        if server.is_running():
            server.kill()


def has_ended(pid: int) -> bool:
    """Wait for the end of a process that is not our child; where there is no init, its zombie stays for ever."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 60)[0])
    finally:
        os.close(handle)
