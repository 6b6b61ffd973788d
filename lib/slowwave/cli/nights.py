"""``slowwave nights``: the runs and dreams of the last nights, and what each of them learned."""

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from slowwave.cli.screen import DEEDS, Screen, change_lines, left_out
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
from slowwave.memory.folder import INDEX
from slowwave.memory.transaction import recover
from slowwave.observability.lessons import Dream, Learned, Remembered, in_all, in_words, learned, remembered
from slowwave.observability.night import Night, moment, read_nights, state
from slowwave.quantities import counted as number_of
from slowwave.report import LEFT_OUT, counted, duration
from slowwave.stores.projects import short_names

_USUAL = 14
_ACTIONS = ("list", "show")
# what a run did besides notes and dreams; what it only would do, it would do the next night as well
_DONE = tuple(name for name in DEEDS if name != "planned" and not name.startswith("would_"))


def configure(parser: Parser) -> None:
    """Declare the options of ``slowwave nights``."""
    parser.add_argument("action", nargs="?", default="list", metavar="list|show", help="list them, or show one")
    parser.add_argument("id", nargs="?", metavar="ID", help="show: id of a run or a dream, or its beginning")
    add_settings_options(parser)
    add_project_option(parser)
    parser.add_argument(
        "--limit", type=positive, default=_USUAL, metavar="N", help=f"list: at most this many ({_USUAL})"
    )
    parser.add_argument("--all", action="store_true", help="list: also each night that brought no news")
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


@dataclass(frozen=True, slots=True)
class _Row:
    """One entry of the list: a run with its dreams, or a decision of a person."""

    at: str  # when it began, ISO time
    night: Night | None  # what is known of the run
    run: str  # its id
    dreams: list[Dream]  # the dreams that it dreamt

    @property
    def is_quiet(self) -> bool:
        """Whether it came to its end and brought nothing new, so that nobody looks for it."""
        night = self.night
        if night is None or any(dream.changes for dream in self.dreams):
            return False
        is_well = night.outcome in ("Completed", "Skipped") and not night.failures
        return is_well and not night.counted("candidates", *_DONE)


def _list(args: argparse.Namespace, every: Sequence[Remembered], nights: Sequence[Night]) -> None:
    """Print one entry a run, the latest first, and below it its dreams; decisions in review stand among them."""
    rows = _rows(every, nights)
    if args.json:
        say_json(_row(row.night, row.run, row.dreams) for row in rows[: args.limit])
        return
    if not rows:
        say("No night was recorded yet: slowwave run nightly makes the first.")
    names = short_names(one.folder.project for one in every)
    width = screen_width()
    entries = [
        entry
        for is_quiet, some in groupby(rows, lambda row: row.is_quiet and not args.all)
        for entry in ([list(some)] if is_quiet else ([row] for row in some))
    ]
    shown = [row for entry in entries[: args.limit] for row in entry]
    for entry in entries[: args.limit]:
        row = entry[0]
        is_folded = row.is_quiet and not args.all
        for line in (
            _folded(entry, width) if is_folded else _entry(row.at, row.night, row.run, row.dreams, names, width)
        ):
            say(line)
    if any(dream.changes for row in shown for dream in row.dreams):
        say("")
        told = (f"nights show ID{carried(args)} tells what one learned",)
        told += (
            f"memory undo ID{carried(args)} takes a night back, or one of its dreams; memory drop ID one memory alone",
        )
        for line in (line for one in told for line in wrapped(f"slowwave {one}", rest="  ", width=width)):
            say(line)


def _rows(every: Sequence[Remembered], nights: Sequence[Night]) -> list[_Row]:
    """Return all runs and decisions, the latest first."""
    dreams = sorted((d for one in every for d in one.dreams), key=lambda d: (d.at, d.project, d.id), reverse=True)
    of_run: dict[str, list[Dream]] = {}
    for dream in dreams:
        of_run.setdefault(dream.run if not dream.is_by_person else dream.id, []).append(dream)
    known = {night.run_id for night in nights}
    rows = [_Row(night.at, night, night.run_id, of_run.get(night.run_id, [])) for night in nights]
    rows += [_Row(of[0].at, None, run, of) for run, of in of_run.items() if run not in known]
    return sorted(rows, key=lambda row: row.at, reverse=True)


def _folded(quiet: Sequence[_Row], width: int) -> Iterator[str]:
    """Yield one line for nights in a row that brought nothing new, the latest of which comes first."""
    last, first = moment(quiet[0].at), moment(quiet[-1].at)
    jobs = Counter(row.night.job if row.night else "" for row in quiet)
    runs = [number_of(jobs[job], f"run of {job}", f"runs of {job}") for job in sorted(jobs) if job != "nightly"]
    nights = [number_of(jobs["nightly"], "night")] if jobs["nightly"] else []
    told = f"{', '.join([*nights, *runs])} without news, {_days(first, last)} (--all shows each)"
    yield from map(dim, wrapped(told, rest="  ", width=width))


def _days(first: datetime, last: datetime) -> str:
    """Return the days from one to another as people say them, such as 20 to 25 November 2026; of one day the times."""
    end = f"{last.day} {last:%B %Y}"
    if first.date() == last.date():
        times = dict.fromkeys((f"{first:%H:%M}", f"{last:%H:%M}"))
        return f"{end} {' to '.join(times)}"
    begin = "%B %Y" if first.year != last.year else "%B" if first.month != last.month else ""
    return f"{first.day} {first:{begin}}".strip() + f" to {end}" if begin else f"{first.day} to {end}"


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
    if night is not None and args.project:
        # they are counted of all projects together
        kept = {name: number for name, number in night.counts.items() if name not in LEFT_OUT}
        night = msgspec.structs.replace(night, counts=kept)
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
            yield f"  to {dream.anew}: slowwave memory undo {dream.id} --again{options}"
        else:
            yield f"  take it back: slowwave memory undo {dream.id}{options}"
            yield from one_alone(dream, options)
    yield from left_out(night.counts, Screen(width, options)) if night else ()
    for failure in night.failures if night else ():
        yield from wrapped(f"failed: {failure}", rest="  ", width=width)


def one_alone(dream: Dream, options: str) -> Iterator[str]:
    """Yield how a person takes one decision of a dream back, and leaves all others as they are."""
    kinds = {change.kind for change in dream.changes}
    if kinds & {"new", "changed", "replaced"}:
        yield f"  one memory alone: slowwave memory drop ID{options}"
    if kinds & {"replaced", "dropped"}:
        told = "what it replaced or dropped stands again once you write the line into"
        yield f"  {told} {Path(dream.memory) / INDEX}: it is yours then, and no dream changes it"


def _row(night: Night | None, name: str, dreams: Sequence[Dream]) -> dict[str, Any]:
    return {"id": name, "night": msgspec.to_builtins(night), "dreams": [msgspec.to_builtins(dream) for dream in dreams]}
