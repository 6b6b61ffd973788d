"""A model's proposals as operations: what passes the rules is done, for everything else the rules decide alone.

A model may say that differently worded entries are one fact, that a newer one takes the place of an older one, that
what nobody said is not worth keeping, and that something contradicts what a person said, which is then put before them.
It can not name an entry that it was not shown, touch what people wrote, merge what differs in a number, write words
that nobody said, or drop what a person said; and never more than the loss cap. What the words of two entries do not
show is :class:`Unseen`: it counts only once the model says it again of the two alone, where no other text can have led
it.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal, cast, get_args

import msgspec

from slowwave.consolidation.decisions import consolidate
from slowwave.consolidation.facts import Doubts
from slowwave.consolidation.likeness import Words, words_of
from slowwave.consolidation.model import AccountingError, Gathered, Operation, State, dispute_of, lost_share, validate
from slowwave.consolidation.replacement import LIGHT
from slowwave.consolidation.slots import claim, claim_of, decision_key, stance_of
from slowwave.extraction.model.quotations import stands_in
from slowwave.hostile import is_hostile
from slowwave.memory import DROPS, RETRACTS, Candidate, Category
from slowwave.memory.book import Memory
from slowwave.memory.index import heads_of
from slowwave.memory.ledger import ARRANGED, BY_JUDGE, BY_MODEL, line_hash
from slowwave.memory.pages import target_of
from slowwave.memory.provenance import ForeignLine
from slowwave.secrets import NAMELESS
from slowwave.settings import ConsolidationSettings

Op = Literal["merge", "supersede", "contradicts", "drop", "keep", "add"]
_OPS = get_args(Op)
# one question is about fewer; more is a model that has lost its way
_MOST = 2_000

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["operations"],
    "properties": {
        "operations": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["op", "entries", "by", "text", "line"],
                "properties": {
                    "op": {"type": "string", "enum": ["merge", "supersede", "contradicts", "drop"]},
                    "entries": {"type": "array", "items": {"type": "integer"}},
                    "by": {"type": "integer"},
                    "text": {"type": "string"},
                    "line": {"type": "string"},
                },
            },
        }
    },
}


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposed operation."""

    # merge (the entries say the same, or belong in one line, best said as ``text``; or ``by`` says all of it),
    # supersede (``by`` takes the place of the entries), contradicts (the entries do not agree with what a person said
    # in ``by``), drop, keep or add
    op: Op
    entries: tuple[int, ...]  # numbers of the entries that it is about
    # of supersede, the number of the newer entry; of contradicts that of the person's; of merge that of the one that
    # says more than the others, if there is one; else 0
    by: int = 0
    # of merge, the words to keep, "" for those of the best entry; of supersede, words of ``by`` that show it
    text: str = ""
    # of supersede, one line that says what ``by`` says and what of a single entry still holds; "" where nothing does
    line: str = ""
    # of merge: why the others go, where one of the entries stays and no text joins them
    says: str = ""

    def apart(self) -> "Iterable[Proposal]":
        """Yield it for each entry alone, where what is proposed of one does not depend on the others."""
        if self.op == "drop" or (self.op == "merge" and self.by):
            stays = self.by if self.op == "merge" and len(self.entries) > 1 else 0
            yield from (replace(self, entries=(n,)) for n in self.entries if n != stays)
        else:
            yield self


@dataclass(frozen=True, slots=True)
class Refusal:
    """A proposal that was not followed, and why; ``number`` counts from 1 in the order of the answer."""

    number: int
    reason: str


def read_proposals(data: Any) -> tuple[list[tuple[int, Proposal]], list[Refusal]]:
    """Return the proposals in a model's answer with their place in it, and what was none."""
    raw = cast("dict[str, Any]", data).get("operations") if isinstance(data, dict) else data
    if not isinstance(raw, list):
        return [], [Refusal(0, "the answer holds no list of operations")]
    found: list[tuple[int, Proposal]] = []
    refused: list[Refusal] = []
    for number, item in enumerate(cast("list[Any]", raw), 1):
        if number > _MOST:
            refused.append(Refusal(number, f"more than {_MOST} operations; the rest was not read"))
            break
        proposal = _proposal(item)
        if isinstance(proposal, str):
            refused.append(Refusal(number, proposal))
        else:
            found += [(number, one) for one in proposal.apart()]
    return found, refused


def _proposal(item: Any) -> Proposal | str:
    if not isinstance(item, dict):
        return "is not an object"
    fields = cast("dict[str, Any]", item)
    op, entries = fields.get("op"), fields.get("entries")
    by, text, line = fields.get("by") or 0, fields.get("text") or "", fields.get("line") or ""
    if not isinstance(op, str) or op.lower() not in _OPS:
        return "names no known operation"
    if not isinstance(entries, list) or not entries or not all(map(_is_number, cast("list[Any]", entries))):
        return "names no entries by number"
    if not _is_number(by) or not isinstance(text, str) or not isinstance(line, str):
        return "by is not a number, or text or line is not a string"
    named = tuple(dict.fromkeys(cast("list[int]", entries)))
    return Proposal(cast("Op", op.lower()), named, by, " ".join(text.split()), " ".join(line.split()))


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# What a model is shown: every memory and every waiting candidate under a number, so that it can invent neither.


