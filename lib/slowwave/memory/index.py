"""The own lines of ``MEMORY.md``: the memories that are worth most, and pointers to the pages of those that do not fit.

A memory stands in one place, for whatever an agent loads costs it room.
"""

import re
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from slowwave.memory import Category
from slowwave.memory.authors import part_key
from slowwave.memory.book import DECISIONS, SECTION, WORKING, Book, Memory, Standing, heading_on, own_line
from slowwave.memory.candidates import EXTRACTED
from slowwave.memory.folder import INDEX, LOG, PAGE, PAGES, POINTER, pointer_line, title_of_file
from slowwave.memory.ledger import IndexEntry, line_hash
from slowwave.memory.pages import (
    headings,
    in_style,
    line_cost,
    line_count,
    linked,
    own_lines,
    set_apart,
    split,
    statements,
    target_of,
)
from slowwave.quantities import counted

# What an agent loses most by not knowing comes first.
_WEIGHT: dict[Category, float] = {"constraint": 1.3, "preference": 1.2, "decision": 1.0, "project": 0.9, "pattern": 0.8}
# a line only passes another one that it outdoes by so much: small changes of worth move nothing
MARGIN = 0.1
# the heading, on a screen, of memories that stand on no page any more
OVER = "Not remembered any more"
# so few lines need no headings
_FEW = 6
# somebody in charge of something: a name or a team, and what they do for others here
_IN_CHARGE = re.compile(
    r"^(?:[A-Z][\w'-]+(?: [A-Z][\w'-]+)?|@[\w-]+|(?:[Tt]he|[Oo]ur) (?:[\w-]+ ){1,2}(?:team|group|squad|guild))"
    r"(?: \([^()]*\))? (?:(?:owns?|maintains?|leads?|reviews?|approves?|signs? off|decides?|runs? the|looks? after|"
    r"is on call)\b|(?:is|are) (?:the|our|an?|responsible for|in charge of) )"
    r"|\b(?:belongs? to|(?:is|are) (?:owned|maintained|reviewed|approved|handled) by) (?:the |our )?(?:@|[A-Z])[\w-]+"
)
# the blank line above our first heading
_GAP = SECTION + "gap"
FURTHER = "pages"
_SECTIONS = {
    WORKING: "## Working here",
    "facts": "## Facts that cost time",
    DECISIONS: "## Decisions",
    "people": "## People and roles",
    FURTHER: "## Further pages",
}
# what agents call these sections
_MEANINGS = {
    "how we work": WORKING,
    "ways of working": WORKING,
    "gotchas": "facts",
    "pitfalls": "facts",
    "decision log": DECISIONS,
    "key decisions": DECISIONS,
    "people": "people",
    "team": "people",
}
_UNDATED = "Earlier"
_HEADED = re.compile(rb"^##+ ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class IndexBlock:
    """The own lines of the index, what each refers to, and what did not fit.

    ``left_out`` names the memories that stand on pages instead; ``crowded_out`` those whose lines stand in the index by
    somebody else's hand and have no room there.
    """

    lines: tuple[str, ...]
    entries: tuple[IndexEntry, ...]
    left_out: tuple[str, ...]
    warning: str = ""
    crowded_out: tuple[str, ...] = ()
    # by the hash of a heading of somebody else's, the lines of ours that stand below it
    under: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


@dataclass(frozen=True, slots=True)
class Room:
    """How much fits into an index beside what others wrote there."""

    people: bytes  # what people wrote; it counts towards both limits and is never cut
    lines: int  # most lines of the whole file
    bytes: int  # most bytes of the whole file
    # whether headings may stand there: what follows behind our lines would seem to belong to the last one
    headed: bool = True
    close: bool = False  # whether something stands right above our lines
    # how many of those lines are agents', and stay where they are since a dream that moved them was taken back
    left: int = 0
    # by section of ours, the hash of the heading of somebody else's that means the same
    under: Mapping[str, str] = field(default_factory=dict[str, str])
    style: str = ""  # a pointer of somebody else's, whose marks ours get, or ""

    @property
    def is_over(self) -> bool:
        """Whether what people wrote is too much already."""
        return line_count(self.people) > self.lines or len(self.people) > self.bytes


@dataclass(frozen=True, slots=True)
class _Row:
    """A line that has a place in the index: what it stands for, and whether somebody else put it there."""

    refs: tuple[str, ...]
    line: str
    is_theirs: bool = False
    brief: str = ""  # of a pointer, what it says where there is no room for more


def index_block(
    memories: Sequence[Memory],
    room: Room,
    *,
    unindexed: Iterable[str] = (),
    standing: Standing | None = None,
    inside: Sequence[Memory] = (),
    pages: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    lines: Mapping[str, str] | None = None,
) -> IndexBlock:
    """Return the own lines of the index.

    Args:
        memories: all active memories of slowwave's own.
        room: what people wrote in the index, and its limits.
        unindexed: memories and pointers that a person took out of the index.
        standing: what fades and what is used; without it only confidence counts.
        inside: memories whose lines stand in the index where agents put them.
        pages: by page that nothing leads to, the line that would.
        before: what the own lines of the index refer to now, from above.
        lines: by memory, its line, where that is not its own alone.

    Only whole lines are taken, so no character is ever cut. The order of ``memories`` does not matter. What is left out
    stands on the page of its category, and only then the index leads there.
    """
    refused = set(unindexed)
    worth = worths([*memories, *inside], standing or Standing(), before)
    away = [m for m in memories if m.id in refused]
    own = [m for m in memories if m.id not in refused]
    rows = _rows(own, inside, worth, lines or {})
    section = {m.id: _section(m) for m in own} if room.headed and len(rows) > _FEW else {}
    has_list = FURTHER in room.under
    apart = bool(section) and bool(_HEADED.search(room.people)) and not has_list
    titles = {name for name in section.values() if name not in room.under}
    ranks = {name: number for number, name in enumerate(worth)}
    ranked = sorted(memories, key=lambda m: ranks[m.id])
    out = {m.id for m in away}
    while True:
        pointers = _pointers(_by_page(ranked, out), pages or {}, inside, refused, room.style)
        taken, left = _fitting([*pointers, *rows], room, len(titles) + apart + room.close)
        gone = {ref for row in left for ref in row.refs}
        there = {m.id for m in memories if m.id in gone or m.id in refused}
        if _by_page(ranked, there).keys() <= _by_page(ranked, out).keys():
            break
        out |= there
    final = {row.refs: row for row in _pointers(_by_page(ranked, there), pages or {}, inside, refused, room.style)}
    kept = [_in_its_room(row, final.get(row.refs, row)) for row in taken]
    kept = [row for row in kept if not row.refs[0].startswith(POINTER) or row.refs in final]
    crowded = tuple(ref for row in left if row.is_theirs for ref in row.refs)
    warning = ""
    if room.is_over or (left and not any(not row.is_theirs for row in taken) and not inside):
        size = f"{counted(line_count(room.people), 'line')}, {len(room.people)} bytes of {room.lines} and {room.bytes}"
        back = f", and {counted(room.left, 'line')} that you took back from a dream" if room.left else ""
        warning = (
            f"MEMORY.md: what people wrote and what stands in one piece{back} fills it already ({size}): "
            "nothing else fits; shorten it by hand"
        )
    mine = [row for row in kept if not row.is_theirs]
    if apart or has_list:
        section |= {row.refs[0]: FURTHER for row in mine if row.refs[0].startswith((POINTER, PAGE))}
    order = in_order(before, worth)
    under = {
        heading: _ranked([row for row in mine if section.get(row.refs[0]) == name], order)
        for name, heading in room.under.items()
    }
    below = {row.refs[0]: heading for heading, rows in under.items() for row in rows}
    shown = _under_headings([row for row in mine if row.refs[0] not in below], section, refused, order)
    if room.close and _GAP not in refused and shown and shown[0].refs[0].startswith(SECTION):
        shown = [_Row((_GAP,), ""), *shown]
    return IndexBlock(
        tuple(row.line for row in shown),
        tuple(
            IndexEntry(ref, line_hash(row.line), below.get(row.refs[0], ""))
            for row in (*shown, *(row for rows in under.values() for row in rows))
            for ref in row.refs
        ),
        tuple(m.id for m in memories if m.id in gone or m.id in refused),
        warning,
        crowded,
        {heading: tuple(row.line for row in rows) for heading, rows in under.items() if rows},
    )


def page_lines(
    file: str, memories: Sequence[Memory], lines: Mapping[str, str], refused: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Return the lines of a page of ours, each with what it stands for: a memory, or a heading.

    ``file``: the page. ``memories``: what stands on it, in its order. ``lines``: by memory, its line. ``refused``:
    headings that a person took out.
    """
    if file == LOG.file:
        # the latest first, like every log
        memories = sorted(memories, key=lambda m: m.valid_from, reverse=True)
        parts = {m.id: m.valid_from[: len("2026-11")] or _UNDATED for m in memories}
        titles = {part: f"## {part}" for part in parts.values()}
    else:
        parts, titles = {m.id: _section(m) for m in memories}, _SECTIONS
    is_headed = len(memories) > _FEW and len(set(parts.values())) > 1
    # of the same words one line
    rows: dict[str, Memory] = {}
    for memory in memories:
        rows.setdefault(lines[memory.id], memory)
    if not is_headed:
        return [(m.id, line) for line, m in rows.items()]
    found: list[tuple[str, str]] = []
    for part, title in titles.items():
        ref = heading_on(file, part)
        own = [(m.id, line) for line, m in rows.items() if parts[m.id] == part]
        if own and ref not in set(refused):
            found += [*([("", "")] if found else []), (ref, title)]
        found += own
    return found


def by_heading(memories: Sequence[Memory], book: Book) -> dict[str, list[Memory]]:
    """Return memories by the heading that they stand under, as somebody who reads the pages comes upon them.

    First the own lines of the index, "" for those above its first heading, then what stands on another page or in
    others' lines by the name of the file, and last what is over.
    """
    left = {memory.id: memory for memory in memories}
    found: dict[str, list[Memory]] = {}
    heading = ""
    for entry in book.index:
        if entry.ref.startswith(SECTION):
            heading = _SECTIONS.get(entry.ref.removeprefix(SECTION), "").removeprefix("## ")
        elif memory := left.pop(entry.ref, None):
            below = _SECTIONS[_section(memory)].removeprefix("## ") if entry.under else heading
            found.setdefault(below, []).append(memory)
    for memory in sorted(left.values(), key=lambda memory: memory.status != "active"):
        found.setdefault(memory.place if memory.status == "active" else OVER, []).append(memory)
    return found


def best_lines(memories: Sequence[Memory], standing: Standing, most_bytes: int) -> list[str]:
    """Return what is worth most among memories, within so many bytes and under the headings of the index."""
    room = Room(b"", len(memories) + 2 * len(_SECTIONS), most_bytes)
    pointers = [POINTER + file for file in PAGES]
    return list(index_block(memories, room, standing=standing, unindexed=pointers).lines)


def worths(memories: Iterable[Memory], standing: Standing, before: Iterable[str] = ()) -> dict[str, float]:
    """Return what each memory is worth for its place, the most first; what stands in the index already counts more."""
    there = set(before)
    worth = {
        m.id: standing.worth(m) * _WEIGHT[m.category] * (1.1 if m.is_from_person else 1.0) + MARGIN * (m.id in there)
        for m in sorted(memories, key=lambda m: (m.held[0][0], m.text, m.id))
    }
    return dict(sorted(worth.items(), key=lambda one: -one[1]))


def in_order(before: Iterable[str], worth: Mapping[str, float]) -> list[str]:
    """Return everything that has a worth, best first; what stood in an order only moves for clearly more worth.

    ``before``: the order so far. ``worth``: by name, the most first.
    """
    order, last = _moved_up(before, worth), list[str]()
    while order != last:
        # what moved up may leave others behind that outdo what is above them now
        order, last = _moved_up(order, worth), order
    return order


def _moved_up(before: Iterable[str], worth: Mapping[str, float]) -> list[str]:
    found: list[str] = []
    for name in dict.fromkeys(name for name in before if name in worth):
        outdone = (n for n, other in enumerate(found) if worth[name] > worth[other] + MARGIN)
        found.insert(next(outdone, len(found)), name)
    known = set(found)
    for name in worth:
        if name not in known:
            less = (n for n, other in enumerate(found) if worth[name] > worth[other])
            found.insert(next(less, len(found)), name)
    return found


def section_of(title: str) -> tuple[str, bool]:
    """Return the section of ours that a heading of others means, "" for none, and whether it has its very name."""
    same = next((name for name, head in _SECTIONS.items() if head.casefold() == f"## {title}".casefold()), "")
    return same or _MEANINGS.get(title.casefold(), ""), bool(same)


def _section(memory: Memory) -> str:
    if memory.category == "decision":
        return DECISIONS
    if memory.category == "project" and _IN_CHARGE.search(memory.text):
        return "people"
    if memory.section:
        return memory.section
    is_command = memory.category == "pattern" and memory.key.startswith("cmd:")
    return WORKING if is_command or memory.category in ("constraint", "preference") else "facts"


def _under_headings(
    rows: Iterable[_Row], section: Mapping[str, str], refused: set[str], order: Iterable[str]
) -> list[_Row]:
    """Return lines in their order, those of memories under the headings of their sections."""
    rows = _ranked(rows, order)
    found = [row for row in rows if row.refs[0] not in section]
    for name, heading in _SECTIONS.items():
        lines = [row for row in rows if section.get(row.refs[0]) == name]
        ref = SECTION + name
        gap = [_Row((), "")] if found else []
        found += [*gap, _Row((ref,), heading)] if lines and ref not in refused else []
        found += lines
    return found


def _ranked(rows: Iterable[_Row], order: Iterable[str]) -> list[_Row]:
    rank = {ref: number for number, ref in enumerate(order)}
    return sorted(rows, key=lambda row: rank.get(row.refs[0], -1))


def _fitting(rows: Sequence[_Row], room: Room, headings: int) -> tuple[list[_Row], list[_Row]]:
    """Return the lines that fit beside what people wrote, and those that do not; the first ones first."""
    lines_left = room.lines - line_count(room.people) - 2 * headings
    # with the blank line above each
    heading = line_cost("", room.people) + max(line_cost(line, room.people) for line in _SECTIONS.values())
    bytes_left = room.bytes - len(room.people) - headings * heading
    taken: list[_Row] = []
    left: list[_Row] = []
    for row in rows:
        cost, number = line_cost(row.line, room.people), row.line.count("\n") + 1
        if lines_left < number or cost > bytes_left:
            left.append(row)
            continue
        taken.append(row)
        lines_left -= number
        bytes_left -= cost
    return taken, left


def _by_page(memories: Iterable[Memory], out: Container[str]) -> dict[str, list[Memory]]:
    """Return which memories stand on which page of ours."""
    found: dict[str, list[Memory]] = {}
    for memory in memories:
        if memory.id in out:
            found.setdefault(memory.file, []).append(memory)
    return found


def _in_its_room(row: _Row, final: _Row) -> _Row:
    """Return a row as it is in the end, where that is no longer than the row that there was room for."""
    is_longer = len(final.line.encode("utf-8", "replace")) > len(row.line.encode("utf-8", "replace"))
    return replace(final, line=final.brief) if is_longer else final


def _told(file: str, memories: Sequence[Memory]) -> str:
    """Return in a few words what stands on a page of ours: the days of a log, else how its first lines begin."""
    if file == LOG.file:
        months = sorted({m.valid_from[: len("2026-11")] for m in memories} - {""})
        return f", {' to '.join(dict.fromkeys((months[0], months[-1])))}" if months else ""
    return f": {_beginnings(m.text for m in memories)}"


def _pointers(
    on_pages: Mapping[str, Sequence[Memory]],
    pages: Mapping[str, str],
    inside: Sequence[Memory],
    refused: set[str],
    style: str,
) -> list[_Row]:
    """Return what leads to pages: to our own that hold something, to others', and where agents' lines lead."""
    own = {
        file: _Row((POINTER + file,), pointer_line(file, len(of), _told(file, of)), brief=pointer_line(file, len(of)))
        for file in PAGES
        if (of := on_pages.get(file))
    }
    others = [_Row((PAGE + name,), line, brief=line) for name, line in sorted(pages.items()) if name not in own]
    theirs = [_Row((m.id,), m.line, is_theirs=True) for m in inside if target_of(m.line)]
    rows = (*own.values(), *others)
    mine = [replace(row, line=in_style(row.line, style), brief=in_style(row.brief, style)) for row in rows]
    return [row for row in mine if row.refs[0] not in refused] + theirs


def _rows(
    own: Sequence[Memory], inside: Sequence[Memory], worth: Mapping[str, float], written: Mapping[str, str]
) -> list[_Row]:
    """Return the lines of memories, the most important first; of the same words one line."""
    by_id = {m.id: m for m in own}
    theirs = {m.id: m for m in inside if not target_of(m.line)}
    lines: dict[str, list[str]] = {}
    for name in worth:
        if name in theirs:
            lines[f"{theirs[name].line}\x1f{name}"] = [name]
        elif name in by_id:
            lines.setdefault(written.get(name) or own_line(by_id[name]), []).append(name)
    return [_Row(tuple(refs), line.partition("\x1f")[0], refs[0] in theirs) for line, refs in lines.items()]


# Sections of an index: a heading with all that stands below it, which goes to a topic file in one piece.

_ENTRY = re.compile(rb"\s*(?:[-*+]|\d{1,3}[.)])\s")
_MARKS = re.compile(r"^#+ +|[*_`]+|[ :]+$")
_NAME_WORD = re.compile(r"[^\W_]+")
# of a heading or a file's name, words that tell nothing about what it is about
_IDLE = frozenset(
    (
        "a", "an", "and", "for", "general", "in", "memory", "misc", "notes", "of", "on", "our", "overview", "short",
        "the", "to", "with",
    )
)  # fmt: skip
# what agents need in every session: how people want it, rules of working, commands
_AT_WORK = frozenset(
    (
        "always", "command", "commit", "constraint", "convention", "do", "feedback", "guideline", "instruction", "must",
        "never", "practice", "preference", "principle", "review", "rule", "script", "style", "workflow", "working",
    )
)  # fmt: skip
_PAGES = frozenset({"file", "index", "page", "topic"})
_IN_CODE = re.compile(r"^`[^`]+`")
_NAMED = re.compile(r"(?<![\w/.-])[a-z0-9][\w-]*\.md\b")
# what an entry begins with: bold words, code, or words up to the first sign, else some words
_BEGINS = re.compile(
    r"^(?:\*\*(?P<bold>[^*]+)\*\*|(?P<code>`[^`]+`))"
    r"|^(?P<words>[^`,;:.(]{3,40}?(?=[`,;:.(]|\s[-\u2013\u2014]\s|$)|[^`,;:.(]{3,32}(?=\s))"
)
_LINKED = re.compile(r"\[(?P<title>[^\[\]]*)\]\([^()]*\)")
_ASIDE = re.compile(r"\s\((?:week of )?\d{4}-\d\d(?:-\d\d)?\)|^\d{4}-\d\d-\d\d:? ")
_MOST_SAID = 70
_MOST_NAME = 60


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of an index with the lines below it, as far as they are not slowwave's own."""

    heading: bytes
    numbers: tuple[int, ...]  # of its lines, the blank ones between them as well
    gap: tuple[int, ...]  # of the blank lines between it and what follows
    lines: tuple[bytes, ...]  # what stands on these numbers

    @property
    def key(self) -> str:
        """By what its heading is known."""
        return part_key(self.heading)

    @property
    def title(self) -> str:
        """The words of its heading."""
        return title_of(self.heading)

    @property
    def body(self) -> list[bytes]:
        """Its lines without the heading and blank ones."""
        return [line for line in self.lines if line.strip() and line != self.heading]

    @property
    def is_part(self) -> bool:
        """Whether it is the end of a section, without its heading."""
        return self.lines[:1] != (self.heading,)

    def without(self, numbers: Container[int]) -> "Section":
        """Return it without some of its lines."""
        rows = [(n, line) for n, line in zip(self.numbers, self.lines, strict=True) if n not in numbers]
        return replace(self, numbers=tuple(n for n, _ in rows), lines=tuple(line for _, line in rows))

    def below(self, number: int) -> "Section":
        """Return what of it stands below a line, without blank lines at its beginning."""
        rows = [(n, line) for n, line in zip(self.numbers, self.lines, strict=True) if n > number]
        while rows and not rows[0][1].strip():
            del rows[0]
        return Section(
            self.heading, tuple(n for n, _ in rows), self.gap if rows else (), tuple(line for _, line in rows)
        )

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return sum(len(line) + 1 for line in self.lines)

    @property
    def is_at_work(self) -> bool:
        """Whether it tells what each session needs: what people want, rules of working, commands."""
        texts = [line.decode("utf-8", "replace").lstrip("-*+ \t") for line in self.body]
        commands = sum(bool(_IN_CODE.match(text)) for text in texts)
        return not _AT_WORK.isdisjoint(_about(self.title)) or commands * 2 > len(texts)


def title_of(heading: bytes) -> str:
    """Return the words of a heading."""
    return _MARKS.sub("", heading.decode("utf-8", "replace").strip()).strip()


def sections(data: bytes, own: Iterable[str]) -> list[Section]:
    """Return the sections of an index by its highest headings, without what stands above the first one.

    ``data``: the index. ``own``: hashes of the lines of slowwave's own: these belong to no section, and our headings
    end one.
    """
    lines, heads, ours = split(data), headings(data), own_lines(data, own)
    title = min(heads, default=-1)
    if sum(level == 1 for level in heads.values()) == 1 and heads.get(title) == 1:
        del heads[title]  # the title of the whole page
    top = min((level for number, level in heads.items() if number not in ours), default=0)
    starts = [number for number, level in heads.items() if level <= top]
    found: list[Section] = []
    for start, stop in pairwise([*starts, len(lines)]):
        if start in ours:
            continue
        rest = [number for number in range(start, stop) if number not in ours]
        last = max(number for number in rest if lines[number].strip())
        kept = tuple(number for number in rest if number <= last)
        gap = tuple(
            n for n in range(last + 1, stop) if n not in ours and not any(lines[m].strip() for m in range(last + 1, n))
        )
        found.append(Section(lines[start], kept, gap, tuple(lines[number] for number in kept)))
    return found


def tail(data: bytes, section: Section, lines: int, size: int) -> Section:
    """Return the end of a section: whole statements, so many lines and bytes at least, or all of it."""
    starts = [one.number for one in statements(data) if one.number in section.numbers[not section.is_part :]]
    text = dict(zip(section.numbers, section.lines, strict=True))
    for start in reversed(starts):
        numbers = tuple(number for number in section.numbers if number >= start)
        if len(numbers) >= lines and sum(len(text[n]) + 1 for n in numbers) >= size:
            break
    else:
        return section
    return Section(section.heading, numbers, (), tuple(text[number] for number in numbers))


def without_section(data: bytes, section: Section) -> bytes:
    """Return an index without a section."""
    gone = {*section.numbers, *section.gap}
    lines = split(data)
    kept = [line for number, line in enumerate(lines) if number not in gone]
    if max(gone) >= len(lines) - 1:
        # it was the last one: the page ends as before, with the line above it
        while kept and not kept[-1].strip():
            kept.pop()
        kept.append(b"")
    set_apart(kept, min(gone))
    return b"\n".join(kept)


def with_section(data: bytes | None, section: Section, *, is_first: bool = False) -> bytes:
    """Return a page with a section at its end, or with its lines below the same heading where it has that already.

    ``data``: the page, None for a new one. ``section``: what is added. ``is_first``: its lines stand above those that
    are below the heading.
    """
    block = [line.removesuffix(b"\r") for line in section.lines]
    heading = section.heading.removesuffix(b"\r")
    block = [heading, b"", *block] if section.is_part else block
    lines = split(data or b"")
    end = b"\r" if len(lines) > 1 and lines[0].endswith(b"\r") else b""
    heads = headings(data or b"")
    at = next((n for n in heads if lines[n].strip() == heading.strip()), None)
    if at is None:
        while lines and not lines[-1].strip():
            lines.pop()
        return b"\n".join([*lines, *([end] if lines else []), *(line + end for line in block), b""])
    body = block[1:]
    while body and not body[0].strip():
        del body[0]
    stop = next((n for n, level in heads.items() if n > at and level <= heads[at]), len(lines))
    last = max(n for n in range(at, stop) if lines[n].strip())
    if {line.strip() for line in body} <= {line.strip() for line in lines[at:stop]}:
        return data or b""  # written anew where it had stood before
    if is_first:
        last = at + (last > at and not lines[at + 1].strip())
    rest = [*lines[last + 1 :], *([b""] * (last == len(lines) - 1))]
    made = [*lines[: last + 1], *(line + end for line in body), *rest]
    for place in (last + 1 + len(body), last + 1):
        set_apart(made, place)
    return b"\n".join(made)


def without_empty(
    data: bytes, agents: Container[str], own: Iterable[str], kept: Container[str]
) -> tuple[bytes, list[bytes]]:
    """Return a page without headings of agents below which nothing stands, and those headings.

    ``data``: the page. ``agents``: hashes of the headings that agents wrote. ``own``: hashes of the lines of slowwave's
    own. ``kept``: keys of headings that stay.
    """
    gone: list[bytes] = []
    while True:
        lines, heads, ours = split(data), headings(data), own_lines(data, own)
        for at, level in reversed(heads.items()):
            stop = next((n for n, other in heads.items() if n > at and (other <= level or n in ours)), len(lines))
            is_theirs = level > 1 and at not in ours and line_hash(lines[at].strip()) in agents
            if is_theirs and part_key(lines[at]) not in kept and not any(lines[n].strip() for n in range(at + 1, stop)):
                break
        else:
            return data, gone
        gone.append(lines[at])
        blank = tuple(n for n in range(at + 1, stop) if n not in ours)
        data = without_section(data, Section(lines[at], (at,), blank, (lines[at],)))


def heads_of(data: bytes) -> dict[str, str]:
    """Return the words of the heading below which each line stands, by the hash of the line."""
    lines, heads = split(data), headings(data)
    found: dict[str, str] = {}
    title = ""
    for number, line in enumerate(lines):
        title = title_of(line) if number in heads else title
        if line.strip() and number not in heads:
            found.setdefault(line_hash(line.strip()), title)
    return found


def placed(data: bytes, places: Mapping[str, str], own: Iterable[str]) -> bytes:
    """Return a page on which entries of lists stand below the headings that they are given, behind what stands there.

    One that stands twice stays where it is, and so does one with text behind it that would then belong to another one.

    Args:
        data: the page.
        places: by all the lines of an entry the words of a heading of this page.
        own: the hashes of slowwave's own lines.
    """
    own = [*own]
    for entry, title in places.items():
        lines, heads, ours = split(data), headings(data), own_lines(data, own)
        rows = [row.encode("utf-8", "surrogateescape").rstrip() for row in entry.split("\n")]
        size = len(rows)
        found = [n for n in range(len(lines)) if [line.rstrip() for line in lines[n : n + size]] == rows]
        below = [h for h in heads if h not in ours and title_of(lines[h]).casefold() == title.casefold()]
        if len(found) != 1 or not below or rows[0][:1].isspace() or not _ENTRY.match(rows[0]):
            continue
        at, stop = found[0], found[0] + size
        following = lines[stop] if stop < len(lines) else b""
        is_last = not following.strip() or stop in heads or (_ENTRY.match(following) and not following[:1].isspace())
        if below[0] == max((h for h in heads if h < at), default=-1) or not is_last:
            continue
        end = min((h for h in heads if h > below[0]), default=len(lines))
        if any(line.lstrip().startswith(b"```") for line in lines[below[0] : end]):
            continue  # what comes behind code may become a part of it
        there = max(n for n in range(below[0], end) if lines[n].strip() and (n == below[0] or n not in ours)) + 1
        marked: list[bytes | None] = [*lines]
        marked[at:stop] = [None] * size
        marked[there:there] = lines[at:stop]
        data = b"\n".join(line for line in marked if line is not None)
    return data


def gathered(
    data: bytes, agents: Container[str], own: Iterable[str], kept: Container[str]
) -> tuple[bytes, list[bytes]]:
    """Return a page on which what agents listed below headings of one name stands together, and the headings gone.

    The lines of a later section go to the end of the first one of that name and depth, unless anybody else wrote in
    either, or anything is below another heading inside. The arguments are those of :func:`without_empty`.
    """
    gone: list[bytes] = []
    while found := _twice(data, agents, own, kept):
        lines, (end, at, stop) = split(data), found
        gone.append(lines[at])
        body = b"\n".join(lines[at + 1 : stop]).strip(b"\r\n").split(b"\n")
        left = split(without_section(data, Section(lines[at], tuple(range(at, stop)), (), (lines[at],))))
        made = [*left[:end], *body, *left[end:]]
        for place in (end + len(body), end):
            set_apart(made, place)
        data = b"\n".join(made)
    return data, gone


def _twice(
    data: bytes, agents: Container[str], own: Iterable[str], kept: Container[str]
) -> tuple[int, int, int] | None:
    """Return where the first section of a name ends, and where a later one begins and ends."""
    lines, heads, ours = split(data), headings(data), own_lines(data, own)
    first: dict[tuple[int, str], int] = {}
    for at, after in pairwise([*heads, len(lines)]):
        filled = [n for n in range(at, after) if lines[n].strip()]
        is_agents = all(n not in ours and line_hash(lines[n].strip()) in agents for n in filled)
        is_list = len(filled) > 1 and _ENTRY.match(lines[filled[1]])
        is_last = after == len(lines) or heads[after] <= heads[at]
        if heads[at] == 1 or not (is_agents and is_list and is_last):
            continue
        end = first.setdefault((heads[at], title_of(lines[at]).casefold()), filled[-1] + 1)
        if end <= at and part_key(lines[at]) not in kept:
            return end, at, after
    return None


def is_called_list(title: str) -> bool:
    """Say whether a heading says that pages are listed below it."""
    return not _PAGES.isdisjoint(_about(title))


def is_list(section: Section) -> bool:
    """Say whether a section does nothing but point to pages."""
    return 2 * sum(bool(target_of(line.decode("utf-8", "replace"))) for line in section.body) >= max(
        1, len(section.body)
    )


def page_for(section: Section, files: Collection[str]) -> str:
    """Return the page that a section belongs on: one that it points to, one that is about it, or a new one.

    ``section``: what leaves the index. ``files``: the names of the pages that are there.
    """
    pages = sorted(name for name in files if name not in (INDEX, EXTRACTED) and name not in PAGES)
    text = b"\n".join(section.lines)
    named = (linked(text) | set(_NAMED.findall(text.decode("utf-8", "replace")))) & set(pages)
    if len(named) == 1:
        return named.pop()
    about = _about(section.title)
    alike = [(len(about ^ words), name) for name in pages if (words := _about(name.removesuffix(".md"))) and about]
    alike = [
        one
        for one in alike
        if about <= _about(one[1].removesuffix(".md")) or about >= _about(one[1].removesuffix(".md"))
    ]
    if alike:
        return min(alike)[1]
    words = [word for word in _NAME_WORD.findall(section.title.casefold()) if not word.isdigit()]
    name = "-".join(words)[:_MOST_NAME].strip("-") or "notes"
    taken = {one.casefold() for one in (INDEX, EXTRACTED, *PAGES, "readme.md", "claude.md", "agents.md")}
    return f"{name}-notes.md" if f"{name}.md" in taken else f"{name}.md"


def pointer_to(name: str, data: bytes, moved: Collection[str], said: Mapping[str, str]) -> str:
    """Return the line of an index that stands for the sections which it gave to a page.

    ``name``: the page. ``data``: what stands on it. ``moved``: the keys of the headings of these sections. ``said``: by
    the hash of a line, what an agent's entry on that page says; only such words are told.
    """
    lines, heads = split(data), headings(data)
    told: list[tuple[str, int, list[str]]] = []
    for at, level in heads.items():
        if part_key(lines[at]) in moved:
            stop = next((n for n, other in heads.items() if n > at and other <= level), len(lines))
            below = [lines[n] for n in range(at + 1, stop) if n not in heads and lines[n].strip()]
            told.append(
                (title_of(lines[at]), len(below), [said[h] for line in below if (h := line_hash(line)) in said])
            )
    if not told:
        return ""  # nothing of these sections was left to stand there
    title = title_of_file(name)
    is_alone = len(told) == 1 and len(told[0][0]) == len(title)
    title = told[0][0] if is_alone else title
    if is_alone:
        ((_, number, texts),) = told
        hook = f"{counted(number, 'line')}: {_beginnings(texts)}" if texts else counted(number, "line")
    else:
        hook = _short([f"{heading} ({counted(number, 'line')})" for heading, number, _ in told], more=2 * _MOST_SAID)
    return f"- [{title.translate(str.maketrans('[]', '()'))}]({name}): {hook}"


def _beginnings(texts: Iterable[str]) -> str:
    """Return how some of these lines begin, in a few words: without links, marks and dates."""
    bare = (_ASIDE.sub("", _LINKED.sub(r"\g<title>", text)).replace("[", "").replace("]", "") for text in texts)
    starts = [found[found.lastgroup or 0].strip(" *:") for text in bare if (found := _BEGINS.match(text))]
    return _short([*dict.fromkeys(starts)])


def _short(parts: Sequence[str], more: int = _MOST_SAID) -> str:
    """Return as many parts as fit into a few words."""
    taken: list[str] = []
    for part in parts:
        if taken and sum(map(len, taken)) + len(part) > more:
            return f"{', '.join(taken)}, ..."
        taken.append(part)
    return ", ".join(taken)


def _about(text: str) -> set[str]:
    """Return the words that tell what a heading or a file is about."""
    words = {word for word in _NAME_WORD.findall(text.casefold()) if word not in _IDLE and not word.isdigit()}
    return {word.removesuffix("s") for word in words}
