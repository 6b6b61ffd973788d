"""``slowwave run JOB``: through Prefect, or with ``--direct`` in this process; both leave the same bytes."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli import run_backfill, run_erase, screen_backfill
from slowwave.cli.options import add_json_option, add_project_option, add_settings_options, positive, settings_of
from slowwave.cli.output import say_json, warn
from slowwave.cli.progress import WISHES, shown_progress
from slowwave.cli.screen import show
from slowwave.clock import SystemClock
from slowwave.errors import DONE, PARKED, PARTLY_FAILED, REFUSED, UsageError
from slowwave.jobs import JOBS
from slowwave.report import UNCONFIRMED

if TYPE_CHECKING:
    from slowwave.settings import Settings

# what cannot be taken back only shows its plan unless it is told otherwise
_PLANNED_FIRST = ("erase", "retain")
# options that stand for a setting in this run, and the jobs that take them
_AS_SETTINGS = {
    "focus": ("compaction.focus", ("compact", "nightly")),
    "purge": ("retention.purge", ("retain", "nightly")),
    "confirm": ("retention.confirm", ("retain", "nightly")),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave run``."""
    parser.add_argument("job", choices=JOBS, metavar="JOB", help=", ".join(JOBS))
    add_settings_options(parser)
    add_project_option(parser)
    parser.add_argument("--dry-run", action="store_true", help="show the plan, change nothing")
    parser.add_argument("--apply", action="store_true", help="erase, retain: do it; otherwise only the plan is shown")
    parser.add_argument("--purge", action="store_true", help="retain: also take out what is hidden for good in files")
    parser.add_argument(
        "--confirm",
        type=positive,
        default=0,
        metavar="N",
        help="so many may go although they are most (retain), or in paths (erase)",
    )
    parser.add_argument("--focus", default="", metavar="TEXT", help="compact: what narratives look at above all")
    parser.add_argument("--force", action="store_true", help="pass the time, session and size gates (never the lock)")
    parser.add_argument("--require", action="store_true", help="end with code 4 when a gate or lock refuses")
    parser.add_argument("--direct", action="store_true", help="run in this process, without Prefect")
    parser.add_argument("--sample", type=Path, metavar="DIR", help="run on the bundled sample week, kept in DIR")
    parser.add_argument("--verbose", action="store_true", help="show the log of Prefect")
    parser.add_argument("--progress", choices=WISHES, default="auto", help="bars at a terminal, JSON lines, or none")
    run_erase.configure(parser)
    run_backfill.configure(parser)
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Run the job, print its report, return the exit code that the report means."""
    if args.sample:
        _enter_sample(args)
    _add_overrides(args)
    settings = settings_of(args)  # bad settings are refused before anything starts
    _check_together(args, settings)
    with shown_progress(args.progress, quiet=args.json or args.verbose):
        report = _report(args, settings)
    if args.json:
        say_json([report])
    elif args.job == "backfill":
        screen_backfill.show(report)
    else:
        show(report, dry_run=args.dry_run, options=f" --store {args.sample}" if args.sample else "")
    for failure in report["failures"]:
        warn(failure)
    return _exit_code(report, require=args.require, erases=args.job == "erase", planned=args.dry_run)


def _add_overrides(args: argparse.Namespace) -> None:
    for name, (key, jobs) in _AS_SETTINGS.items():
        if value := getattr(args, name):
            if name == "confirm" and run_erase.has_subjects(args):
                continue  # it is told
            if args.job not in jobs:
                raise UsageError(f"--{name} belongs to {jobs[0]}")
            args.overrides = [*args.overrides, f"{key}={'true' if value is True else value}"]


def _report(args: argparse.Namespace, settings: "Settings") -> dict[str, Any]:
    if args.job == "backfill":
        return run_backfill.backfill(args)
    if run_erase.has_subjects(args):
        return run_erase.erase(args, settings)
    return _direct(args) if args.direct else _through_prefect(args)


def _check_together(args: argparse.Namespace, settings: "Settings") -> None:
    """Refuse options of one job with another, and let what cannot be taken back only show its plan."""
    run_erase.check(args)
    run_backfill.check(args)
    if args.job in _PLANNED_FIRST:
        args.dry_run = args.dry_run or not (args.apply or settings.retention.enforce)
    elif args.apply:
        raise UsageError(f"--apply belongs to {' and '.join(_PLANNED_FIRST)}")


def _direct(args: argparse.Namespace) -> dict[str, Any]:
    from slowwave.jobs.run import Run, new_run_id  # noqa: PLC0415 - --help stays fast
    from slowwave.jobs.story import run_job  # noqa: PLC0415 - --help stays fast

    clock = SystemClock()
    given = Run(
        id=new_run_id(clock),
        settings=settings_of(args),
        clock=clock,
        environ=os.environ,
        project=args.project,
        force=args.force,
        dry_run=args.dry_run,
    )
    return run_job(args.job, given).to_builtins()


def _through_prefect(args: argparse.Namespace) -> dict[str, Any]:
    from slowwave.service.launch import run_through_prefect  # noqa: PLC0415 - imports Prefect

    parameters = {
        "store": [str(p.expanduser().absolute()) for p in args.store or ()],
        "config": str(args.config.absolute()) if args.config else None,
        "overrides": list(args.overrides),
        "project": args.project,
        "force": args.force,
        "dry_run": args.dry_run,
        **({"apply": args.apply} if args.job in _PLANNED_FIRST else {}),
    }
    return run_through_prefect(args.job, parameters, verbose=args.verbose)


def _enter_sample(args: argparse.Namespace) -> None:
    """Build the sample once and keep everything that the run writes inside its folder."""
    from slowwave.samples import build  # noqa: PLC0415 - only needed here

    home = args.sample.absolute()
    build(home, SystemClock().now())
    os.environ.update(
        HOME=str(home),
        XDG_STATE_HOME=str(home / "state"),
        XDG_DATA_HOME=str(home / "data"),
        XDG_CONFIG_HOME=str(home / "config"),
        PREFECT_HOME=str(home / "state" / "prefect"),
    )
    for name in ("PREFECT_API_URL", "SLOWWAVE_CONFIG"):
        os.environ.pop(name, None)
    args.store = [home]


def _exit_code(report: dict[str, Any], *, require: bool, erases: bool, planned: bool) -> int:
    if report["failures"]:
        return PARTLY_FAILED
    if report["parked"]:
        return PARKED
    if erases and not planned and report["counts"].get("refused"):
        return REFUSED  # something stays that was to go
    if any(gate["gate"] == UNCONFIRMED and not gate["passed"] for gate in report["gates"]) and not planned:
        return REFUSED  # somebody has to say that so much may go
    if require and any(not gate["passed"] for gate in report["gates"]):
        return REFUSED
    return DONE
