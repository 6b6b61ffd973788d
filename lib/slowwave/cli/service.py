"""``slowwave serve`` and ``deploy``: the schedules of prefect.yaml, in this process or through a server of one's own.

``serve`` is for one machine and one person, with a Prefect server of its own where none is given. A service that
survives reboots is ``deploy``, which first checks all that would fail at night, and a worker.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from slowwave.cli.terminal import harmless, is_attended, progress, require_yes, say, warn
from slowwave.context import SystemClock
from slowwave.errors import DONE, RefusedError, SlowwaveError, UsageError
from slowwave.files import home_folder, private_folder, scheduler_folder
from slowwave.quantities import counted
from slowwave.service.deployments import (
    COUNTS_FOR,
    PASSES_OVER,
    POOL,
    Document,
    Schedules,
    as_set,
    at_hour,
    from_home,
    in_pool,
    in_time_zone,
    read_project,
    register_automations,
    schedules,
    time_zone,
    when,
)
from slowwave.service.page_server import page_served
from slowwave.service.server import (
    entrypoint_of,
    is_free,
    keep_port,
    kept_port,
    load_job,
    own_server,
    prefect_environment,
    project_root,
    require_address,
    require_server,
)
from slowwave.settings import load_settings

# how prefect says that it has registered one of several
_REGISTERED = re.compile(r"Deployment '([^']+)' successfully")

# Two jobs of different kinds may run at once; one of a kind is the deployment's own limit.
AT_ONCE = 2


def _configure_hour(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--at", metavar="HH:MM", help="when a night begins; by default as it was set before, first 03:30"
    )
    parser.add_argument("--timezone", metavar="ZONE", help="IANA name; as set before, first this machine's zone")


def configure_serve(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave serve``."""
    _configure_hour(parser)
    parser.add_argument(
        "--port",
        type=int,
        default=0,
        metavar="N",
        help="port of its own server; by default that of the last time, else any free one",
    )


def run_serve(args: argparse.Namespace) -> int:
    """Serve until interrupted or terminated; the schedules are left as they are."""
    zone = time_zone(args.timezone)
    at_hour({"deployments": []}, args.at, zone)  # a wrong one is told before a server is started
    # Both, until Prefect puts its own in their place: a shell's background job inherits an ignored SIGINT, and a plain
    # SIGTERM would leave the own server behind.
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, signal.default_int_handler)
    is_given = bool(os.environ.get("PREFECT_API_URL"))
    try:
        with _server(args.port) as api:
            say(f"Prefect: {api.removesuffix('/api')}" + ("" if is_given else ", and the same address next time"))
            if not is_given:
                say(f"  to record runs that you start by hand, too: export PREFECT_API_URL={api}")
            with page_served(lambda: load_settings(os.environ), os.environ, SystemClock()) as place:
                # what is not read by a person is often kept as a log, where the token of the address has no place
                is_seen = sys.stdout.isatty()
                where = place.address if is_seen else "slowwave review --url prints the address"
                say(f"Report and review: {where}")
                sys.stdout.flush()
                _serve(in_time_zone(read_project(project_root()), zone), args)
    except KeyboardInterrupt:
        pass  # being stopped is how serving ends
    return DONE


@contextmanager
def _server(port: int) -> Generator[str]:
    """Use the server that ``PREFECT_API_URL`` names, else run one as long as this process lives."""
    home = scheduler_folder(os.environ)
    private_folder(home)
    for name, value in prefect_environment(home).items():
        os.environ.setdefault(name, value)
    # what the automation goes by that marks runs whose process was killed
    os.environ.setdefault("PREFECT_FLOWS_HEARTBEAT_FREQUENCY", "60")
    given = os.environ.get("PREFECT_API_URL")
    if given:
        require_server(given, "unset it: a server is then started along with the schedules")
        yield given
        return
    wanted = port or kept_port(home)
    if wanted and not port and not is_free(wanted):
        say(f"Port {wanted}, where it was the last time, is taken by another program; another one is used from now on.")
        wanted = 0
    with own_server(home, os.environ, port=wanted) as api:
        keep_port(home, api)
        os.environ["PREFECT_API_URL"] = api
        yield api


def _serve(document: Document, args: argparse.Namespace) -> None:
    from prefect import serve  # noqa: PLC0415 - a second that --help does not pay
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - see above

    with get_client(sync_client=True) as client:
        document = _scheduled(document, schedules(client, document), args)
        register_automations(client)
    # stopping the process must not leave the schedules paused: the next start would then do nothing, silently
    serve(*[_deployment(d) for d in document["deployments"]], limit=AT_ONCE, pause_on_shutdown=False)


