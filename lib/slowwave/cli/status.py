"""``slowwave status``: what ran last, what is due and why not yet, what is waiting for whom."""

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from slowwave.cli.options import add_json_option, add_project_option, add_settings_options, settings_of
from slowwave.cli.output import counted, say, say_json
from slowwave.cli.status_nights import of_morning, of_nights
from slowwave.clock import SystemClock
from slowwave.errors import DONE, PARTLY_FAILED, NotFoundError
from slowwave.quantities import OFF
from slowwave.report import readable

if TYPE_CHECKING:
    from slowwave.jobs.status import Kept, Standing, Unfinished


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave status``."""
    add_settings_options(parser)
    add_project_option(parser)
    parser.add_argument("--html", action="store_true", help="write the report of the nights anew, print where it is")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print how every project stands; code 6 when one could not be looked at."""
    if args.html:
        return _write_report(args)
    from slowwave.jobs.status import kept_by, lately, morning, standings, unfinished  # noqa: PLC0415 - --help stays fast

    settings, clock = settings_of(args), SystemClock()
    rows, problems = standings(settings, os.environ, clock, project=args.project)
    kept, past = kept_by(settings.retention, os.environ), lately(settings.model, os.environ, clock.now())
    backfills, broken = unfinished(os.environ)
    learned = morning(settings, os.environ, past.last, project=args.project)
    if args.json:
        of_backfills = {"unfinished": backfills, "problems": broken}
        say_json(
            [
                {
                    "projects": rows,
                    "problems": problems,
                    "retention": kept,
                    "lately": past,
                    "backfills": of_backfills,
                    "learned": learned,
                }
            ]
        )
    else:
        for line in (
            *of_morning(learned),
            *lines(rows, problems),
            *_retention(kept),
            *of_nights(past),
            *_backfills(backfills, broken),
        ):
            say(line)
    is_unknown = kept.problem or past.problems or broken or any(row.problem for row in rows)
    return PARTLY_FAILED if is_unknown else DONE


def _write_report(args: argparse.Namespace) -> int:
    """Write the report anew and print its path."""
    from slowwave.jobs.conclusion import Around, view_now  # noqa: PLC0415 - --help stays fast
    from slowwave.observability.page import write_page  # noqa: PLC0415 - as above
    from slowwave.retention.locks import beside_jobs  # noqa: PLC0415 - as above

    with beside_jobs(os.environ):
        view = view_now(Around(settings_of(args), os.environ), SystemClock().now())
        if view is None:
            raise NotFoundError("no night was recorded yet; slowwave run nightly records one")
        say(str(write_page(os.environ, view)))
    return PARTLY_FAILED if view.problems else DONE


def lines(rows: "list[Standing]", problems: list[str]) -> Iterator[str]:
    """Yield the status for a person."""
    due = sum(row.due for row in rows)
    waiting, backlog = sum(row.waiting for row in rows), sum(row.backlog for row in rows)
    new = f", {backlog} of them not looked at yet" if backlog else ""
    yield f"{len(rows)} projects, {due} due for a dream, {waiting} candidates waiting{new}"
    for row in rows:
        yield ""
        yield from _project(row)
    if problems:
        yield ""
        yield f"Left out of the stores: {len(problems)}"
        yield from (f"  {problem}" for problem in problems[:10])
        if len(problems) > 10:  # noqa: PLR2004 - one screen
            yield f"  and {len(problems) - 10} more (--json shows all)"


def _retention(kept: "Kept") -> Iterator[str]:
    yield ""
    last = f"; last entry in the audit log {kept.last[:16].replace('T', ' ')}" if kept.last else ""
    trash = f"{counted(kept.trash, 'item')} in the trash ({readable(kept.trash_bytes)})"
    yield f"Retention: {trash}, {counted(kept.holds, 'hold')}{last}"
    if kept.rescue == OFF:
        yield "  rescue     off (retention.rescue): what clients delete is lost"
    else:
        most = f" of {readable(kept.rescue_max_bytes)} (retention.rescue_max_bytes)" if kept.rescue_max_bytes else ""
        room = f"{counted(kept.rescued, 'pack')} with {readable(kept.rescued_bytes)}{most}"
        yield f"  rescue     what clients delete within {kept.rescue} is archived: {room}"
    if kept.problem:
        yield f"  problem    {kept.problem}"


def _backfills(backfills: "list[Unfinished]", problems: list[str]) -> Iterator[str]:
    """Yield the backfills that wait for a person, with the command that goes on with them."""
    if backfills or problems:
        yield ""
    for one in backfills:
        yield f"Backfill {one.run_id} is {one.how}: {_how_far(one)}{f'; {one.why}' if one.why else ''}"
        yield f"  go on with {one.command}"
    yield from (f"  problem    {problem}" for problem in problems)


def _how_far(one: "Unfinished") -> str:
    if one.how == "rolling-back":
        return "a part of what it added is taken back, a part still stands"
    return f"{one.pieces:,} of {one.of:,} pieces read of {counted(one.sessions, 'session')}"


def _project(row: "Standing") -> Iterator[str]:
    memories = f"{row.memories} {'memory' if row.memories == 1 else 'memories'}"
    yield f"{row.project}  ({counted(row.sessions, 'session')}, {memories})"
    if row.problem:
        yield f"  problem    {row.problem}"
        return
    changed = f"; the last that changed anything: {row.last_change}" if row.last_change else ""
    yield f"  last dream {row.last_dream or 'never'}{changed}"
    if row.due_at:
        yield f"  next due   {row.due_at}"
    for gate in row.gates:
        yield f"  {'pass' if gate.passed else 'stop'}       {gate.gate}: {gate.reason}"
    if row.waiting:
        since = f", the oldest since {row.oldest_waiting}" if row.oldest_waiting else ""
        yield f"  waiting    {row.waiting} candidates{since}"
    if row.backlog:
        since = f" since {row.backlog_since}" if row.backlog_since else ""
        yield f"  backlog    {counted(row.backlog, 'candidate')} for the next dream{since}"
    if row.failing:
        yield f"  failing    {row.failing} sessions could not be extracted (slowwave run extract --json says why)"
    if tools := row.foreign.get("tool", 0):
        what = "line of a memory file" if tools == 1 else "lines of memory files"
        yield f"  foreign    {tools} {what} came from tools (slowwave memory quarantine shows where from)"
    yield from (f"  delivered  {file}" for file in row.delivered)
    for stopped in row.stopped:
        yield f"  stopped    compaction of {stopped} (slowwave sessions compact tries again)"
    for dream in row.parked:
        yield f"  review     {dream} waits for you: slowwave memory review"
