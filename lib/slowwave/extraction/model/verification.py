"""Whether what a model proposes may be remembered: checked is what it rests on, never how it is worded.

Quotations stand there letter for letter; a personal category rests on words that a person typed or chose; no secret,
nothing erased, nothing that tries to steer an agent. What fails a check waits in the inbox with the reason, but for
what must not be kept at all. Values and negations that differ are hints for the judgement, not a veto.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from slowwave.extraction.candidates import Note, candidate_of
from slowwave.extraction.model.material import Passage
from slowwave.extraction.model.operations import Proposed, operations_of
from slowwave.extraction.model.quotations import Cited, cited_of, flat, unspoken, untrusted
from slowwave.hostile import is_hostile
from slowwave.memory import (
    DROPS,
    QUOTED,
    RETRACTS,
    Candidate,
    CandidateOrigin,
    Replaces,
    SessionRef,
    candidate_id,
)
from slowwave.memory.book import Memory
from slowwave.models.base import Answer
from slowwave.secrets import Redactor
from slowwave.secrets.blocklist import ERASED
from slowwave.shell.mentioned import outside

PERSONAL = ("preference", "constraint", "decision")
# a note that nobody judged waits; what the model says of its own certainty counts nothing (docs/decisions/0030)
PROVEN, UNJUDGED, FAILED, TASK = 0.9, 0.48, 0.45, 0.3
FROM_OUTSIDE = "it brings something in from outside the project"
_LONGEST_TEXT = 600
_EXACT = re.compile(r"`[^`]+`|[\w.~@:+-]*(?:/[\w.~@:+-]*)+|(?<!\w)--?\w[\w-]*|\w*\d[\w.:%+-]*|\w+_\w+")


@dataclass(frozen=True, slots=True)
class Verified:
    """A note of a model that may be remembered, once it was judged."""

    proposed: Proposed  # the operation
    candidate: Candidate  # what it becomes
    cited: tuple[Cited, ...]  # the passages with the quoted words
    hints: tuple[str, ...] = ()  # values of the text that no quotation has


@dataclass(slots=True)
class Accepted:
    """What one answer gave."""

    notes: list[Verified] = field(default_factory=list[Verified])  # what passed the checks, in the order of the answer
    # notes of the offline path that the model drops, with the reason
    dropped: list[Candidate] = field(default_factory=list[Candidate])
    left: list[str] = field(default_factory=list[str])  # why each other operation was left out


@dataclass(frozen=True, slots=True)
class Checks:
    """What operations of one question are held against."""

    numbered: Mapping[int, Passage]  # the passages that the model was shown
    new: Collection[int]  # numbers of those that it was to read
    memories: Mapping[str, Memory]  # present memories by number
    notes: Mapping[str, Candidate]  # candidates of the offline path by number
    session: SessionRef  # where it was found
    paths: Sequence[Path]  # the session's files in reading order
    redact: Redactor  # takes secrets out of every text once more
    extractor: str  # name and version of what found it


def accepted(answer: Answer, checks: Checks) -> Accepted:
    """Return what of an answer passes the checks; every operation that does not is counted with its reason.

    Raises:
        MalformedAnswerError: it has no list of operations.
    """
    answered = operations_of(answer, checks.numbered)
    found = Accepted(left=list(answered.left))
    for proposed in answered.kept:
        if proposed.op == "drop":
            notes = [checks.notes[name] for name in dict.fromkeys(proposed.notes) if name in checks.notes]
            once = {one.value for one in found.dropped}
            found.dropped += [
                dropped(note, proposed.text, checks.redact, checks.extractor) for note in notes if note.id not in once
            ]
            found.left += [] if notes else ["notes"]
            continue
        note = verified(proposed, checks)
        if isinstance(note, str):
            found.left.append(note)
        elif any(_is_same(one.candidate, note.candidate) for one in found.notes):
            found.left.append("same")
        else:
            found.notes.append(note)
    return found


def _is_same(one: Candidate, other: Candidate) -> bool:
    """Say whether two notes say the same; of what is over, also about the same memory."""
    return (one.text.casefold(), one.value) == (other.text.casefold(), other.value)


def dropped(note: Candidate, why: str, redact: Redactor, extractor: str) -> Candidate:
    """Return the candidate that does nothing but take a note of the offline path out, with the reason."""
    reason = " ".join(redact(why).split())[:160]
    return msgspec.structs.replace(
        note,
        id=candidate_id(note.session, note.category, f"{DROPS} {note.id}", note.evidence),
        text="not worth remembering" if not reason or is_hostile(reason) else reason,
        confidence=0.0,
        extractor=extractor,
        key=DROPS,
        value=note.id,
        replaces=(Replaces(note.id, "drop"),),
    )


def verified(proposed: Proposed, checks: Checks) -> Verified | str:
    """Return what an operation becomes, or why nothing may become of it."""
    known = checks.memories.get(proposed.memory)
    if proposed.op in ("update", "confirm", "retire") and known is None:
        return "memory"
    if proposed.op == "confirm" and known is not None:
        # in the words that it has: another reason would make another memory
        proposed = msgspec.structs.replace(proposed, text=known.text, category=known.category, reason="")
    if proposed.op == "retire" and known is not None:
        proposed = msgspec.structs.replace(proposed, category=known.category)
    text = " ".join(proposed.text.split())
    if not text or len(text) > _LONGEST_TEXT:
        return "shape"
    quotes = [cited_of(quote.words, quote.passage, checks.numbered) for quote in proposed.quotes]
    cited = sorted((one for one in quotes if one), key=lambda one: not one.is_persons)
    if not cited:
        return "quote"
    if not any(one.number in checks.new for one in cited):
        return "earlier"
    candidate = _candidate(proposed, cited, known, checks)
    unsafe = _unsafe(candidate.text, [one.words for one in cited])
    return unsafe or Verified(proposed, candidate, tuple(cited), _hints(text, cited))


def _unsafe(text: str, quotes: Sequence[str]) -> str:
    """Return why something must not be kept whatever it rests on, if so."""
    if "[secret:" in text:
        return "secret"
    if ERASED in text:
        return "erased"
    return "hostile" if is_hostile(text) or any(map(is_hostile, quotes)) else ""


def _hints(text: str, cited: Sequence[Cited]) -> tuple[str, ...]:
    """Return the values of a text that none of the cited passages has."""
    said = flat(" ".join(one.passage.text for one in cited))
    values = (value.strip("`.,:;") for value in _EXACT.findall(text.casefold()))
    return tuple(dict.fromkeys(value for value in values if value and value not in said))


def _candidate(proposed: Proposed, cited: Sequence[Cited], known: Memory | None, checks: Checks) -> Candidate:
    text = f"{proposed.text.rstrip('.')}: {proposed.reason}" if _adds(proposed) else proposed.text
    is_personal = proposed.category in PERSONAL or _ends_theirs(proposed, known)
    about = f"{text} {known.text}" if known else text
    unsaid = unspoken(about, cited, checks.numbered)
    # words of a person that say nothing about it lend it none of their weight
    is_said = not unsaid or (is_personal and unsaid == QUOTED)
    origin: CandidateOrigin = cited[0].passage.origin if is_said else _unsaid(cited)
    doubt = unsaid if is_personal or all(one.is_persons for one in cited) else ""
    doubt = doubt or untrusted(cited) or _brings(text, proposed, cited, known)
    each = [
        candidate_of(
            Note("model", proposed.category, text, UNJUDGED, origin, (one.passage.item,), one.words, doubt=doubt),
            checks.session,
            checks.paths,
            checks.redact,
            checks.extractor,
            _LONGEST_TEXT,
        )
        for one in cited
    ]
    # of each record what its own quotation shows
    evidence = tuple({(e.path, e.offset): e for c in reversed(each) for e in reversed(c.evidence)}.values())[::-1]
    first = each[0]
    named = (checks.notes[name] for name in proposed.notes if name in checks.notes)
    replaces = tuple(Replaces(note.id, "drop") for note in named)
    key = value = ""
    if known is not None and proposed.op in ("update", "retire"):
        replaces = (*replaces, Replaces(known.id, proposed.op))
    if proposed.op == "retire" and known is not None:
        key, value = RETRACTS, known.text
    return msgspec.structs.replace(
        first,
        id=candidate_id(checks.session, first.category, first.text, evidence),
        evidence=evidence,
        confidence=TASK if proposed.scope == "task" else UNJUDGED,
        scope=proposed.scope,
        replaces=replaces,
        key=key,
        value=value,
    )


def _ends_theirs(proposed: Proposed, known: Memory | None) -> bool:
    """Say whether an operation changes or ends what a person said, which only their own words can."""
    return known is not None and known.is_from_person and proposed.op in ("update", "retire")


def _brings(text: str, proposed: Proposed, cited: Sequence[Cited], known: Memory | None) -> str:
    """Return that a note has something installed or run that no person named, if so."""
    if proposed.op in ("confirm", "retire"):
        return ""
    named = flat(" ".join([*(one.words for one in cited if one.is_certain), known.text if known else ""]))
    brought = [thing for thing in outside(text) if flat(thing) not in named]
    return f"{FROM_OUTSIDE}: {', '.join(brought)[:60]}" if brought else ""


def _unsaid(cited: Sequence[Cited]) -> CandidateOrigin:
    return "command_outcome" if any(one.passage.speaker == "command" for one in cited) else "assistant"


def _adds(proposed: Proposed) -> bool:
    """Say whether the reason is not in the text already."""
    return bool(proposed.reason) and flat(proposed.reason)[:40] not in flat(proposed.text)
