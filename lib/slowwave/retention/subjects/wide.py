"""A phrase in UTF-16, in either order of its bytes, or as JSON shows such bytes: one space between words as it is."""

import json
from collections.abc import Iterator

from ahocorasick_rs import BytesAhoCorasick, Implementation

_ORDERS = {"utf-16-le": b"*\0", "utf-16-be": b"\0*"}
_NUL_IN_JSON = b"\\u0000"


class WidePhrase:
    """The bytes that a phrase takes in UTF-16, in the cases that people write."""

    def __init__(self, phrase: str) -> None:
        """Prepare the search for a phrase."""
        cases = dict.fromkeys((phrase, phrase.lower(), phrase.upper(), phrase.title()))
        # in lower case as the bytes that are looked through, with what is as long as one unit of it
        self._fills = {one.encode(order).lower(): fill for one in cases for order, fill in _ORDERS.items()}
        for spelt in map("\0".join, cases):
            shown = json.dumps(spelt), json.dumps(spelt, ensure_ascii=False)
            self._fills |= {one[1:-1].encode().lower(): b"*" for one in shown}
        self.signs = tuple(self._fills)
        # most bytes have none, and need no look
        self._has_nul = all(b"\0" in sign or _NUL_IN_JSON in sign for sign in self.signs)
        self._automaton = BytesAhoCorasick(self.signs, implementation=Implementation.DFA)

    def find(self, low: bytes) -> Iterator[tuple[int, int]]:
        """Yield the ranges of bytes, given in lower case, in which the phrase stands."""
        if not self._has_nul or b"\0" in low or _NUL_IN_JSON in low:
            for _, start, stop in self._automaton.find_matches_as_indexes(low):
                yield start, stop

    def fill_of(self, was: bytes) -> bytes:
        """Return as many bytes as stand there, stars in the same form; nothing when they are no such phrase."""
        unit = self._fills.get(was.lower(), b"")
        return unit * (len(was) // len(unit)) if unit else b""
