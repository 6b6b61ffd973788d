"""A model's proposals as operations: what passes the rules is done, for everything else the rules decide alone.

A model may say that differently worded entries are one fact, that a newer one takes the place of an older one, and that
what nobody said is not worth keeping. It can not forget an entry, touch what people wrote, merge across a number, a
path, a version or a no, write words that nobody said, or drop what a person said; and never more than the loss cap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from slowwave.consolidation.accounting import AccountingError, lost_share, validate
from slowwave.consolidation.agreement import disagreement, wrong_text
from slowwave.consolidation.decide import consolidate
from slowwave.consolidation.entries import Entry, entries_of
from slowwave.consolidation.model import Gathered, Operation, State
from slowwave.consolidation.proposed import Proposal, Refusal, read_proposals
from slowwave.memory.book import Memory
from slowwave.memory.model import Candidate
from slowwave.settings import ConsolidationSettings

HOLDS = frozenset({"ADD", "MERGE", "KEEP"})


@dataclass(frozen=True, slots=True)
class Judged:
    """The operations of a dream that a model helped with, how many proposals were followed, and the others."""

    operations: tuple[Operation, ...]
    followed: int
    refusals: tuple[Refusal, ...]


def judged(data: object, state: State, gathered: Gathered, settings: ConsolidationSettings) -> Judged:
    """Return valid operations, whatever a model answered.

    Args:
        data: the decoded answer; anything.
        state: what orient found.
        gathered: the candidates.
        settings: thresholds and the loss cap.
    """
    numbered, refusals = read_proposals(data)
    court = _Court(state, gathered, settings, refusals)
    for number, proposal in numbered:
        reason = court.hear(proposal)
        if reason:
            refusals.append(Refusal(number, reason))
        else:
            court.accept(number, proposal)
    operations = court.operations()
    return Judged(tuple(operations), court.followed, tuple(sorted(refusals, key=lambda r: r.number)))


@dataclass(slots=True)
class _Court:
    state: State
    gathered: Gathered
    settings: ConsolidationSettings
    refusals: list[Refusal]
    entries: Mapping[int, Entry] = field(init=False)
    used: set[int] = field(default_factory=set[int])
    accepted: list[tuple[int, Proposal]] = field(default_factory=list[tuple[int, Proposal]])
    followed: int = 0

    def __post_init__(self) -> None:
        self.entries = {entry.number: entry for entry in entries_of(self.state, self.gathered)}

    def hear(self, proposal: Proposal) -> str:
        """Return why a proposal is not followed, or ""."""
        named = (*proposal.entries, *((proposal.by,) if proposal.op == "supersede" else ()))
        unknown = [n for n in named if n not in self.entries]
        if unknown:
            return f"there is no entry {unknown[0]}"
        again = [n for n in proposal.entries if n in self.used]
        if again:
            return f"entry {again[0]} is in another operation already"
        entries = [self.entries[n] for n in proposal.entries]
        if proposal.op == "merge":
            return _not_merged(entries, proposal.text)
        if proposal.op == "supersede":
            return _not_superseded(entries, self.entries[proposal.by], by_used=proposal.by in proposal.entries)
        if proposal.op == "drop":
            return self._not_dropped(entries)
        return ""

    def _not_dropped(self, entries: Sequence[Entry]) -> str:
        if any(e.is_from_person for e in entries):
            return "what a person said is not dropped"
        sure = [e for e in entries if not e.is_memory and e.item.confidence >= self.settings.accept_confidence]
        if sure:
            return f"entry {sure[0].number} is certain enough to be kept"
        memories = sum(e.is_memory for e in entries) + sum(
            self.entries[n].is_memory for _, p in self.accepted if p.op == "drop" for n in p.entries
        )
        if memories > self.settings.max_loss * len(self.state.standing):
            return f"more than {self.settings.max_loss:.0%} of the memories would be lost"
        return ""

    def accept(self, number: int, proposal: Proposal) -> None:
        """Note a proposal that is followed."""
        self.used |= set(proposal.entries)
        self.accepted.append((number, proposal))

    def operations(self) -> list[Operation]:
        """Return the operations: those of the rules, with what the model added to them."""
        limits = self.settings
        done = consolidate(
            self.state,
            self._merged_candidates(),
            accept_confidence=limits.accept_confidence,
            max_loss=limits.max_loss,
        )
        for number, proposal in self.accepted:
            changed, reason = _with(done, proposal, self.entries)
            if not reason and (reason := self._unsound(changed)):
                changed = done
            if reason:
                self.refusals.append(Refusal(number, reason))
            else:
                self.followed += 1
            done = changed
        return done

    def _unsound(self, operations: Sequence[Operation]) -> str:
        try:
            validate(operations, self.state, self.gathered)
        except AccountingError as error:
            return f"the plan would not add up: {error}"
        lost = lost_share(operations, self.state)[1]
        return "" if lost <= self.settings.max_loss else "too many memories would be lost"

    def _merged_candidates(self) -> Gathered:
        """Return the candidates as if those that a model merged had been said in the same words."""
        said: dict[str, Candidate] = {}
        for _, proposal in self.accepted:
            if proposal.op == "merge":
                items = [self.entries[n].item for n in proposal.entries]
                lead = next((i for i in items if isinstance(i, Memory)), items[0])
                words = {"text": lead.text, "key": lead.key, "value": lead.value}
                said |= {i.id: msgspec.structs.replace(i, **words) for i in items if isinstance(i, Candidate)}
        waiting = tuple(said.get(c.id, c) for c in self.gathered.waiting)
        g = self.gathered
        return Gathered(waiting, g.undone, g.unproven, g.known, g.rejected)


def _not_merged(entries: Sequence[Entry], text: str) -> str:
    if len(entries) < 2:  # noqa: PLR2004 - one entry is no merge
        return "one entry alone is not merged"
    if len({e.item.category for e in entries}) > 1:
        return "the entries are of different kinds"
    if len({e.is_from_person for e in entries}) > 1:
        return "what a person said is not merged with what nobody said"
    return disagreement(entries) or wrong_text(text, entries)


def _not_superseded(entries: Sequence[Entry], by: Entry, *, by_used: bool) -> str:
    if by_used:
        return "an entry does not take its own place"
    for old in entries:
        if old.is_from_person and not by.is_from_person:
            return "only a person takes back what a person said"
        if old.item.category != by.item.category:
            return "the entries are of different kinds"
        if not old.last_seen < by.last_seen:
            return f"entry {by.number} is not newer than {old.number}"
    return ""


def _with(done: list[Operation], proposal: Proposal, entries: Mapping[int, Entry]) -> tuple[list[Operation], str]:
    """Return the operations with one proposal in them, or the reason why the rules say otherwise."""
    places = {
        n: _place(done, entries[n]) for n in (*proposal.entries, *((proposal.by,) if proposal.by in entries else ()))
    }
    if proposal.op == "merge":
        return _with_merge(done, proposal, entries, places)
    if proposal.op == "supersede":
        return _with_succession(done, proposal, entries, places)
    if proposal.op == "drop":
        changed = list(done)
        for n in proposal.entries:
            old = changed[places[n]]
            if old.action not in {"KEEP", "WAIT"} or old.by_person or old.spans or len(old.candidates) > 1:
                return done, f"the rules do otherwise with entry {n}: {old.reason}"
            changed[places[n]] = Operation("DROP", old.memory, old.candidates, "the model: not worth keeping")
        return changed, ""
    return done, ""


def _place(done: Sequence[Operation], entry: Entry) -> int:
    """Return which operation an entry is in: each is in exactly one."""
    name = entry.item.id
    return next(i for i, o in enumerate(done) if (o.memory == name if entry.is_memory else name in o.candidates))


def _with_merge(
    done: list[Operation], proposal: Proposal, entries: Mapping[int, Entry], places: Mapping[int, int]
) -> tuple[list[Operation], str]:
    """Return the operations with entries as one fact; candidates came together before the rules were asked."""
    memories = sorted(
        (n for n in proposal.entries if entries[n].is_memory), key=lambda n: (-entries[n].item.confidence, n)
    )
    winner = memories[0] if memories else proposal.entries[0]
    at = places[winner]
    apart = [n for n in proposal.entries if n not in memories and places[n] != at]
    if apart or done[at].action not in HOLDS or done[at].by_person:
        other = (apart or [winner])[0]
        return done, f"the rules do otherwise with entry {other}: {done[places[other]].reason}"
    if len(memories) > 1:
        others = Proposal("supersede", tuple(memories[1:]), winner)
        done, reason = _with_succession(done, others, entries, places, says="says the same as")
        if reason:
            return done, reason
    if not proposal.text or done[at].action == "KEEP":
        return done, ""
    changed = list(done)
    changed[at] = msgspec.structs.replace(done[at], text=proposal.text, words="")
    return changed, ""


def _with_succession(
    done: list[Operation],
    proposal: Proposal,
    entries: Mapping[int, Entry],
    places: Mapping[int, int],
    says: str = "the model: taken back by",
) -> tuple[list[Operation], str]:
    winner, by = done[places[proposal.by]], entries[proposal.by]
    if winner.action not in HOLDS or winner.by_person or winner.successor:
        return done, f"entry {proposal.by} does not hold itself: {winner.reason}"
    changed = list(done)
    for n in proposal.entries:
        old = changed[places[n]]
        if old.action not in HOLDS or old.by_person or old.successor or old.memory == winner.memory:
            return done, f"the rules do otherwise with entry {n}: {old.reason}"
        if any(o.successor == old.memory for o in changed):
            return done, f"entry {n} took the place of another one"
        item = entries[n].item
        *before, (begin, _) = old.spans or (item.held if isinstance(item, Memory) else ((item.observed_at, ""),))
        spans = (*before, (begin, max(begin, by.last_seen)))
        reason = f"{says} {by.item.text[:120]}"
        changed[places[n]] = Operation(
            "SUPERSEDE", old.memory, old.candidates, reason, winner.memory, is_new=old.is_new, spans=spans
        )
    return changed, ""
