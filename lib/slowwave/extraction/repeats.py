"""What several sessions show alike is more certain: commands repeated across sessions become one strong candidate.

What a line of the project says already, that of a gate or of another command, is not said again by one of its own.
"""

import re
from collections.abc import Iterable

import msgspec

from slowwave.extraction.taking import EXTRACTOR
from slowwave.memory.model import Candidate, candidate_id, seen_in

NAME = "repeated"
# of such candidates 9 in 18 were labelled (0.29..0.71); below 0.6 a dream would wait for more evidence for ever
CONFIDENCE = 0.6
_GATE = "cmd:commit"
_CALL = re.compile(r"`([^`]+)`")


def repeated(known: Iterable[Candidate], new: Iterable[Candidate]) -> list[Candidate]:
    """Return ``new`` with what an earlier session showed alike as one stronger candidate in its place.

    It cites the first two sessions that show it, so its id stays the same however many follow; what it cites is told
    by it, and not a second time when a session is read again.

    Args:
        known: what the project has, as far as it is about the same commands or tells of several (``tells_several``).
        new: what a session gave.
    """
    kept: list[Candidate] = []
    earlier = [c for c in known if c.key.startswith("cmd:")]
    told = [(c.key, c.value, _calls(c)) for c in earlier if tells_several(c)]
    for candidate in new:
        about = candidate.key, candidate.value
        own = _calls(candidate) if candidate.origin == "command_outcome" and candidate.key else frozenset[str]()
        if own and any((key, value) != about and own <= calls for key, value, calls in told):
            continue
        alike = [c for c in earlier if (c.key, c.value) == about]
        strong = [c for c in alike if c.extractor.endswith(NAME)]
        first = next((c for c in alike if _is_other(c, candidate)), None)
        if any(set(candidate.evidence) <= set(c.evidence) for c in strong):
            continue
        kept.append(_strengthened(first, candidate) if first is not None and not strong else candidate)
    return kept


def tells_several(candidate: Candidate) -> bool:
    """Say whether a candidate tells of several commands: a gate, or a command of several sessions with its variants."""
    is_sure = candidate.key == _GATE or candidate.extractor.endswith(NAME)
    return is_sure and candidate.key.startswith("cmd:") and len(_calls(candidate)) > 1


def _calls(candidate: Candidate) -> frozenset[str]:
    return frozenset(_CALL.findall(candidate.text))


def _is_other(one: Candidate, other: Candidate) -> bool:
    """Say whether two candidates come from sessions of their own, and not from copies or forks of one."""
    return one.session.id != other.session.id and not set(seen_in(one.evidence)) & set(seen_in(other.evidence))


def _strengthened(first: Candidate, second: Candidate) -> Candidate:
    evidence = (*first.evidence, *second.evidence)
    return msgspec.structs.replace(
        second,
        id=candidate_id(second.session, second.category, second.text, evidence),
        confidence=max(CONFIDENCE, second.confidence),
        extractor=f"{EXTRACTOR}:{NAME}",
        evidence=evidence,
    )
