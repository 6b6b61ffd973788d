"""Secrets told in sentences, secrets that are split, and sentences that only look so: what they are made of."""

import json
import random
import string
from collections.abc import Callable, Iterator

from tests.quality.blocks import blocks
from tests.quality.secret_values import Planted

_NAMES = ("hunter", "Sommer", "dragon", "Liverpool", "welcome", "monkey", "Qwerty", "admin", "tiger", "Natasha")
_WORDS = ("copper", "lantern", "orbit", "velvet", "ginger", "anchor", "pepper", "walnut", "marble", "cactus")
_SURNAMES = ("Kowalczyk", "Abernathy", "Lindqvist", "Okonkwo", "Marchetti", "Vandermeer", "Haugland", "Brzezinski")
_MIXED = string.ascii_letters + string.digits
_SIGNS = "!#$%&*+?@^"


def _name(chance: random.Random) -> str:
    return chance.choice(_NAMES) + str(chance.randrange(10, 3000))


def _mixed(chance: random.Random) -> str:
    return "".join(
        f"{chance.choice(string.ascii_letters)}{chance.randrange(10)}{chance.choice(_MIXED)}" for _ in range(4)
    )


def _signed(chance: random.Random) -> str:
    left = "".join(chance.choices(string.ascii_letters, k=3))
    middle = f"{chance.randrange(10, 99)}{chance.choice(_SIGNS)}"
    return f"{left}{middle}{''.join(chance.choices(_MIXED, k=3))}{chance.randrange(10)}"


def _card(chance: random.Random) -> str:
    digits = [4, *(chance.randrange(10) for _ in range(14))]
    total = sum(sum(divmod(2 * d, 10)) if rank % 2 == 0 else d for rank, d in enumerate(digits))
    every = "".join(map(str, [*digits, -total % 10]))
    return chance.choice((" ", "-")).join(every[at : at + 4] for at in range(0, 16, 4))


_VALUES: dict[str, Callable[[random.Random], str]] = {
    "N": _name,
    "M": _mixed,
    "S": _signed,
    "P": lambda chance: str(chance.randrange(1000, 999999)),
    "C": _card,
    "V": lambda chance: str(chance.randrange(100, 1000)),
    "W": lambda chance: "-".join(chance.sample(_WORDS, 4)),
    "L": lambda chance: "".join(
        f"{chance.choice('QXZJKV')}{chance.choice('qzwxj')}{chance.choice('TRW')}" for _ in range(3)
    ),
    "A": lambda chance: chance.choice(_SURNAMES),
    "T": lambda chance: "ghp_" + "".join(chance.choices(_MIXED, k=36)),
}
Split = Callable[[str, int], str]


def _within(between: str) -> Split:
    return lambda value, at: f"{value[:at]}{between}{value[at:]}"


def _added(sign: str, quote: str = '"') -> Split:
    return lambda value, at: f"{quote}{value[:at]}{quote}{sign}{quote}{value[at:]}{quote}"


