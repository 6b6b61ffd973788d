"""``slowwave memory effect``: what sessions made of the memories that were delivered to them."""

import argparse
from collections import Counter
from typing import Any

from slowwave.cli.memory_facts import row_of
from slowwave.cli.output import bad, counted, dim, good, harmless, say, say_json, screen_width, wrapped
from slowwave.errors import DONE
from slowwave.memory.book import read_book
from slowwave.memory.effects import Case, Effect, effects_of
from slowwave.observability.learned import short_names

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
                say_json([_row(effect) | row_of(folder, memory)])
            elif effect.verdict != "told":
                first, text = f"{memory.id}  {effect.verdict:<11}  ", f"{memory.text} [{names[folder.project]}]"
                draw = bad if effect.verdict == "broken" else good if effect.verdict == "followed" else dim
                for line in wrapped(text, first=first, rest=" " * len(first), width=screen_width(), draw=draw):
                    say(line)
                for line in _lines(effect):
                    say(f"              {line}")
    if not args.json:
        say(
            f"Since they were delivered: {total['followed']} followed, {total['broken']} broken, "
            f"{total['no occasion']} without an occasion; {total['told']} more show in no command and no edit"
        )
    return DONE


def _row(effect: Effect) -> dict[str, Any]:
    return {
        "verdict": effect.verdict,
        "delivered_to": effect.sessions,
        "followed": [_case(case) for case in effect.followed],
        "broken": [_case(case) for case in effect.broken],
        "idle": effect.idle,
        "idle_since": effect.since,
    }


def _case(case: Case) -> dict[str, Any]:
    of = case.session
    said = {"said_again": True} if case.is_said_again else {}
    return {"dialect": of.dialect, "session": of.session, "began": of.began, "record": case.record} | said


def _lines(effect: Effect) -> list[str]:
    """Return what is told of one memory beside its verdict, in lines."""
    lines = [f"delivered to {counted(effect.sessions, 'session')}, followed in {len(effect.followed)}"]
    for case in effect.broken:
        where = f", record {harmless(case.record)}" if case.record else ""
        again = ": had to be said again" if case.is_said_again else ""
        lines.append(
            f"broken in {case.session.dialect} {harmless(case.session.session)}, {case.session.began}{where}{again}"
        )
    return lines
