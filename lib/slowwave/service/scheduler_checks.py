"""Checks of the Prefect server: whether it answers, and whether it will really start the next night.

A server that is up and does nothing is what nobody notices, so its deployment, schedule and workers are looked at. All
is asked over HTTP: importing Prefect would take longer than the answers.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from slowwave.errors import ServerError
from slowwave.places import scheduler_folder
from slowwave.service.checks import Check
from slowwave.service.page_server import served_place
from slowwave.service.reach import named_server
from slowwave.service.registration import server_doubts, worker_command
from slowwave.service.server import HOST, is_healthy, kept_port

_DEPLOY = "slowwave deploy --create-pool"
_WAIT_S = 10


def scheduler(environ: Mapping[str, str]) -> Iterator[Check]:
    """Yield the checks of the server that ``PREFECT_API_URL`` or Prefect's active profile names, if any."""
    release = f"Prefect {version('prefect')}"
    try:
        api = named_server(environ)
    except ServerError as error:
        yield Check("prefect", ok=False, seen=str(error), fix="fix or remove that file")
        return
    if not api and served_place(environ):
        yield from _of_serve(environ, release)
        return
    if not api:
        where = "no server is set up and no slowwave serve is at work"
        seen = f"{release}; {where}: jobs run in the process of their command, and nothing is scheduled"
        yield Check("prefect", ok=True, seen=seen)
        return
    if not is_healthy(api):
        fix = "start the server (prefect server start), correct PREFECT_API_URL, or run jobs with --direct"
        yield Check("prefect", ok=False, seen=f"{release}; the server at {api} does not answer", fix=fix)
        return
    try:
        yield from _of_server(api, release, environ.get("PREFECT_API_AUTH_STRING", ""))
    except (urllib.error.URLError, OSError, ValueError, LookupError, TypeError) as error:
        fix = "set PREFECT_API_AUTH_STRING where the server asks for it, or update the server"
        yield Check("prefect", ok=False, seen=f"the server at {api} answers strangely: {error}", fix=fix)


def _of_serve(environ: Mapping[str, str], release: str) -> Iterator[Check]:
    """Look at what ``slowwave serve`` has on its schedule: on its own server, or on one that only its shell names."""
    api = f"http://{HOST}:{kept_port(scheduler_folder(environ))}/api"
    if is_healthy(api):
        yield from _of_server(api, release, "")
    else:
        seen = f"{release}; slowwave serve is at work, and schedules nights on a server that is not named here"
        yield Check("prefect", ok=True, seen=seen)


def _of_server(api: str, release: str, auth: str) -> Iterator[Check]:
    doubts = list(server_doubts(_asked(api, "/admin/settings", auth)))
    fix = doubts[0] if doubts else ""
    yield Check("prefect", ok=True, seen=f"{release}; the server at {api} answers", fix=fix)
    wanted = {"flows": {"name": {"any_": ["nightly"]}}, "sort": "NAME_ASC"}
    nights: list[dict[str, Any]] = _asked(api, "/deployments/filter", auth, wanted) or []
    if not nights:
        yield Check("schedule", ok=False, seen=f"the server at {api} has no deployment nightly", fix=_DEPLOY)
        return
    # people, or classes of machines, may have a pool each
    for nightly in nights:
        yield _schedule(nightly, _next_night(api, nightly, auth))
        yield _worker(api, nightly, auth)


def _next_night(api: str, nightly: Mapping[str, Any], auth: str) -> str:
    """Return when the server will start the next night, "" where it has made no run for it."""
    wanted = {
        "deployments": {"id": {"any_": [nightly["id"]]}},
        "flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}},
        "sort": "EXPECTED_START_TIME_ASC",
        "limit": 1,
    }
    runs: list[dict[str, Any]] = _asked(api, "/flow_runs/filter", auth, wanted) or []
    return runs[0]["expected_start_time"][:16].replace("T", " ") if runs else ""


def _schedule(nightly: Mapping[str, Any], following: str) -> Check:
    on = [s for s in nightly["schedules"] if s["active"]]
    if nightly["paused"] or not on:
        what = "is paused" if nightly["paused"] else "has no schedule that is on"
        fix = "prefect deployment schedule resume --all, or the switch on its page"
        return Check("schedule", ok=False, seen=f"the deployment {nightly['name']} {what}: no night will run", fix=fix)
    when = ", ".join(f"{s['schedule'].get('cron')} ({s['schedule'].get('timezone')})" for s in on)
    if not following:
        # it is how a server looks whose scheduler breaks over a library that it does not know yet
        seen = f"{nightly['name']} at {when}, but the server has made no run for it"
        fix = "wait a minute after slowwave deploy; else read the server's log and install what requirements.lock pins"
        return Check("schedule", ok=False, seen=seen, fix=fix)
    return Check("schedule", ok=True, seen=f"{nightly['name']} at {when}, next {following} UTC")


def _worker(api: str, nightly: Mapping[str, Any], auth: str) -> Check:
    pool = nightly["work_pool_name"]
    if not pool:
        return Check("worker", ok=True, seen="nights run in slowwave serve")
    found: dict[str, Any] | None = _asked(api, f"/work_pools/{quote(pool)}", auth)
    if found and found["is_paused"]:
        return Check("worker", ok=False, seen=f"pool {pool} is paused", fix=f"prefect work-pool resume {pool}")
    workers: list[dict[str, Any]] = _asked(api, f"/work_pools/{quote(pool)}/workers/filter", auth, {}) or []
    online = [worker["name"] for worker in workers if worker["status"] == "ONLINE"]
    if not online:
        seen = f"no worker of pool {pool} is at work: no night will run"
        return Check(
            "worker",
            ok=False,
            seen=seen,
            fix=worker_command(pool),
        )
    return Check("worker", ok=True, seen=f"{len(online)} at work for pool {pool}")


def _asked(api: str, path: str, auth: str, body: Mapping[str, Any] | None = None) -> Any:
    """Return what the server answers, None where it has no such thing."""
    import base64  # noqa: PLC0415 - most servers ask nobody who they are

    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{api}{path}", data=data, headers={"Content-Type": "application/json"})  # noqa: S310 - the operator's own address
    if auth:
        request.add_header("Authorization", f"Basic {base64.b64encode(auth.encode()).decode()}")
    try:
        with urllib.request.urlopen(request, timeout=_WAIT_S) as answer:  # noqa: S310 - as above
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        if error.code == 404:  # noqa: PLR2004 - HTTP's "not found"
            return None
        raise
