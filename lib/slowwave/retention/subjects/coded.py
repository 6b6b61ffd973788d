"""A phrase in base64, found without decoding anything: three alignments, and the cases that programs write."""

import base64
from collections.abc import Iterable, Iterator

from ahocorasick_rs import BytesAhoCorasick, Implementation


class CodedPhrase:
    """The signs that a phrase leaves in base64, whatever stands around it.

    A sign of base64 holds six bits. Of a phrase that begins at the first, second or third byte of a group all signs but
    those at its ends are known; they are looked for as they are.
    """

    def __init__(self, forms: Iterable[bytes]) -> None:
        """Prepare the search for a phrase in these forms, each at least four bytes long to count."""
        self._found: list[tuple[int, int]] = []
        literals: list[bytes] = []
        for form in dict.fromkeys(forms):
            for before in range(3):
                signs = base64.b64encode(b"\0" * before + form + b"\0" * 2)
                first, last = -(-before * 8 // 6), (before + len(form)) * 8 // 6
                if last - first < _FEWEST:
                    continue
                for literal in dict.fromkeys((signs[first:last], signs[first:last].translate(_OF_URLS))):
                    literals.append(literal)
                    self._found.append((first, -(-(before + len(form)) // 3) * 4))
        self.literals = tuple(literals)
        self._automaton = BytesAhoCorasick(literals, implementation=Implementation.DFA) if literals else None

    def find(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the ranges that hold the phrase, whole groups of four signs as far as ``data`` goes."""
        if self._automaton is None:
            return
        for number, start, _ in self._automaton.find_matches_as_indexes(data, overlapping=True):
            first, last = self._found[number]
            yield max(start - first, 0), min(start - first + last, len(data))


_OF_URLS = bytes.maketrans(b"+/", b"-_")
# fewer signs stand in any text by chance
_FEWEST = 5
