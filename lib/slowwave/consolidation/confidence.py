"""How certain a fact is that several sessions showed."""

from collections.abc import Iterable

from slowwave.memory.ledger import Sighting
from slowwave.memory.model import Category

# Further sessions count less than the first: people repeat themselves, and the same mistake is made twice, all the
# more on one day.
DAMPING = 0.5
OTHER_DAY = 0.6
CAP = 0.99
# what was hardly worth it in any session is not worth more for being said often, as thanks and "go on" are
LEAST = 0.3
# Only what a person typed can make these true (seed 004 on hostile text; DESIGN promise 10).
PERSONAL: frozenset[Category] = frozenset({"preference", "decision", "constraint"})


def combined(category: Category, sightings: Iterable[Sighting]) -> float:
    """Return the confidence of a fact: a damped noisy-or over independent sessions.

    A session counts once, with its best sighting, so neither repetition within a session nor the order matters; on
    another day it counts more. Of a preference, decision or constraint only what a person said counts, and what no
    session made likely stays what it is.
    """
    counted = [s for s in sightings if category not in PERSONAL or s.origin.startswith("user_")]
    best = [max((s.confidence, s.observed_at[:10]) for s in group) for group in independent(counted)]
    if not best:
        return 0.0
    (first, day), *others = sorted(best, reverse=True)
    if first < LEAST:
        return first
    doubt, days = 1 - first, {day}
    for confidence, day in others:
        doubt *= 1 - (DAMPING if day in days else OTHER_DAY) * confidence
        days.add(day)
    return round(max(first, min(1 - doubt, CAP)), 4)


def independent(sightings: Iterable[Sighting]) -> list[list[Sighting]]:
    """Return the sightings by session, where copies and forks that show the same records are one session."""
    every = list(sightings)
    parents = list(range(len(every)))

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = number = parents[parents[number]]
        return number

    first: dict[tuple[str, ...], int] = {}
    for number, sighting in enumerate(every):
        for mark in ((sighting.dialect, sighting.session), *((record,) for record in sighting.records)):
            parents[root(number)] = root(first.setdefault(mark, number))
    groups: dict[int, list[Sighting]] = {}
    for number, sighting in enumerate(every):
        groups.setdefault(root(number), []).append(sighting)
    return list(groups.values())
