"""``slowwave memory effect|diff|drop|undo``: what became of memories, and how a person drops or takes them back."""

import argparse
import os
from collections import Counter
from typing import Any

import msgspec

from slowwave.cli.memory_facts import row_of, the_one
from slowwave.cli.output import bad, counted, dim, good, harmless, say, say_json, screen_width, warn, wrapped
from slowwave.cli.parser import settings_of
from slowwave.clock import SystemClock
from slowwave.errors import DONE, PARTLY_FAILED, RefusedError, SlowwaveError
from slowwave.jobs.review import Desk, TakenBack
from slowwave.memory.book import read_book
from slowwave.memory.effects import Case, Effect, effects_of
from slowwave.memory.transaction import read_manifest
from slowwave.memory.undo import difference
from slowwave.places import agent_around
from slowwave.stores.projects import short_names


def show_diff(args: argparse.Namespace) -> int:
    """Print what a dream changed, file by file."""
    folder, manifest = the_one(args.folders, f"dream {args.dream}", lambda f: read_manifest(f.path, args.dream))
    text = difference(folder.path, args.dream)
    if args.json:
        files = {name: {"before": was, "after": now} for name, (was, now) in manifest.files.items()}
        say_json([{"dream": args.dream, "memory": str(folder.path), "files": files, "diff": text}])
    else:
        say(text.removesuffix("\n"))
    return DONE


def take_back(args: argparse.Namespace) -> int:
    """Undo a dream and all later ones, all dreams of a night, or what was decided in review."""
    desk = Desk(args.folders, settings_of(args), os.environ, SystemClock())
    done: list[TakenBack] = []
    refused: list[SlowwaveError] = []
    for dream in desk.dreams_of(args.dream) or (args.dream,):
        try:
            done.append(desk.take_back(dream, force=args.force))
        except SlowwaveError as error:  # of a night, the other projects are taken back all the same
            refused.append(error)
    if refused and not done:
        raise refused[0]
    for warning in (*(warning for one in done for warning in one.warnings), *map(str, refused)):
        warn(warning)
    if args.json:
        say_json(done)
    else:
        told = [one.text.splitlines() for one in done]
        # what is so of all of them is said once, below
        for line in (*(first for first, *_ in told), *dict.fromkeys(line for _, *more in told for line in more)):
            say(line)
    return PARTLY_FAILED if refused else DONE


def drop(args: argparse.Namespace) -> int:
    """Drop memories at once, for good."""
    if agent := agent_around(os.environ):
        raise RefusedError(f"slowwave memory drop: a person decides, and {agent} runs this; use a terminal of your own")
    done = Desk(args.folders, settings_of(args), os.environ, SystemClock()).drop(args.id)
    for warning in (warning for one in done for warning in one.warnings):
        warn(warning)
    if args.json:
        say_json(msgspec.to_builtins(one) for one in done)
        return DONE
    for one in done:
        for text in one.texts:
            for line in wrapped(f"Dropped: {text}", rest="  ", width=screen_width()):
                say(line)
    say("No agent is given this any more, and no session brings it back. To have it again:")
    for one in done:
        say(f"  slowwave memory undo {one.id}")
    return DONE


_ORDER = ("broken", "followed", "no occasion", "told")


def show_effect(args: argparse.Namespace) -> int:
    """Print what became of each memory since it was delivered, what was broken first, and where."""
    total: Counter[str] = Counter()
    names = short_names(folder.project for folder in args.folders)
    for folder in args.folders:
        book = read_book(folder.path)
        effects = effects_of(book.memories.values(), book.watched)
        for name in sorted(effects, key=lambda n: (_ORDER.index(effects[n].verdict), -effects[n].sessions, n)):
            effect, memory = effects[name], book.memories[name]
            total[effect.verdict] += 1
            if args.json:
                say_json([_row_of_effect(effect) | row_of(folder, memory)])
            elif effect.verdict != "told":
                first, text = f"{memory.id}  {effect.verdict:<11}  ", f"{memory.text} [{names[folder.project]}]"
                draw = bad if effect.verdict == "broken" else good if effect.verdict == "followed" else dim
                for line in wrapped(text, first=first, rest=" " * len(first), width=screen_width(), draw=draw):
                    say(line)
                for line in _lines_of_effect(effect):
                    say(f"              {line}")
    if not args.json:
        say(
            f"Since they were delivered: {total['followed']} followed, {total['broken']} broken, "
            f"{total['no occasion']} without an occasion; {total['told']} more show in no command and no edit"
        )
    return DONE


def _row_of_effect(effect: Effect) -> dict[str, Any]:
    return {
        "verdict": effect.verdict,
        "delivered_to": effect.sessions,
        "followed": [_case(case) for case in effect.followed],
        "broken": [_case(case) for case in effect.broken],
        "idle": effect.idle,
        "idle_since": effect.since,
    } | ({"idle_by_model": effect.idle_by_model} if effect.idle_by_model else {})


def _case(case: Case) -> dict[str, Any]:
    of = case.session
    said: dict[str, Any] = {"said_again": True} if case.is_said_again else {}
    said |= {"by": case.by} if case.by else {}
    return {"dialect": of.dialect, "session": of.session, "began": of.began, "record": case.record} | said


def _lines_of_effect(effect: Effect) -> list[str]:
    """Return what is told of one memory beside its verdict, in lines."""
    read = sum(bool(case.by) for case in effect.followed)
    by = f", in {read} of them as a model read" if read else ""
    lines = [f"delivered to {counted(effect.sessions, 'session')}, followed in {len(effect.followed)}{by}"]
    if effect.idle_by_model:
        lines.append(f"no occasion in {effect.idle} in a row, in {effect.idle_by_model} of them as a model read")
    for case in effect.broken:
        where = f", record {harmless(case.record)}" if case.record else ""
        again = ": had to be said again" if case.is_said_again else ", as a model read" if case.by else ""
        lines.append(
            f"broken in {case.session.dialect} {harmless(case.session.session)}, {case.session.began}{where}{again}"
        )
    return lines
