"""When two sentences say the same thing, and when they only look alike.

Two texts are the same fact when their words are equal but for spelling and filler, or nearly so; never when they differ
in a number, a version, a path, an identifier or a negation, when one word stands in another's place, or when the words
stand in another order ("tabs instead of spaces").
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz

# Least likeness (Indel ratio, 0 to 100) of the bare words of two texts of which one has all words of the other, in
# order: at 85 a sentence of six words may have one more. Lower merges "Use pnpm" with "Use pnpm in the web folder".
NEAR = 85.0


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TOKEN = re.compile(r"[\w./\\:@#+~%$*'\u2019-]+")
# 8080, 3.9, v2, 50MB, 30s, 12:30, 1,000: something that has another value tomorrow
_AMOUNT = re.compile(r"[vV~<>=^]*\d[\d.,:]*[a-zA-Z%]{0,3}")
_EDGES = ".,:;!?'\u2019*\"`"
_NEGATIONS = _set(
    "not no never none without avoid dont don't doesn't doesnt didn't cannot can't cant won't wont isn't aren't "
    "shouldn't mustn't neither nor except unless nicht kein keine keinen nie niemals ohne ne pas jamais sans nunca "
    "sin jamás non mai senza"
)
_FILLER = _set(
    "a an the do does did is are be been to of in on at for and or that this it its we i you they he she our my your "
    "please just really always should must shall will would can could so then also very all any with by as "
    "der die das ein eine und oder bitte immer le la les un une et ou toujours el los las y siempre"
)


@dataclass(frozen=True, slots=True)
class Words:
    """A text taken apart for comparison.

    Attributes:
        marks: numbers, versions, paths and identifiers, with their case.
        negations: how often it says no.
        stems: the bare words in order, without filler and negations.
        skeleton: the bare words and names, without amounts: what two statements about the same thing share.
        numbers: amounts and versions, in order; "folder1" is a name and not an amount.
    """

    marks: frozenset[str]
    negations: int
    stems: tuple[str, ...]
    skeleton: tuple[str, ...]
    numbers: tuple[str, ...]


@lru_cache(maxsize=50_000)
def words_of(text: str) -> Words:
    """Take a text apart."""
    marks: list[str] = []
    stems: list[str] = []
    skeleton: list[str] = []
    numbers: list[str] = []
    negations = 0
    for place, raw in enumerate(_TOKEN.findall(unicodedata.normalize("NFKC", text))):
        token = raw.strip(_EDGES) if not raw.startswith((".", "*")) else raw.rstrip(_EDGES)
        word = token.casefold().replace("\u2019", "'")
        if not word:
            continue
        if word in _NEGATIONS:
            negations += 1
        elif _is_mark(token) or _is_letter(token, place):
            marks.append(token)
            stems.append(token)
            (numbers if _AMOUNT.fullmatch(token) else skeleton).append(token)
        elif word not in _FILLER:
            stems.append(_stem(word))
            skeleton.append(_stem(word))
    return Words(frozenset(marks), negations, tuple(stems), tuple(skeleton), tuple(numbers))


def is_same(one: str, other: str) -> bool:
    """Say whether two texts state the same fact."""
    a, b = words_of(one), words_of(other)
    if a.marks != b.marks or bool(a.negations) != bool(b.negations) or not a.stems or not b.stems:
        return " ".join(one.split()) == " ".join(other.split())
    if a.stems == b.stems:
        return True
    short, long = sorted((a.stems, b.stems), key=len)
    return _is_within(short, long) and fuzz.ratio(" ".join(short), " ".join(long), score_cutoff=NEAR) > 0


def opposed(text: str) -> tuple[str, str]:
    """Return what a statement is about and what it says of it, ("", "") when it is too short to tell.

    Statements that are equal but for their numbers or a negation are about the same and contradict each other.
    """
    words = words_of(text)
    if len(words.skeleton) < 2:  # noqa: PLR2004 - a verb and its object
        return "", ""
    stance = "no" if words.negations % 2 else "yes"
    return "text:" + " ".join(words.skeleton), " ".join((stance, *words.numbers))


def _is_mark(token: str) -> bool:
    """Say whether a token is a number, version, path, flag or identifier: a name, in which every character counts."""
    if any(c.isdigit() for c in token) or "_" in token or "::" in token:
        return True
    if token.startswith(("-", ".", "~", "@", "#", "$")) or any(c in token for c in "/\\*"):
        return True
    return bool(re.search(r"[a-z][A-Z]", token) or re.fullmatch(r"[\w-]+(?:\.[\w-]+)+", token))


def _is_letter(word: str, place: int) -> bool:
    """Say whether a token is a letter that names something: "plan B", "service x", but not "a" or "I"."""
    if len(word) != 1 or not word.isalpha() or word == "I":
        return False
    return place > 0 if word.isupper() else word not in _FILLER


def _stem(word: str) -> str:
    """Return a word without the commonest endings, so that "test", "tests" and "testing" are one."""
    word = word.removesuffix("'s")
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:  # noqa: PLR2004 - "use" and "bus" stay
            return word.removesuffix(ending)
    return word


def _is_within(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    """Say whether ``long`` has all words of ``short`` in their order."""
    rest = iter(long)
    return all(word in rest for word in short)
