"""Reading sessions without a tree: their records stand one after the other, and each is told by itself."""

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import msgspec

from slowwave.dialects.model import Transcript
from slowwave.records.bulk import relaxed_collector
from slowwave.records.lines import read_records
from slowwave.records.model import Span

R = TypeVar("R")
T = TypeVar("T", bound=Transcript)


def read_linear(result: T, decoder: msgspec.json.Decoder[R], take: Callable[[Span, R], str | None]) -> T:
    """Fill a transcript from its files and return it.

    Args:
        result: the transcript, still empty; its files are read, its records and unknown types counted.
        decoder: decodes one record.
        take: keeps what a record says; returns None, or the name of what it is when this version does not know it.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    unknown: Counter[str] = Counter()
    with relaxed_collector():
        for part, path in enumerate(result.files.paths):
            for span, record in read_records(path, decoder, result.problems, part=part):
                result.records += 1
                if (kind := take(span, record)) is not None:
                    unknown[kind] += 1
    result.unknown_types = unknown
    return result