@dataclass(frozen=True, slots=True)
class Entry:
    """One numbered entry: a memory that stands, a candidate that waits, or a line of a person's own.

    ``is_new`` is what no dream has dealt with yet: candidates, and lines that agents wrote since the last one.
    """

    number: int
    item: Memory | Candidate | ForeignLine
    is_new: bool = False
    under: str = ""  # of an agent's line, the heading that it stands below

    @property
    def is_memory(self) -> bool:
        """Whether it is a memory."""
        return isinstance(self.item, Memory)

    @property
    def name(self) -> str:
        """The id of the memory or the candidate, "" of a person's line."""
        return "" if isinstance(self.item, ForeignLine) else self.item.id

    @property
    def category(self) -> str:
        """The category, "" of a person's line."""
        return "" if isinstance(self.item, ForeignLine) else self.item.category

    @property
    def confidence(self) -> float:
        """How likely it is worth loading; what a person wrote is."""
        return 1.0 if isinstance(self.item, ForeignLine) else self.item.confidence

    @property
    def place(self) -> ForeignLine:
        """Its line, as one is named that a person is shown."""
        if isinstance(self.item, ForeignLine):
            return self.item
        return ForeignLine(self.item.place if isinstance(self.item, Memory) else "", self.item.text)

    @property
    def is_from_person(self) -> bool:
        """Whether a person said it."""
        if isinstance(self.item, Candidate):
            return self.item.origin.startswith("user_")
        return isinstance(self.item, ForeignLine) or self.item.is_from_person

    @property
    def last_seen(self) -> str:
        """When it was last seen, ISO."""
        if isinstance(self.item, ForeignLine):
            return ""
        return self.item.last_seen if isinstance(self.item, Memory) else self.item.observed_at

    @property
    def line(self) -> str:
        """The entry as it is shown."""
        if isinstance(self.item, ForeignLine):
            return f"{self.number}. [a person's line] {self.item.text}"
        who = ", a person's words" if self.is_from_person else ", an agent's line" if self.stands else ""
        kind = f"{'new' if self.is_new else 'memory'}{who}"
        if isinstance(self.item, Memory) and self.stands:
            kind += f" in {self.item.file}{f' below {self.under!r}' if self.under else ''}"
        return f"{self.number}. [{kind}, {self.category}, {self.last_seen[:10] or 'undated'}] {self.item.text}"

    @property
    def stands(self) -> bool:
        """Whether it is a line that stands where an agent put it."""
        return isinstance(self.item, Memory) and self.item.stands


def entries_of(state: State, gathered: Gathered) -> list[Entry]:
    """Return the entries in an order that does not depend on that of the files.

    What people did to a line is theirs, what is unproven or rejected is refused anyway, and what a tool's line says
    waits for a person, and what only takes something back is for the rules: none of it is shown.
    """
    memories = sorted(
        (m for m in state.standing if not (m.stands and target_of(m.line))), key=lambda m: (m.valid_from, m.id)
    )
    doubts = Doubts(state.from_tools, state.others)
    asked = [c for c in gathered.waiting if c.id not in gathered.unproven and c.key not in (RETRACTS, DROPS)]
    candidates = [c for c in asked if not doubts.reason(c)]
    candidates.sort(key=lambda c: (c.observed_at, c.id))
    theirs = [line for line in state.foreign if state.writers.get(line.key) != "tool" and words_of(line.text).stems]
    theirs.sort(key=lambda line: (line.file, line.text))
    ordered: Sequence[Memory | Candidate | ForeignLine] = [*memories, *candidates, *dict.fromkeys(theirs)]
    new = {event.memory for event in state.adopted} | {c.id for c in candidates}
    below = {name: heads_of(data) for name, data in state.files.items()}
    return [
        Entry(n, i, not isinstance(i, ForeignLine) and i.id in new, below.get(_file(i), {}).get(_hash(i), ""))
        for n, i in enumerate(ordered, 1)
    ]


def _file(item: Memory | Candidate | ForeignLine) -> str:
    return item.file if isinstance(item, Memory) and item.stands else ""


def _hash(item: Memory | Candidate | ForeignLine) -> str:
    return line_hash(item.line.partition("\n")[0].strip()) if isinstance(item, Memory) else ""


# Where agents' lines stand: a line whose heading is about something else goes below one that is about it.

PLACES: Mapping[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["heading", "entries"],
        "properties": {"heading": {"type": "string"}, "entries": {"type": "array", "items": {"type": "integer"}}},
    },
}