SPLITS: dict[str, Split] = {
    "backslash and newline": _within("\\\n"),
    "backslash, newline, blanks": _within("\\\n    "),
    "backslash and Windows newline": _within("\\\r\n"),
    "zero-width space": _within("\u200b"),
    "zero-width joiner": _within("\u200d"),
    "word joiner": _within("\u2060"),
    "soft hyphen": _within("\u00ad"),
    "byte order mark": _within("\ufeff"),
    "right-to-left mark": _within("\u200f"),
    "variation selector": _within("\ufe0f"),
    "zero-width after each": lambda value, at: value[:at] + "\u200c".join(value[at:]),
    "full width": lambda value, at: value[:at] + "".join(chr(ord(c) + 0xFEE0) for c in value[at:]),
    "plus": _added(" + "),
    "plus, no blanks": _added("+"),
    "plus, single quotes": _added(" + ", "'"),
    "plus on the next line": _added(" +\n    "),
    "plus before the next line": _added("\n    + "),
    "dot": _added(" . "),
    "two dots": _added(" .. "),
    "bars": _added(" || ", "'"),
    "ampersand": _added(" & "),
    "beside each other": _added(" "),
    "without a blank": _added(""),
    "on two lines": _added("\n    "),
    "list that is joined": lambda value, at: f'["{value[:at]}", "{value[at:]}"].join("")',
    "joined list": lambda value, at: f"''.join(['{value[:at]}', '{value[at:]}'])",
    "three pieces": lambda value, at: f'"{value[: at // 2]}" + "{value[at // 2 : at]}" + "{value[at:]}"',
    "escaped zero-width": lambda value, at: json.dumps(f"{value[:at]}\u200b{value[at:]}")[1:-1],
    "plus in JSON": lambda value, at: json.dumps(f'"{value[:at]}" + "{value[at:]}"')[1:-1],
}
# made after the rules were
SPLITS_HELD_BACK: dict[str, Split] = {
    "zero-width no-break": lambda v, a: v[:a] + "\ufeff\u200b" + v[a:],
    "invisible times": lambda v, a: v[:a] + "\u2062" + v[a:],
    "left-to-right embedding": lambda v, a: "\u202a" + v[:a] + "\u202c" + v[a:],
    "Mongolian vowel separator": lambda v, a: v[:a] + "\u180e" + v[a:],
    "tag character": lambda v, a: v[:a] + "\U000e0061" + v[a:],
    "combining grapheme joiner": lambda v, a: v[:a] + "\u034f" + v[a:],
    "bold letters": lambda v, a: v[:a] + "".join(chr(0x1D41A + ord(c) - 97) if c.islower() else c for c in v[a:]),
    "plus, template quotes": lambda v, a: f"`{v[:a]}` + `{v[a:]}`",
    "plus, both quotes": lambda v, a: f"'{v[:a]}' + \"{v[a:]}\"",
    "plus of four": lambda v, _: " + ".join(
        f"'{v[i : i + len(v) // 4 + 1]}'" for i in range(0, len(v), len(v) // 4 + 1)
    ),
    "plus equals": lambda v, a: f'"{v[:a]}"\ns += "{v[a:]}"',
    "Haskell": lambda v, a: f'"{v[:a]}" ++ "{v[a:]}"',
    "Elixir": lambda v, a: f'"{v[:a]}" <> "{v[a:]}"',
    "parentheses on two lines": lambda v, a: f'(\n    "{v[:a]}"\n    "{v[a:]}"\n)',
    "concat call": lambda v, a: f'"{v[:a]}".concat("{v[a:]}")',
    "concat function": lambda v, a: f"concat('{v[:a]}', '{v[a:]}')",
    "join of R": lambda v, a: f'paste0("{v[:a]}", "{v[a:]}")',
    "PHP implode": lambda v, a: f"implode('', ['{v[:a]}', '{v[a:]}'])",
    "shell quotes": lambda v, a: f"'{v[:a]}'\"{v[a:]}\"",
    "backslash in quotes": lambda v, a: f'"{v[:a]}\\\n{v[a:]}"',
    "backslash twice": lambda v, a: v[:3] + "\\\n" + v[3:a] + "\\\n" + v[a:],
    "quoted-printable": lambda v, a: v[:a] + "=\n" + v[a:],
    "soft hyphen entity": lambda v, a: v[:a] + "&shy;" + v[a:],
    "zero-width entity": lambda v, a: v[:a] + "&#8203;" + v[a:],
    "zero-width in JSON": lambda v, a: json.dumps({"a": v[:a] + "\u200d" + v[a:]})[7:-2],
    "plus in JSON in JSON": lambda v, a: json.dumps(json.dumps(f"'{v[:a]}' + '{v[a:]}'")[1:-1])[1:-1],
    "bold in Markdown": lambda v, a: f"{v[:a]}**{v[a:]}**",
    "tag in HTML": lambda v, a: f"{v[:a]}<b>{v[a:]}</b>",
    "wbr in HTML": lambda v, a: f"{v[:a]}<wbr>{v[a:]}",
    "comment in HTML": lambda v, a: f"{v[:a]}<!-- -->{v[a:]}",
}
_CARRIERS = {"T": ("token = {}", "use {} for it"), "S": ("password = {}", "the password is {}")}


def told(each: int, seed: int, name: str = "secret_told.txt") -> Iterator[Planted]:
    """Yield every sentence with so many secrets, each in a line of its own; its family is the sentence."""
    chance = random.Random(seed)
    for head, lines in blocks(name):
        for line in lines:
            kind, _, sentence = line.partition(" | ")
            for _ in range(each):
                value = _VALUES[kind](chance)
                yield Planted(
                    f"{' '.join(head)}: {sentence}", sentence.replace("\\n", "\n").replace("{}", value), value, (value,)
                )


def split(
    each: int, seed: int, ways: dict[str, Split] = SPLITS, into: dict[str, tuple[str, ...]] = _CARRIERS
) -> Iterator[Planted]:
    """Yield secrets that are split in every way, in every sentence; ``bodies`` are the halves."""
    chance = random.Random(seed)
    for name, cut in ways.items():
        for kind, sentences in into.items():
            for carrier in sentences:
                for _ in range(each):
                    value = _VALUES[kind](chance)
                    at = chance.randrange(5, len(value) - 4)
                    yield Planted(
                        f"{name}: {carrier}", carrier.replace("{}", cut(value, at)), value, (value[:at], value[at:])
                    )
