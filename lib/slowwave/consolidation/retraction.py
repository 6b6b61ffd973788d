"""Sentences that take an older one back in passing: "put events into an outbox table instead of Redis streams"."""

import re

from slowwave.consolidation.words import words_of

_MARKER = re.compile(r"\b(?:instead of|rather than|in place of|anstelle von|statt)\s+", re.IGNORECASE)
# What is given up ends with the clause, or where its reason or its place begins.
_END = re.compile(
    r"[,.;:!?()]|\b(?:because|since|so|when|while|for|in|on|at|and|but|which|that|weil|da|und)\b", re.IGNORECASE
)
_MOST_WORDS = 4
# Words that two statements share besides what is given up, so that they are about the same thing.
_LEAST_SHARED = 2


def given_up(text: str) -> frozenset[str]:
    """Return the bare words of what a sentence gives up, none when it gives nothing up."""
    marker = _MARKER.search(text)
    if not marker:
        return frozenset()
    rest = text[marker.end() :]
    end = _END.search(rest)
    words = words_of(rest[: end.start()] if end else rest).stems
    return frozenset(words) if 0 < len(words) <= _MOST_WORDS else frozenset()


def takes_back(newer: str, older: str) -> bool:
    """Say whether ``newer`` gives up what ``older`` asks for, both being about the same thing."""
    gone = given_up(newer)
    new, old = words_of(newer), words_of(older)
    if not gone or old.negations or not gone <= set(old.stems) or gone <= given_up(older):
        return False
    return len((set(new.stems) & set(old.stems)) - gone) >= _LEAST_SHARED
