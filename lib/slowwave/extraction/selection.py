"""Which notes of the offline path become candidates: what is hostile, erased, weak or only repeated is left out."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from slowwave.extraction.candidates import Note, candidate_of
from slowwave.hostile import is_hostile
from slowwave.memory import Candidate, SessionRef, candidate_id, seen_in
from slowwave.reading import Meaning, Reading, Said
from slowwave.reading.pastes import echoes
from slowwave.secrets import Redactor
from slowwave.secrets.blocklist import ERASED

# Name and version: a new version reads every session again.
EXTRACTOR = "offline/12"
# whoever types what stood elsewhere before states nothing of their own
_TYPED = ("said", "refusal")
# these take up what was said before by their nature
_SUMMED = ("recap",)


@dataclass(slots=True)
class Taken:
    """What one session gave."""

    candidates: list[Candidate] = field(default_factory=list[Candidate])  # in the order in which they were said
    hostile: list[Note] = field(default_factory=list[Note])  # what was refused because it tries to steer an agent
    unsure: int = 0  # how many had too little confidence; they are kept nowhere
    erased: int = 0  # how many were about something that was erased
    # what a person typed after it stood elsewhere, with who had written it there
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
            result.hostile.append(note)
        elif ERASED in note.text:
            result.erased += 1  # what is left of it is still about what had to go
        elif note.confidence < min_confidence:
            result.unsure += 1
        elif by and note.source in _TYPED:
            result.echoed.append((note, by))
        else:
            doubt = note.doubt or (f"repeats {by}" if by else "")
            extractor = f"{EXTRACTOR}:{note.source}"
            candidate = candidate_of(replace(note, doubt=doubt), session, paths, redact, extractor)
            found.setdefault((candidate.category, candidate.text.casefold()), candidate)
    result.candidates = list(found.values())
    return result


# What several sessions show alike is more certain: commands repeated across sessions become one strong candidate.
#
# What a line of the project says already, that of a gate or of another command, is not said again by one of its own.

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
        shown = {e.sha256 for e in candidate.evidence}
        if any(shown <= {e.sha256 for e in c.evidence} for c in strong):
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
