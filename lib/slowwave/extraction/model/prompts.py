"""What a model is told when it extracts (``prompts.txt``), the form of its answers, and what stands beside a session.

A change here that changes what is found is a new version of :data:`EXTRACTOR`, after which sessions are read again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowwave.extraction.model.operations import form_of, list_of
from slowwave.hostile import visible
from slowwave.memory import Candidate
from slowwave.memory.book import Book, Memory
from slowwave.memory.effects import Asked
from slowwave.models.base import estimated_tokens
from slowwave.secrets import Redactor

EXTRACTOR = "model/3"

_TEXTS = dict(
    block.split("]\n", 1)
    for block in f"\n{Path(__file__).with_suffix('.txt').read_text(encoding='utf-8')}".split("\n[")[1:]
)
SYSTEM, LINE_FORM, JUDGE = (_TEXTS[name].rstrip("\n") + "\n" for name in ("extract", "extract in lines", "judge"))

JUDGE_NAME = "verdicts"
_FLAGS = {name: {"type": "boolean"} for name in ("supported", "holds", "lasting", "alone")}
JUDGE_SCHEMA = form_of(verdicts=list_of(form_of(number={"type": "integer"}, **_FLAGS, why={"type": "string"})))


def material(project: str, known: Sequence[str], earlier: Sequence[str], new: Sequence[str]) -> str:
    """Return what the model is shown.

    Args:
        project: its name.
        known: present memories, instructions and notes, each block with its heading.
        earlier: passages before the portion, shown to be understood.
        new: the passages to read.
    """
    blocks = [f"Project: {project}", *known]
    if earlier:
        blocks.append("Earlier passages, only to be understood:\n" + "\n".join(earlier))
    blocks.append("The session:\n" + "\n".join(new))
    return "\n\n".join(blocks) + "\n"


# What a model is told beside the session: present memories, the project's own instructions, the offline notes.

# where clients look for a project's instructions
_INSTRUCTIONS = ("CLAUDE.md", "AGENTS.md", ".claude/CLAUDE.md")
_INSTRUCTION_CHARS = 6_000
_MEMORY_TOKENS = 6_000
_NAME_CHARS = 6
# of a file so much is looked at: a secret that is cut in two is none that anybody finds
_READ_CHARS = 200_000


@dataclass(frozen=True, slots=True)
class Known:
    """What is known.

    Each has a name that it keeps, so that an answer that comes another night means the same.
    """

    memories: dict[str, Memory]  # present memories by the name that the model sees
    # what the offline path took from the session, likewise; also what a dream has dealt with since
    notes: dict[str, Candidate]
    # of the notes those that are not shown: hardly more than words of the session, which the model reads itself
    unlikely: tuple[Candidate, ...]
    blocks: tuple[str, ...]  # what is shown


def known_of(
    book: Book, notes: Sequence[Candidate], instructions: str, likely: float, told: Asked | None = None
) -> Known:
    """Return what is known about a project and one session of it.

    Args:
        book: what the ledger adds up to.
        notes: what the offline path took from the session.
        instructions: the project's own, see :func:`instructions_of`.
        likely: the confidence from which on a note is shown.
        told: what the session was told and rules say nothing of.
    """
    memories: dict[str, Memory] = {}
    name_of = {one: f"M{name}" for one, name in _names(book.memories).items()}
    texts: Mapping[str, str] = told.texts if told else {}
    room = _MEMORY_TOKENS
    for memory in sorted(book.active, key=lambda m: (m.last_seen, m.id), reverse=True):
        room -= estimated_tokens(memory.text) + 4
        if room < 0:
            break
        memories[name_of[memory.id]] = memory
    names = _names(note.id for note in notes)
    named = {f"C{names[note.id]}": note for note in notes}
    waiting = {name: note for name, note in named.items() if note.id not in book.done}
    shown = {name: note for name, note in waiting.items() if note.confidence >= likely}
    blocks: list[str] = []
    for title, entries in (("Remembered already:", memories), ("Notes that rules took from this session:", shown)):
        lines = [
            f"{name}{'*' * (texts.get(one.id) == one.text)} ({one.category}): {one.text}"
            for name, one in entries.items()
        ]
        if lines:
            blocks.append("\n".join((title, *lines)))
    if instructions:
        blocks.append(f"The project's own instructions (need not be remembered):\n{instructions}")
    if told:
        blocks.append(told.asked(name_of, {m.id for m in memories.values() if texts.get(m.id) == m.text}))
    unlikely = tuple(note for note in waiting.values() if note.confidence < likely)
    return Known(memories, named, unlikely, tuple(blocks))


def _names(ids: Iterable[str]) -> dict[str, str]:
    """Return a short name for each id; those that begin alike keep the whole: none is taken for another."""
    every = list(ids)
    number = Counter(one[:_NAME_CHARS] for one in every)
    return {one: one if number[one[:_NAME_CHARS]] > 1 else one[:_NAME_CHARS] for one in every}


def instructions_of(root: str, redact: Redactor) -> str:
    """Return the instruction files of a project as far as there is room, each under its name; "" where it has none.

    A link that leads out of the project is not followed: whoever writes a repository has no say in what else is read.

    Args:
        root: the project's folder, as its sessions name it; it may be gone.
        redact: takes secrets out.
    """
    found: dict[Path, str] = {}
    for name in _INSTRUCTIONS if root else ():
        try:
            path = (Path(root) / name).resolve()
            if path in found or not path.is_relative_to(Path(root).resolve()) or not path.is_file():
                continue
            with path.open(encoding="utf-8", errors="replace") as file:
                text = redact(visible(file.read(_READ_CHARS)))
        except (OSError, ValueError):
            continue
        found[path] = f"{name}:\n{text[:_INSTRUCTION_CHARS].strip()}"
    return "\n\n".join(found.values())[: 2 * _INSTRUCTION_CHARS]
