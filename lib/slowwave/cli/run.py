"""``slowwave run JOB``: in this process, or recorded by a Prefect server; both leave the same bytes.

A server is used where ``PREFECT_API_URL`` or Prefect's active profile names one; ``--prefect`` starts one for the run.
"""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.cli import run_backfill, run_erase, screen_backfill
from slowwave.cli.options import (
    Options,
    Place,
    add_json_option,
    add_project_option,
    add_settings_options,
    positive,
    settings_of,
)
from slowwave.cli.output import say, say_json, warn
from slowwave.cli.parser import Parser, Undeclared
from slowwave.cli.progress import WISHES, shown_progress
from slowwave.cli.screen import show
from slowwave.clock import SystemClock
from slowwave.errors import DONE, PARKED, PARTLY_FAILED, REFUSED, UsageError
from slowwave.jobs import JOBS
from slowwave.report import UNCONFIRMED
from slowwave.service.reach import named_server

if TYPE_CHECKING:
    from slowwave.settings import Settings

_MOST_FAILURES = 5
ABOUT = {
    "nightly": "Read what is new in every session, and dream over every project; compact and tidy where settings ask.",
    "extract": "Read what is new in the sessions, and note what may be worth remembering.",
    "consolidate": "Turn what was noted into memories.",
    "compact": "Append a summary to every session that has grown too large.",
    "retain": "Archive and remove the sessions that the rules no longer keep; without --apply only show which.",
    "erase": "Take secrets, persons, topics or whole sessions out of transcripts and memories, for good.",
    "backfill": "Read a past range of sessions, in pieces that can be paused, resumed and taken back.",
}
# the settings, by section or key, that are a job's own; those of every job are told in docs/settings.md
_SETTINGS = {
    "nightly": (
        *("extraction", "consolidation", "compaction.nightly"),
        *("retention.enforce", "retention.rescue", "retention.rescue_max_bytes", "alarms"),
    ),
    "extract": ("extraction",),
    "consolidate": ("consolidation",),
    "compact": ("compaction",),
    "retain": ("retention",),
    "erase": ("secrets", "retention.enforce"),
    "backfill": ("backfill", "extraction"),
}
# what cannot be taken back only shows its plan unless it is told otherwise
_PLANNED_FIRST = ("erase", "retain")
# options that stand for a setting in this run, and the jobs that take them
_AS_SETTINGS = {
    "focus": ("compaction.focus", ("compact", "nightly")),
    "purge": ("retention.purge", ("retain", "nightly")),
    "confirm": ("retention.confirm", ("retain", "nightly")),
}


def configure(parser: Parser) -> None:
    """Declare the options of ``slowwave run``; where help on one job is asked for, those of that job alone."""
    asked = not parser.behind or {"-h", "--help"} & set(parser.behind)
    job = next((word for word in parser.behind if word in JOBS), "") if asked else ""
    parser.usage = f"slowwave run {job or 'JOB'} [options]"
    parser.is_laid_out = parser.needs_word = True
    if job:
        _explain(parser, job)
    elif asked:
        parser.description = f"jobs:\n{parser.columns(ABOUT.items(), 16)}"
        parser.epilog = "slowwave run JOB --help shows the options and the settings of one job."
    groups: dict[tuple[str, ...], Place] = {}

    def options(*jobs: str) -> Place:
        if job and job not in jobs:
            return Undeclared()
        title = (job,) if job else jobs
        if title not in groups:
            groups[title] = parser.add_argument_group(", ".join(title))
        return groups[title]

    shown = argparse.SUPPRESS if asked else ", ".join(JOBS)
    parser.add_argument("job", choices=JOBS, metavar="JOB", help=shown)
    run_erase.configure(options)
    _configure_some(options)
    run_backfill.configure(options)
    _configure_all(parser.add_argument_group("every job"))


def _configure_some(options: Options) -> None:
    options("retain", "erase").add_argument(
        "--apply", action="store_true", help="do it; otherwise only the plan is shown"
    )
    options("retain", "nightly").add_argument(
        "--purge", action="store_true", help="also take out what is hidden for good in files"
    )
    options("retain", "nightly", "erase").add_argument(
        "--confirm",
        type=positive,
        default=0,
        metavar="N",
        help="let this many go although they are more than half (retain) or stand in paths (erase)",
    )
    options("compact", "nightly").add_argument(
        "--focus", default="", metavar="TEXT", help="what a model's summaries pay most attention to"
    )


