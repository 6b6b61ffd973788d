"""Consolidate: what to do with every memory and every candidate, as operations with reasons. A pure function.

It works on everything that was ever accepted, not only on what holds now: what a night adds changes the past as well,
when it comes from a session that is older than what is known. So a hundred nights and one night end in the same
memories, intervals and index, as long as the same candidates came in.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

import msgspec

from slowwave.consolidation.facts import PERSONAL, Doubts, Fact, Grouping, Held, Identity, identity, independent
from slowwave.consolidation.likeness import meaning_of, words_of
from slowwave.consolidation.model import Gathered, Operation, State
from slowwave.consolidation.refusals import Refusals, is_retraction, may_end, meant, retired
from slowwave.consolidation.replacement import Contrary, without_needless
from slowwave.consolidation.rivals import held_when, holder_after
from slowwave.memory import DROPS, OF_VOICE, RETRACTS, Candidate
from slowwave.memory.book import Memory
from slowwave.memory.candidates import USUAL_LOSS
from slowwave.memory.dates import dated
from slowwave.memory.pages import in_one_line, parts_of, target_of, without_stale
from slowwave.quantities import in_hundred


def consolidate(
    state: State, gathered: Gathered, *, accept_confidence: float, max_loss: float = USUAL_LOSS
) -> list[Operation]:
    """Return the operations of a dream: every active memory and every waiting candidate in exactly one of them.

    Args:
        state: what orient found.
        gathered: the candidates; their order does not matter.
        accept_confidence: facts below it wait for more evidence.
        max_loss: the share of the memories that a model may end in one night.
    """
    tidy = tidied(state)
    grouping, doubted = Grouping(_remembered(state, tidy.left), gathered.known), Grouping((), {})
    sieve = _Sieve(state, gathered, accept_confidence, max_loss)
    operations = _by_people(state) + tidy.operations + sieve.operations()
    contrary, disputed = Contrary.of_people(state), dict[str, str]()
    for candidate in sieve.left:
        known = grouping.fact_of(candidate)
        # what is remembered already was decided on
        if not (known and known.memory) and (reason := contrary.reason(candidate)):
            disputed[candidate.id] = reason
        (doubted if sieve.unsure(candidate) or candidate.id in disputed else grouping).take(candidate)
    accepted: list[Fact] = []
    for fact in grouping.facts:
        refused = _not_accepted(fact, accept_confidence)
        if refused:
            operations.append(refused)
        else:
            accepted.append(fact)
    made = tidy.worded(resolved(accepted, is_new=bool(state.adopted)))
    made = without_needless(made, accepted, state, max_loss)
    holding = {o.memory for o in made if o.action in ("ADD", "MERGE", "UPDATE", "KEEP")}
    for fact in doubted.facts:
        # a rule that is taken back again may have been stated anew between
        known = None if is_retraction(fact) else grouping.fact_of(fact.candidates[0])
        ids = tuple(c.id for c in fact.candidates)
        if known and known.id in holding:
            operations.append(Operation("DROP", "", ids, f"{known.id} says so already, and a doubt adds nothing"))
        else:
            first = fact.candidates[0]
            # what is too unsure by itself would wait, whoever's words it is
            weak = "" if first.id in disputed or first.doubt not in OF_VOICE else _too_weak(fact, accept_confidence)
            operations.append(Operation("WAIT", "", ids, weak or sieve.unsure(first) or disputed[first.id]))
    return operations + made


class _Sieve:
    """Which candidates are left to make facts of, and what becomes of the others."""

    def __init__(self, state: State, gathered: Gathered, accept_confidence: float, max_loss: float) -> None:
        self._accept = accept_confidence
        self._refusals = Refusals.of(state, gathered)
        self._doubts = Doubts(state.from_tools, state.others)
        self._too_many = too_many_ended(state, gathered, max_loss)
        self._taken = taken_out(gathered, self._is_sure)
        beside = {c.id for dropping in self._taken.asked.values() for c in dropping}
        ordered = sorted(gathered.waiting, key=lambda c: (c.observed_at, c.id))
        self._single = [c for c in ordered if c.id not in beside]

    def unsure(self, candidate: Candidate) -> str:
        """Return why only a person can say whether a candidate is so, or ""."""
        return self._doubts.reason(candidate) or self._too_many.get(candidate.id, "")

    def _is_sure(self, candidate: Candidate) -> bool:
        is_said = candidate.category not in PERSONAL or candidate.origin.startswith("user_")
        is_certain = is_said and candidate.confidence >= self._accept
        return is_certain and not self.unsure(candidate) and not self._refusals.reason(candidate)

    def _refused(self, candidate: Candidate) -> str:
        return self._taken.refused.get(candidate.id) or self._refusals.reason(candidate)

    @property
    def left(self) -> list[Candidate]:
        """The candidates that make facts, oldest first."""
        return [c for c in self._single if c.id not in self._taken.asked and not self._refused(c)]

    def operations(self) -> list[Operation]:
        """Return what is done with all others."""
        made: list[Operation] = []
        for candidate in self._single:
            dropping = self._taken.asked.get(candidate.id, ())
            if dropping:
                ids = (candidate.id, *(c.id for c in dropping))
                made.append(Operation("WAIT", "", ids, f"the model would drop it: {dropping[0].text}"))
            elif reason := self._refused(candidate):
                made.append(Operation("DROP", "", (candidate.id,), reason))
        return made


def _remembered(state: State, standing: Sequence[Memory]) -> list[Memory]:
    """Return every memory: those that hold first, then the history that says what was true before."""
    ghosts = ("edited-by-person", "removed-by-person")
    past = list(state.book.memories.values())
    taken = [replace(m, status=ghosts[0]) for m, _ in state.edited] + [
        replace(m, status=ghosts[1]) for m in state.removed
    ]
    return [
        *standing,
        # the latest of those that say the same is the one that would hold again
        *(m for m in reversed(past) if m.status == "superseded"),
        *(m for m in past if m.status in ghosts),
        *(m for m in past if m.status == "active" and m.is_retraction),
        *taken,
    ]


def _by_people(state: State) -> list[Operation]:
    """Take note of what people did to our lines."""
    edited = [
        Operation("KEEP", m.id, (), f"a person reworded it and owns it now: {wording[:120]}", by_person=True)
        for m, wording in state.edited
    ]
    removed = [Operation("DROP", m.id, (), "a person removed its line", by_person=True) for m in state.removed]
    anew = [
        Operation("SUPERSEDE", m.id, (), "an agent wrote its line anew", successor=new, by_person=True)
        for m, new in state.rewritten
    ]
    return edited + removed + anew


def _not_accepted(fact: Fact, accept_confidence: float) -> Operation | None:
    if fact.memory:
        return None
    ids = tuple(c.id for c in fact.candidates)
    if fact.category in PERSONAL and not fact.is_from_person:
        return Operation("DROP", "", ids, f"only what a person typed can make a {fact.category}")
    weak = _too_weak(fact, accept_confidence)
    return Operation("WAIT", "", ids, weak) if weak else None


def _too_weak(fact: Fact, accept_confidence: float) -> str:
    """Return why a fact waits that is too unsure, or ""."""
    if fact.confidence >= accept_confidence:
        return ""
    return f"confidence {fact.confidence:.2f} is below {accept_confidence:g}: waits for more evidence"


# What becomes of every accepted fact: added, merged, kept, superseded, or holding again.


def resolved(facts: Sequence[Fact], *, is_new: bool = False) -> list[Operation]:
    """Let the newest of contradicting facts win, at every time that is known of; all others are added, merged or kept.

    Without anything new nothing is decided anew: not even by rules that are newer than a memory.

    Args:
        facts: memories and candidates.
        is_new: there is something new among the memories, too.
    """
    if not is_new and not any(fact.candidates for fact in facts):
        return [_kept(f) for f in facts if f.memory and f.memory.status == "active" and not is_retraction(f)]
    held = held_when(facts)
    holding = {fact.id: fact for fact in facts}
    operations: list[Operation] = []
    for fact in facts:
        if fact.is_ghost:
            continue
        if is_retraction(fact):
            operations += _retracts(fact, facts, held)
            continue
        winner = holding.get(holder_after(fact.id, held))
        if winner is None or winner is fact:
            operation = _holds(fact, held[fact.id])
        else:
            operation = _superseded(fact, winner, held[fact.id])
        if operation:
            operations.append(operation)
    return operations


def _retracts(fact: Fact, facts: Sequence[Fact], held: Mapping[str, Held]) -> list[Operation]:
    """Note what takes something back, where it is plain what; else it waits for a person or for what it means."""
    ids = tuple(c.id for c in fact.candidates)
    if not ids:
        return []
    texts = {other.id: other.lead.text for other in facts}
    if retired(fact) and not fact.memory:
        return [_retires(fact, facts, held)]
    found = meant(fact, [f for f in facts if not is_retraction(f)], held)
    what = "; ".join(sorted(texts[i][:120] for i in found.fit))
    if fact.memory:
        return [Operation("MERGE", fact.id, ids, "said again")]
    if found.is_plain:
        return [Operation("ADD", fact.id, ids, f"takes back: {what}", is_new=True, spans=held[fact.id].spans)]
    if not found.fit:
        return [Operation("WAIT", "", ids, "takes back nothing that is known")]
    return [Operation("WAIT", "", ids, f"may take back any of {len(found.fit)}: {what}")]


def _retires(fact: Fact, facts: Sequence[Fact], held: Mapping[str, Held]) -> Operation:
    """Note what a model found to be over, where that did end it."""
    ids = tuple(c.id for c in fact.candidates)
    over = [other.lead.text for other in facts if held[other.id].ended_by == fact.id]
    if over:
        return Operation("ADD", fact.id, ids, f"over: {'; '.join(over)[:240]}", is_new=True, spans=held[fact.id].spans)
    named = [other for other in facts if other.memory and other.memory.id in retired(fact)]
    holding = [other for other in named if not held[other.id].spans[-1][1]]
    if any(not may_end(c, fact, other) for other in holding for c in fact.candidates):
        return Operation("WAIT", "", ids, "only a person ends what a person said")
    return Operation("DROP", "", ids, "what it would end does not hold any more, or was said again since")


def _holds(fact: Fact, held: Held) -> Operation:
    ids = tuple(c.id for c in fact.candidates)
    sessions = _count(len(independent(fact.sightings)), "session")
    if not fact.memory:
        reason = f"from {sessions}; {in_hundred(fact.confidence)} are worth keeping"
        return Operation("ADD", fact.id, ids, reason, is_new=True, spans=held.spans)
    spans = held.spans if held.spans != fact.spans_before else ()
    if fact.memory.status == "superseded":
        reason = f"holds again since {held.spans[-1][0][:10]}, from {sessions}"
        return Operation("MERGE", fact.id, ids, reason, spans=held.spans, words=_words(fact))
    if ids:
        reason = f"from {sessions} now; {in_hundred(fact.confidence)} are worth keeping"
        return Operation("MERGE", fact.id, ids, reason, spans=spans, words=_words(fact))
    return _kept(fact, held) if spans else _kept(fact)


def _kept(fact: Fact, held: Held | None = None) -> Operation:
    if held is None:
        return Operation("KEEP", fact.id, (), "nothing new about it")
    return Operation("KEEP", fact.id, (), f"holds, but not always: {told(held)}", spans=held.spans)


def _superseded(fact: Fact, winner: Fact, held: Held) -> Operation | None:
    ids = tuple(c.id for c in fact.candidates)
    known = fact.memory is not None and fact.memory.status == "superseded"
    if known and not ids and held.spans == fact.spans_before:
        return None
    if winner.is_from_person and not fact.is_from_person:
        reason = f"a person said otherwise: {winner.lead.text[:120]}"
    elif winner.last_seen < fact.last_seen:
        reason = f"says no more than: {winner.lead.text[:120]}"
    else:
        when = winner.last_seen[:10] or "later"
        reason = f"newer ({when}): {winner.lead.text[:120]}"
    if known:
        reason = f"held {told(held)}; {reason}" if held.spans else reason
    return Operation(
        "SUPERSEDE", fact.id, ids, reason, winner.id, is_new=fact.memory is None, spans=held.spans, words=_words(fact)
    )


def told(held: Held) -> str:
    """Return intervals in words."""
    return ", ".join(f"{begin[:10] or 'ever'} to {end[:10] or 'now'}" for begin, end in held.spans)


def _words(fact: Fact) -> str:
    """Return the candidate that gives the memory better words than it has, "" when there is none."""
    lead, memory = fact.lead, fact.memory
    # an agent's line keeps its words where it stands
    if memory is None or lead is memory or memory.stands:
        return ""
    mine = (" ".join(lead.text.split()), lead.category, lead.key, lead.value)
    return lead.id if mine != (memory.text, memory.category, memory.key, memory.value) else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


# What a model takes out of a night: notes that it drops or says better, and memories that it finds to be over.
#
# What a person said and the rules are sure of is not lost on a model's word: it waits for a person. Nor may a model end
# more of what is remembered in one night than a dream may lose.


@dataclass(frozen=True, slots=True)
class TakenOut:
    """What becomes of notes that wait."""

    # why a note is refused, and candidates that do nothing else, by their ids
    refused: dict[str, str] = field(default_factory=dict[str, str])
    # notes of a person that a model would drop, with the candidates that say so: they wait together
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


# What is done with the lines that agents wrote beside what is done with every fact: joined, dated, removed.
#
# A line that says the same as another one goes, and what showed it counts for the other. Of two, the one stays that a
# person stands behind, then slowwave's own, then the older one.


@dataclass(slots=True)
class Tidied:
    """What is done with lines of agents."""

    # for those that need not be compared with anything that is new
    operations: list[Operation] = field(default_factory=list[Operation])
    left: list[Memory] = field(default_factory=list[Memory])  # the memories that stand, without those
    # by id, what a line shall say instead, with its date behind every word for a day, without pointers that lead
    # nowhere
    words: dict[str, str] = field(default_factory=dict[str, str])
    stale: dict[str, str] = field(default_factory=dict[str, str])  # by id, the page that such a pointer led to
    # by id, what stands there instead, where it is several lines
    lines: dict[str, str] = field(default_factory=dict[str, str])

    def worded(self, operations: Sequence[Operation]) -> list[Operation]:
        """Return operations in which lines that stay get their dates."""
        return [self._worded(o) if o.memory in self.words else o for o in operations]

    def _worded(self, operation: Operation) -> Operation:
        text, line = self.words[operation.memory], self.lines.get(operation.memory, "")
        if operation.action == "KEEP" and not operation.spans:
            stale = self.stale.get(operation.memory)
            why = f"pointed to {stale}, which is not there" if stale else "words for days were given their dates"
            return Operation("UPDATE", operation.memory, (), why, text=text, line=line)
        if operation.action in ("KEEP", "MERGE") and not operation.text:
            return msgspec.structs.replace(operation, action="MERGE", text=text, line=line)
        return operation


def tidied(state: State) -> Tidied:
    """Return what is done with the lines that stand where agents put them."""
    found = Tidied()
    same = _Same(state)
    new = {event.memory for event in state.adopted}
    for memory in sorted(state.standing, key=lambda m: _precedence(m, is_new=m.id in new)):
        target = target_of(memory.line) if memory.stands else ""
        said = _brought_up(memory, state)
        if target:
            found.operations.append(_pointer(memory, target, state))
        elif not said.text:
            found.operations.append(_pointer(memory, said.stale, state))
        elif joined := same.joined(memory):
            found.operations.append(joined)
        else:
            found.left.append(memory)
            if said.stale:
                found.stale[memory.id] = said.stale
            if said.text != memory.text:
                found.words[memory.id] = said.text
                found.lines[memory.id] = said.line
    ranks = {memory.id: number for number, memory in enumerate(state.standing)}
    found.left.sort(key=lambda m: ranks[m.id])
    with_more = {m.id: m for m in found.left}
    for o in found.operations:
        if o.action == "MERGE" and o.successor:
            one, other = with_more[o.successor], state.book.memories[o.memory]
            with_more[o.successor] = replace(one, sightings=(*one.sightings, *other.sightings))
    found.left = [with_more[m.id] for m in found.left]
    return found


class _Said(NamedTuple):
    """What a line shall say: its words on one line, all of its lines where they are several, a page that is gone."""

    text: str
    line: str = ""
    stale: str = ""


def _brought_up(memory: Memory, state: State) -> _Said:
    """Return what an agent's line says with the dates of its days, and without pointers that lead nowhere."""
    if not memory.stands:
        return _Said(memory.text)
    at = _written(memory)
    if "\n" in memory.line:
        line = "\n".join(mark + dated(words, at, is_note=True) for mark, words in parts_of(memory.line))
        return _Said(in_one_line(line), line)
    text, stale = without_stale(memory.text, state.files)
    return _Said(dated(text, at, is_note=True), stale=stale)