def with_places(
    data: object, shown: Sequence[Entry], operations: Sequence[Operation], files: Mapping[str, bytes]
) -> tuple[list[Operation], int]:
    """Return operations in which agents' lines go below the headings that a model gave them, and how many do not.

    A heading is one of the page on which the line stands, word for word; a line that goes is not put anywhere.

    Args:
        data: the model's answer; anything.
        shown: the entries that it was shown.
        operations: what is done with them.
        files: the files of the folder, by name.
    """
    raw = cast("dict[str, Any]", data).get("places") if isinstance(data, dict) else None
    heads = {name: {title.casefold() for title in heads_of(page).values()} for name, page in files.items()}
    entries = {entry.number: entry for entry in shown}
    wanted: dict[str, str] = {}
    left = 0
    for one in cast("list[Any]", raw) if isinstance(raw, list) else []:
        fields = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
        title, numbers = fields.get("heading"), fields.get("entries")
        for number in cast("list[Any]", numbers) if isinstance(numbers, list) and isinstance(title, str) else []:
            entry = entries.get(number) if _is_number(number) else None
            name = _file(entry.item) if entry else ""
            if entry and name and str(title).casefold() in heads.get(name, ()) and entry.name not in wanted:
                wanted[entry.name] = str(title)
            else:
                left += 1
    stands = {entry.name: entry for entry in shown if entry.stands}
    for o in operations:
        old, new = stands.get(o.memory), stands.get(o.successor)
        if o.action == "SUPERSEDE" and old and new and new.name not in wanted and _file(old.item) == _file(new.item):
            # what is newer stands where the older one stood, or was to stand
            title = wanted.get(old.name, old.under)
            wanted |= {new.name: title} if title and title != new.under else {}
    return [_under(o, wanted[o.memory]) if o.memory in wanted else o for o in operations], left


def _under(operation: Operation, title: str) -> Operation:
    if operation.action not in HOLDS or operation.by_person or operation.is_new or operation.successor:
        return operation
    if operation.action == "KEEP" and not operation.spans:
        return msgspec.structs.replace(operation, action="MOVE", reason=ARRANGED, under=title)
    return msgspec.structs.replace(operation, under=title)


def _by(proposal: Proposal) -> tuple[int, ...]:
    """Return the number of the entry that the others make room for, if a proposal names one that counts."""
    return (
        (proposal.by,)
        if proposal.op in ("supersede", "contradicts") or (proposal.op == "merge" and proposal.by)
        else ()
    )


HOLDS = frozenset({"ADD", "MERGE", "UPDATE", "KEEP"})
# in the reason why one of two entries goes
SAME = "says the same"
COVERED = "all of it stands in"
JOINED = "stands in one line with"


@dataclass(frozen=True, slots=True)
class Unseen:
    """What a model said of two entries, and their words alone do not show."""

    op: Literal["merge", "supersede", "cover"]
    one: Entry
    other: Entry  # of supersede, the newer one; of cover, the one that says all that the other one says


@dataclass(frozen=True, slots=True)
class Judged:
    """The operations of a dream that a model helped with."""

    operations: tuple[Operation, ...]
    followed: int  # how many proposals were followed
    refusals: tuple[Refusal, ...]  # the others
    unseen: tuple[Unseen, ...] = ()  # of these two, what would be followed if the model says it of the two alone


def judged(
    data: object,
    state: State,
    gathered: Gathered,
    settings: ConsolidationSettings,
    shown: Collection[int] | None = None,
    confirmed: Collection[Unseen] = (),
) -> Judged:
    """Return valid operations, whatever a model answered.

    Args:
        data: the decoded answer; anything.
        state: what orient found.
        gathered: the candidates.
        settings: thresholds and the loss cap.
        shown: numbers of the entries that it was shown, None for all.
        confirmed: what the model said again of two entries alone.
    """
    numbered, refusals = read_proposals(data)
    entries = {e.number: e for e in entries_of(state, gathered) if shown is None or e.number in shown}
    court = _Court(state, gathered, settings, refusals, entries, confirmed)
    for number, proposal in numbered:
        reason = court.hear(proposal)
        if reason:
            refusals.append(Refusal(number, reason))
        else:
            court.accept(number, proposal)
    operations = court.operations()
    refusals.sort(key=lambda r: r.number)
    return Judged(tuple(operations), court.followed, tuple(refusals), tuple(dict.fromkeys(court.unseen)))


# so many entries at most one statement takes the place of, and so many contradictions are put before a person a night
_MOST_ENDED = 3
_MOST_DISPUTES = 10


