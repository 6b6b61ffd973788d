"""What a model is told beside the session: present memories, the project's own instructions, the offline notes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slowwave.letters import visible
from slowwave.memory.book import Book, Memory
from slowwave.memory.model import Candidate
from slowwave.models.tokens import estimated_tokens
from slowwave.secrets.redactor import Redactor

# where clients look for a project's instructions
_INSTRUCTIONS = ("CLAUDE.md", "AGENTS.md", ".claude/CLAUDE.md")
_INSTRUCTION_CHARS = 6_000
_MEMORY_TOKENS = 6_000


@dataclass(frozen=True, slots=True)
class Known:
    """What is known.

    Each has a name that it keeps, so that an answer that comes another night means the same.

    Attributes:
        memories: present memories by the name that the model sees.
        notes: what the offline path took from the session, likewise; also what a dream has dealt with since.
        blocks: what is shown.
    """

    memories: dict[str, Memory]
    notes: dict[str, Candidate]
    blocks: tuple[str, ...]


_NAME_CHARS = 6


def known_of(book: Book, notes: Sequence[Candidate], instructions: str) -> Known:
    """Return what is known about a project and one session of it.

    Args:
        book: what the ledger adds up to.
        notes: what the offline path took from the session.
        instructions: the project's own, see :func:`instructions_of`.
    """
    memories: dict[str, Memory] = {}
    room = _MEMORY_TOKENS
    for memory in sorted(book.active, key=lambda m: (m.last_seen, m.id), reverse=True):
        room -= estimated_tokens(memory.text) + 4
        if room < 0:
            break
        memories[f"M{memory.id[:_NAME_CHARS]}"] = memory
    named = {f"C{note.id[:_NAME_CHARS]}": note for note in notes}
    waiting = {name: note for name, note in named.items() if note.id not in book.done}
    blocks: list[str] = []
    for title, entries in (("Remembered already:", memories), ("Notes that rules took from this session:", waiting)):
        lines = [f"{name} ({one.category}): {one.text}" for name, one in entries.items()]
        if lines:
            blocks.append("\n".join((title, *lines)))
    if instructions:
        blocks.append(f"The project's own instructions (need not be remembered):\n{instructions}")
    return Known(memories, named, tuple(blocks))


def instructions_of(root: str, redact: Redactor) -> str:
    """Return the instruction files of a project as far as there is room, each under its name; "" where it has none.

    Args:
        root: the project's folder, as its sessions name it; it may be gone.
        redact: takes secrets out.
    """
    found: list[str] = []
    for name in _INSTRUCTIONS:
        path = Path(root) / name
        if root and path.is_file():
            text = path.read_text("utf-8", "replace")[:_INSTRUCTION_CHARS]
            found.append(f"{name}:\n{redact(visible(text)).strip()}")
    return "\n\n".join(found)[: 2 * _INSTRUCTION_CHARS]
