"""Secrets made at random after the published shapes of their families; none of them was ever given out."""

import random
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass

from tests.quality.blocks import blocks

_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "B": string.ascii_letters + string.digits + "+/",
    "D": string.digits,
    "H": "0123456789abcdef",
    "P": string.ascii_letters + string.digits + "!%*+^",
    "U": string.ascii_uppercase + string.digits,
    "W": string.ascii_letters + string.digits + "-_",
    "2:": string.ascii_uppercase + "234567",
}
_PART = re.compile(r'"(?P<literal>[^"]*)"|(?P<alphabet>2:|[ABDHPUW])(?P<length>\d+)')
# where a value stands: told by nothing but its own looks, or by a name before it
_LOOSE = (
    "the job logged {} and went on",
    "SERVICE_TOKEN={}",
    "-> {}",
    '  "token": "{}",',
    "it still uses {} from last year.",
    "Authorization: Bearer {}",
    "see ({}) in the output",
    "export API_KEY='{}'",
)
_NAMED = ("{name}={value}", "export {name}={value}", '  "{name}": "{value}",', "{name}: {value}")


@dataclass(frozen=True, slots=True)
class Planted:
    """One secret in a line of text.

    Attributes:
        value: as it stands in the text.
        bodies: the random parts of it: whoever has one of them has the secret, the rest is public.
    """

    family: str
    text: str
    value: str
    bodies: tuple[str, ...]


def planted(each: int, seed: int) -> Iterator[Planted]:
    """Yield so many secrets of each family, every one in a line of its own."""
    chance = random.Random(seed)
    for (family, kind, *name), (shape,) in blocks("secret_families.txt"):
        for number in range(each):
            value, bodies = _value(shape, chance)
            yield Planted(family, _text(kind, "".join(name).replace("=", " "), value, number), value, bodies)


def _value(shape: str, chance: random.Random) -> tuple[str, tuple[str, ...]]:
    fixed, _, parts = shape.partition(" ")
    pieces = [] if fixed == "-" else [_spaced(fixed)]
    bodies: list[str] = []
    for part in _PART.finditer(parts):
        if part["alphabet"]:
            bodies.append("".join(chance.choices(_ALPHABETS[part["alphabet"]], k=int(part["length"]))))
            pieces.append(bodies[-1])
        else:
            pieces.append(_spaced(part["literal"]))
    return "".join(pieces), tuple(bodies)


def _spaced(literal: str) -> str:
    """Return a literal with what the file cannot hold: ``~`` is a line end, ``=`` in the head of a key a blank."""
    return literal.replace("=PRIVATE=KEY", " PRIVATE KEY").replace("~", "\n")


def _text(kind: str, name: str, value: str, number: int) -> str:
    if kind == "prefixed":
        return _LOOSE[number % len(_LOOSE)].format(value)
    if name.endswith(("Bearer", "Basic")):
        return f'curl -H "{name} {value}" https://api.internal/v1'
    return _NAMED[number % len(_NAMED)].format(name=name, value=value)
