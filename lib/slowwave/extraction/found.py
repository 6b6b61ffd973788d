"""What a miner hands over: a fact with its words, its prior confidence and the records that show it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from slowwave.extraction.events import Event, Events
from slowwave.extraction.sentences import Sentence
from slowwave.memory.model import CandidateOrigin, Category


@dataclass(frozen=True, slots=True)
class Found:
    """A fact as a miner saw it, before it is normalised.

    Attributes:
        miner: name of the miner.
        category: one of the five.
        text: the words to keep.
        confidence: the miner's prior.
        origin: who stands behind it.
        events: what shows it, in order; their records become the evidence.
        quote: the original words.
        key: typed key, where the miner knows it.
        value: value for the key.
        sentence: the sentence that says it, where one does.
    """

    miner: str
    category: Category
    text: str
    confidence: float
    origin: CandidateOrigin
    events: tuple[Event, ...]
    quote: str
    key: str = ""
    value: str = ""
    sentence: Sentence | None = None


Miner = Callable[[Events], Iterator[Found]]