def _configure_all(every: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    add_settings_options(every)
    add_project_option(every)
    every.add_argument("--dry-run", action="store_true", help="show the plan, change nothing")
    every.add_argument(
        "--force", action="store_true", help="ignore the gates of time, sessions and size (never the lock)"
    )
    every.add_argument("--require", action="store_true", help="end with code 4 when a gate or lock refuses")
    way = every.add_mutually_exclusive_group()
    way.add_argument(
        "--prefect",
        action="store_true",
        help="let a Prefect server record the run: the one that is set up, else one of its own, started for the run",
    )
    way.add_argument("--direct", action="store_true", help="run without Prefect, also where a server is set up")
    every.add_argument("--sample", type=Path, metavar="DIR", help="run on the bundled sample week, kept in DIR")
    every.add_argument("--verbose", action="store_true", help="show the log of Prefect")
    every.add_argument(
        "--progress",
        choices=WISHES,
        default="auto",
        help="how far it is: bars at a terminal, elsewhere lines once it takes long (auto); lines, json or none",
    )
    add_json_option(every)


def _explain(parser: Parser, job: str) -> None:
    """Say what a job does and which settings it goes by."""
    from slowwave.settings import described  # noqa: PLC0415 - only a page of help waits for it

    keys = [
        row for section in _SETTINGS[job] for row in described(section.partition(".")[0]) if _is_of(row[0], section)
    ]
    rows = [(key, meaning + (f" (default: {default})" if default else "")) for key, default, meaning in keys]
    parser.is_laid_out = True
    parser.description = parser.filled(ABOUT[job])
    parser.epilog = f"settings (--set KEY=VALUE, or in the settings file):\n{parser.columns(rows)}"


def _is_of(key: str, section: str) -> bool:
    return key == section or key.startswith(f"{section}.")


def run(args: argparse.Namespace) -> int:
    """Run the job, print its report, return the exit code that the report means."""
    if args.sample:
        _enter_sample(args)
    _add_overrides(args)
    settings = settings_of(args)  # bad settings are refused before anything starts
    _check_together(args, settings)
    args.prefect = not args.direct and (args.prefect or bool(named_server(os.environ)))
    wish = "lines" if args.verbose and args.progress == "auto" else args.progress  # bars would run into the log
    with shown_progress(wish, quiet=args.json):
        report = _report(args, settings)
    if args.json:
        say_json([report])
    elif args.job == "backfill":
        screen_backfill.show(report)
    else:
        show(report, dry_run=args.dry_run, options=f" --store {args.sample}" if args.sample else "")
    if not args.json and (flow_run := report.get("flow_run")):
        shown = "" if args.sample else ", which slowwave serve shows"
        where = flow_run["page"] or f"kept in {flow_run['folder']}{shown}"
        say(f"\nRecorded by Prefect as {flow_run['name']!r}: {where}")
    for failure in report["failures"][:_MOST_FAILURES]:
        warn(failure)
    if len(report["failures"]) > _MOST_FAILURES:
        warn(f"and {len(report['failures']) - _MOST_FAILURES} more failures (--json shows all)")
    return _exit_code(report, require=args.require, erases=args.job == "erase", planned=args.dry_run)


def _add_overrides(args: argparse.Namespace) -> None:
    for name, (key, jobs) in _AS_SETTINGS.items():
        if value := getattr(args, name):
            if name == "confirm" and run_erase.has_subjects(args):
                continue  # it is told
            if args.job not in jobs:
                raise UsageError(f"--{name} is for {' and '.join(jobs)}, not for {args.job}")
            args.overrides = [*args.overrides, f"{key}={'true' if value is True else value}"]


def _report(args: argparse.Namespace, settings: "Settings") -> dict[str, Any]:
    if args.job == "backfill":
        return run_backfill.backfill(args)
    if run_erase.has_subjects(args):
        return run_erase.erase(args, settings)
    return _through_prefect(args) if args.prefect else _direct(args)


def _check_together(args: argparse.Namespace, settings: "Settings") -> None:
    """Refuse options of one job with another, and let what cannot be taken back only show its plan."""
    run_erase.check(args)
    run_backfill.check(args)
    if args.job in _PLANNED_FIRST:
        args.dry_run = args.dry_run or not (args.apply or settings.retention.enforce)
    elif args.apply:
        raise UsageError(f"--apply is for {' and '.join(_PLANNED_FIRST)}, not for {args.job}")


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
    for name in ("PREFECT_API_URL", "PREFECT_PROFILE", "PREFECT_PROFILES_PATH", "SLOWWAVE_CONFIG"):
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
