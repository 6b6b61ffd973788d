"""Sections of an index: a heading with all that stands below it, which goes to a topic file in one piece."""

import re
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from slowwave.memory.authors import part_key
from slowwave.memory.extracted import FILE as EXTRACTED
from slowwave.memory.folder import INDEX, PAGES, title_of_file
from slowwave.memory.ledger import line_hash
from slowwave.memory.pages import headings, linked, own_lines, split, statements, target_of
from slowwave.quantities import counted

_MARKS = re.compile(r"^#+ +|[*_`]+|[ :]+$")
_WORD = re.compile(r"[^\W_]+")
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
_CODE = re.compile(r"^`[^`]+`")
_NAMED = re.compile(r"(?<![\w/.-])[a-z0-9][\w-]*\.md\b")
# what an entry begins with: bold words, code, or words up to the first sign, else some words
_START = re.compile(
    r"^(?:\*\*(?P<bold>[^*]+)\*\*|(?P<code>`[^`]+`))"
    r"|^(?P<words>[^`,;:.(]{3,40}?(?=[`,;:.(]|\s[-\u2013\u2014]\s|$)|[^`,;:.(]{3,32}(?=\s))"
)
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
        commands = sum(bool(_CODE.match(text)) for text in texts)
        return not _AT_WORK.isdisjoint(_words(self.title)) or commands * 2 > len(texts)


def title_of(heading: bytes) -> str:
    """Return the words of a heading."""
    return _MARKS.sub("", heading.decode("utf-8", "replace").strip()).strip()


def sections(data: bytes, own: Iterable[str]) -> list[Section]:
    """Return the sections of an index by its highest headings, without what stands above the first one.

    Args:
        data: the index.
        own: hashes of the lines of slowwave's own: these belong to no section, and our headings end one.
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
    return b"\n".join(kept)


def with_section(data: bytes | None, section: Section, *, is_first: bool = False) -> bytes:
    """Return a page with a section at its end, or with its lines below the same heading where it has that already.

    Args:
        data: the page, None for a new one.
        section: what is added.
        is_first: its lines stand above those that are below the heading.
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
    return b"\n".join(
        [*lines[: last + 1], *(line + end for line in body), *lines[last + 1 :], *([b""] * (last == len(lines) - 1))]
    )


def without_empty(
    data: bytes, agents: Container[str], own: Iterable[str], kept: Container[str]
) -> tuple[bytes, list[bytes]]:
    """Return a page without headings of agents below which nothing stands, and those headings.

    Args:
        data: the page.
        agents: hashes of the headings that agents wrote.
        own: hashes of the lines of slowwave's own.
        kept: keys of headings that stay.
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


def is_called_list(title: str) -> bool:
    """Say whether a heading says that pages are listed below it."""
    return not _PAGES.isdisjoint(_words(title))


def is_list(section: Section) -> bool:
    """Say whether a section does nothing but point to pages."""
    return 2 * sum(bool(target_of(line.decode("utf-8", "replace"))) for line in section.body) >= max(
        1, len(section.body)
    )


def page_for(section: Section, files: Collection[str]) -> str:
    """Return the page that a section belongs on: one that it points to, one that is about it, or a new one.

    Args:
        section: what leaves the index.
        files: the names of the pages that are there.
    """
    pages = sorted(name for name in files if name not in (INDEX, EXTRACTED) and name not in PAGES)
    text = b"\n".join(section.lines)
    named = (linked(text) | set(_NAMED.findall(text.decode("utf-8", "replace")))) & set(pages)
    if len(named) == 1:
        return named.pop()
    about = _words(section.title)
    alike = [(len(about ^ words), name) for name in pages if (words := _words(name.removesuffix(".md"))) and about]
    alike = [
        one
        for one in alike
        if about <= _words(one[1].removesuffix(".md")) or about >= _words(one[1].removesuffix(".md"))
    ]
    if alike:
        return min(alike)[1]
    words = [word for word in _WORD.findall(section.title.casefold()) if not word.isdigit()]
    name = "-".join(words)[:_MOST_NAME].strip("-") or "notes"
    taken = {one.casefold() for one in (INDEX, EXTRACTED, *PAGES, "readme.md", "claude.md", "agents.md")}
    return f"{name}-notes.md" if f"{name}.md" in taken else f"{name}.md"


def pointer_to(name: str, data: bytes, moved: Collection[str], said: Mapping[str, str]) -> str:
    """Return the line of an index that stands for the sections which it gave to a page.

    Args:
        name: the page.
        data: what stands on it.
        moved: the keys of the headings of these sections.
        said: by the hash of a line, what an agent's entry on that page says; only such words are told.
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
    title = title_of_file(name)
    is_alone = len(told) == 1 and len(told[0][0]) == len(title)
    title = told[0][0] if is_alone else title
    if is_alone:
        ((_, number, texts),) = told
        starts = [found[found.lastgroup or 0].strip(" *:") for text in texts if (found := _START.match(text))]
        hook = f"{counted(number, 'line')}: {_short([*dict.fromkeys(starts)])}" if starts else counted(number, "line")
    else:
        hook = _short([f"{heading} ({counted(number, 'line')})" for heading, number, _ in told], more=2 * _MOST_SAID)
    return f"- [{title.translate(str.maketrans('[]', '()'))}]({name}): {hook}"


def _short(parts: Sequence[str], more: int = _MOST_SAID) -> str:
    """Return as many parts as fit into a few words."""
    taken: list[str] = []
    for part in parts:
        if taken and sum(map(len, taken)) + len(part) > more:
            return f"{', '.join(taken)}, ..."
        taken.append(part)
    return ", ".join(taken)


def _words(text: str) -> set[str]:
    """Return the words that tell what a heading or a file is about."""
    words = {word for word in _WORD.findall(text.casefold()) if word not in _IDLE and not word.isdigit()}
    return {word.removesuffix("s") for word in words}
