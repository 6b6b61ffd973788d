"""What several sessions show alike is more certain: commands repeated across sessions become one strong candidate."""

from collections.abc import Iterable

import msgspec

from slowwave.extraction.mining import EXTRACTOR
from slowwave.memory.model import Candidate, candidate_id, seen_in

NAME = "repeated"
CONFIDENCE = 0.75


def repeated(known: Iterable[Candidate], new: Iterable[Candidate]) -> list[Candidate]:
    """Return a candidate for each command of ``new`` that an earlier session used alike.

    It cites the first two sessions that show it, so its id stays the same however many follow.
    """
    strong: list[Candidate] = []
    earlier = [c for c in known if c.key.startswith("cmd:")]
    for candidate in new:
        if not candidate.key.startswith("cmd:") or candidate.extractor.endswith(NAME):
            continue
        alike = [c for c in earlier if (c.key, c.value) == (candidate.key, candidate.value)]
        if any(c.extractor.endswith(NAME) for c in alike):
            continue
        first = next((c for c in alike if _is_other(c, candidate)), None)
        if first is not None:
            strong.append(_strengthened(first, candidate))
    return strong


def _is_other(one: Candidate, other: Candidate) -> bool:
    """Say whether two candidates come from sessions of their own, and not from copies or forks of one."""
    return one.session.id != other.session.id and not set(seen_in(one.evidence)) & set(seen_in(other.evidence))


def _strengthened(first: Candidate, second: Candidate) -> Candidate:
    evidence = (*first.evidence, *second.evidence)
    return msgspec.structs.replace(
        second,
        id=candidate_id(second.session, second.category, second.text, evidence),
        confidence=CONFIDENCE,
        extractor=f"{EXTRACTOR}:{NAME}",
        evidence=evidence,
    )
