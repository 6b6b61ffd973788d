"""``slowwave status``: what ran last, what is due and why not yet, what is waiting for whom."""

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from slowwave.cli.options import add_json_option, add_project_option, add_settings_options, settings_of
from slowwave.cli.output import counted, say, say_json
from slowwave.cli.screen_retain import readable
from slowwave.clock import SystemClock
from slowwave.errors import DONE, PARTLY_FAILED

if TYPE_CHECKING:
    from slowwave.jobs.kept import Kept
    from slowwave.jobs.standing import Standing


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``slowwave status``."""
    add_settings_options(parser)
    add_project_option(parser)
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print how every project stands; code 6 when one could not be looked at."""
    from slowwave.jobs.kept import kept_by  # noqa: PLC0415 - --help stays fast
    from slowwave.jobs.standing import standings  # noqa: PLC0415 - as above

    rows, problems = standings(settings_of(args), os.environ, SystemClock(), project=args.project)
    kept = kept_by(os.environ)
    if args.json:
        say_json([{"projects": rows, "problems": problems, "retention": kept}])
    else:
        for line in (*lines(rows, problems), *_retention(kept)):
            say(line)
    return PARTLY_FAILED if kept.problem or any(row.problem for row in rows) else DONE


def lines(rows: "list[Standing]", problems: list[str]) -> Iterator[str]:
    """Yield the status for a person."""
    due = sum(row.due for row in rows)
    backlog = sum(row.waiting for row in rows)
    yield f"{len(rows)} projects, {due} due for a dream, {backlog} candidates waiting"
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
    if kept == type(kept)():
        return
    yield ""
    last = f"; last entry in the audit log {kept.last[:16].replace('T', ' ')}" if kept.last else ""
    trash = f"{counted(kept.trash, 'item')} in the trash ({readable(kept.trash_bytes)})"
    yield f"Retention: {trash}, {counted(kept.holds, 'hold')}{last}"
    if kept.problem:
        yield f"  problem    {kept.problem}"


def _project(row: "Standing") -> Iterator[str]:
    yield f"{row.project}  ({row.sessions} sessions, {row.memories} memories)"
    if row.problem:
        yield f"  problem    {row.problem}"
        return
    yield f"  last dream {row.last_dream or 'never'}"
    for gate in row.gates:
        yield f"  {'pass' if gate.passed else 'stop'}       {gate.gate}: {gate.reason}"
    if row.waiting:
        since = f", the oldest since {row.oldest_waiting}" if row.oldest_waiting else ""
        yield f"  waiting    {row.waiting} candidates{since}"
    if row.failing:
        yield f"  failing    {row.failing} sessions could not be extracted (slowwave run extract --json says why)"
    if tools := row.foreign.get("tool", 0):
        what = "line of a memory file" if tools == 1 else "lines of memory files"
        yield f"  foreign    {tools} {what} came from tools (slowwave memory quarantine shows where from)"
    for stopped in row.stopped:
        yield f"  stopped    compaction of {stopped} (slowwave sessions compact tries again)"
    for dream in row.parked:
        yield f"  review     {dream} waits for you: slowwave memory review"
