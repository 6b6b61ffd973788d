"""Why candidates are refused before anything is made of them: what people took out, rejected or wrote themselves."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from slowwave.consolidation.facts import SAME_BYTES, Fact, Held, Identity, Moment, identity, shared_words, taken_back
from slowwave.consolidation.likeness import NO, Meaning, is_like, meaning_of, words_of
from slowwave.consolidation.model import Gathered, State
from slowwave.extraction.phrases import not_any_more
from slowwave.memory import RETRACTS, Candidate
from slowwave.memory.book import Memory
from slowwave.memory.ledger import Writer
from slowwave.memory.provenance import ForeignLine
from slowwave.memory.search import share_of

REMOVED = "a person removed this memory"
REWORDED = "a person has put it in their own words"
REJECTED = "a person rejected it"
REJECTED_LIKE = "a person rejected it in other words"


class _Refused:
    """Statements that a person does not want, whatever words and session they come back in."""

    def __init__(self, items: Iterable[Memory | Candidate]) -> None:
        self._identities: set[Identity] = set()
        self._texts: dict[frozenset[str], list[str]] = {}
        self._bytes: dict[str, list[str]] = {}
        for item in items:
            self._identities |= {identity(item), ("means", *meaning_of(item.text))}
            self._texts.setdefault(words_of(item.text).marks, []).append(item.text)
            for piece in item.evidence:
                self._bytes.setdefault(piece.sha256, []).append(item.text)

    def has(self, candidate: Candidate) -> bool:
        """Say whether it was refused in just these terms."""
        mine = {identity(candidate), ("means", *meaning_of(candidate.text))}
        return not mine.isdisjoint(self._identities)

    def has_like(self, candidate: Candidate) -> bool:
        """Say whether a rewording of it was refused."""
        return any(is_like(text, candidate.text) for text in self._texts.get(words_of(candidate.text).marks, ()))

    def has_bytes(self, candidate: Candidate) -> bool:
        """Say whether another extractor's reading of the same words in the same record was refused."""
        texts = (text for piece in candidate.evidence for text in self._bytes.get(piece.sha256, ()))
        return any(shared_words(text, candidate.text) > SAME_BYTES for text in texts)


@dataclass(frozen=True, slots=True)
class Refusals:
    """Everything that keeps candidates out."""

    unproven: dict[str, str]
    removed: _Refused
    reworded: _Refused
    rejected: _Refused
    foreign: dict[Meaning, tuple[ForeignLine, Writer]]

    @classmethod
    def of(cls, state: State, gathered: Gathered) -> "Refusals":
        """Return what a memory folder refuses."""
        past: Sequence[Memory] = list(state.book.memories.values())
        return cls(
            unproven=dict(gathered.unproven),
            removed=_Refused([*(m for m in past if m.status == "removed-by-person"), *state.removed]),
            reworded=_Refused([*(m for m in past if m.status == "edited-by-person"), *(m for m, _ in state.edited)]),
            rejected=_Refused(gathered.rejected),
            # a line that came from a tool says nothing, so it keeps nothing out either
            foreign={
                meaning_of(line.text): (line, writer)
                for line in reversed(state.foreign)
                if (writer := state.writers.get(line.key, "person")) != "tool"
            },
        )

    def reason(self, candidate: Candidate) -> str:
        """Return why a candidate is refused, or ""."""
        if candidate.id in self.unproven:
            return self.unproven[candidate.id]
        if self.removed.has(candidate) or self.removed.has_like(candidate) or self.removed.has_bytes(candidate):
            return REMOVED
        if self.reworded.has(candidate):
            return REWORDED
        if self.rejected.has(candidate):
            return REJECTED
        if self.rejected.has_like(candidate) or self.rejected.has_bytes(candidate):
            return REJECTED_LIKE
        line, writer = self.foreign.get(meaning_of(candidate.text), (None, ""))
        return f"{'an' if writer == 'agent' else 'a'} {writer} wrote it in {line.file} already" if line else ""


# What a person took back, and which fact that ended.
#
# A rule that is taken back is named loosely, often days later. It ends the one fact that held then and fits best; where
# several fit equally well nobody can tell which was meant, and a person is asked. It is a memory itself, so that what
# it ended shows why, but it has no line in any file: "forget the rule about tabs" says nothing to an agent.

# what a line of a command does that did not work, in the words of the extraction
_FAILS = re.compile(r"^`(?P<fails>[^`]+)` fails \(.*\); `(?P<works>[^`]+)` works$", re.DOTALL)
# confidence of what a person accepted; nothing that was extracted has it
ACCEPTED = 1.0
# of a long name this much has to be in the fact; of a short one all
_ENOUGH = 0.6
_LONG_NAME = 3


@dataclass(frozen=True, slots=True)
class Meant:
    """What a retraction is about."""

    fit: tuple[str, ...]  # the facts, by their ids, that it may mean
    ends: tuple[str, ...]  # those that it ends
    is_plain: bool = False  # nobody has to be asked which it means


