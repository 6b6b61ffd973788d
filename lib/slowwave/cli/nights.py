"""``slowwave nights``: the runs and dreams of the last nights, and what each of them learned."""

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from slowwave.cli.screen import change_lines
from slowwave.cli.terminal import (
    Parser,
    add_json_option,
    add_project_option,
    add_settings_options,
    bad,
    bold,
    carried,
    dim,
    positive,
    say,
    say_json,
    screen_width,
    settings_of,
    short_time,
    wrapped,
)
from slowwave.errors import DONE, PARTLY_FAILED, NotFoundError
from slowwave.jobs.run import memory_folders
from slowwave.memory.transaction import recover
from slowwave.observability.lessons import Dream, Learned, Remembered, in_all, in_words, learned, remembered
from slowwave.observability.night import Night, read_nights, state
from slowwave.report import counted, duration
from slowwave.stores.projects import short_names

_USUAL = 14
_ACTIONS = ("list", "show")


def configure(parser: Parser) -> None:
    """Declare the options of ``slowwave nights``."""
    parser.add_argument("action", nargs="?", default="list", metavar="list|show", help="list them, or show one")
    parser.add_argument("id", nargs="?", metavar="ID", help="show: id of a run or a dream, or its beginning")
    add_settings_options(parser)
    add_project_option(parser)
    parser.add_argument(
        "--limit", type=positive, default=_USUAL, metavar="N", help=f"list: at most this many ({_USUAL})"
    )
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """List the nights, or show what one learned; ``nights ID`` shows one as well."""
    if args.action not in _ACTIONS:
        args.action, args.id = "show", args.action
    folders = memory_folders(settings_of(args), os.environ, args.project)
    for folder in folders:
        recover(folder.path)
    every, problems = remembered(folders)
    nights, damaged = read_nights(os.environ)
    if args.action == "show":
        if not args.id and not nights:
            raise NotFoundError("no night was recorded yet; slowwave run nightly records one")
        _show(args, every, nights, args.id or nights[-1].run_id)
    else:
        _list(args, every, nights)
    for problem in (*problems, *damaged):
        say(f"  problem    {problem}")
    return PARTLY_FAILED if problems or damaged else DONE


def _list(args: argparse.Namespace, every: Sequence[Remembered], nights: Sequence[Night]) -> None:
    """Print one entry a run, the latest first, and below it its dreams; decisions in review stand among them."""
    dreams = sorted((d for one in every for d in one.dreams), key=lambda d: (d.at, d.project, d.id), reverse=True)
    of_run: dict[str, list[Dream]] = {}
    for dream in dreams:
        of_run.setdefault(dream.run if not dream.is_by_person else dream.id, []).append(dream)
    known = {night.run_id for night in nights}
    rows: list[tuple[str, Night | None, str, list[Dream]]] = [
        (night.at, night, night.run_id, of_run.get(night.run_id, [])) for night in nights
    ]
    rows += [(of[0].at, None, run, of) for run, of in of_run.items() if run not in known]
    rows.sort(key=lambda row: row[0], reverse=True)
    rows = rows[: args.limit]
    if args.json:
        say_json(_row(night, run, of) for _, night, run, of in rows)
        return
    if not rows:
        say("No night was recorded yet: slowwave run nightly makes the first.")
    names = short_names(one.folder.project for one in every)
    width = screen_width()
    for at, night, run, of in rows:
        for line in _entry(at, night, run, of, names, width):
            say(line)
    if any(dream.changes for *_, of in rows for dream in of):
        say("")
        told = (f"nights show ID{carried(args)} tells what one learned",)
        told += (f"memory undo ID{carried(args)} takes a night back, or one of its dreams",)
        for line in (line for one in told for line in wrapped(f"slowwave {one}", rest="  ", width=width)):
            say(line)


def _entry(
    at: str, night: Night | None, run: str, dreams: list[Dream], names: dict[str, str], width: int
) -> Iterator[str]:
    what = in_all(dreams)
    if night is not None and not any(dream.changes for dream in dreams) and night.counted("candidates"):
        what = f"{counted('candidates', night.counted('candidates'))}, nothing remembered yet"
    when = short_time(at)
    if night is None and dreams[0].is_by_person:
        yield from wrapped(f"{when}  you decided: {_of_dream(dreams[0], names)}", rest=" " * 18, width=width)
        return
    how = f"{night.job}, {state(night)}, {duration(night.seconds)}" if night else "a dream"
    yield bold(f"{when}  {run or dreams[0].id}")
    yield from wrapped(f"{how}: {what}", first="  ", rest="    ", width=width)
    for dream in reversed(dreams):
        yield from wrapped(_changed(dream, names), first=f"  {dream.id}  ", rest="    ", width=width, draw=dim)
    for failure in night.failures if night else ():
        yield from wrapped(failure, first="  failed: ", rest="    ", width=width, draw=bad)


def _of_dream(dream: Dream, names: dict[str, str]) -> str:
    return f"{dream.id}  {_changed(dream, names)}"


def _changed(dream: Dream, names: dict[str, str]) -> str:
    undone = " (taken back)" if dream.is_undone else ""
    return f"{names[dream.project]}: {in_words(Counter(c.kind for c in dream.changes))}{undone}"


def _show(args: argparse.Namespace, every: Sequence[Remembered], nights: Sequence[Night], name: str) -> None:
    """Print what a run or a dream learned, in full."""
    dreams = [dream for one in every for dream in one.dreams]
    ids = {dream.id for dream in dreams} | {dream.run for dream in dreams} | {night.run_id for night in nights}
    found = [name] if name in ids else sorted(one for one in ids if one.startswith(name))
    if len(found) != 1:
        much = f"{len(found)} nights or dreams begin" if found else "no night or dream begins"
        raise NotFoundError(f"{much} with {name!r}; slowwave nights lists them")
    (name,) = found
    night = next((one for one in reversed(nights) if one.run_id == name), None)
    told = learned(every, lambda dream: name in (dream.id, dream.run))
    if args.json:
        say_json([_row(night, name, told.dreams)])
        return
    for line in _lines(night, name, told, short_names(one.folder.project for one in every), carried(args)):
        say(line)


def _lines(night: Night | None, name: str, told: Learned, names: dict[str, str], options: str) -> Iterator[str]:
    width = screen_width()
    about = f"{short_time(night.at)}, {state(night)}: {in_all(told.dreams)}" if night else in_all(told.dreams)
    title = f"{night.job} {name}  " if night is not None else f"{name}  "
    yield from wrapped(about, first=title, rest="  ", width=width, draw=bold)
    for project, changes in told.by_project():  # all of it: that is what one asks for
        yield ""
        yield bold(f"{names[project]}: {in_words(Counter(c.kind for c in changes))}")
        for change in changes:
            yield from change_lines(change, width, is_named=True)
    for dream in told.dreams:
        yield ""
        yield f"Dream {_of_dream(dream, names)}"
        if dream.is_undone:
            yield f"  was taken back {short_time(dream.undone_at)}"
            yield f"  have it again: slowwave memory undo {dream.id} --again{options}"
        else:
            yield f"  take it back: slowwave memory undo {dream.id}{options}"
    for failure in night.failures if night else ():
        yield from wrapped(f"failed: {failure}", rest="  ", width=width)


def _row(night: Night | None, name: str, dreams: Sequence[Dream]) -> dict[str, Any]:
    return {"id": name, "night": msgspec.to_builtins(night), "dreams": [msgspec.to_builtins(dream) for dream in dreams]}
