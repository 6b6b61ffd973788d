"""The memories that fit some words best, ranked as sessions are (:mod:`slowwave.stores.search.ranking`).

A project has a few hundred memories, so nothing is indexed. What stands in most of them says little, the word as it was
asked for counts more than its other forms, and a word that stands nowhere is tried as the beginning of others.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

from slowwave.memory.book import Memory
from slowwave.stores.search.ranking import OTHER_FORM, lucene_rarity
from slowwave.stores.search.words import Term, folded, plain, spaced, stems_of, terms_of, tokens_of

T = TypeVar("T")
# as SQLite has them
_K1, _B = 1.2, 0.75


class Found(NamedTuple, Generic[T]):
    """A memory that a search found.

    Attributes:
        memory: the memory.
        score: how well it fits; only scores of one search can be compared.
        of: what came with it.
    """

    memory: Memory
    score: float
    of: T


class _Text:
    """What a memory says, as words."""

    def __init__(self, memory: Memory) -> None:
        self.text = folded(plain(f"{memory.text} {memory.key} {memory.value}"))
        self.words = Counter(tokens_of(spaced(self.text)))
        self.length = self.words.total()

    @cached_property
    def stems(self) -> Counter[str]:
        every = list(self.words)
        stems: Counter[str] = Counter()
        for word, stem in zip(every, stems_of(every), strict=True):
            stems[stem] += self.words[word]
        return stems

    def count(self, term: Term) -> float:
        """Return how often a term stands there; its other forms count less."""
        if not term.word:
            return len(term.pattern.findall(self.text))
        exact = self.words[term.word]
        return exact + OTHER_FORM * (self.stems[stems_of([term.word])[0]] - exact)


def search_memories(memories: Sequence[tuple[Memory, T]], query: str, limit: int) -> list[Found[T]]:
    """Return the memories that fit best, the best first; of those that fit as well the surest.

    Args:
        memories: where to look, each with something to give back.
        query: words, ``"phrases"`` and beginnings (``pre*``), as ``slowwave sessions search`` takes them.
        limit: at most this many.
    """
    terms, _ = terms_of(query)
    texts = [_Text(memory) for memory, _ in memories]
    length = sum(text.length for text in texts) / max(1, len(texts)) or 1.0
    telling = [term for term in terms if not term.is_empty] or terms
    scores = [0.0] * len(texts)
    for term in telling:
        counts = [text.count(term) for text in texts]
        if not any(counts) and (wider := term.widened()) is not None:
            counts = [text.count(wider) for text in texts]
        rarity = lucene_rarity(sum(map(bool, counts)), len(texts))
        for number, count in enumerate(counts):
            room = _K1 * (1 - _B + _B * texts[number].length / length)
            scores[number] += rarity * count * (_K1 + 1) / (count + room)
    found = [Found(memory, score, of) for (memory, of), score in zip(memories, scores, strict=True) if score > 0]
    found.sort(key=lambda one: (-one.score, -one.memory.confidence, one.memory.id))
    return found[:limit]
