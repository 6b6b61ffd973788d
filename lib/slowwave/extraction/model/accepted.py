"""From a model's notes to candidates, of the same type and under the same limits as those of the miners."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from slowwave.extraction.found import Found
from slowwave.extraction.mining import candidate_of
from slowwave.extraction.model.claims import Claim, claims_of
from slowwave.extraction.model.grounding import Grounds, grounds_of
from slowwave.extraction.model.windows import Window
from slowwave.memory.model import Candidate, CandidateOrigin, SessionRef, candidate_id
from slowwave.models.base import Answer
from slowwave.secrets.redactor import Redactor

# A model's own rating is not calibrated: it can only lower what the kind of origin is worth offline. There a wish in
# plain words has 0.65 to 0.8, a correction 0.5 to 0.75, an outcome 0.5 to 0.65; what only the assistant said stays
# below consolidation.accept_confidence, so that it waits for more evidence.
CEILINGS: dict[CandidateOrigin, float] = {
    "user_explicit": 0.75,
    "user_correction": 0.7,
    "command_outcome": 0.55,
    "assistant": 0.5,
}
_FLOOR = 0.6
_LIKE = 75.0


@dataclass(slots=True)
class Accepted:
    """What one answer gave.

    Attributes:
        candidates: in the order of the answer.
        dropped: why each other note was dropped.
    """

    candidates: list[Candidate] = field(default_factory=list[Candidate])
    dropped: list[str] = field(default_factory=list[str])


def accepted(
    answer: Answer,
    window: Window,
    session: SessionRef,
    paths: Sequence[Path],
    redact: Redactor,
    *,
    extractor: str,
    min_confidence: float,
) -> Accepted:
    """Return the candidates of an answer; every note that is none is counted with its reason.

    Args:
        answer: what the model said.
        window: what it was shown.
        session: where it was found.
        paths: the session's files in reading order.
        redact: takes secrets out of every text once more.
        extractor: name and version of what found it.
        min_confidence: weaker ones are dropped.

    Raises:
        MalformedAnswerError: it holds no notes in any form.
    """
    numbered, new = window.numbered, window.new
    claims = claims_of(answer, numbered)
    result = Accepted(dropped=list(claims.dropped))
    for claim in claims.kept:
        grounds = grounds_of(claim, numbered, new)
        if not isinstance(grounds, Grounds):
            result.dropped.append(grounds)
            continue
        candidate = _candidate(claim, grounds, session, paths, redact, extractor)
        if candidate.confidence < min_confidence:
            result.dropped.append("weak")
        elif is_same(candidate, result.candidates):
            result.dropped.append("same")
        else:
            result.candidates.append(candidate)
    return result


def is_same(candidate: Candidate, others: Sequence[Candidate]) -> bool:
    """Say whether one of the others says the same from the same record; differing numbers are never the same."""
    from rapidfuzz.fuzz import token_set_ratio  # noqa: PLC0415 - only where a model has said something

    records = {(e.path, e.offset, e.sha256) for e in candidate.evidence}
    text = candidate.text.casefold()
    for other in others:
        if candidate.id == other.id or (candidate.session == other.session and text == other.text.casefold()):
            return True
        if not records.isdisjoint((e.path, e.offset, e.sha256) for e in other.evidence):
            low = other.text.casefold()
            if _numbers(text) == _numbers(low) and token_set_ratio(text, low) >= _LIKE:
                return True
    return False


def _candidate(
    claim: Claim, grounds: Grounds, session: SessionRef, paths: Sequence[Path], redact: Redactor, extractor: str
) -> Candidate:
    main, _ = grounds.main
    confidence = round(CEILINGS[main.origin] * (_FLOOR + (1 - _FLOOR) * claim.confidence), 2)
    each = [
        candidate_of(
            Found("model", claim.category, claim.text, confidence, main.origin, (passage.event,), quote),
            session,
            paths,
            redact,
        )
        for passage, quote in grounds.cited
    ]
    # of each record what its own quotation shows
    evidence = tuple({(e.path, e.offset): e for c in reversed(each) for e in reversed(c.evidence)}.values())[::-1]
    first = each[0]
    return msgspec.structs.replace(
        first,
        id=candidate_id(session, first.category, first.text, evidence),
        evidence=evidence,
        extractor=extractor,
        # one certain word beside them makes doubtful words no more certain
        doubt=next((c.doubt for c in each if c.doubt), ""),
    )


def _numbers(text: str) -> set[str]:
    return {word for word in text.split() if any(sign.isdigit() for sign in word)}
