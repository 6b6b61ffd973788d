"""``slowwave sessions search``: the sessions that fit some words best."""

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from slowwave.cli.options import settings_of
from slowwave.cli.output import bold, counted, dim, say, say_json, screen_width, short_time, warn, wrapped
from slowwave.cli.sessions_read import title_of
from slowwave.cli.sessions_wanted import wanted_by
from slowwave.errors import DONE
from slowwave.jobs.choice import chosen_by
from slowwave.stores.search.ranking import Hit, found_sessions
from slowwave.stores.search.words import MOST_WORDS, terms_of
from slowwave.stores.summary import SessionRow, ShownRow

# What is read before a search can answer; from here on the wait is worth a word.
_LONG_READ = 64 << 20


def find(args: argparse.Namespace) -> int:
    """Print the sessions that fit the words best, the best first."""
    wanted = wanted_by(args)
    terms, cut = terms_of(" ".join(args.query))
    if cut:
        warn(f"the query is long: only its first {MOST_WORDS} words count")

    def among(rows: Sequence[SessionRow]) -> list[SessionRow]:
        asked = wanted.of(chosen_by(args.project, rows, lambda row: (row.project, row.cwd)))
        return [row for row in asked if args.all or args.kind == "subagent" or row.kind != "subagent"]

    found = found_sessions(settings_of(args), os.environ, terms, among, args.limit, everything=args.all, say=_announce)
    if found.erased:
        warn(f"{counted(found.erased, 'session')} blocked: erased on request, and there again; not searched")
    for warning in dict.fromkeys(found.warnings):
        warn(warning)
    if args.json:
        say_json(map(_form, found.hits))
    else:
        _print(found.hits, found.among)
    return DONE


def _announce(waiting: int) -> None:
    if waiting > _LONG_READ:
        warn(f"sessions of {waiting / 1e6:,.0f} MB are new or have changed, and are read first")


def _form(hit: Hit) -> dict[str, Any]:
    said = hit.said
    found = {
        "score": float(f"{hit.score:.6g}"),
        "snippet": hit.snippet,
        "message": said.id if said else None,
        "role": said.role if said else None,
        "time": (said.at or None) if said else None,
        "field": said.field if said else "title",
    }
    return found | msgspec.to_builtins(ShownRow.of(hit.row))


def _print(hits: Sequence[Hit], among: int) -> None:
    for hit in hits:
        row, said = hit.row, hit.said
        say(f"{hit.score:6.2f}  {row.id}  {short_time(row.last_activity)}  {dim(f'{row.dialect}  {row.project}')}")
        for line in title_of(row, 8):
            say(bold(line))
        where = " ".join(filter(None, (said.role, short_time(said.at), said.id))) if said else "title"
        say(dim(f"        {where}:"))
        for line in wrapped(hit.snippet, first=" " * 10, rest=" " * 10, width=screen_width()):
            say(line)
    say(f"{counted(len(hits), 'session')} of {among}")


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {"search": find}
