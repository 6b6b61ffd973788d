"""``slowwave deploy``: register the deployments of prefect.yaml, after checking all that would fail at night."""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from slowwave.errors import DONE, ServerError, SlowwaveError, UsageError
from slowwave.service.deployments import Document, in_pool, in_time_zone, read_project, time_zone
from slowwave.service.launch import load_job, project_root
from slowwave.service.reach import require_address, require_server

POOL = "slowwave"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave deploy``."""
    parser.add_argument("--timezone", metavar="ZONE", help="IANA name; this machine's zone by default")
    parser.add_argument("--pool", default=POOL, metavar="NAME", help=f"work pool of the deployments ({POOL})")
    parser.add_argument("--create-pool", action="store_true", help="make the pool (of processes) where it is missing")


def run(args: argparse.Namespace) -> int:
    """Check server, entrypoints and pool, in this order, then deploy."""
    zone = time_zone(args.timezone)
    document = in_pool(in_time_zone(read_project(project_root()), zone), args.pool)
    os.environ.setdefault("DO_NOT_TRACK", "1")
    _check_pool(_api(), args.pool, create=args.create_pool)
    _check_entrypoints(d["entrypoint"] for d in document["deployments"])
    _deploy(document)
    names = ", ".join(d["name"] for d in document["deployments"])
    print(f"Deployed {names} to pool {args.pool}, schedules in {zone}.")  # noqa: T201 - the command's own output
    print(f"Start a worker where the transcripts are: prefect worker start --pool {args.pool}")  # noqa: T201 - as above
    return DONE


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


def _check_pool(api: str, pool: str, *, create: bool) -> None:
    import httpx  # noqa: PLC0415 - comes with Prefect
    from prefect.client.orchestration import get_client  # noqa: PLC0415 - a second that --help does not pay
    from prefect.client.schemas.actions import WorkPoolCreate  # noqa: PLC0415 - see above
    from prefect.exceptions import ObjectNotFound  # noqa: PLC0415 - see above

    require_server(api, "unset it and use slowwave serve")
    with get_client(sync_client=True) as client:
        try:
            client.read_work_pool(pool)
        except ObjectNotFound as error:
            if not create:
                remedy = f"add --create-pool, or run: prefect work-pool create {pool} --type process"
                raise UsageError(f"the server at {api} has no work pool {pool}; {remedy}") from error
            client.create_work_pool(WorkPoolCreate(name=pool, type="process"))
        except httpx.HTTPStatusError as error:
            raise ServerError(f"the Prefect server at {api} refused: {error}") from error


def _check_entrypoints(entrypoints: Iterable[str]) -> None:
    for entrypoint in entrypoints:
        try:
            load_job(entrypoint)
        except Exception as error:
            raise SlowwaveError(f"{entrypoint} does not load, so it would fail at night: {error}") from error


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
