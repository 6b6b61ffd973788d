"""From notes of the offline path to candidates: what is hostile, erased, weak or only repeated is left out, counted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from slowwave.extraction.candidates import candidate_of
from slowwave.extraction.notes import Note
from slowwave.hostile import is_hostile
from slowwave.memory.model import Candidate, SessionRef
from slowwave.reading.echo import echoes
from slowwave.reading.items import Meaning, Reading, Said
from slowwave.secrets.blocklist import ERASED
from slowwave.secrets.redactor import Redactor

# Name and version: a new version reads every session again.
EXTRACTOR = "offline/5"
# whoever types what stood elsewhere before states nothing of their own
_TYPED = ("said", "refusal")
# these take up what was said before by their nature
_SUMMED = ("recap",)


@dataclass(slots=True)
class Taken:
    """What one session gave.

    Attributes:
        candidates: in the order in which they were said.
        hostile: how many were refused because they try to steer an agent.
        weak: how many had too little confidence.
        erased: how many were about something that was erased.
        echoed: what a person typed after it stood elsewhere, with who had written it there.
    """

    candidates: list[Candidate] = field(default_factory=list[Candidate])
    hostile: int = 0
    weak: int = 0
    erased: int = 0
    echoed: list[tuple[Note, str]] = field(default_factory=list[tuple[Note, str]])


def taken(
    notes: Sequence[Note],
    reading: Reading,
    session: SessionRef,
    paths: Sequence[Path],
    redact: Redactor,
    is_new: Callable[[Meaning], bool],
    min_confidence: float,
) -> Taken:
    """Return the candidates of notes whose last item is new, and count what is left out.

    Args:
        notes: of the whole session.
        reading: the session, to see which words stood in it before they were typed.
        session: where it was found.
        paths: the session's files in reading order.
        redact: takes secrets out of every text once more.
        is_new: says whether an item was not read before.
        min_confidence: weaker notes are counted and dropped.
    """
    result = Taken()
    wanted = [note for note in notes if is_new(note.items[-1])]
    said = [
        n
        for n in wanted
        if n.source not in _SUMMED and isinstance(n.items[-1], Said) and n.confidence >= min_confidence
    ]
    heard = echoes([(note.items[-1].order, note.quote) for note in said], reading.heard)
    copies = {id(said[number]): by for number, by in heard.items()}
    found: dict[tuple[str, str], Candidate] = {}
    for note in wanted:
        by = copies.get(id(note), "")
        if is_hostile(note.text) or is_hostile(note.quote):
            result.hostile += 1
        elif ERASED in note.text:
            result.erased += 1  # what is left of it is still about what had to go
        elif note.confidence < min_confidence:
            result.weak += 1
        elif by and note.source in _TYPED:
            result.echoed.append((note, by))
        else:
            doubt = note.doubt or (f"repeats {by}" if by else "")
            extractor = f"{EXTRACTOR}:{note.source}"
            candidate = candidate_of(replace(note, doubt=doubt), session, paths, redact, extractor)
            found.setdefault((candidate.category, candidate.text.casefold()), candidate)
    result.candidates = list(found.values())
    return result
