"""Whole cases drawn from a seed: how a session grows, what compacts it, how often, and what happens in between."""

import random
from functools import partial

from tests.conformance.clients import changes
from tests.conformance.clients.grown import grow
from tests.conformance.clients.steps import CLAUDE, KEEPING, Asks, Compacts, Operation, Step

NAME = "drawn at random"
_PROMPTS = (
    *("Please fix the bug in calc.py", "Read the files in parallel", "Please list the files", "Open the missing file"),
    *("Keep a todo list", "Write some unicode", "Please give a long answer", "Please say hello again"),
)
_SELDOM, _OFTEN, _MOSTLY = 0.15, 0.4, 0.8
_KEEPS = (1, 60, 200, 1_000, 6_000, 1_000_000)


def case_of(seed: int, client: str) -> Operation:
    """Return the case of a seed for a client.

    At the end slowwave has compacted the session at least once.
    """
    draw = random.Random(seed)
    steps: list[Step] = []
    for number in range(draw.choice((1, 1, 2, 3))):
        steps += _growth(draw, client, seed * 10 + number)
        steps.append(_compaction(draw, client))
    steps += [changes.lengthen, partial(changes.compact_surely, keep=draw.choice(_KEEPS[:4]))]
    if draw.random() < 0.5:
        steps += [Asks(draw.choice(_PROMPTS))]
    return Operation(NAME, (client,), tuple(steps))


def _growth(draw: random.Random, client: str, seed: int) -> list[Step]:
    steps: list[Step] = [partial(grow, seed=seed)] if draw.random() < _MOSTLY else [changes.lengthen]
    if draw.random() < _OFTEN:
        steps.append(Asks(draw.choice(_PROMPTS)))
    if draw.random() < _SELDOM:
        steps += [Compacts(), Asks(draw.choice(_PROMPTS))]
    if client != "codex" and draw.random() < _SELDOM:
        steps.append(partial(changes.unless_refused, change=changes.rewind))
    if client in {*CLAUDE, "pi"} and draw.random() < _SELDOM:
        steps.append(changes.fork)
    if draw.random() < _SELDOM:
        steps += [changes.tear, changes.append]
    return steps


def _compaction(draw: random.Random, client: str) -> Step:
    limits = (
        f"compaction.keep_recent_tokens={draw.choice(_KEEPS)}",
        f"compaction.reserve_tokens={draw.choice((1, 500, 16_384))}",
        f"compaction.context_window={draw.choice((1_000, 20_000, 200_000))}",
    )
    planned = partial(changes.compact_within, limits=limits)
    by_hand = draw.choice((changes.summarise, changes.summarise_keeping if client in KEEPING else changes.summarise))
    return partial(changes.unless_refused, change=planned if draw.random() < _MOSTLY else by_hand)
