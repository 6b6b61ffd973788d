"""What contradicts a line that a person wrote: it waits for a person, who is shown both sides."""

from collections.abc import Iterable, Sequence

from slowwave.consolidation.changed import overtakes
from slowwave.consolidation.model import State
from slowwave.consolidation.slots import claim, claim_of, is_definite
from slowwave.consolidation.words import words_of
from slowwave.memory.book import Memory
from slowwave.memory.foreign import ForeignLine
from slowwave.memory.model import Candidate
from slowwave.memory.pages import target_of


class Contrary:
    """The lines of memory files that a person wrote, or of which nobody knows who did."""

    def __init__(self, lines: Iterable[ForeignLine]) -> None:
        self._lines = list(lines)
        self._by_word: dict[str, list[int]] = {}
        for number, line in enumerate(self._lines):
            for word in set(words_of(line.text).stems):
                self._by_word.setdefault(word, []).append(number)

    @classmethod
    def of_people(cls, state: State) -> "Contrary":
        """Return the lines of a folder that no dream may change."""
        return cls(line for line in state.foreign if state.writers.get(line.key) != "tool")

    def to(self, item: Memory | Candidate) -> ForeignLine | None:
        """Return a line that an item contradicts, in either direction, since nobody knows which is newer."""
        near = sorted({n for word in set(words_of(item.text).stems) for n in self._by_word.get(word, ())})
        return next((self._lines[n] for n in near if _contradicts(item, self._lines[n].text)), None)

    def reason(self, item: Memory | Candidate) -> str:
        """Return why an item waits, or ""."""
        line = self.to(item)
        return f"contradicts what a person wrote in {line.file}: {line.text[:160]}" if line else ""


def disputed(state: State) -> Sequence[tuple[Memory, ForeignLine]]:
    """Return the memories that contradict a person's line and about which nobody has decided yet."""
    contrary = Contrary.of_people(state)
    # what a person said against a line of theirs was put before them when it was said
    decided = {m.id for m in state.standing if m.is_from_person} | state.book.rejected
    asked = [m for m in state.standing if m.id not in decided and not (m.stands and target_of(m.line))]
    return [(memory, line) for memory in asked if (line := contrary.to(memory))]


def _contradicts(item: Memory | Candidate, text: str) -> bool:
    if overtakes(item.text, text) or overtakes(text, item.text):
        return True
    mine, theirs = claim(item), claim_of(text, item.category)
    return is_definite(mine[0]) and mine[0] == theirs[0] and mine[1] != theirs[1]
