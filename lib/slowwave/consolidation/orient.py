"""Orient: which lines of the memory files are ours, which are people's, and what people did to ours."""

from collections.abc import Mapping

from rapidfuzz import fuzz

from slowwave.consolidation.model import PersonLine, State
from slowwave.memory.book import Book, Memory
from slowwave.memory.extracted import FILE as EXTRACTED
from slowwave.memory.topics import INDEX
from slowwave.memory.weave import own_lines, split

# A line that a person left at least this like ours (Indel ratio, 0 to 100) is taken for a rewording of it.
REWORDED = 60.0


def orient(files: Mapping[str, bytes], book: Book) -> State:
    """Return who wrote which line, and what became of each active memory's line.

    A line is slowwave's only if the ledger holds the hash of exactly that line. Without it every line is a person's.
    """
    owned = {name: own_lines(data, _hashes(name, book)) for name, data in files.items()}
    people = {
        name: tuple(
            text
            for number, line in enumerate(split(data))
            if number not in owned[name] and (text := _bare(line)) and name != EXTRACTED
        )
        for name, data in files.items()
    }
    standing: list[Memory] = []
    edited: list[tuple[Memory, str]] = []
    removed: list[Memory] = []
    spoken_for: set[tuple[str, str]] = set()
    for memory in book.active:
        if memory.sha256 in owned.get(memory.file, {}).values():
            standing.append(memory)
            continue
        wording = _rewording(memory, people.get(memory.file, ()), spoken_for)
        if wording:
            spoken_for.add((memory.file, wording))
            edited.append((memory, wording))
        else:
            removed.append(memory)
    return State(
        book=book,
        files=files,
        standing=tuple(standing),
        edited=tuple(edited),
        removed=tuple(removed),
        unindexed=_unindexed(files, book, owned.get(INDEX, {}), {m.id for m in standing}),
        people=tuple(PersonLine(name, text) for name, texts in people.items() for text in texts),
    )


def _hashes(name: str, book: Book) -> set[str]:
    if name == INDEX:
        return {entry.sha256 for entry in book.index}
    return {m.sha256 for m in book.active if m.file == name}


def _bare(line: bytes) -> str:
    """Return the words of a line without bullet and blanks; "" for headings, rules and lines without words."""
    text = line.decode("utf-8", "replace").strip()
    if text.startswith(("#", "<!--", "---")):
        return ""
    return text.lstrip("-*+> \t").strip()


def _rewording(memory: Memory, people: tuple[str, ...], spoken_for: set[tuple[str, str]]) -> str:
    """Return the person's line that our line became, or ""."""
    best, score = "", REWORDED
    for text in people:
        likeness = fuzz.ratio(memory.text, text, score_cutoff=score)
        if likeness >= score and (memory.file, text) not in spoken_for:
            best, score = text, likeness
    return best


def _unindexed(files: Mapping[str, bytes], book: Book, owned: Mapping[int, str], standing: set[str]) -> tuple[str, ...]:
    """Return what a person took out of the index; an index that is gone as a whole is simply made again."""
    if INDEX not in files:
        return ()
    there = set(owned.values())
    return tuple(
        entry.ref
        for entry in book.index
        if entry.sha256 not in there
        and entry.ref not in book.unindexed
        and (entry.ref not in book.memories or entry.ref in standing)
    )
