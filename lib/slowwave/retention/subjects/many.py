"""Which of many phrases may stand in bytes at all, told in one look over them, however many phrases there are."""

from collections.abc import Sequence

from ahocorasick_rs import BytesAhoCorasick, Implementation

from slowwave.retention.subjects.needles import DEPTH, Needle, decoded_runs


class Many:
    """The first look for many needles."""

    def __init__(self, needles: Sequence[Needle]) -> None:
        """Prepare the look."""
        folded = [(sign, number) for number, needle in enumerate(needles) for sign in needle.folded_signs]
        exact = [(sign, number) for number, needle in enumerate(needles) for sign in needle.exact_signs]
        self._folded, self._owners_folded = _automaton(folded)
        self._exact, self._owners_exact = _automaton(exact)

    def may_occur(self, data: bytes, depth: int = DEPTH) -> set[int]:
        """Return the numbers of the needles that may occur in ``data``; no other one does."""
        found: set[int] = set()
        if self._folded is not None:
            for number, _, _ in self._folded.find_matches_as_indexes(data.lower(), overlapping=True):
                found |= self._owners_folded[number]
        if self._exact is not None:
            for number, _, _ in self._exact.find_matches_as_indexes(data, overlapping=True):
                found |= self._owners_exact[number]
        if depth:
            for plain in decoded_runs(data):
                found |= self.may_occur(plain, depth - 1)
        return found


def _automaton(signs: Sequence[tuple[bytes, int]]) -> tuple[BytesAhoCorasick | None, list[set[int]]]:
    owners: dict[bytes, set[int]] = {}
    for sign, number in signs:
        owners.setdefault(sign, set()).add(number)
    if not owners:
        return None, []
    return BytesAhoCorasick(list(owners), implementation=Implementation.ContiguousNFA), list(owners.values())