@dataclass(slots=True)
class _Court:
    state: State
    gathered: Gathered
    settings: ConsolidationSettings
    refusals: list[Refusal]
    entries: Mapping[int, Entry]
    confirmed: Collection[Unseen] = ()
    unseen: list[Unseen] = field(default_factory=list[Unseen])
    used: set[int] = field(default_factory=set[int])
    accepted: list[tuple[int, Proposal]] = field(default_factory=list[tuple[int, Proposal]])
    disputes: dict[str, Operation] = field(default_factory=dict[str, Operation])
    followed: int = 0

    def hear(self, proposal: Proposal) -> str:  # noqa: C901, PLR0911 - one reason after the other
        """Return why a proposal is not followed, or ""."""
        named = (*proposal.entries, *_by(proposal))
        unknown = [n for n in named if n not in self.entries]
        if unknown:
            return f"there is no entry {unknown[0]}"
        again = [n for n in proposal.entries if n in self.used]
        if again:
            return f"entry {again[0]} is in another operation already"
        entries = [self.entries[n] for n in proposal.entries]
        by = self.entries.get(proposal.by)
        if by and self._is_dispute(proposal):
            return self._not_disputed(entries, by)
        if any(not self.entries[n].name for n in named):
            return "a person's line is not touched"
        if said := self._said_by(proposal.text if proposal.op == "merge" else proposal.line, named):
            return f"entry {said} says that already"
        if proposal.op == "merge" and by:
            return self._not_covered(entries[0], by)
        if proposal.op == "merge":
            return self._not_merged(entries, proposal.text)
        if proposal.op == "supersede" and by:
            ended = sum(len(p.entries) for _, p in self.accepted if p.op == "supersede" and p.by == proposal.by)
            if ended + len(entries) > _MOST_ENDED:
                return f"entry {proposal.by} would end more than {_MOST_ENDED} others"
            reason = _not_superseded(entries, by, proposal.text, by_used=proposal.by in proposal.entries)
            return reason or (self._not_carried(entries, by, proposal.line) if proposal.line else "")
        if proposal.op == "drop":
            return self._not_dropped(entries)
        return ""

    def _said_by(self, text: str, named: Collection[int]) -> int:
        """Return the number of an entry that is not meant and says what a line shall say, 0 where there is none."""
        tokens = words_of(text).tokens
        others = (number for number in self.entries if number not in named)
        return next((n for n in others if text and words_of(self.entries[n].item.text).tokens == tokens), 0)

    def _is_dispute(self, proposal: Proposal) -> bool:
        """Say whether only a person can say what a proposal says: it sets something against words of theirs."""
        if proposal.op == "contradicts":
            return True
        if proposal.op != "supersede":
            return False
        by, olds = self.entries[proposal.by], [self.entries[n] for n in proposal.entries]
        return any(self._asks_about(old, by, proposal.text) for old in olds)

    def _asks_about(self, old: Entry, by: Entry, words: str) -> bool:
        """Say whether it is for a person to say that an entry takes the place of an older one.

        The older one is theirs, and the newer one is not; or both are, and their words do not show it.
        """
        if not old.is_from_person or not old.name:
            return not old.name
        if not by.is_from_person:
            return True
        if is_about_the_same(old.item.text, by.item.text):
            return False
        unseen = Unseen("supersede", old, by)
        if unseen in self.confirmed:
            return False
        if not _not_superseded([old], by, words, by_used=old == by):
            self.unseen.append(unseen)
        return True

    def _not_merged(self, entries: Sequence[Entry], text: str) -> str:
        reason = not_merged(entries, text)
        if _is_one_line(entries, text):
            line = Entry(0, ForeignLine("", text))
            pairs = [Unseen("cover", one, line) for one in entries]
        elif reason.endswith(_UNSEEN):
            best, *rest = sorted(entries, key=_precedence)
            pairs = [Unseen("merge", best, one) for one in rest]
        else:
            return reason
        if all(pair in self.confirmed for pair in pairs):
            return ""
        self.unseen += pairs
        return reason

    def _not_carried(self, entries: Sequence[Entry], by: Entry, line: str) -> str:
        if reason := not_carried(entries, by, line):
            return reason
        pair = Unseen("cover", by, Entry(0, ForeignLine("", line)))
        if pair in self.confirmed:
            return ""
        self.unseen.append(pair)
        return "whether the line says all of it, only its meaning can tell"

    def _not_covered(self, entry: Entry, by: Entry) -> str:
        reason = not_covered(entry, by)
        pair = Unseen("cover", entry, by)
        if not reason.endswith(_UNSEEN) or pair in self.confirmed:
            return reason if not reason.endswith(_UNSEEN) else ""
        self.unseen.append(pair)
        return reason

    def _not_disputed(self, entries: Sequence[Entry], by: Entry) -> str:
        """Return why a contradiction is not put before a person, or "" when it is.

        What nobody said stands against a person's words; of two things that a person said the older one against the
        newer one.
        """
        for one in entries:
            theirs, other = (one, by) if one.is_from_person and not by.is_from_person else (by, one)
            if not theirs.is_from_person:
                return "no words of a person stand against it"
            if theirs.name and other.is_from_person and not theirs.last_seen > other.last_seen:
                return f"entry {theirs.number} is not newer than {other.number}"
            if not other.name:
                return "a person's line is not touched"
            if other.name in self.state.book.rejected:
                return "a person has said that both stand"
            if len(self.disputes) >= _MOST_DISPUTES:
                return f"more than {_MOST_DISPUTES} contradictions in one night"
            line = theirs.place
            reason = f"the model: contradicts what a person said: {line.text[:160]}"
            made = Operation("DISPUTE", "", (), reason, memories=(other.name,), text=line.text, line=line.file)
            if other.name not in self.state.book.disputes:
                self.disputes.setdefault(other.name, made)
        return ""

    def _not_dropped(self, entries: Sequence[Entry]) -> str:
        if any(e.is_from_person for e in entries):
            return "what a person said is not dropped"
        sure = [e for e in entries if not e.is_memory and e.confidence >= self.settings.accept_confidence]
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
        if proposal.op in ("contradicts", "supersede") and self._is_dispute(proposal):
            self.followed += 1
            return
        self.used |= set(proposal.entries)
        entries = [self.entries[n] for n in proposal.entries]
        if proposal.op == "merge" and proposal.by:
            proposal = replace(proposal, says=COVERED)
        elif proposal.op == "merge" and (not_merged(entries, proposal.text) or disagreement(entries)):
            best, *rest = [e.number for e in sorted(entries, key=_precedence)]
            is_one_line = _is_one_line(entries, proposal.text)
            says, text = (JOINED, proposal.text) if is_one_line else (f"{SAME} in other words as", "")
            proposal = replace(proposal, entries=tuple(rest), by=best, says=says, text=text)
        self.accepted.append((number, proposal))

    def operations(self) -> list[Operation]:
        """Return the operations: those of the rules, with what the model added to them."""
        limits = self.settings
        disputes = list(self.disputes.values())
        self.state = replace(self.state, book=self.state.book.after([dispute_of(o) for o in disputes]))
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
        return [*done, *disputes]

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
            if proposal.op == "merge" and not proposal.by:
                items = [i for n in proposal.entries if not isinstance(i := self.entries[n].item, ForeignLine)]
                lead = next((i for i in items if isinstance(i, Memory)), items[0])
                words = {"text": lead.text, "key": lead.key, "value": lead.value}
                said |= {i.id: msgspec.structs.replace(i, **words) for i in items if isinstance(i, Candidate)}
        waiting = tuple(said.get(c.id, c) for c in self.gathered.waiting)
        g = self.gathered
        return Gathered(waiting, g.undone, g.unproven, g.known, g.rejected)


