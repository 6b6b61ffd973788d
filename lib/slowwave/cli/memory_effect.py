"""``slowwave memory effect``: what sessions made of the memories that were delivered to them."""

import argparse
from collections import Counter
from typing import Any

from slowwave.cli.memory_facts import row_of
from slowwave.cli.output import harmless, say, say_json
from slowwave.errors import DONE
from slowwave.memory.book import read_book
from slowwave.memory.effects import Case, Effect, effects_of

_ORDER = ("broken", "followed", "no occasion", "told")


def show_effect(args: argparse.Namespace) -> int:
    """Print what became of each memory since it was delivered, what was broken first, and where."""
    total: Counter[str] = Counter()
    for folder in args.folders:
        book = read_book(folder.path)
        effects = effects_of(book.memories.values(), book.watched)
        for name in sorted(effects, key=lambda n: (_ORDER.index(effects[n].verdict), -effects[n].sessions, n)):
            effect, memory = effects[name], book.memories[name]
            total[effect.verdict] += 1
            if args.json:
                say_json([_row(effect) | row_of(folder, memory)])
            elif effect.verdict != "told":
                say(f"{memory.id}  {effect.verdict:<11}  {harmless(memory.text)}  [{folder.project}]")
                for line in _lines(effect):
                    say(f"              {line}")
    if not args.json:
        say(
            f"{total['followed']} memories were followed, {total['broken']} were broken, {total['no occasion']} had no "
            f"occasion since they were delivered; {total['told']} show in no command and no edit"
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
    lines = [f"delivered to {effect.sessions} sessions, followed in {len(effect.followed)}"]
    for case in effect.broken:
        where = f", record {harmless(case.record)}" if case.record else ""
        again = ": had to be said again" if case.is_said_again else ""
        lines.append(
            f"broken in {case.session.dialect} {harmless(case.session.session)}, {case.session.began}{where}{again}"
        )
    return lines