def _precedence(memory: Memory, *, is_new: bool) -> tuple[bool, bool, str, bool, str]:
    return not memory.is_from_person, memory.stands, memory.valid_from, is_new, memory.id


def _pointer(memory: Memory, target: str, state: State) -> Operation:
    if target in state.files:
        return Operation("KEEP", memory.id, (), f"points to {target}")
    return Operation("DROP", memory.id, (), f"points to {target}, which is not there")


def _written(memory: Memory) -> datetime | None:
    try:
        return datetime.fromisoformat(memory.valid_from)
    except ValueError:
        return None  # nobody knows when it was written


class _Same:
    """The lines that were seen, by what they say."""

    def __init__(self, state: State) -> None:
        self._files = state.files
        self._by_people = {
            meaning_of(line.text): line.file
            for line in reversed(state.foreign)
            if state.writers.get(line.key) != "tool"
        }
        self._seen: dict[Identity, Memory] = {}

    def joined(self, memory: Memory) -> Operation | None:
        """Return that a memory goes since another line says the same; else note what it says."""
        meaning: Identity = ("means", *meaning_of(memory.text))
        if memory.stands and (file := self._by_people.get(meaning[1:])):
            return Operation("MERGE", memory.id, (), f"a person's line in {file} says the same")
        mine: Mapping[Identity, None] = dict.fromkeys((identity(memory), meaning))
        same = next((self._seen[one] for one in mine if one in self._seen), None)
        if same and memory.stands:
            where = "" if same.place == memory.place else f" in {same.place}"
            return Operation("MERGE", memory.id, (), f"says the same as {same.text[:120]}{where}", successor=same.id)
        for one in mine:
            self._seen.setdefault(one, memory)
        return None
