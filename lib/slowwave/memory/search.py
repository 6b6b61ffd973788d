"""The memories that fit some words best, ranked as sessions are (:mod:`slowwave.stores.search`); loose names.

Beside slowwave's own there are the lines of others: what persons and agents wrote into memory files themselves, and
what other people of a repository accepted. Each is marked with whose it is.

A project has a few hundred memories, so nothing is indexed. What stands in most of them says little, the word as it was
asked for counts more than its other forms, and a word that stands nowhere is tried as the beginning of others.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from slowwave.memory.book import Memory
from slowwave.memory.provenance import Source, known_lines
from slowwave.memory.team import read_others, unfit
from slowwave.stores.search import OTHER_FORM, lucene_rarity
from slowwave.stores.search.words import Term, folded, plain, spaced, stems_of, terms_of, tokens_of

# as SQLite has them
_K1, _B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Line:
    """A line of others."""

    id: str  # what tells it from other lines, with an ``f`` or a ``t`` before it
    text: str  # its words
    whose: str  # "person", "agent", "unknown" where nobody has looked yet, or the name of who accepted it for everybody
    file: str = ""  # the memory file that it stands in, "" for what others of the repository accepted
    source: Source | None = None  # where its words stood first, if that is known
    key: str = ""  # none; only memories have one
    value: str = ""  # likewise
    confidence: float = 0.0  # none: it was not weighed


Sought = Memory | Line
S = TypeVar("S", bound=Sought)
T = TypeVar("T")


class Found(NamedTuple, Generic[S, T]):
    """What a search found."""

    what: S  # the memory or line
    score: float  # how well it fits; only scores of one search can be compared
    of: T  # what came with it


def lines_of_others(memory: Path, redact: Callable[[str], str]) -> Iterator[Line]:
    """Yield the lines of others that agents may be told, each once.

    What came from the output of a tool, holds a secret or something erased, or tries to steer an agent, is left out.
    ``memory``: the memory folder. ``redact``: takes out secrets, and what was erased. Raises CorruptStateError: the
    ledger, or a note of lines, is damaged; UnreadableError: a file cannot be read.
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

    ``memories``: memories and lines to look among, each with something to give back. ``query``: words, ``"phrases"``
    and beginnings (``pre*``), as ``slowwave sessions search`` takes them. ``limit``: at most this many.
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


# What a loose name means: "the Friday thing" for "Never deploy on Fridays"; how much of a name a text has.

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
