"""What the phases of a dream hand to each other: what is there, what is done with it, and what that amounts to."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from slowwave.memory import Candidate
from slowwave.memory.book import Book, Memory
from slowwave.memory.ledger import VERSION, Event, IndexEntry, Writer
from slowwave.memory.pages import target_of
from slowwave.memory.provenance import ForeignLine
from slowwave.memory.team import OtherLine

Action = Literal["ADD", "MERGE", "UPDATE", "MOVE", "SUPERSEDE", "KEEP", "DROP", "WAIT", "PHRASE", "DISPUTE"]


class Operation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a dream does with one memory, the candidates that go with it, and why."""

    # ADD makes a memory of its candidates; MERGE adds candidates to a memory, or with ``successor`` a memory to another
    # one (without one to a person's line); UPDATE puts ``text`` in the place of an agent's words; MOVE takes an agent's
    # line out of a full index into a topic file; SUPERSEDE ends a memory in favour of ``successor`` (with candidates:
    # they say the same as what is superseded; ``is_new`` when the memory exists only as history); KEEP leaves a memory;
    # DROP ends a memory or refuses candidates; WAIT leaves candidates until there is more evidence; PHRASE puts
    # ``text`` in the place of the lines of ``memories``; DISPUTE puts before a person that a memory or candidate
    # contradicts their words ``text``
    action: Action
    memory: str  # id of the memory, "" for refused and waiting candidates
    candidates: tuple[str, ...]  # ids of the candidates that it takes up
    reason: str  # why, for a person
    successor: str = ""  # id of the memory that takes its place
    is_new: bool = False  # the memory did not exist before this dream
    by_person: bool = False  # a person did it in the file; the dream only takes note
    # when the fact held, oldest first, as far as this dream changes that; the last end is "" while it holds
    spans: tuple[tuple[str, str], ...] = ()
    words: str = ""  # id of the candidate whose words the memory gets from now on, "" to keep those that it has
    text: str = ""  # words that are in no candidate, put together by a model from the words of the candidates, or ""
    memories: tuple[str, ...] = ()  # ids of the memories that a line of a model's rests on
    line: str = ""  # the lines that say so in the place of an agent's, where there are several; of DISPUTE the file
    by: str = ""  # who saw that something newer or other takes its place, where the rules alone do not: "model"
    under: str = ""  # the heading of its page that an agent's line stands below from now on, "" for the one that it has


@dataclass(frozen=True, slots=True)
class State:
    """What orient found: every memory with what people did to it, and what they wrote themselves."""

    book: Book  # what the ledger adds up to
    files: Mapping[str, bytes]  # the Markdown files of the folder by name
    standing: tuple[Memory, ...]  # active memories whose line stands where the ledger says, oldest first
    edited: tuple[tuple[Memory, str], ...]  # active memories whose line a person reworded, with the new wording
    removed: tuple[Memory, ...]  # active memories whose line a person deleted
    unindexed: tuple[str, ...]  # what a person took out of the index since the last dream
    foreign: tuple[ForeignLine, ...] = ()  # lines that slowwave did not write
    # who wrote them, by :attr:`ForeignLine.key`; what is not there is a person's
    writers: Mapping[str, Writer] = field(default_factory=dict[str, Writer])
    # active memories whose line an agent wrote anew, with the id of the new entry
    rewritten: tuple[tuple[Memory, str], ...] = ()
    adopted: tuple[Event, ...] = ()  # lines of agents that become entries with this dream; the book has them already
    # by file, the hashes of the lines that agents wrote, entries or not: headings go with the last line below them
    written: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    given_back: int = 0  # how many of our lines were gone from the index at once by accident; they are put back
    # what others shared in the repository: their words, which make nothing more certain here
    others: tuple[OtherLine, ...] = ()

    @property
    def from_tools(self) -> tuple[ForeignLine, ...]:
        """The foreign lines whose words came from the output of a tool: nothing may rest on them."""
        return tuple(line for line in self.foreign if self.writers.get(line.key) == "tool")


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates of a dream."""

    waiting: tuple[Candidate, ...]  # those that no dream has dealt with
    # those that a person refused by undoing the dream that took them, with its id
    undone: tuple[tuple[Candidate, str], ...] = ()
    # why the evidence of a waiting one no longer re-reads, by id
    unproven: Mapping[str, str] = field(default_factory=dict[str, str])
    # those that were dealt with before, by id
    known: Mapping[str, Candidate] = field(default_factory=dict[str, Candidate])
    rejected: tuple[Candidate, ...] = ()  # those that a person rejected; nothing that says the same is taken


@dataclass(frozen=True, slots=True)
class Moved:
    """A section of the index that went to a page as a whole, or a heading that is gone since nothing stood below it."""

    title: str  # the words of the heading
    file: str  # the page, "" for a heading that is gone
    # the heading and its lines by their keys, and the entries among them by their ids
    entries: tuple[IndexEntry, ...]
    lines: int  # how many stood below the heading
    why: str = ""

    @property
    def fields(self) -> dict[str, Any]:
        """What the ledger is given of it."""
        return {
            "file": self.file,
            "text": self.title,
            "entries": self.entries,
            "number": self.lines,
            "reason": self.why,
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """What operations amount to: the events for the ledger, the files as they shall be, and what to tell.

    ``moved`` says, by memory, why its line does not stand any more where an agent had put it, ``gone`` why nowhere.
    """

    events: tuple[Event, ...]
    files: Mapping[str, bytes | None]
    book: Book
    warnings: tuple[str, ...]
    moved: Mapping[str, str] = field(default_factory=dict[str, str])
    sections: tuple[Moved, ...] = ()
    gone: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change."""
        return not self.events and not self.files


