"""``slowwave run JOB``: in this process, or recorded by a Prefect server; both leave the same bytes.

A server is used where ``PREFECT_API_URL`` or Prefect's active profile names one; ``--prefect`` starts one for the run.
"""

import argparse
import gc
import os
import signal
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from slowwave.cli.screen import show, show_backfill
from slowwave.cli.terminal import (
    Options,
    Parser,
    Place,
    Undeclared,
    add_json_option,
    add_project_option,
    add_settings_options,
    carried,
    positive,
    say,
    say_json,
    settings_of,
    warn,
)
from slowwave.context import Run, SystemClock, given_again, new_run_id
from slowwave.errors import DONE, PARKED, PARTLY_FAILED, REFUSED, InterruptedRunError, UsageError
from slowwave.files import scheduler_folder
from slowwave.jobs import JOBS
from slowwave.quantities import counted, moment
from slowwave.report import UNCONFIRMED
from slowwave.service.server import named_server, run_through_prefect
from slowwave.settings import described

if TYPE_CHECKING:
    from slowwave.cli.progress import Wish
    from slowwave.jobs.parameters import BackfillParameters
    from slowwave.settings import Settings

_MOST_FAILURES = 5
ABOUT = {
    "nightly": "Read what is new in every session, and dream over every project; compact and tidy where settings ask.",
    "extract": "Read what is new in the sessions, and note what may be worth remembering.",
    "consolidate": "Turn what was noted into memories.",
    "compact": "Append a summary to every session that has grown too large.",
    "retain": "Archive and remove the sessions that the rules no longer keep; without --apply only show which.",
    "erase": "Take secrets, persons, topics or whole sessions out of transcripts and memories, for good.",
    "backfill": "Read a past range of sessions, at your pace; it can be paused, resumed and taken back.",
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
    _configure_erase(options)
    _configure_some(options)
    _configure_backfill(options)
    _configure_all(parser.add_argument_group("every job"), job)


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


def _configure_all(every: argparse._ArgumentGroup, job: str) -> None:  # pyright: ignore[reportPrivateUsage]
    add_settings_options(every)
    add_project_option(every)
    every.add_argument("--dry-run", action="store_true", help="show the plan, change nothing")
    again = "read again what was read already; what is known stays"
    gates = "ignore the gates of time, sessions and size (never the lock)"
    told = f"{again}; also {gates}" if job == "backfill" else gates if job else f"{gates}; backfill: {again}"
    every.add_argument("--force", action="store_true", help=told)
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
        choices=("auto", "lines", "json", "none"),
        default="auto",
        help="how far it is: bars at a terminal, elsewhere lines once it takes long (auto); lines, json or none",
    )
    add_json_option(every)


def _explain(parser: Parser, job: str) -> None:
    """Say what a job does and which settings it goes by."""
    keys = [
        row
        for section in _SETTINGS[job]
        for row in described(section.partition(".")[0])
        if f"{row[0]}.".startswith(f"{section}.")
    ]
    rows = [(key, meaning + (f" (default: {default})" if default else "")) for key, default, meaning in keys]
    parser.is_laid_out = True
    parser.description = parser.filled(ABOUT[job])
    parser.epilog = f"settings (--set KEY=VALUE, or in the settings file):\n{parser.columns(rows)}"


def run(args: argparse.Namespace) -> int:
    """Run the job, print its report, return the exit code that the report means."""
    if args.sample:
        _enter_sample(args)
    _add_overrides(args)
    settings = settings_of(args)  # bad settings are refused before anything starts
    _check_together(args, settings)
    args.prefect = not args.direct and (args.prefect or bool(named_server(os.environ)))
    wish = "lines" if args.verbose and args.progress == "auto" else args.progress  # bars would run into the log
    with _interruptible(args), shown_progress(wish, quiet=args.json):
        report = _report(args, settings)
    if args.json:
        say_json([report])
    elif args.job == "backfill":
        show_backfill(report, _options_of_backfill(args, settings))
    else:
        show(report, dry_run=args.dry_run, options=carried(args))
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
            if name == "confirm" and _has_subjects(args):
                continue  # it is told
            if args.job not in jobs:
                raise UsageError(f"--{name} is for {' and '.join(jobs)}, not for {args.job}")
            args.overrides = [*args.overrides, f"{key}={'true' if value is True else value}"]


@contextmanager
def _interruptible(args: argparse.Namespace) -> Generator[None]:
    """Say how to go on after a Ctrl-C: every write survives it."""
    args.run_id = new_run_id(SystemClock())
    if args.job == "backfill" and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        warn("a script started this with &, and no Ctrl-C reaches it: slowwave run backfill --pause does")
    try:
        yield
    except KeyboardInterrupt as error:
        there = " Prefect calls this run Crashed, as it does whatever is interrupted." if args.prefect else ""
        raise InterruptedRunError(f"interrupted.{there} {_going_on(args)}") from error


