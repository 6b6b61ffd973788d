"""What ``slowwave run backfill`` takes: a range and a pace, or what becomes of an earlier backfill."""

import argparse
import os
from typing import TYPE_CHECKING, Any

from slowwave.cli.options import Options, positive
from slowwave.clock import SystemClock
from slowwave.errors import UsageError
from slowwave.moments import moment

if TYPE_CHECKING:
    from slowwave.jobs.backfill.parameters import BackfillParameters

# one of them at most; the first two are about a range, the others about a run that is there
_ACTIONS = ("coverage", "resume", "pause", "rollback")
_OPTIONS = (
    *("since", "until", "projects", "dialect", "limit", "upgrade", "retry_failed"),
    *("sessions_per_second", "mb_per_second", "runner", *_ACTIONS),
)


def configure(options: Options) -> None:
    """Declare the options of the job; with ``--dry-run`` it shows sessions, bytes, tokens, money and time."""
    more = options("backfill")
    more.add_argument("--since", default="", metavar="DATE", help="sessions in which something happened then or later")
    more.add_argument(
        "--until",
        default="",
        metavar="DATE",
        help="sessions in which nothing happened after it (a date is its whole day)",
    )
    more.add_argument("--projects", nargs="+", default=[], metavar="TEXT", help="several projects, as --project")
    more.add_argument("--dialect", action="append", default=[], metavar="NAME", help="sessions of it (repeatable)")
    more.add_argument(
        "--limit", type=positive, default=0, metavar="N", help="at most this many sessions, the oldest first"
    )
    more.add_argument("--upgrade", action="store_true", help="only what an older version of the extractor has read")
    more.add_argument("--retry-failed", action="store_true", help="only what could not be read before")
    more.add_argument("--sessions-per-second", type=_rate, default=0.0, metavar="N", help="read no faster")
    more.add_argument("--mb-per-second", type=_rate, default=0.0, metavar="N", help="read no faster")
    more.add_argument(
        "--runner", choices=("threads", "dask", "ray"), default="", help="who reads (setting: backfill.task_runner)"
    )
    more.add_argument("--coverage", action="store_true", help="what of the range was read by which version")
    more.add_argument("--resume", default="", metavar="RUN", help="continue a backfill that was paused or killed")
    more.add_argument("--pause", default="", metavar="RUN", help="pause a backfill; --resume continues it")
    more.add_argument("--rollback", default="", metavar="RUN", help="take back every byte that a backfill has added")


def check(args: argparse.Namespace) -> None:
    """Refuse what does not go together.

    Raises:
        UsageError: two actions at once, or an option of this job with another one.
    """
    given = [name for name in _OPTIONS if getattr(args, name)]
    if args.job != "backfill":
        if given:
            raise UsageError(f"--{given[0].replace('_', '-')} belongs to backfill")
        return
    actions = [name for name in _ACTIONS if getattr(args, name)]
    if len(actions) > 1:
        raise UsageError(f"backfill: --{' and --'.join(actions)} do not go together")
    if args.dry_run and actions:
        raise UsageError(f"backfill: --dry-run shows what a new run would do; leave --{actions[0]} out")
    if args.person or args.topic or args.pattern or args.secrets:
        raise UsageError("--secrets, --person, --topic and --pattern belong to erase")


def backfill(args: argparse.Namespace) -> dict[str, Any]:
    """Run the job and return its report: in this process, or through Prefect what takes long."""
    parameters = _parameters(args)
    given = _checked(parameters)  # before a server is started, which takes a while
    if not args.prefect or given.action in ("pause", "coverage"):
        from slowwave.jobs.backfill.run import run_backfill  # noqa: PLC0415 - --help stays fast

        return run_backfill(given, os.environ).to_builtins()
    from slowwave.service.launch import run_through_prefect  # noqa: PLC0415 - imports Prefect

    return run_through_prefect("backfill", parameters, verbose=args.verbose)


def _checked(parameters: dict[str, Any]) -> "BackfillParameters":
    """Return the parameters as the job takes them.

    Raises:
        UsageError: one is malformed, or they do not go together.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - --help stays fast

    from slowwave.jobs.backfill.parameters import BackfillParameters, require_together  # noqa: PLC0415 - as above

    try:
        given = BackfillParameters.model_validate(parameters)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"backfill: {first['loc'][0]}: {first['input']!r}: {first['msg']}") from error
    require_together(given)
    return given


def _parameters(args: argparse.Namespace) -> dict[str, Any]:
    action = next((name for name in _ACTIONS if getattr(args, name)), "preview" if args.dry_run else "run")
    now = SystemClock().now()
    return {
        "action": action,
        "backfill": args.resume or args.pause or args.rollback,
        "since": moment("--since", args.since, now).isoformat() if args.since else None,
        "until": moment("--until", args.until, now, ends=True).isoformat() if args.until else None,
        "projects": list(args.projects),
        "dialects": list(args.dialect),
        "sessions": list(args.session),
        "limit": args.limit,
        "upgrade": args.upgrade,
        "retry_failed": args.retry_failed,
        "runner": args.runner or "as set",
        "sessions_per_second": args.sessions_per_second,
        "mb_per_second": args.mb_per_second,
        "store": [str(path.expanduser().absolute()) for path in args.store or ()],
        "config": str(args.config.absolute()) if args.config else None,
        "overrides": list(args.overrides),
        "project": args.project,
        "force": args.force,
        "dry_run": args.dry_run,
    }


def _rate(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number
