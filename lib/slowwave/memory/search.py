"""The memories that fit some words best, ranked as sessions are (:mod:`slowwave.stores.search.ranking`).

Beside slowwave's own there are the lines of others: what persons and agents wrote into memory files themselves, and
what other people of a repository accepted. Each is marked with whose it is.

A project has a few hundred memories, so nothing is indexed. What stands in most of them says little, the word as it was
asked for counts more than its other forms, and a word that stands nowhere is tried as the beginning of others.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from slowwave.memory.book import Memory
from slowwave.memory.foreign import Source, known_lines
from slowwave.memory.shared import read_others, unfit
from slowwave.stores.search.ranking import OTHER_FORM, lucene_rarity
from slowwave.stores.search.words import Term, folded, plain, spaced, stems_of, terms_of, tokens_of

# as SQLite has them
_K1, _B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Line:
    """A line of others.

    Attributes:
        id: what tells it from other lines, with an ``f`` or a ``t`` before it.
        text: its words.
        whose: "person", "agent", "unknown" where nobody has looked yet, or the name of who accepted it for everybody.
        file: the memory file that it stands in, "" for what others of the repository accepted.
        source: where its words stood first, if that is known.
        key: none; only memories have one.
        value: likewise.
        confidence: none: it was not weighed.
    """

    id: str
    text: str
    whose: str
    file: str = ""
    source: Source | None = None
    key: str = ""
    value: str = ""
    confidence: float = 0.0


Sought = Memory | Line
S = TypeVar("S", bound=Sought)
T = TypeVar("T")


class Found(NamedTuple, Generic[S, T]):
    """What a search found.

    Attributes:
        what: the memory or line.
        score: how well it fits; only scores of one search can be compared.
        of: what came with it.
    """

    what: S
    score: float
    of: T


def lines_of_others(memory: Path, redact: Callable[[str], str]) -> Iterator[Line]:
    """Yield the lines of others that agents may be told, each once.

    What came from the output of a tool, holds a secret or something erased, or tries to steer an agent, is left out.

    Args:
        memory: the memory folder.
        redact: takes out secrets, and what was erased.

    Raises:
        CorruptStateError: the ledger, or a note of lines, is damaged.
        UnreadableError: a file cannot be read.
    """
    seen: set[str] = set()
    for line, known in known_lines(memory):
        writer, source = known.first if known else ("unknown", None)
        if writer != "tool" and line.key not in seen and not unfit(line.text, redact):
            seen.add(line.key)
            yield Line(f"f{line.key[:11]}", line.text, writer, line.file, source)
    for other in read_others(memory):
        if not other.held and not unfit(other.text, redact):
            yield Line(f"t{other.name[:11]}", other.text, other.who)


class _Text:
    """What a memory or line says, as words."""

    def __init__(self, one: Sought) -> None:
        self.text = folded(plain(f"{one.text} {one.key} {one.value}"))
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


def search_memories(memories: Sequence[tuple[S, T]], query: str, limit: int) -> list[Found[S, T]]:
    """Return the memories that fit best, the best first; of those that fit as well the surest.

    Args:
        memories: memories and lines to look among, each with something to give back.
        query: words, ``"phrases"`` and beginnings (``pre*``), as ``slowwave sessions search`` takes them.
        limit: at most this many.
    """
    terms, _ = terms_of(query)
    texts = [_Text(one) for one, _ in memories]
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
    found = [Found(one, score, of) for (one, of), score in zip(memories, scores, strict=True) if score > 0]
    found.sort(key=lambda one: (-one.score, -one.what.confidence, one.what.id))
    return found[:limit]
