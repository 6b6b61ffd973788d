"""How certain a fact is that several sessions showed."""

from collections.abc import Iterable

from slowwave.memory.ledger import Sighting
from slowwave.memory.model import Category

# Further sessions count half: people repeat themselves, and the same mistake is made twice.
DAMPING = 0.5
CAP = 0.97
# Only what a person typed can make these true (seed 004 on hostile text; DESIGN promise 10).
PERSONAL: frozenset[Category] = frozenset({"preference", "decision", "constraint"})


def combined(category: Category, sightings: Iterable[Sighting]) -> float:
    """Return the confidence of a fact: a damped noisy-or over independent sessions.

    A session counts once, with its best sighting, so neither repetition within a session nor the order matters. Of a
    preference, decision or constraint only what a person said counts.
    """
    best: dict[tuple[str, str], float] = {}
    for sighting in sightings:
        if category in PERSONAL and not sighting.origin.startswith("user_"):
            continue
        session = (sighting.dialect, sighting.session)
        best[session] = max(best.get(session, 0.0), sighting.confidence)
    if not best:
        return 0.0
    first, *others = sorted(best.values(), reverse=True)
    doubt = 1 - first
    for confidence in others:
        doubt *= 1 - DAMPING * confidence
    return round(max(first, min(1 - doubt, CAP)), 4)
