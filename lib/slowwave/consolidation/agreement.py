"""Whether entries may be merged because a model says so: related words, and nothing that matters differs in them."""

import re
from collections.abc import Sequence
from itertools import combinations

from slowwave.consolidation.entries import Entry
from slowwave.consolidation.slots import claim, claim_of, stance_of
from slowwave.consolidation.words import Words, words_of
from slowwave.extraction.keys import decision_key

# words of which one stands in the other's place: the sentence says the contrary, or another thing
_PAIRS = """
    before/after on/off in/out up/down first/last min/max minimum/maximum least/most enabl/disabl allow/forbid
    start/stop open/clos public/private sync/async local/remot always/sometime all/some dev/prod staging/production
    read/writ may/must can/must or/and if/unless from/to old/new left/right above/below add/delet client/server
    input/output
"""
_OPPOSITES = tuple(frozenset(pair.split("/")) for pair in _PAIRS.split())
# words that add nothing to a sentence that says the same without them
_LIGHT = frozenset(
    ("keep", "ensure", "make", "have", "want", "like", "prefer", "need", "stay", "remain", "consistently")
)
_WORD = re.compile(r"[\w./@-]+")
_PROPER = re.compile(r"(?<=\w )[A-Z][\w-]+")
_LEAST_SHARED = 0.5


def disagreement(entries: Sequence[Entry]) -> str:
    """Return why entries are not the same fact, "" when nothing speaks against it."""
    for one, other in combinations(entries, 2):
        reason = _differ(one, other)
        if reason:
            return f"{one.number} and {other.number} {reason}"
    return ""


def _differ(one: Entry, other: Entry) -> str:  # noqa: PLR0911 - one reason after the other
    a, b = words_of(one.item.text), words_of(other.item.text)
    if a.marks != b.marks:
        return "differ in a number, path, version or name"
    if a.negations != b.negations:
        return "differ in a no"
    if _counted(a) != _counted(b):
        return "count different things"
    mine, theirs = claim(one.item), claim(other.item)
    if (one.item.key and other.item.key and mine != theirs) or (mine[0] == theirs[0] and mine[1] != theirs[1]):
        return "give different answers to one question"
    mine, theirs = decision_key(one.item.text), decision_key(other.item.text)
    if mine[0] and mine[0] == theirs[0] and mine[1] != theirs[1]:
        return "choose different things for one purpose"
    if _proper(one.item.text) ^ _proper(other.item.text):
        return "differ in a name"
    left, right = set(a.stems), set(b.stems)
    if len(left & right) < _LEAST_SHARED * min(len(left), len(right)) or not left & right:
        return "have too few words in common"
    if left == right and a.tokens != b.tokens:
        return "have the same words in another order"
    if (left < right or right < left) and (left ^ right) - _LIGHT:
        return "are not equally wide: one says more"
    return _opposite(left - right, right - left, one, other)


def _proper(text: str) -> set[str]:
    """Return the words that begin with a capital within the sentence: names of people and things."""
    return {word.casefold() for word in _PROPER.findall(text)}


def _counted(words: Words) -> set[tuple[str, ...]]:
    """Return every number with the word behind it: 2 days are not 2 weeks."""
    return {words.tokens[place : place + 2] for place in words.numbers}


def _opposite(left: set[str], right: set[str], one: Entry, other: Entry) -> str:
    raw = [set(_WORD.findall(e.item.text.casefold())) for e in (one, other)]
    left, right = left | (raw[0] - raw[1]), right | (raw[1] - raw[0])
    pairs = [(a, b) for a in left for b in right]
    if any(a.endswith(b) or b.endswith(a) or a.startswith(b) or b.startswith(a) for a, b in pairs):
        return "differ in the form of a word"
    for pair in _OPPOSITES:
        if left & pair and right & pair and left & pair != right & pair:
            return "differ in a word that turns the meaning round"
    return ""


def wrong_text(text: str, entries: Sequence[Entry]) -> str:  # noqa: PLR0911 - one reason after the other
    """Return why a text may not stand for entries, "" when it may: their words, and nothing else said with them."""
    given = [" ".join(e.item.text.split()) for e in entries]
    if not text or text in given:
        return ""
    known = {word for one in given for word in _WORD.findall(one.casefold())}
    fresh = [word for word in _WORD.findall(text.casefold()) if word not in known]
    if fresh:
        return f"the text has words of its own: {', '.join(fresh[:3])}"
    if len(text) > max(map(len, given)) + min(map(len, given)):
        return "the text is longer than what it stands for"
    words, first = words_of(text), words_of(given[0])
    if words.marks != first.marks or words.negations != first.negations:
        return "the text leaves out or adds a number, name or no"
    claims = [claim_of(one, entries[0].item.category) for one in (*given, text)]
    stances = [stance_of(one) for one in (*given, text)]
    for group in (claims, stances):
        if any(one[0] == group[-1][0] and one[1] != group[-1][1] for one in group):
            return "the text gives another answer than its entries"
    if not any(_keeps_order(words.tokens, words_of(one).tokens) for one in given):
        return "the text turns the words of its entries round"
    return ""


def _keeps_order(tokens: Sequence[str], source: Sequence[str]) -> bool:
    """Say whether the tokens that both have stand in the same order, and most are of the source."""
    shared = [t for t in tokens if t in set(source)]
    rest = iter(source)
    return len(shared) * 2 >= len(tokens) and all(token in rest for token in shared)