def is_retraction(fact: Fact) -> bool:
    """Say whether a fact does nothing but take another one back."""
    return fact.lead.key == RETRACTS


def retired(fact: Fact) -> frozenset[str]:
    """Return the ids of the memories that a model said are over; what people take back, they name in words."""
    return frozenset(one.id for c in (*fact.known, *fact.candidates) for one in c.replaces if one.how == "retire")


def may_end(candidate: Candidate, fact: Fact, older: Fact) -> bool:
    """Say whether what a candidate replaces is over: what a person said only a person ends, by words or by accepting.

    Args:
        candidate: what says so.
        fact: the fact that it states.
        older: what it replaces; once it was ended by this fact, it stays so.
    """
    is_persons = candidate.confidence == ACCEPTED or (candidate.origin.startswith("user_") and not candidate.doubt)
    was_ended = older.memory is not None and older.memory.successor == fact.id
    return is_persons or was_ended or not older.is_from_person


def meant(retraction: Fact, facts: Iterable[Fact], held: Mapping[str, Held]) -> Meant:
    """Return which facts a retraction may mean: those that fit best of all that held at its time.

    What a person said comes before what commands showed. What it ended before, it goes on meaning, whatever older
    session is found later; a person who accepts it from the inbox means all of it.
    """
    others = [f for f in facts if not f.is_ghost and _holds_before(held[f.id], retraction.moments)]
    fit: list[str] = []
    for candidates in ([f for f in others if f.is_from_person], [f for f in others if not f.is_from_person]):
        shares = {f.id: _share_of_name(retraction.lead.value, f) for f in candidates}
        best = max(shares.values(), default=0.0)
        fit = fit or [fact for fact, share in shares.items() if best and share == best]
    if len(fit) > 1 and retraction.memory:
        ended_before = {f.id for f in others if f.memory and f.memory.successor == retraction.memory.id}
        return Meant(tuple(fit), tuple(f for f in fit if f in ended_before))
    is_sure = any(c.confidence == ACCEPTED for c in retraction.candidates)
    return Meant(tuple(fit), tuple(fit) if len(fit) == 1 or is_sure else (), is_plain=len(fit) == 1 or is_sure)


def ended(facts: Sequence[Fact], held: Mapping[str, Held]) -> dict[str, Held]:
    """Return when each fact that was taken back in words that name it held; one retraction after the other."""
    now = dict(held)
    plain = [f for f in facts if not is_retraction(f)]
    by_id = {f.id: f for f in plain}
    against: dict[str, list[Moment]] = {}
    failing = _failing(plain)
    for fact in sorted(facts, key=lambda f: min(f.moments)):
        if retired(fact):
            continue  # it names what it ends by its id
        ends = meant(fact, plain, now).ends if is_retraction(fact) else _passing(fact, plain, now)
        shown = _disproved(fact, failing)
        for one in (*ends, *shown):
            against.setdefault(one, []).extend(m for m in fact.moments if m.by_person or one in shown)
            now[one] = taken_back(held[one], by_id[one].moments, against[one])
    return {fact: now[fact] for fact in against}


def _failing(facts: Iterable[Fact]) -> dict[str, list[str]]:
    """Return which facts, seen of commands alone, say of a line that it fails where another one works."""
    found: dict[str, list[str]] = {}
    for fact in facts:
        if (said := _FAILS.match(fact.lead.text)) and not fact.is_from_person:
            found.setdefault(said["fails"], []).append(fact.id)
    return found


def _disproved(fact: Fact, failing: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Return the facts that say of a line that it fails, which a command shows here to work.

    That it is what people run proves nothing: it may have been run with what it needs.
    """
    said = _FAILS.match(fact.lead.text)
    return tuple(failing.get(said["works"], ())) if said else ()


def _passing(fact: Fact, facts: Iterable[Fact], held: Mapping[str, Held]) -> tuple[str, ...]:
    """Return what "we don't ... any more" ends: the only one that asks for all it names and says no to nothing."""
    thing = not_any_more(fact.lead.text) if fact.is_from_person else ""
    if not thing:
        return ()
    older = [f for f in facts if f is not fact and not f.is_ghost and _holds_before(held[f.id], fact.moments)]
    fit = tuple(f.id for f in older if share_of(thing, _asked_for(f.lead.text)) == 1)
    return fit if len(fit) == 1 else ()


def _asked_for(text: str) -> str:
    """Return the words of a rule before it says no: "use yarn" of "use yarn, not npm"."""
    return " ".join(takewhile(lambda token: token != NO, words_of(text).tokens))


def _share_of_name(name: str, fact: Fact) -> float:
    share = max(share_of(name, said.text) for said in (fact.lead, *fact.known, *fact.candidates))
    least = _ENOUGH if len(name.split()) >= _LONG_NAME else 1.0
    return share if share >= least else 0.0


def _holds_before(held: Held, moments: Iterable[Moment]) -> bool:
    return any(begin < m.at and (not end or m.at <= end) for begin, end in held.spans for m in moments if m.by_person)
