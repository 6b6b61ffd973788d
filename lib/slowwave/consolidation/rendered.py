"""Every memory file as it shall be: lines of agents in their places, own ones in blocks, the index in its limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from slowwave.memory.book import Book, Memory
from slowwave.memory.extracted import FILE as EXTRACTED
from slowwave.memory.index import IndexBlock, index_block
from slowwave.memory.ledger import IndexEntry, line_hash
from slowwave.memory.pages import front_of, linked, standing_lines, statements, with_lines
from slowwave.memory.standing import standing_of
from slowwave.memory.topics import INDEX, TOPICS, memory_line, new_index_file, new_topic_file, page_line
from slowwave.memory.weave import own_lines, split, weave, without_own
from slowwave.settings import ConsolidationSettings


@dataclass(frozen=True, slots=True)
class Rendered:
    """The files that change, the lines of the index that are ours, and what had to leave it.

    Attributes:
        moved: memories as they stand in their topic files now.
    """

    files: dict[str, bytes]
    entries: tuple[IndexEntry, ...]
    moved: tuple[Memory, ...]
    warnings: tuple[str, ...]


def rendered(files: Mapping[str, bytes], before: Book, after: Book, settings: ConsolidationSettings) -> Rendered:
    """Return the files of a memory folder as a book wants them.

    Args:
        files: the files as they are.
        before: the book that they show.
        after: the book that they shall show.
        settings: the limits of the index.
    """
    block, moved = _fitted(files, before, after, settings)
    there = {m.id: m for m in (*after.active, *moved)}
    made = _pages(files, before, there)
    index = _settled(INDEX, files.get(INDEX), before, there)
    if index is not None or block.lines:
        data = new_index_file() if index is None else index
        made[INDEX] = weave(data, [entry.sha256 for entry in before.index], block.lines)
    changed = {name: data for name, data in made.items() if data is not None and data != files.get(name)}
    return Rendered(changed, block.entries, tuple(moved), (block.warning,) if block.warning else ())


def _pages(files: Mapping[str, bytes], before: Book, there: Mapping[str, Memory]) -> dict[str, bytes | None]:
    """Return every page but the index as it shall be."""
    names = [n for n in dict.fromkeys((*files, *(t.file for t in TOPICS.values()))) if n != INDEX]
    return {name: _page(name, _settled(name, files.get(name), before, there), before, there) for name in names}


def _settled(name: str, data: bytes | None, before: Book, there: Mapping[str, Memory]) -> bytes | None:
    """Return a file in which the lines of agents that were changed say what they shall say, and others are gone."""
    changes: dict[str, list[str | None]] = {}
    for memory in before.active:
        if memory.file == name and memory.stands:
            now = there.get(memory.id)
            stays = now is not None and now.stands and now.file == name
            changes.setdefault(memory.sha256, []).append(now.line if now and stays else None)
    same = [digest for digest, of in changes.items() if all(line and line_hash(line) == digest for line in of)]
    for digest in same:
        del changes[digest]
    return with_lines(data, changes) if data is not None and changes else data


def _page(name: str, old: bytes | None, before: Book, there: Mapping[str, Memory]) -> bytes | None:
    """Return a topic file with the lines of its memories, oldest facts first, whenever they were found."""
    own = sorted((m for m in there.values() if m.file == name and not m.stands), key=lambda m: (m.held[0][0], m.line))
    wanted = dict.fromkeys(m.sha256 for m in own)
    lines = {m.sha256: m.line for m in own}
    ours = {m.sha256 for m in before.active if m.file == name and not m.stands}
    if old is None:
        return weave(new_topic_file(own[0].category), [], list(lines.values())) if own else None
    present = [h for h in own_lines(old, ours).values() if h in wanted]
    if len(present) == len(wanted) and before.active == list(there.values()):
        return weave(old, ours, [lines[h] for h in present])  # nothing new: a person's order stays
    return weave(old, ours, [lines[h] for h in wanted])


def _fitted(
    files: Mapping[str, bytes], before: Book, after: Book, settings: ConsolidationSettings
) -> tuple[IndexBlock, list[Memory]]:
    """Return the own lines of the index, and what has to leave it for them; what left may come back as an own line."""
    moved: dict[str, Memory] = {}
    while True:
        there = {m.id: m for m in after.active} | moved
        data = _settled(INDEX, files.get(INDEX), before, there) or b""
        inside = [m for m in there.values() if m.stands and m.file == INDEX]
        if not data and not there:
            return IndexBlock((), (), 0), []
        own = [entry.sha256 for entry in before.index]
        block = index_block(
            [m for m in there.values() if not m.stands],
            _of_others(data, own, inside),
            max_lines=settings.index_lines,
            max_bytes=settings.index_bytes,
            unindexed=after.unindexed,
            standing=standing_of(after, settings.half_lives),
            inside=inside,
            pages=_unlinked(_pages(files, before, there), without_own(data, own), there),
        )
        if not block.crowded_out:
            return block, list(moved.values())
        moved |= {one: _moved(there[one]) for one in block.crowded_out}


def _of_others(data: bytes, own: Sequence[str], inside: Sequence[Memory]) -> bytes:
    """Return an index without our lines, and without those of agents that are entries."""
    gone = own_lines(data, own) | standing_lines(data, [m.sha256 for m in inside])
    return b"\n".join(line for number, line in enumerate(split(data)) if number not in gone)


def _moved(memory: Memory) -> Memory:
    line = memory_line(memory.text)
    return replace(memory, file=TOPICS[memory.category].file, line=line, sha256=line_hash(line), stands=False)


def _unlinked(files: Mapping[str, bytes | None], index: bytes, there: Mapping[str, Memory]) -> dict[str, str]:
    """Return the pages that no line of the index leads to, each with the line that would."""
    led_to = linked(index) | {INDEX, EXTRACTED} | {m.file for m in there.values() if not m.stands}
    pages = {name: data for name, data in files.items() if data and name not in led_to and statements(data)}
    return {name: page_line(name, front_of(data)) for name, data in pages.items()}