def not_merged(entries: Sequence[Entry], text: str) -> str:
    """Return why entries are not taken for one fact, "" when they are: in words of theirs, or the best as it is."""
    if len(entries) < 2:  # noqa: PLR2004 - one entry is no merge
        return "one entry alone is not merged"
    reason = disagreement(entries)
    if reason.endswith(_FEW) and sum(e.is_from_person for e in entries) <= 1:
        # beside what a person said an agent's words may go
        return ""
    if reason:
        return reason
    if len({e.category for e in entries}) > 1:
        return "the entries are of different kinds"
    if len({e.is_from_person for e in entries}) > 1:
        return "what a person said is not merged with what nobody said"
    return wrong_text(text, entries)


def not_covered(entry: Entry, by: Entry) -> str:
    """Return why an entry stays though another one is said to say all of it, "" when it may go."""
    if entry == by:
        return "an entry does not take its own place"
    if entry.is_from_person and not by.is_from_person:
        return "what a person said is not merged with what nobody said"
    reason = _more(entry, by)
    return f"{entry.number} and {by.number} {reason}" if reason else ""


def _more(one: Entry, by: Entry) -> str:
    """Return in what an entry says more than the one that is to stay."""
    a, b = words_of(one.item.text), words_of(by.item.text)
    if not _numbers(one.item.text) <= _numbers(by.item.text):
        return "differ in a number"
    if reason := _answers_differ(one, by):
        return reason
    if a.negations != b.negations:
        return _NO
    if not a.marks <= b.marks or not _proper(one.item.text) <= _proper(by.item.text):
        return _MORE
    left, right = set(a.stems), set(b.stems)
    return "" if left <= right and not _opposite(left, right, one, by, are_alike=False) else _FEW


def not_united(entries: Sequence[Entry], text: str) -> str:
    """Return why a line may not stand for entries that each say something of their own, "" when it may.

    It is made of what they say, holds each of their numbers and no other one, and is no longer than they are together.
    Whether nothing is lost, only its meaning can tell.
    """
    if any(e.is_from_person or isinstance(e.item, ForeignLine) for e in entries):
        return "words of a person stay as they are"
    if len({e.category for e in entries if not e.stands}) > 1:
        return "the entries are of different kinds"
    given = [e.item.text for e in entries]
    # the day on which something was noted need not be told
    needed = frozenset[str]().union(*(_numbers(_DAY.sub("", one)) for one in given))
    if not needed <= _numbers(text) <= frozenset[str]().union(*map(_numbers, given)):
        return "the text leaves out or adds a number"
    known = {stem for one in given for stem in words_of(one).stems}
    if fresh := [stem for stem in words_of(text).stems if stem not in known]:
        return f"the text has words of its own: {', '.join(fresh[:3])}"
    if len(text) > sum(map(len, given)):
        return "the text is longer than what it stands for"
    return "the text holds a secret, or steers an agent" if NAMELESS(text) != text or is_hostile(text) else ""


