"""The textbook: Okapi BM25 over words or their stems, and the sum of TF-IDF weights of a text."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

_WORD = re.compile(r"[^\W_]+")
_K1, _B = 1.2, 0.75
_ENDINGS = ("ing", "edly", "ed", "ies", "es", "s", "ly", "e")
_LEAST_STEM = 3
# words that stand in questions and tell nothing
_QUESTIONS = """a an the of to in on at is are was were did do does has have had what when where who how which why
and or for with his her their they he she it that this from by about as be been"""
_EMPTY = frozenset(re.findall(r"\w+", _QUESTIONS))


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(text.casefold())


def stems(text: str) -> list[str]:
    """Return the words of a text without the commonest English endings."""
    return [_stem(word) for word in words(text)]


def telling_stems(text: str) -> list[str]:
    """Return the stems of a text without the words that stand in every question."""
    return [_stem(word) for word in words(text) if word not in _EMPTY]


def _stem(word: str) -> str:
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= _LEAST_STEM), "")
    return word.removesuffix(ending)


class Okapi:
    """Documents that can be ranked by a question."""

    def __init__(self, documents: Mapping[str, str], tokens: Callable[[str], list[str]] = words) -> None:
        self._tokens = tokens
        self._counts = {name: Counter(tokens(text)) for name, text in documents.items()}
        self._lengths = {name: sum(counts.values()) for name, counts in self._counts.items()}
        self._mean = sum(self._lengths.values()) / max(1, len(self._lengths))
        self._places: dict[str, list[str]] = defaultdict(list)
        for name, counts in self._counts.items():
            for word in counts:
                self._places[word].append(name)
        total = len(documents)
        self._rarity = {w: math.log(1 + (total - len(p) + 0.5) / (len(p) + 0.5)) for w, p in self._places.items()}

    def ranked(self, question: str, limit: int) -> list[str]:
        """Return the best documents for a question, the best first."""
        scores: dict[str, float] = defaultdict(float)
        for word in sorted(set(self._tokens(question))):
            for name in self._places.get(word, ()):
                number = self._counts[name][word]
                norm = _K1 * (1 - _B + _B * self._lengths[name] / self._mean)
                scores[name] += self._rarity[word] * number * (_K1 + 1) / (number + norm)
        return sorted(scores, key=lambda name: (-scores[name], name))[:limit]

    def weight(self, name: str) -> float:
        """Return the sum of TF-IDF weights of a document's words."""
        return sum(number * self._rarity[word] for word, number in self._counts[name].items())