def dispute_of(operation: Operation, dream: str = "", at: str = "") -> Event:
    """Return the event by which the ledger knows that something contradicts a person's words."""
    (name,) = operation.memories
    return Event(
        v=VERSION, event="dispute", dream=dream, at=at, memory=name, text=operation.text, file=operation.line,
        reason=operation.reason,
    )  # fmt: skip


# Exact accounting: nothing that was there before a dream leaves without an operation that says why.


class AccountingError(AssertionError):
    """A plan forgets or repeats something: a bug, and the dream is not committed."""


def validate(operations: Sequence[Operation], state: State, gathered: Gathered) -> None:
    """Make sure that every prior memory and every waiting candidate is in exactly one operation, with a reason.

    Raises:
        AccountingError: one is missing, there twice or unknown, or an operation has no reason or no valid successor.
    """
    changed = (*state.edited, *state.rewritten)
    prior = {m.id for m in (*state.standing, *(m for m, _ in changed), *state.removed)}
    named = [o.memory for o in operations if o.memory and not o.is_new]
    # history is only named where something about it has changed
    past = {m.id for m in state.book.memories.values() if m.status == "superseded" or m.is_retraction}
    _exactly("memory", prior | (past & set(named)), named)
    _exactly("candidate", {c.id for c in gathered.waiting}, [c for o in operations for c in o.candidates])
    made = [o.memory for o in operations if o.is_new]
    _exactly("new memory", set(made) - set(state.book.memories), made)
    holds = {"ADD", "MERGE", "UPDATE", "MOVE", "KEEP"}
    there = {o.memory for o in operations if o.action in holds and not o.by_person}
    # what people took over or out has ended what it ended
    there |= {o.memory for o in operations if o.by_person}
    there |= {
        m.id
        for m in state.book.memories.values()
        if m.status in {"edited-by-person", "removed-by-person"} or m.is_retraction
    }
    for operation in operations:
        if not operation.reason:
            raise AccountingError(f"{operation.action} {operation.memory or operation.candidates} has no reason")
        # what an agent wrote anew may have been overtaken in the same night
        follows = operation.action == "SUPERSEDE" and not operation.by_person
        if follows and operation.successor not in there:
            raise AccountingError(f"{operation.memory} is superseded by {operation.successor}, which does not hold")


def _exactly(noun: str, expected: set[str], found: Sequence[str]) -> None:
    for item, number in Counter(found).items():
        if number != 1:
            raise AccountingError(f"{noun} {item} is in {number} operations")
    if expected != set(found):
        missing, extra = sorted(expected - set(found)), sorted(set(found) - expected)
        raise AccountingError(f"{noun}: not accounted for {missing}, unknown {extra}")


def lost_share(operations: Sequence[Operation], state: State) -> tuple[int, float]:
    """Return how many prior memories would leave without a successor, and which share of all that is.

    What people did in the files themselves is their choice and no loss, nor is a pointer that leads nowhere.
    """
    memories = state.book.memories
    lost = sum(
        o.action == "DROP" and bool(o.memory) and not o.by_person and not target_of(memories[o.memory].line)
        for o in operations
    )
    return lost, lost / len(state.standing) if state.standing else 0.0
