"""Turns drawn from a seed, as every client may write them, the awkward ones first of all."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

# A picture of one pixel, as the APIs take it.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_WORDS = (
    *("alpha", "beta", "tests", "fail", "build", "passes", "token", "limit", "don't", "always", "never", "use", "tabs"),
    *("café", "日本語", "🙂", "naïve", "\u2028line", "\u202ertl\u202c", "server.py", "src/app.ts", "42", "3.14"),
    *("\t", "\r\n", "\n\n", "\x07", '"', "\\n", "```", "</summary>", "<b>", "e\u0301", "👩\u200d💻", "\ufeff", "\xa0"),
)
_FEW, _SOME, _MANY, _GIANT = 5, 40, 400, 9_000
# What stands beside the talk; every client has its own records for some of these.
ODDITIES = (
    *("note", "failed answer", "blank answer", "thought alone", "hidden thought", "command", "meta"),
    *("sub-agent", "progress", "search", "snapshot", "shell", "settings"),
)


@dataclass(frozen=True)
class Call:
    """One tool call and what it was answered."""

    id: str
    path: str
    writes: bool
    output: str
    fails: bool
    shows_picture: bool


@dataclass(frozen=True)
class Step:
    """What the model says at once: a thought, words, calls; their results arrive in the order of ``results``.

    A call without a result was cut off. One of ``ODDITIES`` stands before it all, or nothing ("").
    """

    thought: str
    said: str
    calls: Sequence[Call]
    results: Sequence[Call]
    oddity: str


@dataclass(frozen=True)
class Turn:
    """What a person asks and all that is done for it.

    Attributes:
        prompt: their words.
        with_picture: a picture stands beside them.
        steps: what the model does.
        queued: what they typed while it worked, or "".
        answer: its last words, or "" where it was interrupted.
        killed: its client died after the last step: neither an answer nor an interruption is written.
        another_model: not the one that answers otherwise.
        goes_back: the turn before is left behind.
    """

    prompt: str
    with_picture: bool
    steps: Sequence[Step]
    queued: str
    answer: str
    killed: bool
    another_model: bool
    goes_back: bool


def turns_of(seed: int, most: int = 6) -> list[Turn]:
    """Return the turns of a seed."""
    draw = random.Random(seed)
    return [_turn(draw, goes_back=number > 1 and draw.random() < 0.25) for number in range(draw.randint(2, most))]


def fresh(draw: random.Random) -> str:
    """Return 24 hexadecimal digits, an id in the form that all clients take."""
    return f"{draw.getrandbits(96):024x}"


def _turn(draw: random.Random, *, goes_back: bool) -> Turn:
    steps = [_step(draw) for _ in range(draw.choice((0, 1, 2, 4, 12)))]
    return Turn(
        _said(draw, _SOME),
        draw.random() < 0.2,
        steps,
        _said(draw, _FEW) if steps and draw.random() < 0.3 else "",
        _said(draw, _SOME) if draw.random() < 0.85 else "",
        bool(steps) and draw.random() < 0.1,
        draw.random() < 0.2,
        goes_back,
    )


def _step(draw: random.Random) -> Step:
    calls = [_call(draw) for _ in range(draw.choice((1, 1, 2, 4)))]
    return Step(
        _said(draw, _FEW) if draw.random() < 0.4 else "",
        _said(draw, _FEW) if draw.random() < 0.5 else "",
        calls,
        draw.sample(calls, len(calls) if draw.random() < 0.95 else draw.randrange(len(calls))),
        draw.choice(ODDITIES) if draw.random() < 0.3 else "",
    )


def _call(draw: random.Random) -> Call:
    return Call(
        fresh(draw),
        f"/src/{draw.choice('abcxyz')}.py",
        draw.random() < 0.4,
        _said(draw, draw.choices((0, _FEW, _MANY, _GIANT), (5, 75, 17, 3))[0]),
        draw.random() < 0.2,
        draw.random() < 0.1,
    )


def _said(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(_WORDS, k=words))
