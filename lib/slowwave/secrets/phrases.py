"""The words between the name of a secret and its value: where they end, how many they are, how they tie the two."""

import re
from functools import cache

from slowwave.secrets.nouns import words

Span = tuple[int, int]
# how far from the noun values are looked for
REACH = 120
BEFORE = 80
MOST_WORDS = 12
FEW_WORDS = 3
# how odd a value must be, and how plainly it is tied to its noun
BEYOND_DOUBT = 3
CLEAR = 2
BONDS = frozenset(words("bond"))
_ENDINGS = words("bond-ending")
OF_CODE = frozenset("_$./@\\")
# scripts without blanks, or whose particles stand at the end of a foreign word, and their punctuation
DENSE = (
    r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3000-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    r"\uff01-\uff0f\uff1a-\uff20\uff5b-\uffef"
)
TOKEN = re.compile(rf"[{DENSE}]+|[^\s{DENSE}]+")
IS_DENSE = re.compile(rf"[{DENSE}]")
OPENERS = "\"'`\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb*([<{\u300c\u300e\u3010\uff08"
_QUOTES = "\"'`"
_CLOSERS = ".,;:?)]}>\"'`*\u201c\u201d\u2018\u2019\u00ab\u00bb\u300d\u300f\u3011\uff09"
STOP = (".", "!", "?", ";", "\u3002", "\uff01", "\uff1f")
ASKS = ("?", "\uff1f", "\u061f", "\u037e")
COLONS = (":", "=", "\uff1a", "\uff1d")


def tokens_of(text: str) -> list[str]:
    """Return the words of a text; a part in a script without blanks is one."""
    return text.split() if text.isascii() else TOKEN.findall(text)


def are_parted(between: str, tokens: list[str]) -> bool:
    """Say whether a sentence or a paragraph ends in these words."""
    if "\n" in between and not between.split("\n", 1)[0].rstrip(" \t\"'`*").endswith(COLONS):
        return True
    if '",' in between:
        return True  # the next value of JSON
    # what follows a question may be the answer
    if tokens and (
        tokens[-1].endswith(ASKS) or (len(tokens) > 1 and tokens[-2].endswith(ASKS) and tokens[-1].endswith(COLONS))
    ):
        tokens = tokens[:-2]
    return any(token.endswith(STOP) for token in tokens) or "\u3002" in between


def gap_of(tokens: list[str]) -> tuple[int, int]:
    """Return how many words stand between noun and value, and how plainly the last one ties the two (2, 1 or 0)."""
    bare = [token.strip("\"'`*(,\u201c\u00ab").lower() for token in tokens]
    ties = [
        not token
        or token in BONDS
        or token.endswith((*COLONS, *ASKS))
        or (token.endswith(_ENDINGS) and not token.isascii())
        for token in bare
    ]
    bound = CLEAR if ties and ties[-1] else 1 if True in ties[-2:] else 0
    # a word before a colon is one, too: it may be another name
    named = sum(token.endswith(COLONS) and token[0].isalpha() for token in bare if token and token not in BONDS)
    return ties.count(False) + named, bound


def is_last(text: str, at: int) -> bool:
    """Say whether a sentence or a line ends with the word that ends here."""
    return text[at : at + 1] in ("", "\n", "\r", '"', "'", "`", "\\") or text[at - 1] in ".!?;,)"


def trimmed(text: str, begin: int, stop: int) -> Span:
    """Return where a value lies within a word: without the quotes around it and the punctuation behind it."""
    raw = text[begin:stop]
    left = begin + len(raw) - len(raw.lstrip(OPENERS))
    if left > begin and text[left - 1] in _QUOTES and (close := text.find(text[left - 1], left, stop)) > left:
        return left, close
    if end := _VALUE_END.search(text, left, stop):
        raw = text[begin : end.start()]
    return left, max(left, begin + len(raw.rstrip(_CLOSERS)))


# a value of JSON, or a line or a tag, ends within the word
_VALUE_END = re.compile(r"\\?[\"'`](?=[,:;}\])<\\]|$)|</|\\n")


@cache
def needles(*heads: str) -> tuple[str, ...]:
    """Return the words below heads as :func:`_spaced` has them: they begin where a word does, if any."""
    every = dict.fromkeys(word.lower() for head in heads for word in words(head))
    return tuple(word if IS_DENSE.match(word) else f" {_SIGNS.sub(' ', word)}" for word in every)


def spaced(text: str) -> str:
    """Return a text in lower case, its signs as blanks: one character for one."""
    return " " + _SIGNS.sub(" ", text.lower().replace("\\n", "  "))


def has_word(text: str, *heads: str) -> bool:
    """Say whether a text has a word that is below one of the heads."""
    plain = spaced(text)
    return any(word in plain for word in needles(*heads))


_SIGNS = re.compile(r"[^\w\u0300-\u036f\u0900-\u0eff\u1000-\u109f\u1780-\u17ff]|_")