def not_carried(entries: Sequence[Entry], by: Entry, line: str) -> str:
    """Return why a line may not say what a newer one says and what of an older one still holds, "" when it may."""
    both = [*entries, by]
    if len(both) > 2 or not all(entry.stands and not entry.is_from_person for entry in both):  # noqa: PLR2004 - a pair
        return "only what an agent says takes on what holds of a single line of an agent"
    given = [entry.item.text for entry in both]
    known = {stem for one in given for stem in words_of(one).stems}
    numbers = _numbers(line)
    is_theirs = numbers <= _numbers(given[0]) | _numbers(given[1]) and known.issuperset(words_of(line).stems)
    if not is_theirs or not _numbers(given[1]) <= numbers or len(line) > sum(map(len, given)):
        return "the line is not made of both"
    return "the text holds a secret, or steers an agent" if NAMELESS(line) != line or is_hostile(line) else ""


def _is_one_line(entries: Sequence[Entry], text: str) -> bool:
    """Say whether a merge is one of entries that each say something of their own, in a line that says it all."""
    return bool(text and not_merged(entries, text)) and not not_united(entries, text)


def _numbers(text: str) -> frozenset[str]:
    """Return every number of a text, whatever stands around it."""
    return frozenset(_NUMBER.findall(text))


# so long is what two words share that have an origin in common, and what two share of a script without spaces
_SHARED_LETTERS, _SHARED_SIGNS = 5, 2
_UNSPACED = "\u2e80"


def is_about_the_same(one: str, other: str) -> bool:
    """Say whether two texts name anything in common: what a model says of them can then be seen by their words."""
    return not _named_in(one).isdisjoint(_named_in(other))


def _named_in(text: str) -> set[str]:
    """Return the words of a text but for those that any sentence has, and the pieces of long ones."""
    stems = set(words_of(text).stems) - LIGHT
    sizes = ((word, _SHARED_SIGNS if word[0] >= _UNSPACED else _SHARED_LETTERS) for word in _WORD.findall(text.lower()))
    return stems | {word[n : n + size] for word, size in sizes for n in range(len(word) - size + 1)} - LIGHT


def _not_superseded(entries: Sequence[Entry], by: Entry, words: str, *, by_used: bool) -> str:
    if by_used:
        return "an entry does not take its own place"
    for old in entries:
        if old.is_from_person and not by.is_from_person:
            return "only a person takes back what a person said"
        if not old.last_seen < by.last_seen:
            return f"entry {by.number} is not newer than {old.number}"
    return "" if stands_in(words, by.item.text) else f"the words that show it do not stand in entry {by.number}"


def _with(done: list[Operation], proposal: Proposal, entries: Mapping[int, Entry]) -> tuple[list[Operation], str]:
    """Return the operations with one proposal in them, or the reason why the rules say otherwise."""
    named = (*proposal.entries, *_by(proposal))
    places = {n: _place(done, entries[n]) for n in named if entries[n].name}
    if proposal.op == "merge" and proposal.by:
        changed, reason = _with_succession(done, proposal, entries, places, f"the model: {proposal.says}")
        return (_said(changed, places[proposal.by], proposal.text) if not reason else changed), reason
    if proposal.op == "merge":
        return _with_merge(done, proposal, entries, places)
    if proposal.op == "supersede":
        changed, reason = _with_succession(done, proposal, entries, places)
        return (_said(changed, places[proposal.by], proposal.line) if not reason else changed), reason
    return _without(done, proposal, places) if proposal.op == "drop" else (done, "")


def _without(done: list[Operation], proposal: Proposal, places: Mapping[int, int]) -> tuple[list[Operation], str]:
    changed = list(done)
    for n in proposal.entries:
        old = changed[places[n]]
        if old.action not in {"KEEP", "WAIT", "UPDATE"} or old.by_person or old.spans or len(old.candidates) > 1:
            return done, f"the rules do otherwise with entry {n}: {old.reason}"
        changed[places[n]] = Operation("DROP", old.memory, old.candidates, "the model: not worth keeping")
    return changed, ""


def _said(done: list[Operation], at: int, text: str) -> list[Operation]:
    """Return the operations with a memory in other words, "" for those that it has."""
    old = done[at]
    if not text:
        return done
    changed = list(done)
    action = "UPDATE" if old.action == "KEEP" and not old.spans else "MERGE" if old.action == "KEEP" else old.action
    reason = "the model: says in one line what others say" if action == "UPDATE" else old.reason
    changed[at] = msgspec.structs.replace(old, action=action, text=text, words="", line="", reason=reason)
    return changed


def _precedence(entry: Entry) -> tuple[bool, bool, bool, str, int]:
    """Sort what a person stands behind first, then slowwave's, then the older one (:mod:`.decisions`)."""
    item = entry.item
    begin = item.valid_from if isinstance(item, Memory) else entry.last_seen
    return not entry.is_from_person, not entry.is_memory, isinstance(item, Memory) and item.stands, begin, entry.number


