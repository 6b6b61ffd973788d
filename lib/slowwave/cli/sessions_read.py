"""``slowwave sessions list``."""

import argparse
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec import to_builtins

from slowwave.cli.options import settings_of
from slowwave.cli.output import bold, counted, dim, say, say_json, screen_width, short_time, shortened, warn
from slowwave.cli.sessions_wanted import wanted_by
from slowwave.errors import DONE
from slowwave.jobs.choice import chosen_by
from slowwave.stores.catalogue import own_catalogue
from slowwave.stores.discovery import Listing, list_sessions
from slowwave.stores.summary import SessionRow, ShownRow

_MOST_PROBLEMS = 5


def list_all(args: argparse.Namespace) -> int:
    """Print every session under the stores."""
    wanted = wanted_by(args, text=args.text)
    settings = settings_of(args)
    with own_catalogue(settings, os.environ) as catalogue:
        listing = list_sessions(settings, os.environ, catalogue)
        for warning in catalogue.warnings:
            warn(warning)
    rows = chosen_by(args.project, listing.rows, lambda row: (row.project, row.cwd))
    rows = wanted.of(rows)
    everything = args.json or args.all or args.kind == "subagent"
    shown = rows if everything else [row for row in rows if row.kind != "subagent"]
    shown, more = shown[: args.limit], len(shown)
    if args.json:
        say_json(_forms(shown))
    else:
        _print_rows(shown, more - len(shown), len(rows) - more)
    _tell_problems(listing)
    return DONE


def _forms(rows: Sequence[SessionRow]) -> Iterator[object]:
    """Yield the rows as they are printed, with what their client notes of them where it notes something."""
    from slowwave.stores.client_notes import ClientFacts  # noqa: PLC0415 - most clients note nothing

    facts = ClientFacts() if any(row.dialect in ("openclaw", "opencode") for row in rows) else None
    for row in rows:
        told = facts.of(row.dialect, row.path, row.id) if facts is not None else None
        yield to_builtins(ShownRow.of(row)) | {"client": told} if told else ShownRow.of(row)


def _print_rows(rows: Sequence[SessionRow], older: int, hidden: int) -> None:
    project = ""
    for row in sorted(rows, key=lambda row: row.project):
        if row.project != project:
            project = row.project
            say(bold(project))
        parts = f", {row.parts} parts" if row.parts > 1 else ""
        bad = f", {row.bad_lines} bad lines" if row.bad_lines else ""
        kind = "" if row.kind == "main" else f" {row.kind}"
        size = f"{row.messages} messages, {_size(row.bytes)}{parts}{bad}"
        say(f"  {row.id}  {short_time(row.last_activity)}  {dim(f'{row.dialect}{kind}  {size}')}")
        for line in title_of(row, 6):
            say(line)
    more = f", and {older} older (--limit)" if older else ""
    more += f", and {hidden} of sub-agents (--all shows them)" if hidden else ""
    say(f"{counted(len(rows), 'session')}{more}")


def title_of(row: SessionRow, indent: int) -> list[str]:
    """Return what a session is about; of a first prompt its beginning, or where a program reads, the whole of it."""
    text = row.title or row.first_prompt
    wide = screen_width()
    return [" " * indent + shortened(text, wide - indent if wide else 0)] if text else []


def _tell_problems(listing: Listing) -> None:
    if listing.problems:
        counts = Counter(problem.kind for problem in listing.problems)
        warn("left out: " + ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items())))
        for problem in listing.problems[:_MOST_PROBLEMS]:
            warn(f"  {problem}")
        if len(listing.problems) > _MOST_PROBLEMS:
            warn(f"  and {len(listing.problems) - _MOST_PROBLEMS} more")


def _size(number: int) -> str:
    size = float(number)
    for unit in ("B", "kB", "MB"):
        if size < 1000:  # noqa: PLR2004 - decimal units
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {"list": list_all}
