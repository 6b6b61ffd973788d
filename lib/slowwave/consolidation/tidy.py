"""What is done with the lines that agents wrote beside what is done with every fact: joined, dated, removed.

A line that says the same as another one goes, and what showed it counts for the other. Of two, the one stays that a
person stands behind, then slowwave's own, then the older one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from slowwave.consolidation.facts import Identity, identity
from slowwave.consolidation.likeness import meaning_of
from slowwave.consolidation.model import Operation, State
from slowwave.memory.book import Memory
from slowwave.memory.dated import dated
from slowwave.memory.pages import target_of


@dataclass(slots=True)
class Tidied:
    """What is done with lines of agents.

    Attributes:
        operations: for those that need not be compared with anything that is new.
        left: the memories that stand, without those.
        words: by id, what a line shall say instead, with its date behind every word for a day.
    """

    operations: list[Operation] = field(default_factory=list[Operation])
    left: list[Memory] = field(default_factory=list[Memory])
    words: dict[str, str] = field(default_factory=dict[str, str])

    def worded(self, operations: Sequence[Operation]) -> list[Operation]:
        """Return operations in which lines that stay get their dates."""
        return [self._worded(o) if o.memory in self.words else o for o in operations]

    def _worded(self, operation: Operation) -> Operation:
        text = self.words[operation.memory]
        if operation.action == "KEEP" and not operation.spans:
            return Operation("UPDATE", operation.memory, (), "words for days were given their dates", text=text)
        if operation.action in ("KEEP", "MERGE") and not operation.text:
            return msgspec.structs.replace(operation, action="MERGE", text=text)
        return operation


def tidied(state: State) -> Tidied:
    """Return what is done with the lines that stand where agents put them."""
    found = Tidied()
    same = _Same(state)
    for memory in sorted(state.standing, key=_precedence):
        target = target_of(memory.line) if memory.stands else ""
        if target:
            found.operations.append(_pointer(memory, target, state))
        elif joined := same.joined(memory):
            found.operations.append(joined)
        else:
            found.left.append(memory)
            words = dated(memory.text, _written(memory)) if memory.stands else memory.text
            if words != memory.text:
                found.words[memory.id] = words
    ranks = {memory.id: number for number, memory in enumerate(state.standing)}
    found.left.sort(key=lambda m: ranks[m.id])
    with_more = {m.id: m for m in found.left}
    for o in found.operations:
        if o.action == "MERGE" and o.successor:
            one, other = with_more[o.successor], state.book.memories[o.memory]
            with_more[o.successor] = replace(one, sightings=(*one.sightings, *other.sightings))
    found.left = [with_more[m.id] for m in found.left]
    return found


def _precedence(memory: Memory) -> tuple[bool, bool, str, str]:
    return not memory.is_from_person, memory.stands, memory.valid_from, memory.id


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
