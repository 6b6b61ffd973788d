"""``slowwave retain``: what would go and why, what is held, what lies in the trash, and what the audit log tells."""

import argparse
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from slowwave.cli.terminal import (
    Parser,
    add_json_option,
    add_project_option,
    add_settings_options,
    bold,
    declared,
    dim,
    open_to,
    say,
    say_json,
    settings_of,
    warn,
)
from slowwave.context import Run, SystemClock, new_run_id
from slowwave.errors import DONE, PARTLY_FAILED, UNREADABLE
from slowwave.files import archive_folder
from slowwave.quantities import counted, moment, told

if TYPE_CHECKING:
    from slowwave.retention.holds import Hold
    from slowwave.settings import Settings

_ACTIONS = {
    "plan": "every session with its age: what would go now, what stays, and why; changes nothing",
    "hold": "hold sessions: nothing of them is removed, purged or erased",
    "release": "take a hold back",
    "holds": "what is held, since when, by whom and why",
    "trash": "what lies in the trash, and from when on it is freed",
    "audit": "what was archived, removed, restored, freed, held and erased",
}
_WRITING = ("hold", "release")


def configure(parser: Parser) -> None:
    """Declare the options of ``slowwave retain``."""
    actions = parser.add_actions()
    for name in declared(_ACTIONS, parser.behind):
        action = actions.add_parser(name, help=_ACTIONS[name], description=_ACTIONS[name])
        add_settings_options(action)
        add_json_option(action)
        if name == "plan":
            add_project_option(action)
        elif name == "hold":
            _add_hold_options(action)
        elif name == "release":
            action.add_argument("id", metavar="ID", help="id of a hold (slowwave retain holds)")
        elif name == "audit":
            action.add_argument(
                "--verify", action="store_true", help="check every line against the one before it, and every pack"
            )


def _add_hold_options(action: argparse.ArgumentParser) -> None:
    what = action.add_argument_group("what is held (all that fit every one of these)")
    what.add_argument("--project", default="", metavar="TEXT", help="projects whose key or folder contains this")
    what.add_argument("--session", default="", metavar="ID", help="one session")
    what.add_argument(
        "--person", default="", metavar="NAME", help="sessions that mention this person, in whatever form"
    )
    what.add_argument("--since", default="", metavar="DATE", help="sessions in which something happened then or later")
    what.add_argument(
        "--until",
        default="",
        metavar="DATE",
        help="sessions in which something happened by then (a date is its whole day)",
    )
    action.add_argument("--reason", required=True, metavar="TEXT", help="why, for those who find it later")
    action.add_argument("--by", default="", metavar="NAME", help="who sets it; without it you")


def run(args: argparse.Namespace) -> int:
    """Do what was asked and return the exit code."""
    if args.action not in _WRITING:
        return _DOES[args.action](args)
    from slowwave.locks import beside_jobs  # noqa: PLC0415 - only what writes

    # an erasure at work has read what is held, and would not know of another one
    with beside_jobs(os.environ):
        return _DOES[args.action](args)


def _plan(args: argparse.Namespace) -> int:
    from slowwave.cli.screen import show  # noqa: PLC0415 - the other actions need no jobs
    from slowwave.jobs.story import run_job  # noqa: PLC0415 - as above

    clock = SystemClock()
    given = Run(new_run_id(clock), settings_of(args), clock, os.environ, args.project, dry_run=True)
    report = run_job("retain", given).to_builtins()
    if args.json:
        say_json([report])
    else:
        show(report, dry_run=True, whole=True)
    for failure in report["failures"]:
        warn(failure)
    return PARTLY_FAILED if report["failures"] else DONE


def _hold(args: argparse.Namespace) -> int:
    import getpass  # noqa: PLC0415 - only here

    from slowwave.retention.holds import place_hold  # noqa: PLC0415 - --help stays fast

    settings = settings_of(args)
    now = SystemClock().now()
    times = {
        name: moment(f"--{name}", text, now, ends=name == "until").isoformat()
        for name in ("since", "until")
        if (text := getattr(args, name))
    }
    what = {name: getattr(args, name) for name in ("project", "session", "person")}
    by = args.by or getpass.getuser()
    hold = place_hold(os.environ, now, reason=args.reason, by=by, **what, **times)
    number = _numbers([hold], settings)[hold.id]
    if args.json:
        say_json([_row(hold, number)])
    else:
        say(f"{hold.id} holds {counted(number, 'session')}: {hold.what}")
        say(f"take it back with: slowwave retain release {hold.id}")
    if not number:
        warn(f"{hold.id} holds nothing yet: no session matches {hold.what}; check how it is spelt there")
    return DONE


def _numbers(holds: "Sequence[Hold]", settings: "Settings") -> dict[str, int]:
    """Return how many sessions each hold holds."""
    from slowwave.retention.erase.job import held_sessions  # noqa: PLC0415 - --help stays fast
    from slowwave.stores.discovery import known_projects  # noqa: PLC0415 - as above

    found = held_sessions(holds, known_projects(settings, os.environ).projects if holds else (), os.environ)
    return {name: len(sessions) for name, sessions in found.items()}


