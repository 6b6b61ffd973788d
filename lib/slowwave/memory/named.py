"""What a loose name means: "the Friday thing" for "Never deploy on Fridays"; how much of a name a text has."""

import re
from functools import lru_cache
from itertools import takewhile

_UNSPACED = r"\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}][\w.+#/@-]*[\w+#]|[^\W{_UNSPACED}]")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
# words of fewer letters have no endings
_LEAST_STEM = 4
# of the shorter one of two words, this much has to be the same from the beginning on
_SAME = 0.75
_MOST_LONGER = 5
_GENERIC = frozenset(
    """
    a an the this that these those it its them they one ones thing things stuff all any every each some my our
    your his her their me you we us i what which who of in on at to for from with without by about as and or not
    no never always only instead rather than be is are was were do does did done doing have has had having use
    using used uses make making made put get go going want wanted need needed please just also really ever again
    now then there here rule rules convention policy preference instruction request requirement guideline
    decision restriction said say told earlier before previous old former last yesterday monday's ago day days
    time times way bit part der die das den dem des ein eine einen und oder nicht kein keine mit für von zu zum
    zur im am auf bei immer nie le la les un une du de et ou ne pas plus sur dans pour avec el los las una y o
    se en con por para sobre il lo gli di del della che non per su os um uma e em na nos nas com het een niet
    geen det ett och inte att på av med
    """.split()  # noqa: SIM905 - a list of words reads better
)


@lru_cache(maxsize=20_000)
def named(text: str) -> tuple[str, ...]:
    """Return the words of a text that say what it is about, without case."""
    return tuple(dict.fromkeys(word for word in _WORD.findall(text.casefold()) if word not in _GENERIC))


def share_of(name: str, text: str) -> float:
    """Return how much of a name a text has, between 0 and 1; other endings of a word make no difference."""
    wanted, there = named(name), named(text)
    return sum(_is_there(word, there, text.casefold()) for word in wanted) / len(wanted) if wanted else 0.0


def _is_there(word: str, there: tuple[str, ...], text: str) -> bool:
    if _IS_UNSPACED.search(word):
        pairs = [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        return sum(pair in text for pair in pairs) >= _SAME * len(pairs)
    return any(_is_alike(word, other) for other in there)


def _is_alike(one: str, other: str) -> bool:
    if one == other or one.rstrip("s") == other.rstrip("s"):
        return True
    short, long = sorted((one, other), key=len)
    if len(short) < _LEAST_STEM or len(long) - len(short) > _MOST_LONGER or any(c.isdigit() for c in one + other):
        return False
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))) >= max(
        _LEAST_STEM, _SAME * len(short)
    )
