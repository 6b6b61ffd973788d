"""A note: something that a session says, on its way to be a candidate."""

from dataclasses import dataclass

from slowwave.memory.model import CandidateOrigin, Category
from slowwave.reading.items import Meaning


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a session says.

    Attributes:
        source: how it was found.
        category: one of the five.
        text: words that stand alone.
        confidence: how likely it is worth loading, 0 to 1.
        origin: who stands behind it.
        items: what shows it, in order; their records become the evidence.
        quote: the words that matter.
        key: typed key, where there is one.
        value: the value for it.
        doubt: why only a person can say whether it is theirs, or "".
    """

    source: str
    category: Category
    text: str
    confidence: float
    origin: CandidateOrigin
    items: tuple[Meaning, ...]
    quote: str
    key: str = ""
    value: str = ""
    doubt: str = ""
