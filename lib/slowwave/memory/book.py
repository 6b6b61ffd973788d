"""What the ledger adds up to: every memory with its present status, and what became of every candidate."""

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, TypeVar

from slowwave.memory import BY_PERSON, RETRACTS, Candidate, Category, Evidence
from slowwave.memory.dates import reports
from slowwave.memory.effects import Effect, Watched, effects_of, read_effects
from slowwave.memory.folder import INDEX, LOG, PAGE, POINTER, TOPICS, fact_line
from slowwave.memory.ledger import (
    BY_JUDGE,
    FULL,
    REVIEW,
    Event,
    IndexEntry,
    Sighting,
    Writer,
    line_hash,
    read_ledger,
    undone_in,
)

T = TypeVar("T")
Deed = tuple[str, str, str, str]

Status = Literal[
    "active", "superseded", "dropped", "edited-by-person", "removed-by-person", "merged", "rewritten"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Memory:
    """A fact that consolidation accepted."""

    id: str  # 12 characters, a function of the candidate that founded it
    category: Category
    text: str
    confidence: float
    key: str
    value: str
    file: str
    line: str  # the line as it stands in ``file``, without line end; its hash is ``sha256``
    sha256: str
    valid_from: str  # when it was first seen; ``valid_to`` is set when it stopped being true
    candidates: tuple[str, ...]
    sightings: tuple[Sighting, ...]  # the sessions that showed it; they make up its confidence
    evidence: tuple[Evidence, ...]
    status: Status = "active"
    valid_to: str = ""
    successor: str = ""  # the memory that took its place, or ""
    # when it held, oldest interval first; empty for one interval from ``valid_from`` to ``valid_to``
    spans: tuple[tuple[str, str], ...] = ()
    writer: Writer = "slowwave"  # who wrote its line
    section: str = ""  # where it belongs among our headings, "" where its category tells
    stands: bool = False  # whether the line stands where its writer put it, and not among slowwave's own
    indexed: bool = False  # whether slowwave has it in the index; ``file`` is then where it would stand if it were not
    ended_by: str = ""  # who saw that its successor took its place, where it was not the rules: "model", "judge"

    @property
    def place(self) -> str:
        """The file in which its line stands."""
        return INDEX if self.indexed else self.file

    @property
    def held(self) -> tuple[tuple[str, str], ...]:
        """When it held: begin and end of each interval, oldest first; "" stands for unknown and for not over."""
        return self.spans or ((self.valid_from, self.valid_to),)

    def held_at(self, at: str) -> bool:
        """Say whether it held at a time: begin <= time < end of one of its intervals."""
        return any(begin <= at and (not end or at < end) for begin, end in self.held)

    @property
    def last_seen(self) -> str:
        """When it was last seen, or ""."""
        return max((s.observed_at for s in self.sightings), default="")

    @property
    def is_from_person(self) -> bool:
        """Whether a person stands behind it."""
        return any(s.origin.startswith("user_") for s in self.sightings)

    @property
    def is_retraction(self) -> bool:
        """Whether it only says that something else is taken back: it explains an end, and has no line in any file."""
        return self.key == RETRACTS


@dataclass(frozen=True, slots=True)
class Phrase:
    """A line that a model wrote for memories, as long as they hold and say what they said then."""

    text: str
    memories: tuple[str, ...]


@dataclass(slots=True)
class Book:
    """The state that a ledger adds up to."""

    # all memories by id, also those that are no longer active, oldest first
    memories: dict[str, Memory] = field(default_factory=dict[str, Memory])
    # what became of each candidate that was dealt with, by its id
    done: dict[str, str] = field(default_factory=dict[str, str])
    # candidates that a person rejected: what says the same is not taken either
    rejected: set[str] = field(default_factory=set[str])
    # candidates of undone dreams with that dream's id: they are not taken again
    undone: dict[str, str] = field(default_factory=dict[str, str])
    # those of them that a person had accepted in review and took back: they wait again, as before
    asked: set[str] = field(default_factory=set[str])
    # what a person rejected, by the rejection's id
    refusals: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    dreams: list[str] = field(default_factory=list[str])  # committed dreams that stand, oldest first
    undone_dreams: list[str] = field(default_factory=list[str])  # dreams that a person undid
    index: tuple[IndexEntry, ...] = ()  # the lines of the index as last rendered
    heads: tuple[IndexEntry, ...] = ()  # the headings on our pages, likewise
    # by page, the sections that the index gave to it: by the key of its heading those of its lines that are no entries
    sections: dict[str, dict[str, frozenset[str]]] = field(default_factory=dict[str, dict[str, frozenset[str]]])
    # the keys of headings that a person took back from a dream which had moved or dropped them: they stay
    kept_heads: set[str] = field(default_factory=set[str])
    unindexed: set[str] = field(default_factory=set[str])  # what a person took out of the index
    # by memory file, the sessions in which an agent read it
    uses: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    # lines of agents that a person took back from a dream: no other order is brought into them
    left: set[str] = field(default_factory=set[str])
    # what such a dream did with them, as :func:`deed` names it: it is not done again
    refused: set[Deed] = field(default_factory=set[Deed])
    undone_at: str = ""  # when a person last took a dream back, ISO
    since: set[str] = field(default_factory=set[str])  # memories that came into being after that
    # whether a dream has judged all lines of agents beside each other (`consolidation/replacement.py`)
    judged: bool = False
    # by memory, the line that says it together with others
    phrases: dict[str, Phrase] = field(default_factory=dict[str, Phrase])
    # what sessions made of what was delivered to them; no part of the ledger
    watched: list[Watched] = field(default_factory=list[Watched])
    # by memory or candidate, file and text of a person's words that a model found it to contradict
    disputes: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    @property
    def active(self) -> list[Memory]:
        """The memories that hold, oldest first, without what only takes others back."""
        return [m for m in self.memories.values() if m.status == "active" and not m.is_retraction]

    @property
    def own(self) -> list[Memory]:
        """The memories that hold and that slowwave wrote or a person stands behind: an agent's notes stay its own."""
        return [m for m in self.active if m.writer == "slowwave" or m.is_from_person]

    def waits(self, candidate: Candidate) -> bool:
        """Say whether no dream has dealt with a candidate, or a person took their word on it back."""
        if candidate.id in self.done:
            return False
        # a rewording was written for the decision that was taken back, and goes with it
        is_asked = candidate.id in self.asked and candidate.extractor != BY_PERSON
        return is_asked or candidate.id not in self.undone

    def after(self, events: Sequence[Event]) -> "Book":
        """Return the book with more events applied, leaving this one as it is."""
        if not events:
            return self
        found = copy(self)
        for f in fields(self):
            setattr(found, f.name, copy(getattr(self, f.name)))
        found.uses = {file: set(sessions) for file, sessions in self.uses.items()}
        for event in events:
            found.apply(event)
        return found

    def line_of(self, memory: Memory) -> str:
        """Return the line in which a memory stands among slowwave's own: its own, or one that says others as well.

        A decision says since when it holds; of several the latest.
        """
        phrase = self.phrases.get(memory.id)
        if not phrase:
            return own_line(memory)
        since = max(self.memories[one].valid_from for one in phrase.memories)
        return fact_line(memory.category, phrase.text, since)

    def page_lines(self, name: str) -> list[str]:
        """Return the hashes of the lines of slowwave's own that may stand on a page."""
        own = [m for m in self.active if m.file == name and not m.stands]
        said = [line_hash(self.line_of(m)) for m in own if m.id in self.phrases]
        heads = [entry.sha256 for entry in self.heads if page_of_heading(entry.ref) == name]
        return list(dict.fromkeys((*(m.sha256 for m in own), *said, *heads)))

    def moved_lines(self, file: str) -> frozenset[str]:
        """Return the keys of what stands on a page, besides entries, since the index gave sections to it."""
        return frozenset[str]().union(*self.sections.get(file, {}).values())

    def _give(self, event: Event) -> None:
        """Note a section that a page was given; a pointer leads there, whatever was before."""
        heading, *rest = (entry.sha256 for entry in event.entries if not entry.ref)
        given = dict(self.sections.get(event.file, {}))
        given[heading] = given.get(heading, frozenset()) | {heading, *rest}
        self.sections = self.sections | {event.file: given}
        self.unindexed.discard(PAGE + event.file)

    def _phrase(self, phrase: Phrase) -> None:
        for name in phrase.memories:
            self._unphrase(name)
        self.phrases |= dict.fromkeys(phrase.memories, phrase)

    def _unphrase(self, memory: str) -> None:
        phrase = self.phrases.get(memory)
        for name in phrase.memories if phrase else ():
            del self.phrases[name]

    def _show(self, entries: tuple[IndexEntry, ...]) -> None:
        """Note which memories the index has now, and which headings our pages have."""
        self.heads = tuple(entry for entry in entries if page_of_heading(entry.ref))
        entries = tuple(entry for entry in entries if not page_of_heading(entry.ref))
        before, now = ({entry.ref for entry in of} for of in (self.index, entries))
        for name in before ^ now:
            if name in self.memories:
                self.memories[name] = replace(self.memories[name], indexed=name in now)
        self.index = entries

    def apply(self, event: Event) -> None:  # noqa: C901 - one kind of event after the other
        """Add one event that stands."""
        outcome = f"{event.event} {event.memory}".strip() + (f": {event.reason}" if event.reason else "")
        self.done.update(dict.fromkeys(event.candidates, outcome))
        if event.event == "reject":
            self.rejected.update(event.candidates)
            self.refusals[event.dream] = event.candidates
        elif event.event == "dream":
            self.dreams.append(event.dream)
            self.judged |= event.by == BY_JUDGE
        elif event.event == "unindexed-by-person":
            self.unindexed.add(event.memory)
        elif event.event == "use":
            self.uses.setdefault(event.file, set()).update(event.sessions)
        elif event.event == "index":
            self._show(event.entries)
        elif event.event == "section":
            if event.file:
                self._give(event)
        elif event.event == "dispute":
            self.disputes[event.memory] = event.file, event.text
        elif event.event == "phrase":
            self._phrase(Phrase(event.text, event.memories))
        elif event.memory:
            before = self.memories.get(event.memory)
            self.memories[event.memory] = now = _changed(self.memories, event)
            if before and (now.status != "active" or now.text != before.text):
                self._unphrase(now.id)
            if event.event == "join" and event.successor:
                self.memories[event.successor] = _joined(self.memories[event.successor], self.memories[event.memory])


def replay(events: Iterable[Event]) -> Book:
    """Return what these events add up to; events of undone dreams count for nothing but their candidates."""
    every = list(events)
    book = Book()
    gone = undone_in(every)
    undos = {event.dream for event in every if event.undone}
    book.undone_dreams = [e.dream for e in every if e.event == "dream" and e.dream in gone]
    reviewed = {e.dream for e in every if e.event == "dream" and e.dream in gone and e.run == REVIEW}
    for event in every:
        if event.dream in gone and event.event == "reject":
            continue  # as if nobody had rejected it
        if event.dream in gone:
            book.asked.difference_update(event.candidates)
            if event.dream in reviewed:
                book.asked.update(event.candidates)
            book.undone.update(dict.fromkeys(event.candidates, event.dream))
            # nor is what was taken back judged anew
            book.judged |= event.by == BY_JUDGE
            pointers = {entry.ref for entry in event.entries if entry.ref.startswith((PAGE, POINTER))}
            # our own topic files need their pointers all the same
            book.unindexed |= {PAGE + ref.removeprefix(PAGE).removeprefix(POINTER) for ref in pointers}
        else:
            if not undos.issuperset(event.undone):
                book.undone_at, book.since = event.at, set()
            elif event.event in ("add", "adopt"):
                book.since.add(event.memory)
            book.apply(event)
    book.kept_heads = {e.entries[0].sha256 for e in every if e.event == "section" and e.dream in gone}
    book.left, book.refused = _taken_back([event for event in every if event.dream in gone])
    # what was dealt with by a dream that stands is not "undone" any more
    for candidate in book.done:
        book.undone.pop(candidate, None)
    return book


# what changes or moves a line
_DEEDS = ("join", "supersede", "update", "drop", "move")


def _taken_back(undone: Sequence[Event]) -> tuple[set[str], set[Deed]]:
    """Return the lines of agents that undone dreams took up, and what they did with them."""
    left = {event.memory for event in undone if event.event == "adopt"}
    done = (event for event in undone if event.memory in left and event.event in _DEEDS)
    return left, {deed(e.event, e.memory, e.successor, e.reason if e.event == "move" else e.text) for e in done}


def deed(event: str, line: str, by: str = "", told: str = "") -> Deed:
    """Return what tells one thing that is done with a line of an agent from another.

    ``event``: its kind in the ledger. ``line``: the id of the line. ``by``: the id of the memory in favour of which it
    goes. ``told``: what it says from then on, or why it moves.
    """
    if event == "move":
        told = FULL if told.startswith(FULL) else ""
    return event, line, by, told if event in ("update", "move") else ""


def read_book(memory: Path) -> Book:
    """Return the state of a memory folder.

    Raises CorruptStateError: the ledger is damaged; UnreadableError: a file of it cannot be opened.
    """
    book = replay(read_ledger(memory))
    book.watched, _ = read_effects(memory)
    return book


def own_line(memory: Memory) -> str:
    """Return the line in which slowwave writes a memory."""
    is_dated = memory.section == DECISIONS or is_of_a_task(memory)
    return fact_line(memory.category, memory.text, memory.valid_from, is_dated=is_dated)


def page_of(memory: Memory) -> str:
    """Return the page on which slowwave writes a memory that has no place in the index."""
    return LOG.file if is_of_a_task(memory) else TOPICS[memory.category].file


# headings of our own, as the index event names them: in the index by their section alone
SECTION = "section:"
DECISIONS = "decisions"
WORKING = "working"


def heading_on(page: str, section: str) -> str:
    """Return by what the ledger knows the heading of a section on a page."""
    return f"{SECTION}{page}/{section}"


def page_of_heading(ref: str) -> str:
    """Return the page that a heading stands on, "" for those of the index and for everything else."""
    page, _, section = ref.removeprefix(SECTION).rpartition("/")
    return page if ref.startswith(SECTION) and section else ""


_CLOSED_BY: dict[str, Status] = {
    "drop": "dropped",
    "edited-by-person": "edited-by-person",
    "removed-by-person": "removed-by-person",
    "rewritten": "rewritten",
    "join": "merged",
}


def _changed(memories: Mapping[str, Memory], event: Event) -> Memory:
    """Return the memory that an event is about, as it is after the event."""
    if event.event in ("add", "adopt"):
        return _new(event)
    memory = memories[event.memory]
    if event.event in _CLOSED_BY:
        closed = _closed(memory, event.valid_to or event.at, _CLOSED_BY[event.event])
        return replace(closed, successor=event.successor or closed.successor)
    memory = _merged(memory, event)
    if event.event == "supersede":
        memory = replace(memory, status="superseded", valid_to=event.valid_to, successor=event.successor)
        memory = replace(memory, ended_by=event.by)
    if event.spans:
        begin, end = event.spans[-1]
        memory = replace(memory, spans=event.spans, valid_from=begin, valid_to=end)
        if not end:
            memory = replace(memory, status="active", successor="", ended_by="")
    return memory


def _closed(memory: Memory, at: str, status: Status) -> Memory:
    """Return a memory whose last interval ended."""
    *before, (begin, end) = memory.held
    end = end or at
    return replace(memory, status=status, valid_to=end, spans=(*before, (begin, end)) if memory.spans else ())


def _new(event: Event) -> Memory:
    assert event.category
    return Memory(
        id=event.memory,
        category=event.category,
        text=event.text,
        confidence=event.confidence,
        key=event.key,
        value=event.value,
        file=event.file,
        line=event.line,
        sha256=event.sha256,
        valid_from=event.valid_from,
        candidates=event.candidates,
        sightings=event.sightings,
        evidence=event.evidence,
        spans=event.spans,
        writer=event.writer,
        section=event.section,
        stands=event.event == "adopt",
    )


def _joined(memory: Memory, same: Memory) -> Memory:
    """Return a memory with what showed another one that says the same."""
    return replace(
        memory,
        sightings=unique((*memory.sightings, *same.sightings)),
        evidence=unique((*memory.evidence, *same.evidence)),
    )


def _merged(memory: Memory, event: Event) -> Memory:
    if event.line:
        assert event.category
        memory = replace(
            memory,
            category=event.category,
            text=event.text,
            key=event.key,
            value=event.value,
            file=event.file,
            line=event.line,
            sha256=event.sha256,
            stands=memory.stands and (event.stands or (event.file == memory.file and event.event != "move")),
        )
    return replace(
        memory,
        confidence=event.confidence or memory.confidence,
        valid_from=event.valid_from or memory.valid_from,
        candidates=unique((*memory.candidates, *event.candidates)),
        sightings=unique((*memory.sightings, *event.sightings)),
        evidence=unique((*memory.evidence, *event.evidence)),
    )


def unique(items: Sequence[T]) -> tuple[T, ...]:
    """Return the items without repetitions, in their order."""
    return tuple(dict.fromkeys(items))


# How much a memory counts today: it fades when no session shows it any more, and is doubted when one contradicts it.
#
# Time is the project's own: it passes by what its sessions show, not by the calendar. A project that rests for a year
# forgets nothing, and a night without anything new changes no rank. What counts:
#
# - shown again: every session that shows a fact makes it surer, on another day more than on the same
#   (:mod:`slowwave.consolidation.facts`), and fresh again;
# - not shown: from the last sighting on it fades by the half-life of its category;
# - denied in vain: sessions that showed another answer afterwards, but could not take its place, because a person
# stands
#   behind it and they only saw commands;
# - used: sessions in which an agent read the file that it stands in;
# - broken: sessions that did not keep it although it was delivered to them: it is to stand higher.
#
# What was shown in one session only, and never used, is forgotten: after two half-lives it leaves the index for its
# page, after four the page as well. An agent's note that is half as likely worth loading as they usually are counts as
# one half-life older: what tells of one task leaves the index at once when it is done, or else after days, and its page
# after months. What had no occasion in many sessions in a row, for a good part of its half-life, leaves the index, too.
# The ledger knows it for good, and whoever says it again brings it back.

DENIED = 0.85
_MOST_DENIALS = 4
# each doubling of the sessions that used it counts this much, for at most this many of them
USED = 0.05
# half-lives after which what was said once and never used leaves the index, and its page
AWAY = 2.0
FORGOTTEN = 4.0
# how sure an agent's note is that nobody confirmed and that sounds like a fact, and the half-lives for which even one
# that tells of one task stays: tomorrow's session may go on with it
NOTED = 0.6
_FRESH = 0.03
# no note is so poor that it would leave its page before the better part of a half-life is over
_LEAST_NOTED = 0.06
_MOST_USES = 16
# each doubling of the sessions that broke it counts this much, for at most this many of them: the first one lifts a
# memory above others of its worth (:data:`slowwave.memory.index.MARGIN`)
BROKEN = 0.15
_MOST_BROKEN = 8
# so many sessions in a row without an occasion, and so many half-lives since anything showed it
NEEDLESS_SESSIONS = 40
# what a model does not mention is less sure than what commands show: it takes twice as many
DOUBTED = 0.5
NEEDLESS_LIVES = 0.5


@dataclass(frozen=True, slots=True)
class Standing:
    """What the worth of a memory depends on besides itself."""

    now: str = ""  # the time of the latest sighting of anything in the project, ISO
    # how long it takes to lose half of the confidence, by category; a category without one never fades
    half_life: Mapping[Category, timedelta] = field(default_factory=dict[Category, timedelta])
    # by memory, the sessions that showed another answer afterwards
    denials: Mapping[str, int] = field(default_factory=dict[str, int])
    # by memory, the sessions in which its file was read
    uses: Mapping[str, int] = field(default_factory=dict[str, int])
    effects: Mapping[str, Effect] = field(default_factory=dict[str, Effect])  # by memory, what sessions made of it

    def confidence(self, memory: Memory) -> float:
        """Return how certain it is that a memory still holds."""
        faded = memory.confidence * self._freshness(memory)
        return round(faded * DENIED ** min(self.denials.get(memory.id, 0), _MOST_DENIALS), 4)

    def worth(self, memory: Memory) -> float:
        """Return how much a memory counts for its place in the index."""
        uses = min(self.uses.get(memory.id, 0), _MOST_USES)
        effect = self.effects.get(memory.id)
        # a model's word lifts nothing that no person said
        cases = [case for case in effect.broken if memory.is_from_person or not case.by] if effect else []
        broken = min(len(cases), _MOST_BROKEN)
        return self.confidence(memory) * (1 + USED * math.log2(1 + uses) + BROKEN * math.log2(1 + broken))

    def is_needless(self, memory: Memory) -> bool:
        """Say whether a memory had no occasion for so long that it has to make room for others."""
        effect = self.effects.get(memory.id)
        idle = effect.idle - effect.idle_by_model * DOUBTED if effect else 0
        return idle >= NEEDLESS_SESSIONS and self._lives(memory) >= NEEDLESS_LIVES

    def idle(self, memory: Memory) -> float:
        """Return for how many half-lives nobody has shown or used a memory that one session showed; else 0.0.

        Of a note that is less likely worth loading than agents' notes are, more have passed.
        """
        if len({(s.dialect, s.session) for s in memory.sightings}) != 1 or not self.half_life.get(memory.category):
            return 0.0
        lives = self._lives(memory)
        # that the page was read says nothing about each of the notes on it
        unused = 0.0 if self.uses.get(memory.id) else lives
        is_past = lives >= _FRESH or not memory.last_seen or reports(memory.text)
        return unused + behind(memory) if is_past else unused

    def _freshness(self, memory: Memory) -> float:
        return 0.5 ** self._lives(memory)

    def _lives(self, memory: Memory) -> float:
        """Return how many half-lives passed since a memory was last seen."""
        life = self.half_life.get(memory.category)
        last, now = _parsed(memory.last_seen), _parsed(self.now)
        if not life or last is None or now is None or now <= last:
            return 0.0
        return (now - last) / life


def behind(memory: Memory) -> float:
    """Return how many half-lives an agent's note is behind what agents usually note, by how likely it is worth it."""
    if memory.writer != "agent" or memory.is_from_person:
        return 0.0
    return math.log2(NOTED / min(NOTED, max(memory.confidence, _LEAST_NOTED)))


def is_of_a_task(memory: Memory) -> bool:
    """Say whether an agent noted something that only its task of that day had a use for."""
    return behind(memory) >= AWAY


def standing_of(book: Book, half_life: Mapping[Category, timedelta]) -> Standing:
    """Return what the worth of a book's memories depends on."""
    every = book.memories.values()
    denials: dict[str, set[str]] = {}
    for memory in every:
        winner = book.memories.get(memory.successor) if memory.status == "superseded" else None
        if winner and winner.is_from_person and not memory.is_from_person:
            late = {f"{s.dialect} {s.session}" for s in memory.sightings if s.observed_at > winner.last_seen}
            denials.setdefault(winner.id, set()).update(late)
    return Standing(
        now=max((m.last_seen for m in every), default=""),
        half_life=half_life,
        denials={name: len(sessions) for name, sessions in denials.items() if sessions},
        uses=_uses(book.uses, every),
        effects=effects_of(every, book.watched) if book.watched else {},
    )


def _uses(uses: Mapping[str, Iterable[str]], memories: Iterable[Memory]) -> dict[str, int]:
    numbers = {file: len(set(sessions)) for file, sessions in uses.items()}
    return {m.id: numbers[m.file] for m in memories if m.status == "active" and numbers.get(m.file)}


def _parsed(at: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
