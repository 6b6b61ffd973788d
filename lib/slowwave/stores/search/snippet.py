"""The words around a hit, short enough for a line or two of a terminal."""

from slowwave.stores.search.fold import folded
from slowwave.stores.search.query import Term

MOST_BYTES = 1024
_BEFORE = 100
_AFTER = 300
_MORE = "…"
# A word is not cut within so many characters of where a cut would fall.
_SLACK = 24


def snippet_of(text: str, terms: list[Term]) -> str:
    """Return the part of a text around its first hit on one line, at most 1024 bytes; its beginning without a hit."""
    compared = folded(text)
    places = [found.start() for term in terms if (found := term.pattern.search(compared))]
    at = min(places, default=0)
    start, end = max(0, at - _BEFORE), min(len(text), at + _AFTER)
    if start and (space := text.find(" ", start, start + _SLACK)) >= 0:
        start = space + 1
    if end < len(text) and (space := text.rfind(" ", end - _SLACK, end)) > at:
        end = space
    words = " ".join(text[start:end].split())
    shown = (_MORE if start else "") + words + (_MORE if end < len(text) else "")
    return shown.encode("utf-8", "replace")[:MOST_BYTES].decode("utf-8", "ignore")