def _row(hold: "Hold", number: int) -> dict[str, object]:
    return {**msgspec.to_builtins(hold), "sessions": number}


def _release(args: argparse.Namespace) -> int:
    from slowwave.retention.holds import release_hold  # noqa: PLC0415 - --help stays fast

    settings_of(args)
    hold = release_hold(os.environ, args.id, SystemClock().now())
    if args.json:
        say_json([hold])
    else:
        say(f"released {hold.id}: {hold.what}")
    return DONE


def _holds(args: argparse.Namespace) -> int:
    from slowwave.retention.holds import read_holds  # noqa: PLC0415 - --help stays fast

    holds = read_holds(os.environ)
    numbers = _numbers(holds, settings_of(args))
    if args.json:
        say_json(_row(hold, numbers[hold.id]) for hold in holds)
        return DONE
    for hold in holds:
        say(f"{bold(hold.id)}  {_told(hold.at)}  {counted(numbers[hold.id], 'session')}: {hold.what}")
        say(dim(f"    {hold.reason} (set by {hold.by})"))
    say(counted(len(holds), "hold") if holds else "nothing is held")
    return DONE


def _trash(args: argparse.Namespace) -> int:
    from slowwave.report import readable  # noqa: PLC0415 - help stays fast
    from slowwave.stores.trash import trash_folder, trash_items, trash_size  # noqa: PLC0415 - as above

    grace = settings_of(args).retention.grace
    now = SystemClock().now()
    items = trash_items(trash_folder(os.environ))
    due = {item.id: datetime.fromisoformat(item.at).timestamp() < grace.start(now) for item in items}
    if args.json:
        rows = [
            {
                "trash": item.id, "id": item.session, "dialect": item.dialect, "at": item.at, "reason": item.reason,
                "files": len(item.files), "bytes": trash_size([item]), "due": due[item.id],
            }
            for item in items
        ]  # fmt: skip
        say_json(rows)
        return DONE
    for item in items:
        waits = open_to("freed by the next run") if due[item.id] else f"stays {grace} from {_told(item.at)} on"
        say(f"{item.session}  {readable(trash_size([item]))}  {dim(item.dialect)}  {item.reason}; {waits}")
    total = readable(trash_size(items))
    say(
        f"{counted(len(items), 'item')}, {total}; back with: slowwave sessions restore ID"
        if items
        else "the trash is empty"
    )
    return DONE


def _audit(args: argparse.Namespace) -> int:
    from slowwave.retention.audit import AuditLog  # noqa: PLC0415 - --help stays fast

    settings_of(args)
    log = AuditLog(os.environ)
    if args.verify:
        return _verify(args)
    if args.json:
        say_json(log.lines())
        return DONE
    number = 0
    for line in log.lines():
        number = line.n
        about = "  ".join(text for text in (line.session, line.dialect, line.rule, line.item) if text)
        size = f"  {line.size} bytes in {counted(line.files, 'file')}" if line.files else ""
        say(f"{dim(_told(line.at))}  {bold(f'{line.action:<8}')} {about}{size}")
    say(counted(number, "line") if number else "nothing was written down yet")
    return DONE


def _verify(args: argparse.Namespace) -> int:
    """Check every line of the log against the one before it, and every file in every pack against its hash."""
    from slowwave.retention.audit import AuditLog  # noqa: PLC0415 - help stays fast
    from slowwave.stores.archive.shelf import Shelf  # noqa: PLC0415 - as above

    log, shelf = AuditLog(os.environ), Shelf(archive_folder(os.environ))
    flaws, damaged = log.verify(), shelf.check()
    number = sum(1 for _ in log.lines()) if not flaws else 0
    packs = len(shelf.packs())
    if args.json:
        is_whole = not flaws and not damaged
        say_json([{"log": str(log.path), "whole": is_whole, "flaws": flaws, "packs": packs, "damaged": damaged}])
    else:
        if not flaws:
            say(f"{log.path}: {counted(number, 'line')}, each as it was written, and none is missing")
        if not damaged and packs:
            say(f"{shelf.folder}: {counted(packs, 'pack')}, every file as it was archived")
    for flaw in flaws:
        warn(f"{log.path}: line {flaw.line} {flaw.what}")
    for problem in damaged:
        warn(str(problem))
    return UNREADABLE if flaws or damaged else DONE


def _told(at: str) -> str:
    """Return an ISO time as a person here reads it."""
    return told(datetime.fromisoformat(at))


_DOES: dict[str, Callable[[argparse.Namespace], int]] = {
    "plan": _plan,
    "hold": _hold,
    "release": _release,
    "holds": _holds,
    "trash": _trash,
    "audit": _audit,
}
