"""Which miners every version of the extractor changed: what an upgrade reads again, and what it may add."""

from collections.abc import Iterable, Mapping

from slowwave.extraction.taking import EXTRACTOR

# The sources of notes (:class:`slowwave.extraction.notes.Note`) that a version changed. None stands for all of them:
# what they share (the reading, the weights, dates, keys) changed, too. An empty set renames only: nothing is read.
CHANGED: dict[str, frozenset[str] | None] = {
    "offline/1": None,
    "offline/2": None,
    "offline/3": None,
    "offline/4": None,
    "offline/5": None,
}


def order_of(extractor: str) -> int:
    """Return the number of a version of the miners; -1 for another extractor."""
    name, _, number = extractor.partition("/")
    return int(number) if name == "offline" and number.isdecimal() else -1


def latest(extractors: Iterable[str]) -> str:
    """Return the newest version of the miners among extractors, or ""."""
    found = [one for one in extractors if order_of(one) >= 0]
    return max(found, key=order_of, default="")


def changed_since(
    version: str, table: Mapping[str, frozenset[str] | None] = CHANGED, now: str = EXTRACTOR
) -> frozenset[str] | None:
    """Return the miners whose findings may differ from those of an older version; None for all of them.

    A version that the table does not know changed everything: to read once too often costs time, not memories.

    Args:
        version: what read a session.
        table: what each version changed.
        now: the present version.
    """
    changed: frozenset[str] = frozenset()
    for number in range(order_of(version) + 1, order_of(now) + 1):
        of_version = table.get(f"offline/{number}")
        if of_version is None:
            return None
        changed |= of_version
    return changed
