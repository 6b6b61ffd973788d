"""How likely a statement is worth loading, by weights that were fitted to statements which readers judged.

Logistic models over named features and pieces of words (:mod:`slowwave.extraction.features`), one weight each, then a
few steps that read off how often statements of such a score were worth it. The weights are data (``weights.json``,
below 1 MB); ``make train`` fits them anew. Nothing here depends on the order of sets: sums of weights are exact.
"""

import math
from bisect import bisect_right
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from slowwave.memory.model import CATEGORIES, Category

# who stands behind a statement
Voice = Literal["typed", "told", "chosen"]


class Head(msgspec.Struct, frozen=True):
    """One logistic model.

    Attributes:
        bias: what no feature changes.
        weights: by the name of the feature.
        pieces: by the piece of a word; together they count as much in a long text as in a short one.
    """

    bias: float
    weights: dict[str, float]
    pieces: dict[str, float] = {}

    def score(self, features: Collection[str], pieces: Collection[str] = ()) -> float:
        """Return the log-odds; the same for the same features in whatever order."""
        known, parts = self.weights, self.pieces
        score = self.bias + math.fsum(known[name] for name in features if name in known)
        if not pieces or not parts:
            return score
        among = [parts[piece] for piece in pieces if piece in parts]
        return score + math.fsum(among) / math.sqrt(len(among)) if among else score


class Weights(msgspec.Struct, frozen=True):
    """All that was fitted.

    Attributes:
        worth: whether what an assistant said is worth loading, by its words and its place.
        choice: whether a choice in a dialog settles something, rather than what is done next.
        rule: whether something typed is worded as a rule or a fact for good, learnt from many single messages.
        typed: whether something typed is worth loading amid all that people type, learnt from whole sessions.
        document: whether a sentence reads like a document or an agent's report rather than like something typed.
        categories: by category, for what is worth it.
        theirs: whether what a person typed is somebody else's words, a supposition, or about a text.
        steps: by who stands behind a statement, log-odds and the share that was worth it there, both rising: the same
            words are worth more from a person than from an assistant.
    """

    worth: Head
    choice: Head
    rule: Head
    typed: Head
    document: Head
    categories: dict[Category, Head]
    theirs: Head
    steps: dict[Voice, tuple[tuple[float, float], ...]]

    def told(self, features: Collection[str]) -> float:
        """Return how likely what an assistant said is worth loading, 0 to 1."""
        return self._read_off(self.worth.score(features), "told")

    def settles(self, names: Collection[str], pieces: Collection[str]) -> float:
        """Return how likely a choice in a dialog is worth loading, 0 to 1, by its wording and pieces of words."""
        return self._read_off(self.choice.score(names, pieces), "chosen")

    def wish(self, names: Collection[str], pieces: Collection[str]) -> float:
        """Return how likely what a person typed is worth loading, 0 to 1.

        It has to sound like a rule, and unlike the orders of the moment, which are worded much the same.
        """
        return self._read_off(self.rule.score(names, pieces) + self.typed.score(names, pieces), "typed")

    def _read_off(self, score: float, voice: Voice) -> float:
        steps = self.steps[voice]
        at = bisect_right(steps, score, key=lambda step: step[0])
        if at == 0:
            return steps[0][1]
        if at == len(steps):
            return steps[-1][1]
        (low, one), (high, other) = steps[at - 1], steps[at]
        return one + (other - one) * (score - low) / (high - low)

    def category(self, features: Collection[str], allowed: Collection[Category] = CATEGORIES) -> Category:
        """Return the likeliest of some categories."""
        scores: Mapping[Category, float] = {c: self.categories[c].score(features) for c in CATEGORIES if c in allowed}
        return max(scores, key=lambda category: scores[category])


@cache
def weights() -> Weights:
    """Return the weights that are shipped."""
    data = files("slowwave.extraction").joinpath("weights.json").read_bytes()
    return msgspec.json.decode(data, type=Weights)
