"""What a model is shown: every memory and every waiting candidate under a number, so that it can invent neither."""

from collections.abc import Sequence
from dataclasses import dataclass

from slowwave.consolidation.doubts import Doubts
from slowwave.consolidation.model import Gathered, State
from slowwave.memory.book import Memory
from slowwave.memory.model import DROPS, RETRACTS, Candidate
from slowwave.memory.pages import target_of


@dataclass(frozen=True, slots=True)
class Entry:
    """One numbered entry: a memory that stands or a candidate that waits."""

    number: int
    item: Memory | Candidate

    @property
    def is_memory(self) -> bool:
        """Whether it is a memory."""
        return isinstance(self.item, Memory)

    @property
    def is_from_person(self) -> bool:
        """Whether a person said it."""
        return self.item.is_from_person if isinstance(self.item, Memory) else self.item.origin.startswith("user_")

    @property
    def last_seen(self) -> str:
        """When it was last seen, ISO."""
        return self.item.last_seen if isinstance(self.item, Memory) else self.item.observed_at

    @property
    def line(self) -> str:
        """The entry as it is shown."""
        kind = "memory" if self.is_memory else "new"
        return f"{self.number}. [{kind}, {self.item.category}, {self.last_seen[:10] or 'undated'}] {self.item.text}"


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
    ordered: Sequence[Memory | Candidate] = [*memories, *candidates]
    return [Entry(number, item) for number, item in enumerate(ordered, 1)]