def _deployment(wanted: dict[str, Any]) -> Any:
    from prefect.client.schemas.objects import ConcurrencyLimitConfig  # noqa: PLC0415 - see above
    from prefect.schedules import Schedule  # noqa: PLC0415 - see above

    flow = load_job(wanted["entrypoint"])
    for schedule in wanted["schedules"]:
        say(f"  {wanted['name']}: {when(schedule)}{_but(wanted, schedule)}")
    sys.stdout.flush()
    return flow.to_deployment(
        wanted["name"],
        schedules=[_schedule(Schedule, one) for one in wanted["schedules"]],
        parameters=wanted["parameters"],
        description=wanted["description"],
        tags=wanted["tags"],
        concurrency_limit=ConcurrencyLimitConfig(**wanted["concurrency_limit"]),
    )


def _schedule(kind: Any, wanted: Mapping[str, Any]) -> Any:
    """Return a schedule of prefect.yaml as Prefect's own."""
    fields = dict(wanted)
    if "interval" in fields:
        fields |= {"interval": timedelta(seconds=fields["interval"])}
        fields |= {name: datetime.fromisoformat(fields[name]) for name in ("anchor_date",) if name in fields}
    return kind(**fields)


def _scheduled(document: Document, there: Schedules, args: argparse.Namespace) -> Document:
    """Return a document whose schedules are as somebody has set them before, or asks for now."""
    kept = as_set(document, there, args.timezone)
    zone = next((s["timezone"] for d in kept["deployments"] for s in d.get("schedules") or ()), "UTC")
    return at_hour(kept, args.at, zone)