def _place(done: Sequence[Operation], entry: Entry) -> int:
    """Return which operation an entry is in: each is in exactly one."""
    name = entry.name
    return next(i for i, o in enumerate(done) if (o.memory == name if entry.is_memory else name in o.candidates))


def _with_merge(
    done: list[Operation], proposal: Proposal, entries: Mapping[int, Entry], places: Mapping[int, int]
) -> tuple[list[Operation], str]:
    """Return the operations with entries as one fact; candidates came together before the rules were asked."""
    memories = sorted((n for n in proposal.entries if entries[n].is_memory), key=lambda n: (-entries[n].confidence, n))
    winner = memories[0] if memories else proposal.entries[0]
    at = places[winner]
    apart = [n for n in proposal.entries if n not in memories and places[n] != at]
    if apart or done[at].action not in HOLDS or done[at].by_person:
        other = (apart or [winner])[0]
        return done, f"the rules do otherwise with entry {other}: {done[places[other]].reason}"
    if len(memories) > 1:
        others = Proposal("merge", tuple(memories[1:]), winner)
        done, reason = _with_succession(done, others, entries, places, says=f"{SAME} as")
        if reason:
            return done, reason
    if not proposal.text or done[at].action == "KEEP":
        return done, ""
    changed = list(done)
    changed[at] = msgspec.structs.replace(done[at], text=proposal.text, words="")
    return changed, ""


def _standing(done: list[Operation], at: int, others: Collection[str]) -> list[Operation]:
    """Return the operations with an agent's line kept that the rules ended with one of these, or by likeness."""
    old = done[at]
    is_ended = old.action in ("SUPERSEDE", "MERGE") and (old.successor in others or old.by == BY_JUDGE)
    if not is_ended or old.candidates or old.by_person:
        return done
    changed = list(done)
    changed[at] = Operation("KEEP", old.memory, (), "the model: it says what the other one says")
    return changed


def _with_succession(
    done: list[Operation],
    proposal: Proposal,
    entries: Mapping[int, Entry],
    places: Mapping[int, int],
    says: str = "the model: taken back by",
) -> tuple[list[Operation], str]:
    done = _standing(done, places[proposal.by], {done[places[n]].memory for n in proposal.entries})
    winner, by = done[places[proposal.by]], entries[proposal.by]
    if winner.action not in HOLDS or winner.by_person or winner.successor:
        return done, f"entry {proposal.by} does not hold itself: {winner.reason}"
    changed = list(done)
    for n in proposal.entries:
        old = changed[places[n]]
        if old.successor and old.successor == winner.memory:
            continue  # the rules see it themselves
        is_likely = old.action == "SUPERSEDE" and old.by == BY_JUDGE and not old.candidates
        does_hold = old.action in HOLDS and not old.successor
        if not (is_likely or does_hold) or old.by_person or old.memory == winner.memory:
            return done, f"the rules do otherwise with entry {n}: {old.reason}"
        if any(o.successor == old.memory and o.by != BY_MODEL for o in changed):
            return done, f"entry {n} took the place of another one"
        # what a model let go for it goes for the same line
        changed = [
            msgspec.structs.replace(o, successor=winner.memory) if o.successor == old.memory else o for o in changed
        ]
        item, seen = entries[n].item, entries[n].last_seen
        *before, (begin, _) = old.spans or (item.held if isinstance(item, Memory) else ((seen, ""),))
        until = by.last_seen if proposal.op == "supersede" else max(by.last_seen, seen)
        spans = (*before, (begin, max(begin, until)))
        shown = f' ("{proposal.text[:120]}")' if proposal.op == "supersede" and proposal.text else ""
        reason = f"{says} {by.item.text[:120]}{shown}"
        changed[places[n]] = Operation(
            "SUPERSEDE", old.memory, old.candidates, reason, winner.memory, is_new=old.is_new, spans=spans, by=BY_MODEL
        )
    return changed, ""


# Whether entries may be merged because a model says so: related words, and nothing that matters differs in them.

# words of which one stands in the other's place: the sentence says the contrary, or another thing
_PAIRS = """
    before/after on/off in/out up/down first/last min/max minimum/maximum least/most enabl/disabl allow/forbid
    start/stop open/clos public/private sync/async local/remot always/sometime all/some dev/prod staging/production
    read/writ may/must can/must or/and if/unless from/to old/new left/right above/below add/delet client/server
    input/output
"""
_OPPOSITES = tuple(frozenset(pair.split("/")) for pair in _PAIRS.split())
# words that add nothing to a sentence that says the same without them
_LIGHT = frozenset(
    ("keep", "ensure", "make", "have", "want", "like", "prefer", "need", "stay", "remain", "consistently")
)
_WORD = re.compile(r"[\w./@-]+")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_PROPER = re.compile(r"(?<=\w )[A-Z][\w-]+")
_LEAST_SHARED = 0.5
_FEW = "have too few words in common"
_FORM = "differ in the form of a word"
_MORE = "differ in what one of them names"
_NO = "differ in a no"
# whoever says the same in other words does that; whether it is the same only their meaning tells
_UNSEEN = (_FEW, _FORM, _MORE, _NO)


