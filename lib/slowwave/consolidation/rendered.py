"""Every memory file as it shall be: lines of agents in their places, own ones in blocks, the index in its limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from slowwave.memory.book import Book, Memory, own_line
from slowwave.memory.extracted import FILE as EXTRACTED
from slowwave.memory.index import IndexBlock, Room, in_order, index_block, worths
from slowwave.memory.ledger import IndexEntry, line_hash
from slowwave.memory.pages import front_of, is_empty, linked, standing_lines, statements, with_lines
from slowwave.memory.standing import AWAY, Standing, standing_of
from slowwave.memory.topics import INDEX, TOPICS, new_index_file, new_topic_file, page_line
from slowwave.memory.weave import own_lines, split, weave, without_own
from slowwave.settings import ConsolidationSettings


@dataclass(frozen=True, slots=True)
class Rendered:
    """The files that change, the lines of the index that are ours, and what had to leave it.

    Attributes:
        files: what changes, None for a page of ours on which nothing is left.
        moved: memories as they stand in their topic files now.
    """

    files: dict[str, bytes | None]
    entries: tuple[IndexEntry, ...]
    moved: tuple[Memory, ...]
    warnings: tuple[str, ...]


def rendered(files: Mapping[str, bytes], before: Book, after: Book, settings: ConsolidationSettings) -> Rendered:
    """Return the files of a memory folder as a book wants them: each memory on one line, in the index or on a page.

    Args:
        files: the files as they are.
        before: the book that they show.
        after: the book that they shall show.
        settings: the limits of the index.
    """
    standing = standing_of(after, settings.half_lives)
    block, moved = _fitted(files, before, after, standing, settings)
    there = {m.id: m for m in (*after.active, *moved)}
    made: dict[str, bytes | None] = {}
    for name in dict.fromkeys((*files, *(t.file for t in TOPICS.values()))):
        if name != INDEX:
            own = [there[one] for one in block.left_out if there[one].file == name]
            lines = {m.id: after.line_of(m) for m in own}
            new = new_topic_file(own[0].category) if own else None
            old = _settled(name, files.get(name), before, there)
            made[name] = _page(name, new if old is None else old, before.page_lines(name), lines, worths(own, standing))
    index = _settled(INDEX, files.get(INDEX), before, there)
    if index is not None or block.lines:
        data = new_index_file() if index is None else index
        made[INDEX] = weave(data, [entry.sha256 for entry in before.index], block.lines)
    changed = {name: data for name, data in made.items() if data != files.get(name)}
    return Rendered(changed, block.entries, tuple(moved), (block.warning,) if block.warning else ())


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


def _page(
    name: str, old: bytes | None, ours: Sequence[str], lines: Mapping[str, str], worth: Mapping[str, float]
) -> bytes | None:
    """Return a topic file with the lines of its memories, best first; none where only our front matter is left."""
    if old is None:
        return None
    ids = {line_hash(line): one for one, line in lines.items()}
    present = [ids[h] for h in own_lines(old, ours).values() if h in ids]
    made = weave(old, ours, list(dict.fromkeys(lines[one] for one in in_order(present, worth))))
    return None if made != old and not lines and is_empty(name, made) else made


def _fitted(
    files: Mapping[str, bytes], before: Book, after: Book, standing: Standing, settings: ConsolidationSettings
) -> tuple[IndexBlock, list[Memory]]:
    """Return the own lines of the index, and what has to leave it for them; what left may come back as an own line."""
    moved: dict[str, Memory] = {}
    while True:
        there = {m.id: m for m in after.active} | moved
        settled = _settled(INDEX, files.get(INDEX), before, there)
        if not settled and not there:
            return IndexBlock((), (), ()), []
        data = new_index_file() if settled is None else settled
        inside = [m for m in there.values() if m.stands and m.file == INDEX]
        own = [entry.sha256 for entry in before.index]
        people = _of_others(data, own, inside)
        block = index_block(
            [m for m in there.values() if not m.stands],
            Room(people, settings.index_lines, settings.index_bytes, headed=_is_open(data, own)),
            unindexed=after.unindexed | {m.id for m in there.values() if _is_away(m, standing)},
            standing=standing,
            inside=inside,
            pages=_unlinked(files, before, there, without_own(data, own)),
            before=_order(data, before),
            lines={m.id: after.line_of(m) for m in there.values()},
        )
        if not block.crowded_out:
            return block, list(moved.values())
        moved |= {one: _moved(there[one]) for one in block.crowded_out}


def _is_away(memory: Memory, standing: Standing) -> bool:
    return standing.idle(memory) >= AWAY or standing.is_needless(memory)


def _order(data: bytes, before: Book) -> list[str]:
    """Return what the own lines of the index stand for, in the order in which they stand."""
    refs: dict[str, list[str]] = {}
    for entry in before.index:
        refs.setdefault(entry.sha256, []).append(entry.ref)
    return [ref for digest in own_lines(data, refs).values() for ref in refs.get(digest, ())]


def _is_open(data: bytes, own: Sequence[str]) -> bool:
    """Say whether headings may stand among our lines: nothing of others follows that would seem to belong to them."""
    lines = split(weave(data, own, ["\0"]))
    at = next(number for number, line in enumerate(lines) if line.startswith(b"\0"))
    return next((line for line in lines[at + 1 :] if line.strip()), b"#").startswith(b"#")


def _of_others(data: bytes, own: Sequence[str], inside: Sequence[Memory]) -> bytes:
    """Return an index without our lines, and without those of agents that are entries."""
    gone = own_lines(data, own) | standing_lines(data, [m.sha256 for m in inside])
    return b"\n".join(line for number, line in enumerate(split(data)) if number not in gone)


def _moved(memory: Memory) -> Memory:
    line = own_line(memory)
    return replace(memory, file=TOPICS[memory.category].file, line=line, sha256=line_hash(line), stands=False)


def _unlinked(files: Mapping[str, bytes], before: Book, there: Mapping[str, Memory], index: bytes) -> dict[str, str]:
    """Return the pages of others that no line of the index leads to, each with the line that would."""
    led_to = linked(index) | {INDEX, EXTRACTED}
    found: dict[str, str] = {}
    for name in files:
        data = _settled(name, files[name], before, there)
        if name not in led_to and data and statements(without_own(data, before.page_lines(name))):
            found[name] = page_line(name, front_of(data))
    return found
