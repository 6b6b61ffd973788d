"""What ``slowwave run erase`` takes: secrets, or sessions, persons, topics and patterns."""

import argparse
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from slowwave.cli.options import Options
from slowwave.clock import SystemClock
from slowwave.errors import UsageError
from slowwave.service.server import named_server
from slowwave.settings import Settings

_SUBJECTS = ("session", "person", "topic", "pattern")


def configure(options: Options) -> None:
    """Declare the options of the job."""
    more = options("erase")
    more.add_argument("--secrets", action="store_true", help="take out every secret that is found")
    more.add_argument("--person", action="append", default=[], metavar="NAME", help="a name; repeat it for more")
    more.add_argument("--topic", action="append", default=[], metavar="PHRASE", help="a phrase")
    more.add_argument("--pattern", action="append", default=[], metavar="REGEX", help="what an expression fits")
    options("erase", "backfill").add_argument(
        "--session", action="append", default=[], metavar="ID", help="a whole session (repeatable)"
    )


def has_subjects(args: argparse.Namespace) -> bool:
    """Say whether anything but secrets is to be erased."""
    return any(getattr(args, name) for name in _SUBJECTS)


def check(args: argparse.Namespace) -> None:
    """Refuse what does not go together.

    Raises:
        UsageError: nothing, or two kinds of things at once, is to be erased, or another job was named.
    """
    subjects = has_subjects(args)
    if args.job != "erase":
        # a backfill takes sessions, too
        if args.secrets or (subjects and args.job != "backfill"):
            raise UsageError("--secrets, --session, --person, --topic and --pattern belong to erase")
    elif args.secrets == subjects:
        raise UsageError("erase: say what: --secrets, or any of --session, --person, --topic and --pattern")


def erase(args: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """Erase subjects in this process and return the report."""
    from slowwave.jobs.erasure import erase_subjects  # noqa: PLC0415 - --help stays fast
    from slowwave.jobs.run import Run, new_run_id  # noqa: PLC0415
    from slowwave.retention.erase.subjects import Asked  # noqa: PLC0415
    from slowwave.service.server import prefect_home  # noqa: PLC0415

    clock = SystemClock()
    run = Run(
        id=new_run_id(clock),
        settings=settings,
        clock=clock,
        environ=os.environ,
        project=args.project,
        force=args.force,
        dry_run=args.dry_run,
    )
    asked = Asked(tuple(args.session), tuple(args.person), tuple(args.topic), tuple(args.pattern))
    elsewhere = _elsewhere(os.environ)
    return erase_subjects(asked, run, prefect_home(os.environ), elsewhere, args.confirm).to_builtins()


def _elsewhere(environ: Mapping[str, str]) -> str:
    """Return where a scheduler has its database when that is not below its own folder here: a variable, or ""."""
    for name in ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "PREFECT_API_DATABASE_CONNECTION_URL"):
        if environ.get(name):
            return f"${name}"
    host = urlsplit(named_server(environ)).hostname
    return "" if host in (None, "localhost", "127.0.0.1", "::1") else f"$PREFECT_API_URL ({host})"
