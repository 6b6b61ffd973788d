"""``slowwave deploy``: register the deployments of prefect.yaml, after checking all that would fail at night."""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from slowwave.cli.output import say, warn
from slowwave.errors import DONE, SlowwaveError, UsageError
from slowwave.service.deployments import (
    POOL,
    Document,
    as_switched,
    in_pool,
    in_time_zone,
    read_project,
    time_zone,
)
from slowwave.service.launch import project_root
from slowwave.service.reach import require_address


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave deploy``."""
    parser.add_argument("--timezone", metavar="ZONE", help="IANA name; this machine's zone by default")
    parser.add_argument("--pool", default=POOL, metavar="NAME", help=f"work pool of the deployments ({POOL})")
    parser.add_argument("--create-pool", action="store_true", help="make the pool (of processes) where it is missing")
    parser.add_argument(
        "--automations",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="let the server mark runs whose worker died, which would block the next night (on)",
    )


def run(args: argparse.Namespace) -> int:
    """Check server, pool and entrypoints, in this order, then deploy; a schedule stays as somebody has switched it."""
    from slowwave.service import registration  # noqa: PLC0415 - --help stays fast

    zone = time_zone(args.timezone)
    document = in_pool(in_time_zone(read_project(project_root()), zone), args.pool)
    names = [d["name"] for d in document["deployments"]]
    os.environ.setdefault("DO_NOT_TRACK", "1")
    version = registration.require_compatible(_api())
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - a second that --help does not pay

    with get_client(sync_client=True) as client:
        registration.require_pool(client, args.pool, create=args.create_pool)
        registration.require_entrypoints(d["entrypoint"] for d in document["deployments"])
        document = as_switched(document, registration.switches(client, document))
        _deploy(document)
        says = registration.register_automations(client) if args.automations else []
        say(f"Deployed {', '.join(names)} to pool {args.pool} of {client.api_url} (Prefect {version}).")
        for line in _schedules(document, zone):
            say(line)
        for name in says:
            say(f"  automation  {name}")
        for doubt in registration.doubts(client, args.pool):
            warn(doubt)
    say(f"Start a worker where the transcripts are: prefect worker start --pool {args.pool}")
    return DONE


def _schedules(document: Document, zone: str) -> list[str]:
    return [
        f"  {d['name']:<11} {s['cron']} ({zone})" + ("" if s["active"] else ", off until somebody switches it on")
        for d in document["deployments"]
        for s in d["schedules"]
    ]


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
        command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(path)]
        # from the project's root, since entrypoints are relative to it
        done = subprocess.run(  # noqa: S603 - our own interpreter
            command, cwd=project_root(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        last = " ".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-3:])
        raise SlowwaveError(f"prefect deploy failed: {last}")