def configure_deploy(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave deploy``."""
    _configure_hour(parser)
    parser.add_argument("--pool", default=POOL, metavar="NAME", help=f"work pool of the deployments ({POOL})")
    parser.add_argument("--create-pool", action="store_true", help="make the pool (of processes) where it is missing")
    parser.add_argument(
        "--replace", action="store_true", help="take over deployments of these names that another home or checkout made"
    )
    parser.add_argument(
        "--automations",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="let the server mark runs whose worker died, which would block the next night (on)",
    )
    parser.add_argument(
        "--remove", action="store_true", help="show what deploy put there and would be taken out again; see --apply"
    )
    parser.add_argument("--apply", action="store_true", help="with --remove: take it out")


def run_deploy(args: argparse.Namespace) -> int:
    """Check server, pool and entrypoints, in this order, then deploy; a schedule stays as somebody has set it."""
    from slowwave.service import deployments  # noqa: PLC0415 - --help stays fast

    if args.remove or args.apply:
        return _remove(args)
    zone = time_zone(args.timezone)
    home = home_folder(os.environ)
    document = from_home(in_pool(in_time_zone(read_project(project_root()), zone), args.pool), home)
    names = [d["name"] for d in document["deployments"]]
    os.environ.setdefault("DO_NOT_TRACK", "1")
    version = deployments.require_compatible(_api())
    # on a busy machine Prefect takes half a minute for all of it, which looks like one that hangs
    progress(f"Prefect {version} answers")
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - a second that --help does not pay

    with get_client(sync_client=True) as client:
        others = [] if args.replace else deployments.of_others(client, document, project_root(), home)
        _require_leave(others, args.pool, str(client.api_url))
        progress(f"Looking for work pool {args.pool}")
        deployments.require_pool(client, args.pool, create=args.create_pool)
        progress(f"Loading {counted(len(names), 'flow')} as a worker would")
        deployments.require_entrypoints(d["entrypoint"] for d in document["deployments"])
        progress("Registering with Prefect")
        document = _scheduled(document, deployments.schedules(client, document), args)
        _deploy(document)
        says = deployments.register_automations(client) if args.automations else []
        say(f"Deployed {', '.join(names)} to pool {args.pool} of {client.api_url} (Prefect {version}).")
        for line in _schedules(document):
            say(line)
        say("  Another hour: slowwave deploy --at HH:MM; what is set here or in Prefect stays through the next deploy.")
        for name in says:
            say(f"  automation  {name}")
        for doubt in deployments.doubts(client):
            warn(doubt)
        if not deployments.has_worker(client, args.pool):
            say(f"Next, start a worker of the pool, none is at work: {deployments.worker_command(args.pool)}")
    return DONE


def _require_leave(others: Sequence[str], pool: str, api: str) -> None:
    """Show what somebody else deployed by these names, if anything, and ask whether it may be replaced.

    Raises:
        RefusedError: it may not, or nobody is there to be asked.
    """
    if not others:
        return
    say(f"On {api} already, and not deployed from this checkout by this home:")
    for line in others:
        say(f"  {harmless(line)}")
    say(f"From then on every worker of pool {pool} would run this checkout, over the home that it works in.")
    apart = "deploy --pool NAME keeps two apart"
    if not is_attended():
        raise RefusedError(f"nothing was deployed: {len(others)} are not ours; --replace takes them over, {apart}")
    require_yes("Replace them?", f"nothing was deployed; {apart}")


def _remove(args: argparse.Namespace) -> int:
    """Show what was deployed, and with ``--apply`` take it out of the server."""
    from slowwave.service import deployments  # noqa: PLC0415 - --help stays fast

    if not args.remove:
        raise UsageError("--apply is for --remove; slowwave deploy deploys without it")
    os.environ.setdefault("DO_NOT_TRACK", "1")
    deployments.require_compatible(_api())
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - a second that --help does not pay

    with get_client(sync_client=True) as client:
        found = deployments.deployed(client, in_pool(read_project(project_root()), args.pool), args.pool)
        if args.apply:
            deployments.take_out(client, found)
        what = [f"deployment {name}" for name in found.deployments]
        what += [f"automation {name}" for name in found.automations]
        what += [f"work pool {found.pool}"] if found.pool else []
        say(f"{'Taken' if args.apply else 'Would be taken'} out of {client.api_url}: {len(what) or 'nothing'}")
        for line in (*(f"  {one}" for one in what), *(f"  stays: {one}" for one in found.kept)):
            say(line)
    for name in found.alive if found.pool else ():
        say(f"{name} of pool {args.pool} may still be running: it was heard of lately ({COUNTS_FOR}).")
    if found.alive and found.pool:
        say("  On its machine `ps ax | grep '[w]orker start'` shows it; where that prints nothing, it has ended.")
        when = "Stop it if it runs: it" if args.apply else "--apply goes on anyway, but one that runs"
        say(f"  {when} makes the pool again.")
    if what and not args.apply:
        options = f" --pool {args.pool}" if args.pool != POOL else ""
        say(f"To take it out: slowwave deploy --remove --apply{options}")
    return DONE


def _schedules(document: Document) -> list[str]:
    return [f"  {d['name']:<11} {when(s)}{_but(d, s)}" for d in document["deployments"] for s in d["schedules"]]


def _but(deployment: Mapping[str, Any], schedule: Mapping[str, Any]) -> str:
    """Say what the time of a schedule alone would not tell."""
    plans = ", which only shows its plan unless retention.enforce is set"
    passes = f", {PASSES_OVER}"
    said = {entrypoint_of("retain"): plans, entrypoint_of("nightly"): passes}.get(deployment["entrypoint"], "")
    return said if schedule["active"] else f"{said}, off until somebody switches it on"


def _api() -> str:
    """Return the address of the server, from the environment or Prefect's own profile."""
    if given := os.environ.get("PREFECT_API_URL"):
        require_address(given)
    from prefect.settings import PREFECT_API_URL  # noqa: PLC0415 - a second that --help does not pay

    address = PREFECT_API_URL.value()
    if not address:
        example = "export PREFECT_API_URL=http://127.0.0.1:4200/api"
        raise UsageError(f"PREFECT_API_URL is not set: start `prefect server start`, then {example}")
    return str(address)


def _deploy(document: Document) -> None:
    import yaml  # noqa: PLC0415 - only this command writes it

    with tempfile.TemporaryDirectory(prefix="slowwave-") as folder:
        path = Path(folder) / "prefect.yaml"
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
        command = [sys.executable, "-u", "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(path)]
        # from the project's root, since entrypoints are relative to it
        with subprocess.Popen(  # noqa: S603 - our own interpreter
            command,
            cwd=project_root(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as prefect:
            said: list[str] = []
            for line in prefect.stdout or ():
                said.append(line.strip())
                if found := _REGISTERED.search(line):
                    progress(f"  {found[1]}")
    if prefect.returncode != 0:
        raise SlowwaveError(f"prefect deploy failed: {' '.join([*filter(None, said)][-3:])}")
