"""The own lines of ``MEMORY.md``: pointers to the topic files, then the memories that are worth most."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slowwave.memory.book import Memory
from slowwave.memory.ledger import IndexEntry, line_hash
from slowwave.memory.model import Category
from slowwave.memory.pages import target_of
from slowwave.memory.standing import Standing
from slowwave.memory.topics import PAGE, POINTER, TOPICS, memory_line, pointer_line
from slowwave.memory.weave import line_cost, line_count

# What an agent loses most by not knowing comes first.
_WEIGHT: dict[Category, float] = {
    "constraint": 1.3,
    "preference": 1.2,
    "decision": 1.0,
    "project": 0.9,
    "pattern": 0.8,
}
_STEPS = 8
# so few lines need no headings
_FEW = 12
SECTION = "section:"
_SECTIONS = {
    "working": "**Working here:**",
    "facts": "**Facts that cost time to find out:**",
    "decisions": "**Decided:**",
}


@dataclass(frozen=True, slots=True)
class IndexBlock:
    """The own lines of the index, what each refers to, and what did not fit.

    ``crowded_out`` names the memories whose lines stand in the index by somebody else's hand and have no room there.
    """

    lines: tuple[str, ...]
    entries: tuple[IndexEntry, ...]
    left_out: int
    warning: str = ""
    crowded_out: tuple[str, ...] = ()


def index_block(
    memories: Sequence[Memory],
    people: bytes,
    *,
    max_lines: int,
    max_bytes: int,
    unindexed: Iterable[str] = (),
    standing: Standing | None = None,
    inside: Sequence[Memory] = (),
    pages: Mapping[str, str] | None = None,
) -> IndexBlock:
    """Return the own lines of the index.

    Args:
        memories: all active memories.
        people: what people wrote in the index; it counts towards both limits and is never cut.
        max_lines: most lines of the whole file.
        max_bytes: most bytes of the whole file.
        unindexed: memories and pointers that a person took out of the index.
        standing: what fades and what is used; without it only confidence counts.
        inside: memories whose lines stand in the index where agents put them.
        pages: by page that nothing leads to, the line that would.

    Only whole lines are taken, so no character is ever cut. The order of ``memories`` does not matter.
    """
    refused = set(unindexed)
    lines_left, bytes_left = max_lines - line_count(people), max_bytes - len(people)
    taken: list[tuple[str, str]] = []
    left_out = 0
    wanted = _wanted(memories, inside, pages or {}, standing or Standing())
    section = _sections(memories) if len(wanted) > _FEW else {}
    if section:
        # room for the headings
        lines_left -= len(_SECTIONS)
        bytes_left -= sum(line_cost(line, people) for line in _SECTIONS.values())
    crowded_out: list[str] = []
    theirs = {memory.id for memory in inside}
    for ref, line in wanted:
        cost = line_cost(line, people)
        if ref in refused and ref not in theirs:
            continue
        if lines_left < 1 or cost > bytes_left:
            left_out += 1
            crowded_out += [ref] if ref in theirs else []
            continue
        if ref not in theirs:
            taken.append((ref, line))
        lines_left -= 1
        bytes_left -= cost
    warning = ""
    is_over = line_count(people) > max_lines or len(people) > max_bytes
    if is_over or (left_out and not taken and not theirs):
        warning = (
            f"MEMORY.md: what people wrote and what stands in one piece fills it already ({line_count(people)} lines, "
            f"{len(people)} bytes of {max_lines} and {max_bytes}): nothing else fits; shorten it by hand"
        )
    taken = _under_headings(taken, section, refused)
    return IndexBlock(
        tuple(line for _, line in taken),
        tuple(IndexEntry(ref, line_hash(line)) for ref, line in taken),
        left_out,
        warning,
        tuple(crowded_out),
    )


def _sections(memories: Iterable[Memory]) -> dict[str, str]:
    """Return in which section each memory stands: rules and commands, what was found out, what was decided."""
    return {m.id: _section(m) for m in memories}


def _section(memory: Memory) -> str:
    if memory.category == "decision":
        return "decisions"
    is_command = memory.category == "pattern" and memory.key.startswith("cmd:")
    return "working" if is_command or memory.category in ("constraint", "preference") else "facts"


def _under_headings(
    taken: list[tuple[str, str]], section: Mapping[str, str], refused: set[str]
) -> list[tuple[str, str]]:
    """Return lines with those of memories under the headings of their sections, in each section as they were."""
    found = [one for one in taken if one[0] not in section]
    for name, heading in _SECTIONS.items():
        lines = [one for one in taken if section.get(one[0]) == name]
        ref = SECTION + name
        found += [(ref, heading)] if lines and ref not in refused else []
        found += lines
    return found


def _wanted(
    memories: Iterable[Memory], inside: Sequence[Memory], pages: Mapping[str, str], standing: Standing
) -> list[tuple[str, str]]:
    """Return every line that has a place in the index, the most important first: what leads to pages before all."""
    own = list(memories)
    numbers = Counter(m.category for m in own)
    pointers = [(POINTER + t.file, pointer_line(c, numbers[c])) for c, t in TOPICS.items() if numbers[c]]
    pointers += [(PAGE + name, line) for name, line in sorted(pages.items())]
    pointers += [(m.id, m.line) for m in inside if target_of(m.line)]
    theirs = {m.id: m.line for m in inside if not target_of(m.line)}
    lines: dict[str, str] = {}
    every = [*own, *(m for m in inside if m.id in theirs)]
    for memory in sorted(every, key=lambda m: _rank(m, standing)):
        line = theirs.get(memory.id, memory_line(memory.text))
        lines.setdefault(f"{line}\x1f{memory.id}" if memory.id in theirs else line, memory.id)
    return pointers + [(ref, line.partition("\x1f")[0]) for line, ref in lines.items()]


def _rank(memory: Memory, standing: Standing) -> tuple[int, str, str, str]:
    """Sort by worth in steps, so that a line only moves when it is worth clearly more or less than before.

    Within a step what holds longest comes first; the order never depends on that of the input.
    """
    value = standing.worth(memory) * _WEIGHT[memory.category] * (1.1 if memory.is_from_person else 1.0)
    return -round(value * _STEPS), memory.held[0][0], memory.text, memory.id
