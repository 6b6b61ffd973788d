"""Histories: what somebody says about one thing changes again and again, among other things that stay true."""

from collections.abc import Iterator
from dataclasses import dataclass

from slowwave.consolidation.slots import decision_key, key_of
from tests.quality.blocks import blocks, values

_OTHERS = (
    "Sign every release with the team key.",
    "The ledger module belongs to Ben.",
    "Answer in English, please.",
    "Never edit CHANGELOG.md by hand.",
    "Ask before you change anything in src/ledger.",
    "Screenshots belong into docs/images.",
)


@dataclass(frozen=True, slots=True)
class Statement:
    """Something said on a day; ``value`` is "" for what stays true all the time."""

    day: int
    text: str
    category: str
    origin: str
    key: str
    value: str
    own: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """A thing with everything that was said about it and beside it.

    Attributes:
        kind: how it changes.
        changes: what was said about it, oldest first; ``own`` is what tells its values apart.
        beside: what stays true.
    """

    subject: str
    kind: str
    changes: tuple[Statement, ...]
    beside: tuple[Statement, ...]


def histories() -> Iterator[History]:
    """Yield histories of one to four changes, of going back, in the same and in other words."""
    for (subject, category, *command), lines in blocks("histories.txt"):
        wordings = [line for line in lines[:-1] if not line.startswith("!")]
        near = [line.removeprefix("! ") for line in lines if line.startswith("!")]
        given = values(lines[-1])
        key = command[0] if command else ""
        beside = tuple(
            _said(1 + n, text, "preference" if n % 2 else "constraint") for n, text in enumerate(_OTHERS)
        ) + tuple(_said(2, text, category, f"{key}-near" if key else "") for text in near)
        plans = [(f"{k} changes" if k > 1 else "1 change", given[: k + 1], wordings[:1]) for k in range(1, len(given))]
        plans.append(("back to the first", [given[0], given[1], given[0]], wordings[:1]))
        if len(wordings) > 1:
            plans.append(("in other words", given, wordings))
        for kind, sequence, words in plans:
            changes = tuple(
                _said(3 + 4 * n, words[n % len(words)].format(value), category, key, value)
                for n, value in enumerate(sequence)
            )
            yield History(subject, kind, changes, beside)


def _said(day: int, text: str, category: str, key: str = "", value: str = "") -> Statement:
    bare = text.removesuffix(".")
    origin = "command_outcome" if key else "user_explicit"
    if key:
        return Statement(day, bare, category, origin, key, value or bare, value)
    typed = decision_key(bare) if category == "decision" else ("", "")
    return Statement(day, bare, category, origin, *(typed if typed[0] else key_of(bare)), value)
