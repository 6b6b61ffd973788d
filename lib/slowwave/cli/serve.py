"""``slowwave serve``: every schedule in one process, with a Prefect server of its own where none is given.

For one machine and one person. A service that survives reboots is ``slowwave deploy`` and a worker.
"""

import argparse
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from slowwave.cli.output import say
from slowwave.clock import SystemClock
from slowwave.errors import DONE
from slowwave.files import private_folder
from slowwave.service.deployments import Document, as_switched, in_time_zone, read_project, time_zone
from slowwave.service.launch import load_job, prefect_environment, prefect_home, project_root
from slowwave.service.page_server import page_served, place_path
from slowwave.service.reach import require_server
from slowwave.settings import load_settings

# Two jobs of different kinds may run at once; one of a kind is the deployment's own limit.
AT_ONCE = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave serve``."""
    parser.add_argument("--timezone", metavar="ZONE", help="IANA name; this machine's zone by default")
    parser.add_argument(
        "--port",
        type=int,
        default=0,
        metavar="N",
        help="port of its own server; by default that of the last time, else any free one",
    )


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted or terminated; the schedules are left as they are."""
    zone = time_zone(args.timezone)
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
                where = place.address if is_seen else f"the address is in {place_path(os.environ)}"
                say(f"Report and review: {where}")
                sys.stdout.flush()
                _serve(in_time_zone(read_project(project_root()), zone))
    except KeyboardInterrupt:
        pass  # being stopped is how serving ends
    return DONE


@contextmanager
def _server(port: int) -> Generator[str]:
    """Use the server that ``PREFECT_API_URL`` names, else run one as long as this process lives."""
    home = prefect_home(os.environ)
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
    from slowwave.service.server import is_free, keep_port, kept_port, own_server  # noqa: PLC0415 - only here

    wanted = port or kept_port(home)
    if wanted and not port and not is_free(wanted):
        say(f"Port {wanted}, where it was the last time, is taken by another program; another one is used from now on.")
        wanted = 0
    with own_server(home, os.environ, port=wanted) as api:
        keep_port(home, api)
        os.environ["PREFECT_API_URL"] = api
        yield api


def _serve(document: Document) -> None:
    from prefect import serve  # noqa: PLC0415 - a second that --help does not pay
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - see above

    from slowwave.service.registration import register_automations, switches  # noqa: PLC0415 - only with a server

    with get_client(sync_client=True) as client:
        document = as_switched(document, switches(client, document))
        register_automations(client)
    # stopping the process must not leave the schedules paused: the next start would then do nothing, silently
    serve(*[_deployment(d) for d in document["deployments"]], limit=AT_ONCE, pause_on_shutdown=False)


def _deployment(wanted: dict[str, Any]) -> Any:
    from prefect.client.schemas.objects import ConcurrencyLimitConfig  # noqa: PLC0415 - see above
    from prefect.schedules import Cron  # noqa: PLC0415 - see above

    flow = load_job(wanted["entrypoint"])
    for schedule in wanted["schedules"]:
        off = "" if schedule["active"] else ", off until somebody switches it on"
        say(f"  {wanted['name']}: {schedule['cron']} ({schedule['timezone']}){off}")
    sys.stdout.flush()
    return flow.to_deployment(
        wanted["name"],
        schedules=[
            Cron(s["cron"], timezone=s["timezone"], slug=s["slug"], active=s["active"]) for s in wanted["schedules"]
        ],
        parameters=wanted["parameters"],
        description=wanted["description"],
        tags=wanted["tags"],
        concurrency_limit=ConcurrencyLimitConfig(**wanted["concurrency_limit"]),
    )
