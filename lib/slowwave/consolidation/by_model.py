"""What a model takes out of a night: notes that it drops or says better, and memories that it finds to be over.

What a person said and the rules are sure of is not lost on a model's word: it waits for a person. Nor may a model end
more of what is remembered in one night than a dream may lose.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from slowwave.consolidation.model import Gathered, State
from slowwave.consolidation.words import words_of
from slowwave.memory.model import DROPS, RETRACTS, Candidate


@dataclass(frozen=True, slots=True)
class TakenOut:
    """What becomes of notes that wait.

    Attributes:
        refused: why a note is refused, and candidates that do nothing else, by their ids.
        asked: notes of a person that a model would drop, with the candidates that say so: they wait together.
    """

    refused: dict[str, str] = field(default_factory=dict[str, str])
    asked: dict[str, list[Candidate]] = field(default_factory=dict[str, list[Candidate]])


def taken_out(gathered: Gathered, is_sure: Callable[[Candidate], bool]) -> TakenOut:
    """Return which notes a model takes out. What was dealt with in another night is nobody's to drop any more.

    Args:
        gathered: the candidates.
        is_sure: says whether a candidate is remembered without anybody who is asked.
    """
    waiting = {c.id: c for c in gathered.waiting}
    found = TakenOut()
    for candidate in gathered.waiting:
        if candidate.key == DROPS:
            note = waiting.get(candidate.value)
            if note is not None and _is_persons(note) and is_sure(note):
                found.asked.setdefault(note.id, []).append(candidate)
                continue
            found.refused[candidate.id] = "takes a note out" if note else "takes a note out that no longer waits"
            if note is not None:
                found.refused[note.id] = f"the model: {candidate.text}"
    for candidate in gathered.waiting:
        # what waits itself takes nothing's place yet
        if candidate.key == DROPS or not candidate.replaces or not is_sure(candidate):
            continue
        told = f"the model says it better: {candidate.text[:120]}"
        for note in (waiting[one.id] for one in candidate.replaces if one.how == "drop" and one.id in waiting):
            if not (_is_persons(note) and is_sure(note)) or _stands_for(candidate, note):
                found.refused[note.id] = told
                found.refused.update({c.id: "takes a note out" for c in found.asked.pop(note.id, ())})
    return found


def _is_persons(candidate: Candidate) -> bool:
    return candidate.origin.startswith("user_")


def _stands_for(better: Candidate, note: Candidate) -> bool:
    """Say whether a candidate may stand in the place of what a person said: their words, from the same message."""
    is_shown = not {e.sha256 for e in better.evidence}.isdisjoint(e.sha256 for e in note.evidence)
    return _is_persons(better) and is_shown and words_of(better.text).negations == words_of(note.text).negations


def too_many_ended(state: State, gathered: Gathered, max_loss: float) -> dict[str, str]:
    """Return why candidates wait that would end memories without anything in their place, by their ids.

    Args:
        state: what orient found.
        gathered: the candidates.
        max_loss: the share of all memories that one night may lose.
    """
    standing = {m.id for m in state.standing}
    ending = [c for c in gathered.waiting if c.key == RETRACTS and c.replaces and not c.doubt]
    ended = standing & {one.id for c in ending for one in c.replaces if one.how == "retire"}
    if len(ended) <= max_loss * len(standing):
        return {}
    reason = f"a model would end {len(ended)} of {len(standing)} memories, more than {max_loss:.0%}: waits for a person"
    return dict.fromkeys((c.id for c in ending), reason)