def _going_on(args: argparse.Namespace) -> str:
    if args.dry_run:
        return "It only planned, so nothing is left to do."
    options = f" --sample {args.sample}" if args.sample else carried(args)
    if args.job != "backfill":
        return f"What was done stays, and the next one does the rest: slowwave run {args.job}{options}"
    from slowwave.jobs.backfill.folder import Folder, backfills_folder, left_of  # noqa: PLC0415 - --help stays fast

    name = args.resume or args.pause or args.rollback or args.run_id
    if not (backfills_folder(os.environ) / name / "plan.json").exists():
        return "Nothing was read yet."
    action = "rollback" if args.rollback else "resume"
    how = f"Go on with: slowwave run backfill{options if args.sample else ''} --{action} {name}"
    if args.rollback:
        return f"What was taken back so far stays so. {how}"
    folder = Folder(backfills_folder(os.environ) / name)
    plan = folder.plan()
    read = plan.sessions - left_of(folder, plan)
    return f"{read:,} of {counted(plan.sessions, 'session')} are read, which stays. {how}"


def shown_progress(wish: 'Literal["none"] | Wish', *, quiet: bool) -> AbstractContextManager[None]:
    """Show how far what is inside is, as :func:`slowwave.cli.progress.shown` does.

    Nothing is shown with ``none``, nor with ``auto`` where it is ``quiet``: a program reads the output.
    """
    if wish == "none" or (wish == "auto" and quiet):
        return nullcontext()
    from slowwave.cli.progress import shown  # noqa: PLC0415 - only where somebody looks

    return shown(wish)


def _report(args: argparse.Namespace, settings: "Settings") -> dict[str, Any]:
    if args.job == "backfill":
        return _backfill(args)
    if _has_subjects(args):
        return _erase(args, settings)
    if not args.prefect:
        from slowwave.jobs.story import run_job  # noqa: PLC0415 - --help stays fast

        gc.freeze()  # what modules hold stays to the end, and is not looked through for cycles again and again
        return run_job(args.job, _run_of(args, settings)).to_builtins()
    parameters = _shared(args) | ({"apply": args.apply} if args.job in _PLANNED_FIRST else {})
    return run_through_prefect(args.job, parameters, verbose=args.verbose)


def _check_together(args: argparse.Namespace, settings: "Settings") -> None:
    """Refuse options of one job with another, and let what cannot be taken back only show its plan."""
    _check_erase(args)
    _check_backfill(args)
    if args.job in _PLANNED_FIRST:
        args.dry_run = args.dry_run or not (args.apply or settings.retention.enforce)
    elif args.apply:
        raise UsageError(f"--apply is for {' and '.join(_PLANNED_FIRST)}, not for {args.job}")


def _run_of(args: argparse.Namespace, settings: "Settings") -> Run:
    """Return what a run in this process is given."""
    given = {"project": args.project, "force": args.force, "dry_run": args.dry_run}
    return Run(args.run_id, settings, SystemClock(), os.environ, **given)