def disagreement(entries: Sequence[Entry]) -> str:
    """Return why entries are not the same fact, "" when nothing speaks against it.

    What only their meaning can tell comes last.
    """
    unseen = ""
    for one, other in combinations(entries, 2):
        if reason := _differ(one, other):
            told = f"{one.number} and {other.number} {reason}"
            if reason not in _UNSEEN:
                return told
            unseen = unseen or told
    return unseen


def _differ(one: Entry, other: Entry) -> str:  # noqa: C901, PLR0911 - one reason after the other
    a, b = words_of(one.item.text), words_of(other.item.text)
    if a.marks - b.marks and b.marks - a.marks:
        return "differ in a number, path, version or name"
    if a.negations != b.negations and set(a.stems) == set(b.stems):
        return "say the contrary"
    if _counted(a) != _counted(b) and a.marks == b.marks:
        return "count different things"
    if reason := _answers_differ(one, other):
        return reason
    named, others = _proper(one.item.text), _proper(other.item.text)
    if named - others and others - named:
        return "differ in a name"
    left, right = set(a.stems), set(b.stems)
    if left == right and a.tokens != b.tokens:
        return "have the same words in another order"
    if (left < right or right < left) and (left ^ right) - _LIGHT:
        return "are not equally wide: one says more"
    is_few = len(left & right) < _LEAST_SHARED * min(len(left), len(right)) or not left & right
    # in other words forms differ anyway
    reason = _opposite(left - right, right - left, one, other, are_alike=not is_few)
    if reason not in ("", _FORM):
        return reason
    if a.negations != b.negations:
        return _NO
    if a.marks != b.marks or named != others:
        return _MORE
    return reason or (_FEW if is_few else "")


def _answers_differ(one: Entry, other: Entry) -> str:
    """Return how two entries answer one question differently, "" where they do not."""
    if isinstance(one.item, ForeignLine) or isinstance(other.item, ForeignLine):
        return "are not both memories or new"
    mine, theirs = claim(one.item), claim(other.item)
    if (one.item.key and other.item.key and mine != theirs) or (mine[0] == theirs[0] and mine[1] != theirs[1]):
        return "give different answers to one question"
    mine, theirs = decision_key(one.item.text), decision_key(other.item.text)
    if mine[0] and mine[0] == theirs[0] and mine[1] != theirs[1]:
        return "choose different things for one purpose"
    return ""


def _proper(text: str) -> set[str]:
    """Return the words that begin with a capital within the sentence: names of people and things."""
    return {word.casefold() for word in _PROPER.findall(text)}


def _counted(words: Words) -> set[tuple[str, ...]]:
    """Return every number with the word behind it: 2 days are not 2 weeks."""
    return {words.tokens[place : place + 2] for place in words.numbers}


def _opposite(left: set[str], right: set[str], one: Entry, other: Entry, *, are_alike: bool) -> str:
    raw = [set(_WORD.findall(e.item.text.casefold())) for e in (one, other)]
    left, right = left | (raw[0] - raw[1]), right | (raw[1] - raw[0])
    pairs = [(a, b) for a in left for b in right]
    if are_alike and any(a.endswith(b) or b.endswith(a) or a.startswith(b) or b.startswith(a) for a, b in pairs):
        return _FORM
    for pair in _OPPOSITES:
        if left & pair and right & pair and left & pair != right & pair:
            return "differ in a word that turns the meaning round"
    return ""


def wrong_text(text: str, entries: Sequence[Entry]) -> str:  # noqa: PLR0911 - one reason after the other
    """Return why a text may not stand for entries, "" when it may: their words, and nothing else said with them."""
    given = [" ".join(e.item.text.split()) for e in entries]
    if not text or text in given:
        return ""
    known = {word for one in given for word in _WORD.findall(one.casefold())}
    fresh = [word for word in _WORD.findall(text.casefold()) if word not in known]
    if fresh:
        return f"the text has words of its own: {', '.join(fresh[:3])}"
    if len(text) > max(map(len, given)) + min(map(len, given)):
        return "the text is longer than what it stands for"
    words, first = words_of(text), words_of(given[0])
    if words.marks != first.marks or words.negations != first.negations:
        return "the text leaves out or adds a number, name or no"
    claims = [claim_of(one, cast("Category", entries[0].category)) for one in (*given, text)]
    stances = [stance_of(one) for one in (*given, text)]
    for group in (claims, stances):
        if any(one[0] == group[-1][0] and one[1] != group[-1][1] for one in group):
            return "the text gives another answer than its entries"
    if not any(_keeps_order(words.tokens, words_of(one).tokens) for one in given):
        return "the text turns the words of its entries round"
    return ""


def _keeps_order(tokens: Sequence[str], source: Sequence[str]) -> bool:
    """Say whether the tokens that both have stand in the same order, and most are of the source."""
    shared = [t for t in tokens if t in set(source)]
    rest = iter(source)
    return len(shared) * 2 >= len(tokens) and all(token in rest for token in shared)
