"""Whether what a model proposes may be remembered: checked is what it rests on, never how it is worded.

Quotations stand there letter for letter; a personal category rests on words that a person typed or chose; no secret,
nothing erased, nothing that tries to steer an agent. What fails a check waits in the inbox with the reason, but for
what must not be kept at all. Values and negations that differ are hints for the judgement, not a veto.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from slowwave.extraction.candidates import candidate_of
from slowwave.extraction.model.material import Passage
from slowwave.extraction.model.operations import Proposed, operations_of
from slowwave.extraction.notes import Note
from slowwave.extraction.taint import words_of
from slowwave.hostile import is_hostile
from slowwave.memory.book import Memory
from slowwave.memory.model import DROPS, RETRACTS, Candidate, CandidateOrigin, Replaces, SessionRef, candidate_id
from slowwave.models.base import Answer
from slowwave.reading.items import Said
from slowwave.secrets.blocked import ERASED
from slowwave.secrets.redactor import Redactor

PERSONAL = ("preference", "constraint", "decision")
# a note that nobody judged waits; what the model says of its own certainty counts nothing (docs/decisions/0030)
PROVEN, UNJUDGED, FAILED, TASK = 0.9, 0.55, 0.45, 0.3
_LONGEST_TEXT = 600
_SHORTEST_QUOTE = 6
_EXACT = re.compile(r"`[^`]+`|[\w.~@:+-]*(?:/[\w.~@:+-]*)+|(?<!\w)--?\w[\w-]*|\w*\d[\w.:%+-]*|\w+_\w+")
_ELLIPSIS = re.compile(r"\s*(?:\u2026|\.{3}|\[\u2026\]|\[\.{3}\])\s*")
# marks that people and models write in several forms
_FORMS = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " ", "\u2011": "-"})


@dataclass(frozen=True, slots=True)
class Verified:
    """A note of a model that may be remembered, once it was judged.

    Attributes:
        proposed: the operation.
        candidate: what it becomes.
        cited: the passages with the quoted words.
        hints: values of the text that no quotation has.
    """

    proposed: Proposed
    candidate: Candidate
    cited: tuple[tuple[Passage, str], ...]
    hints: tuple[str, ...] = ()


@dataclass(slots=True)
class Accepted:
    """What one answer gave.

    Attributes:
        notes: what passed the checks, in the order of the answer.
        dropped: notes of the offline path that the model drops, with the reason.
        left: why each other operation was left out.
    """

    notes: list[Verified] = field(default_factory=list[Verified])
    dropped: list[Candidate] = field(default_factory=list[Candidate])
    left: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class Checks:
    """What operations of one question are held against.

    Attributes:
        numbered: the passages that the model was shown.
        new: numbers of those that it was to read.
        memories: present memories by number.
        notes: candidates of the offline path by number.
        session: where it was found.
        paths: the session's files in reading order.
        redact: takes secrets out of every text once more.
        extractor: name and version of what found it.
    """

    numbered: Mapping[int, Passage]
    new: Collection[int]
    memories: Mapping[str, Memory]
    notes: Mapping[str, Candidate]
    session: SessionRef
    paths: Sequence[Path]
    redact: Redactor
    extractor: str


def accepted(answer: Answer, checks: Checks) -> Accepted:
    """Return what of an answer passes the checks; every operation that does not is counted with its reason.

    Raises:
        MalformedAnswerError: it has no list of operations.
    """
    answered = operations_of(answer, checks.numbered)
    found = Accepted(left=list(answered.left))
    for proposed in answered.kept:
        if proposed.op == "drop":
            notes = [checks.notes[name] for name in proposed.notes if name in checks.notes]
            found.dropped += [dropped(note, proposed.text, checks) for note in notes]
            found.left += [] if notes else ["notes"]
            continue
        note = verified(proposed, checks)
        if isinstance(note, str):
            found.left.append(note)
        elif any(one.candidate.text.casefold() == note.candidate.text.casefold() for one in found.notes):
            found.left.append("same")
        else:
            found.notes.append(note)
    return found


def dropped(note: Candidate, why: str, checks: Checks) -> Candidate:
    """Return the candidate that does nothing but take a note of the offline path out, with the reason."""
    reason = " ".join(checks.redact(why).split())[:160] or "not worth remembering"
    return msgspec.structs.replace(
        note,
        id=candidate_id(checks.session, note.category, f"{DROPS} {note.id}", note.evidence),
        text=reason,
        confidence=0.0,
        extractor=checks.extractor,
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
        proposed = msgspec.structs.replace(proposed, text=known.text, category=known.category)
    text = " ".join(proposed.text.split())
    if not text or len(text) > _LONGEST_TEXT:
        return "shape"
    cited = list(_cited(proposed, checks))
    if not cited:
        return "quote"
    if not any(quote.passage in checks.new for quote in proposed.quotes):
        return "earlier"
    unsafe = _unsafe(text, [words for _, words in cited])
    if unsafe:
        return unsafe
    cited.sort(key=lambda pair: not _is_persons(*pair))
    return Verified(proposed, _candidate(proposed, cited, known, checks), tuple(cited), _hints(text, cited))


def _cited(proposed: Proposed, checks: Checks) -> Iterator[tuple[Passage, str]]:
    """Yield the quotations that stand where they are said to stand, or in exactly one other passage."""
    for quote in proposed.quotes:
        passage = checks.numbered.get(quote.passage)
        if passage is not None and stands_in(quote.words, passage.text):
            yield passage, " ".join(quote.words.split())
            continue
        others = [
            p
            for p in checks.numbered.values()
            if len(quote.words) > _SHORTEST_QUOTE * 3 and stands_in(quote.words, p.text)
        ]
        if len(others) == 1:
            yield others[0], " ".join(quote.words.split())


def stands_in(words: str, text: str) -> bool:
    """Say whether a quotation stands in a text: letter for letter, but for white space, quotation marks and cuts."""
    flat = _flat(text)
    parts = [part for part in _ELLIPSIS.split(_flat(words).strip("\"' ")) if part]
    at = 0
    for part in parts:
        found = flat.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return bool(parts) and (sum(map(len, parts)) >= _SHORTEST_QUOTE or sum(map(len, parts)) * 2 >= len(flat))


def _flat(text: str) -> str:
    return " ".join(text.translate(_FORMS).split()).casefold()


def _is_persons(passage: Passage, words: str) -> bool:
    return bool(passage.own) and stands_in(words, passage.own)


def _unsafe(text: str, quotes: Sequence[str]) -> str:
    """Return why something must not be kept whatever it rests on, if so."""
    if "[secret:" in text:
        return "secret"
    if ERASED in text:
        return "erased"
    return "hostile" if is_hostile(text) or any(map(is_hostile, quotes)) else ""


def _hints(text: str, cited: Sequence[tuple[Passage, str]]) -> tuple[str, ...]:
    """Return the values of a text that none of the cited passages has."""
    said = _flat(" ".join(passage.text for passage, _ in cited))
    values = (value.strip("`.,:;") for value in _EXACT.findall(text.casefold()))
    return tuple(dict.fromkeys(value for value in values if value and value not in said))


def _candidate(
    proposed: Proposed, cited: Sequence[tuple[Passage, str]], known: Memory | None, checks: Checks
) -> Candidate:
    from_person = any(_is_persons(*pair) for pair in cited)
    origin: CandidateOrigin = cited[0][0].origin if from_person else _unsaid(cited)
    doubt = "" if proposed.category not in PERSONAL else _whose(cited)
    text = f"{proposed.text.rstrip('.')}: {proposed.reason}" if _adds(proposed) else proposed.text
    each = [
        candidate_of(
            Note("model", proposed.category, text, UNJUDGED, origin, (passage.item,), words, doubt=doubt),
            checks.session,
            checks.paths,
            checks.redact,
            checks.extractor,
            _LONGEST_TEXT,
        )
        for passage, words in cited
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


def _whose(cited: Sequence[tuple[Passage, str]]) -> str:
    """Return why what quotations rest on may not be a person's own, "" when one of them surely is."""
    own = [(passage, words) for passage, words in cited if _is_persons(passage, words)]
    if not own:
        return "no words of the person show it"
    return "" if any(_is_certain(passage, words) for passage, words in own) else "perhaps somebody else's words"


def _is_certain(passage: Passage, words: str) -> bool:
    """Say whether a person surely speaks for themselves: they chose it, or what stands around it says nothing else."""
    if not isinstance(passage.item, Said):
        return True
    said = words_of(passage.own)
    return stands_in(words, said.text) and not any(stands_in(words, part) for part in said.doubtful)


def _unsaid(cited: Sequence[tuple[Passage, str]]) -> CandidateOrigin:
    return "command_outcome" if any(passage.speaker == "command" for passage, _ in cited) else "assistant"


def _adds(proposed: Proposed) -> bool:
    """Say whether the reason is not in the text already."""
    return bool(proposed.reason) and _flat(proposed.reason)[:40] not in _flat(proposed.text)
