"""When two sentences say the same thing, and when they only look alike.

Two texts are the same fact when their meaning, what is left of them without spelling, filler and the order in which a
choice is put, is equal. Equality cannot drift from one sentence to the next, and it does not depend on which was seen
first: a fact is the set of all texts of one meaning. Every measure of likeness ranks "port 8080" and "port 9090" above
true paraphrases; here a number, a version, a path, a unit, a "no" or a word that differs makes another fact.
"""

import re
from functools import lru_cache

from rapidfuzz import fuzz

from slowwave.consolidation.arranged import arranged
from slowwave.consolidation.words import NO, words_of

__all__ = ["Meaning", "is_like", "is_same", "meaning_of"]

Meaning = tuple[str, ...]

BECAUSE = "\u2235"
_REASON = re.compile(
    r",? \b(?:because|so that|otherwise|or else|weil|damit|parce que|porque)\b|, (?:since|as|denn|sonst|so) "
    r"|, (?:we|it|they|that|people|somebody|someone|i) (?=\w+)| - (?=(?:we|it|they|that|i)\b)|\. (?:it|we|they|that)\b",
    re.IGNORECASE,
)
# what follows a condition is what is asked for
_CONDITION = re.compile(
    r"\W*(?:if|when(?:ever)?|once|after|before|for|unless|while|since|because|as|in|on|wenn|bevor|nachdem|weil)\b",
    re.IGNORECASE,
)
_LEAST_RULE = 2

# Words on either side of a choice, "use A instead of B"; longer sides are sentences of their own.
_MOST_CHOSEN = 4
# Least likeness (token sort ratio, 0 to 100) of a rewording: enough to keep out what a person has refused, never
# enough to merge.
REWORDED = 75.0


@lru_cache(maxsize=50_000)
def meaning_of(text: str) -> Meaning:
    """Return what a text says; texts of equal meaning are one fact."""
    rule, reason = parted(text)
    tokens = words_of(rule).tokens
    if len(tokens) < _LEAST_RULE:
        tokens, reason = words_of(text).tokens, ""
    # nothing but filler is only ever the same as itself
    if not tokens:
        return ("=", " ".join(text.split()))
    words = words_of(reason)
    names = (*sorted(words.marks), *(NO,) * words.negations)
    return (*_choice(tokens), *((BECAUSE, *names) if names else ()))


def parted(text: str) -> tuple[str, str]:
    """Return what a sentence asks for, and why, "" where it does not say; of a reason only names and numbers matter.

    Both are put in one order first (:mod:`.arranged`).
    """
    text = arranged(text)
    found = None if _CONDITION.match(text) else _REASON.search(text)
    return (text[: found.start()], text[found.end() :]) if found else (text, "")


def is_same(one: str, other: str) -> bool:
    """Say whether two texts state the same fact."""
    return meaning_of(one) == meaning_of(other)


def is_like(one: str, other: str) -> bool:
    """Say whether one text may be a rewording of the other: what is refused in one wording is refused in the other.

    Never across a different number, path, version or name, nor across a "no".
    """
    a, b = words_of(one), words_of(other)
    if a.marks != b.marks or a.negations != b.negations:
        return False
    return fuzz.token_sort_ratio(" ".join(a.tokens), " ".join(b.tokens), score_cutoff=REWORDED) > 0


def _choice(tokens: Meaning) -> Meaning:
    """Return a choice in one form, "use A, not B", whichever side was put first."""
    if tokens.count(NO) != 1:
        return tokens
    at = tokens.index(NO)
    before, after = tokens[:at], tokens[at + 1 :]
    if not before and after[:1] == ("use",) and after.count("use") == 2:  # noqa: PLR2004 - don't use B, use A
        second = after.index("use", 1)
        before, after = after[second:], after[1:second]
    elif before[:1] == ("use",) and after[:1] == ("use",):
        after = after[1:]
    elif len(before) == len(after) == 1:
        before = ("use", *before)
    sides = (before[1:], after)
    if before[:1] == ("use",) and all(0 < len(side) <= _MOST_CHOSEN and "use" not in side for side in sides):
        return ("use", *before[1:], NO, *after)
    return tokens
