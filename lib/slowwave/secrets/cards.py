"""Numbers of payment cards in groups of digits, with the date and the code behind them.

Beside a word for cards the groups may be parted by anything that looks like a blank, also by ends of lines.
"""

import re
from collections.abc import Iterable, Iterator

from slowwave.secrets.nouns import words

# digits, what parts their groups, and anything else
_SIGNS = bytes(48 if chr(c).isdecimal() and c < 128 else 32 if chr(c) in " -.?\xa0" else 120 for c in range(256))  # noqa: PLR2004
_BEGIN = b"0000 000"
_PLAIN = b"0" * 15
_LEAST = 17
_BLANK = r"[ \-.\u00a0\u2000-\u200a\u202f\u205f\u3000]"
_NUMBER = re.compile(
    rf"(?<![\d.\-])(?:[3-6]\d{{3}}({_BLANK})\d{{4}}\1\d{{4}}\1\d{{4}}|3\d{{3}}({_BLANK})\d{{6}}\2\d{{5}})(?![\w\-])"
)
# beside a word for cards
_LOOSE = re.compile(
    r"(?:[4-6](?<![\w.\-].)(?:[\s.\-_>|]{0,6}\d){15}|3(?<![\w.\-].)(?:[\s.\-_>|]{0,6}\d){14})(?![\w\-])"
)
# without groups it may be any number: a word for cards must stand near
_BARE = re.compile(r"(?<![\d.\-])(?:[4-6]\d{15}|3\d{14})(?![\w\-])")
_NAMES = re.compile("|".join(words("card")), re.IGNORECASE)
_BEHIND = re.compile(
    r"[ ,;/(|]{1,3}(?:\w{1,12}[.:]?[ ])?(?P<date>\d\d[/\-]\d{2,4})?"
    r"(?:[ ,;/(|]{1,3}(?:\w{1,12}[.:]?[ ])?)?(?P<code>\d{3,4})?(?![\w/:.])"
)
_NEAR = 60


def cards(text: str, signs: bytes, places: Iterable[int] = ()) -> list[tuple[int, int]]:
    """Return where numbers of cards lie in a text, and the codes right behind them.

    Args:
        text: the text.
        signs: the same, one byte a character.
        places: where words for cards stand.
    """
    if len(signs) < _LEAST:
        return []
    shape = signs.translate(_SIGNS)
    found = list(_cards(text, shape)) if _BEGIN in shape or _PLAIN in shape else []
    done = 0
    for place in places:
        for number in _LOOSE.finditer(text, max(done, place - _NEAR), place + 2 * _NEAR):
            done = number.end()
            if _is_valid(number[0]):
                found.append(number.span())
    return found


def _cards(text: str, shape: bytes) -> Iterator[tuple[int, int]]:
    at = shape.find(_BEGIN)
    while at >= 0:
        number = _NUMBER.match(text, at)
        if number and _is_valid(number[0]):
            yield number.span()
            behind = _BEHIND.match(text, number.end())
            if behind and behind["date"] and behind["code"]:
                yield behind.span("code")
        at = shape.find(_BEGIN, at + 4)
    at = shape.find(_PLAIN)
    while at >= 0:
        number = _BARE.match(text, at)
        if number and _is_valid(number[0]) and _NAMES.search(text, max(0, at - _NEAR), at + 2 * _NEAR):
            yield number.span()
        at = shape.find(_PLAIN, number.end() if number else at + 1)


def _is_valid(number: str) -> bool:
    """Say whether the last digit checks the others (Luhn), and these are not all the same few."""
    digits = [int(c) for c in number if c.isdecimal()]
    total = sum(sum(divmod(2 * d, 10)) if rank % 2 else d for rank, d in enumerate(reversed(digits)))
    return total % 10 == 0
