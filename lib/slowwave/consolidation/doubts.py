"""What stands in a memory file since a tool's output said so, or somebody else shared: it makes no candidate surer.

An agent follows what its memory says, so a planted line comes back as commands that it ran and as sentences that it
said. Only what a person typed themselves counts beside such a line; the rest waits for a person.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from slowwave.consolidation.likeness import Meaning, is_like, meaning_of
from slowwave.memory.foreign import ForeignLine, known_lines
from slowwave.memory.model import Candidate
from slowwave.memory.shared import OtherLine, read_others

Line = TypeVar("Line", ForeignLine, OtherLine)
# shorter commands stand in any sentence
_LEAST_CHARS = 4


class Doubts:
    """The lines of memory files that came from tools, and what others shared."""

    def __init__(self, lines: Sequence[ForeignLine], others: Sequence[OtherLine] = ()) -> None:
        self._lines, self._others = lines, others
        self._meanings: dict[Meaning, ForeignLine] = {meaning_of(line.text): line for line in lines}

    @property
    def number(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def has(self, text: str) -> ForeignLine | None:
        """Return the line that says what a text says, in the same words or in others."""
        same = self._meanings.get(meaning_of(text)) if self._lines else None
        return same or next((line for line in self._lines if is_like(line.text, text)), None)

    def reason(self, candidate: Candidate) -> str:
        """Return why a candidate waits, or ""."""
        if candidate.doubt:
            return f"{candidate.doubt}: waits for a person"
        if candidate.origin.startswith("user_"):
            return ""
        line = self.has(candidate.text) or _with_command(candidate, self._lines)
        if line:
            return f"stands in {line.file}, where a tool's output brought it: waits for a person"
        like = next((one for one in self._others if is_like(one.text, candidate.text)), None)
        other = like or _with_command(candidate, self._others)
        return f"is what {other.who} shared, and nobody here has said it: waits for a person" if other else ""


def _with_command(candidate: Candidate, lines: Sequence[Line]) -> Line | None:
    """Return the line that has a candidate's command in it."""
    command = " ".join(candidate.value.casefold().split())
    if len(command) < _LEAST_CHARS:
        return None
    return next((line for line in lines if command in f" {' '.join(line.text.casefold().split())} "), None)


def doubts_of(memory: Path) -> Doubts:
    """Return the doubts about a memory folder.

    Raises:
        CorruptStateError: the ledger or the notes about foreign lines are damaged.
        UnreadableError: a file cannot be read.
    """
    return Doubts(
        [line for line, known in known_lines(memory) if known and known.writer == "tool"], read_others(memory)
    )