def _shared(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of every flow."""
    return {
        "store": [str(path.expanduser().absolute()) for path in args.store or ()],
        "config": str(args.config.absolute()) if args.config else None,
        "overrides": list(args.overrides),
        "project": args.project,
        "force": args.force,
        "dry_run": args.dry_run,
    }


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


# one of them at most; the first two are about a range, the others about a run that is there
_OF_BACKFILL = ("coverage", "resume", "pause", "rollback")
_OPTIONS_OF_BACKFILL = (
    *("since", "until", "projects", "dialect", "limit", "upgrade", "retry_failed"),
    *("sessions_per_second", "mb_per_second", "runner", *_OF_BACKFILL),
)


def _configure_backfill(options: Options) -> None:
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
    for name, says in (("resume", "continue a backfill that was paused or killed"), ("pause", "pause one at work")):
        told = f"{says}: this, or the only one"
        more.add_argument(f"--{name}", nargs="?", const=THE_ONE, default="", metavar="RUN", help=told)
    more.add_argument("--rollback", default="", metavar="RUN", help="take back every byte that a backfill has added")


# stands for the only backfill that can be meant
THE_ONE = "the only one"


def _check_backfill(args: argparse.Namespace) -> None:
    """Refuse what does not go together."""
    given = [name for name in _OPTIONS_OF_BACKFILL if getattr(args, name)]
    if args.job != "backfill":
        if given:
            raise UsageError(f"--{given[0].replace('_', '-')} is for backfill, not for {args.job}")
        return
    actions = [name for name in _OF_BACKFILL if getattr(args, name)]
    if len(actions) > 1:
        raise UsageError(f"backfill: --{' and --'.join(actions)} do not go together")
    if args.dry_run and actions:
        raise UsageError(f"backfill: --dry-run shows what a new run would do; leave --{actions[0]} out")
    if args.person or args.topic or args.pattern or args.secrets:
        raise UsageError("--secrets, --person, --topic and --pattern are for erase, not for backfill")
    if THE_ONE in (args.resume, args.pause):
        from slowwave.jobs.backfill.folder import the_one  # noqa: PLC0415 - --help stays fast

        if args.resume:
            args.resume = the_one("resume", os.environ)
        else:
            args.pause = the_one("pause", os.environ)


def _backfill(args: argparse.Namespace) -> dict[str, Any]:
    """Run the job and return its report: in this process, or through Prefect what takes long."""
    parameters = _parameters_of_backfill(args)
    given = _checked(parameters)  # before a server is started, which takes a while
    if not args.prefect or given.action in ("pause", "coverage"):
        from slowwave.jobs.backfill import run_backfill  # noqa: PLC0415 - --help stays fast

        return run_backfill(given, os.environ).to_builtins()
    return run_through_prefect("backfill", parameters, verbose=args.verbose)


def _options_of_backfill(args: argparse.Namespace, settings: "Settings") -> str:
    """As ``carried``; one that was taken up works on the stores that it was begun with."""
    if args.store or not args.resume:
        return carried(args)
    from slowwave.jobs.backfill.folder import Folder  # noqa: PLC0415 - as above

    stores = Folder.of(args.resume, os.environ).plan().settings.store.roots
    return given_again(stores if stores != settings.store.roots else (), args.config, args.overrides)


def _checked(parameters: dict[str, Any]) -> "BackfillParameters":
    """Return the parameters as the job takes them."""
    from pydantic import ValidationError  # noqa: PLC0415 - --help stays fast

    from slowwave.jobs.parameters import BackfillParameters, require_together  # noqa: PLC0415 - as above

    try:
        given = BackfillParameters.model_validate(parameters)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"backfill: {first['loc'][0]}: {first['input']!r}: {first['msg']}") from error
    require_together(given)
    return given


def _parameters_of_backfill(args: argparse.Namespace) -> dict[str, Any]:
    action = next((name for name in _OF_BACKFILL if getattr(args, name)), "preview" if args.dry_run else "run")
    now = SystemClock().now()
    return {
        "action": action,
        "backfill": args.resume or args.pause or args.rollback,
        "run_id": args.run_id,
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
        **_shared(args),
    }


def _rate(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


_SUBJECTS = ("session", "person", "topic", "pattern")


def _configure_erase(options: Options) -> None:
    """Declare the options of the job."""
    more = options("erase")
    more.add_argument("--secrets", action="store_true", help="take out every secret that is found")
    more.add_argument("--person", action="append", default=[], metavar="NAME", help="a name; repeat it for more")
    more.add_argument("--topic", action="append", default=[], metavar="PHRASE", help="a phrase")
    more.add_argument("--pattern", action="append", default=[], metavar="REGEX", help="what an expression fits")
    options("erase", "backfill").add_argument(
        "--session", action="append", default=[], metavar="ID", help="a whole session (repeatable)"
    )


def _has_subjects(args: argparse.Namespace) -> bool:
    """Say whether anything but secrets is to be erased."""
    return any(getattr(args, name) for name in _SUBJECTS)


def _check_erase(args: argparse.Namespace) -> None:
    """Refuse what does not go together."""
    subjects = _has_subjects(args)
    if args.job != "erase":
        # a backfill takes sessions, too
        if args.secrets or (subjects and args.job != "backfill"):
            raise UsageError(f"--secrets, --session, --person, --topic and --pattern are for erase, not for {args.job}")
    elif args.secrets == subjects:
        raise UsageError("erase: say what: --secrets, or any of --session, --person, --topic and --pattern")


def _erase(args: argparse.Namespace, settings: "Settings") -> dict[str, Any]:
    """Erase subjects in this process and return the report."""
    from slowwave.jobs.erasure import erase_subjects  # noqa: PLC0415 - --help stays fast
    from slowwave.retention.erase.subjects import Asked  # noqa: PLC0415

    asked = Asked(tuple(args.session), tuple(args.person), tuple(args.topic), tuple(args.pattern))
    run, elsewhere = _run_of(args, settings), _elsewhere(os.environ)
    return erase_subjects(asked, run, scheduler_folder(os.environ), elsewhere, args.confirm).to_builtins()


def _elsewhere(environ: Mapping[str, str]) -> str:
    """Return where a scheduler has its database when that is not below its own folder here: a variable, or ""."""
    for name in ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "PREFECT_API_DATABASE_CONNECTION_URL"):
        if environ.get(name):
            return f"${name}"
    host = urlsplit(named_server(environ)).hostname
    return "" if host in (None, "localhost", "127.0.0.1", "::1") else f"$PREFECT_API_URL ({host})"
