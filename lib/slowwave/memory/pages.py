"""A memory page taken apart: its statements, what its front matter says, where its links lead.

A statement is one line that says something by itself: a bullet or a paragraph without anything that hangs on it; or a
bullet with a few points or words below it, which stay together. What else goes on in the next line, or is code, a table
or a numbered step, is left in one piece by whoever wrote it.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from slowwave.memory.candidates import EXTRACTED, SECTION
from slowwave.memory.dates import day_of_heading
from slowwave.memory.folder import INDEX, PAGES, new_topic_file
from slowwave.memory.ledger import line_hash

# what Cersei writes (:func:`slowwave.memory.candidates.fact_line`)
_AUTO = re.compile(r"^- \*\*\[(?P<label>\w+)\]\*\* (?P<text>.+?) \*\(confidence: (?P<sure>\d{1,3})%\)\*$")
_AUTO_DAY = re.compile(r"^### Session memories — \d{4}-\d\d-\d\d$")
_BULLET = re.compile(r"^[-*+] +(?=\S)")
# what stands before the words of a line
_INDENT = re.compile(r"^(?P<mark>\s*(?:[-*+] +(?=\S))?)(?P<words>.*)$")
# code, tables, quotations, steps, and "**Why:**" of the page
_HAS_FORM = re.compile(r"^\s*(?:```|~~~|\||>|\d+[.)] |(?:[-*+] +)?\*\*[^*]{1,40}(?::\*\*|\*\*:))")
# a piece of more stays in its form
_MOST_PARTS, _MOST_CHARS = 8, 600
_HEADING = re.compile(r"^(?P<marks>#{1,6}) +\S")
_STEP = re.compile(r"^\d+[.)] ")
# "**Why:** ..." belongs to what stands above it
_PART = re.compile(r"^(?:[-*+] +)?\*\*[^*]{1,40}(?::\*\*|\*\*:)")
# with the colon inside, as in "- **Why:** ..."; "- **Staging**: ..." is about something else than what stands above it
_INSIDE = re.compile(r"^(?:[-*+] +)?\*\*[^*]{1,40}:\*\*")
_POINTER = re.compile(
    r"^[-*+] +\[(?P<title>[^\]]+)\]\((?P<file>[^()\s#:]+\.md)\)(?:\s*(?:[:\u2013\u2014-]+)\s*(?P<hook>.*))?$"
)
_LINK = re.compile(r"\]\((?P<file>[^()\s#:]+\.md)(?:#[^()\s]*)?\)|\[\[(?P<wiki>[^\]|#]+)\]\]")
# a link to a page beside this one; what has a folder, or a name like README.md, may stand in the repository
_BESIDE = re.compile(r"\[(?P<title>[^\[\]]+)\]\((?:\./)?(?P<file>(?![A-Z_]+\.)[^()\s#:/]+\.md)\)")
# its bare name, which leads there where a line says nothing but that
_BARE = re.compile(
    r"(?<![\w/.`(\[-])(?:\./)?(?P<file>(?!(?:readme|changelog|contributing|license|security|claude|agents)\.)"
    r"[a-z0-9][\w-]*\.md)(?![\w/`)\]])"
)
_LEADS = r"(?:see|read|look at|more (?:is )?in|details(?: are)?:? (?:in )?)(?: also)? ?"
_ABOUT = r"(?: (?:for|on|about|before)\b[^.;()]*)?"
# with \0 for the link: nothing but the pointer; then what leads to it as a part of a sentence
_ALONE = re.compile(
    rf"(?:(?:[\w-]+ ){{1,4}}(?:is|are) (?:described |documented )?in |{_LEADS})\0{_ABOUT}\.?", re.IGNORECASE
)
_BARELY = re.compile(rf"{_LEADS}\0{_ABOUT}\.?", re.IGNORECASE)
_ASIDE = re.compile(rf" ?\({_LEADS}\0\)|(?:[.;,:]| [-\u2013\u2014]) {_LEADS}\0{_ABOUT}(?=[.;]?$)", re.IGNORECASE)
_BEFORE = re.compile(_LEADS + r"$", re.IGNORECASE)
_FIELD = re.compile(r"^\s*(?P<name>[\w-]+):\s*(?P<value>.*?)\s*$")
_KINDS = frozenset({"user", "feedback", "project", "reference"})


@dataclass(frozen=True, slots=True)
class Statement:
    """One line that says something by itself, or a bullet with what hangs on it."""

    number: int  # of the line in its file, from 0; of several the first
    line: str  # the line without its end; several with newlines between them
    text: str  # its words on one line, without bullets and what Cersei writes around a fact
    label: str = ""  # the category that Cersei gave it, "" for every other line
    confidence: float = 0.0  # what Cersei wrote beside it, 0.0 to 1.0
    day: str = ""  # the day that a heading above it names, "" where none does
    target: str = ""  # the page that it does nothing but point to, or ""
    hook: str = ""  # what it says about that page


def statements(data: bytes) -> list[Statement]:
    """Return the statements of a page in their order."""
    lines = [raw.removesuffix(b"\r").decode("utf-8", "surrogateescape") for raw in split(data)]
    heads = headings(data)
    days = _days(lines, heads)
    return [_statement(numbers, lines, days[numbers[0]], is_auto=is_auto) for numbers, is_auto in _single(lines)]


def _days(lines: Sequence[str], heads: Mapping[int, int]) -> list[str]:
    """Return for each line the day that the headings above it name, the nearest one first."""
    found: list[str] = []
    above: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        if level := heads.get(number):
            above = [one for one in above if one[0] < level]
            above.append((level, day_of_heading(line) or (above[-1][1] if above else "")))
        found.append(above[-1][1] if above else "")
    return found


def words_of_line(line: str) -> str:
    """Return the words of a line without its bullet."""
    return _BULLET.sub("", line).strip()


def front_of(data: bytes) -> Mapping[str, str]:
    """Return the fields of a page's front matter, also those one level down; nothing where it has none."""
    lines = [raw.decode("utf-8", "replace").rstrip() for raw in split(data)]
    end = _front_end(lines)
    found = [match for line in lines[1 : end - 1] if (match := _FIELD.match(line))] if end else []
    return {match["name"]: match["value"].strip("'\"") for match in found}


def is_of_client(name: str, data: bytes) -> bool:
    """Say whether a page has the form in which Claude Code's own memory writes its pages."""
    if name in (INDEX, EXTRACTED) or _is_own(name, data):
        return False
    front = front_of(data)
    return bool(front.get("name") and front.get("description")) and front.get("type") in _KINDS


def target_of(line: str) -> str:
    """Return the page that a line does nothing but point to, "" for every other line."""
    found = _POINTER.match(line)
    return found["file"].removeprefix("./") if found else ""


def in_style(line: str, other: str) -> str:
    """Return a pointer with the marks of another one around title and hook."""
    mine, its = _POINTER.match(line), _POINTER.match(other)
    if not mine or not its:
        return line
    sign = other[its.end("file") + 1 : its.start("hook")] if its["hook"] else ": "
    return f"{other[0]} [{mine['title']}]({mine['file']})" + (f"{sign}{mine['hook']}" if mine["hook"] else "")


def without_stale(text: str, pages: Container[str]) -> tuple[str, str]:
    """Return words without their links to pages that are not there, "" where they say nothing else, and the last page.

    ``text``: the words of a line. ``pages``: the names of the pages that are there.
    """
    gone = ""
    for link in _BESIDE.finditer(text):
        if link["file"] in pages:
            continue
        gone = link["file"]
        marked = text.replace(link[0], "\0", 1)
        if _ALONE.fullmatch(marked):
            return "", gone
        text = _ASIDE.sub("", marked, count=1).replace("\0", link["title"])
    for name in _BARE.finditer(text):
        if name["file"] not in pages and _BARELY.fullmatch(text.replace(name[0], "\0", 1)):
            return "", name["file"]
    return text, gone


def stale_in(text: str, pages: Container[str]) -> list[str]:
    """Return the pages that words lead to and that are not there: links, and bare names behind "see"."""
    links = [link["file"] for link in _BESIDE.finditer(text)]
    bare = [name["file"] for name in _BARE.finditer(text) if _BEFORE.search(text[: name.start()])]
    return [file for file in dict.fromkeys((*links, *bare)) if file not in pages]


def standing_lines(data: bytes, hashes: Iterable[str]) -> dict[int, str]:
    """Return which statements of a page have these hashes: line number -> hash; each hash stands for one of them.

    Of one of several lines, the further ones have "" for a hash.
    """
    wanted = Counter(iter(hashes))
    found: dict[int, str] = {}
    for one in statements(data) if wanted else ():
        digest = line_hash(one.line)
        if wanted[digest]:
            wanted[digest] -= 1
            found[one.number] = digest
            found |= dict.fromkeys(range(one.number + 1, one.number + one.line.count("\n") + 1), "")
    return found


def headings(data: bytes) -> dict[int, int]:
    """Return the lines of a page that are headings: line number -> level, 1 for the title."""
    lines = [raw.decode("utf-8", "replace") for raw in split(data)]
    found: dict[int, int] = {}
    fenced = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and (head := _HEADING.match(line)):
            found[number] = len(head["marks"])
    return found


def with_lines(data: bytes, changes: Mapping[str, Sequence[str | None]], agents: Container[str] = frozenset()) -> bytes:
    """Return a page in which some statements say something else, or are gone.

    Args:
        data: the page.
        changes: by the hash of a line, what each statement of that hash becomes, None where it goes.
        agents: hashes of the headings that agents wrote.

    Headings of agents, and Cersei's headers, that nothing stands under any more go as well, and where a gap is left one
    blank line of two.
    """
    left = {digest: list(of) for digest, of in changes.items()}
    standing = standing_lines(data, (digest for digest, of in left.items() for _ in of))
    kept: list[bytes] = []
    gaps: set[int] = set()
    for number, line in enumerate(split(data)):
        if number not in standing:
            kept.append(line)
        elif not standing[number]:
            continue  # it hangs on the line above
        elif (instead := left[standing[number]].pop(0)) is None:
            gaps.add(len(kept))
        else:
            end = b"\r" if line.endswith(b"\r") else b""
            kept += [part.encode("utf-8", "surrogateescape") + end for part in instead.split("\n")]
    return b"\n".join(_closed(kept, gaps, agents))


def _closed(lines: list[bytes], gaps: set[int], agents: Container[str]) -> list[bytes]:
    """Return lines without what a gap has left empty; a gap lies before the line of its number."""
    at = len(lines)
    for gap in sorted(gaps, reverse=True):
        # what stood around it may have gone with a part further down
        at = min(gap, at)
        while at > 0:
            above = next((n for n in range(at - 1, -1, -1) if lines[n].strip()), -1)
            below = next((n for n in range(at, len(lines)) if lines[n].strip()), len(lines))
            header = lines[above].strip().decode("utf-8", "replace") if above >= 0 else ""
            is_theirs = _level(header) > 1 and line_hash(lines[above].strip()) in agents
            if not (is_theirs or _AUTO_DAY.match(header) or header == SECTION) or not _is_end(lines, below, header):
                break
            del lines[above : below if below < len(lines) else at]
            at = above
        if 0 < at < len(lines) and not lines[at - 1].strip() and not lines[at].strip() and at < len(lines) - 1:
            del lines[at]
        set_apart(lines, at)
    return lines


def set_apart(lines: list[bytes], at: int) -> None:
    """Put a blank line before a line that would else be read as a part of what came to stand above it."""
    if not 0 < at < len(lines) or not lines[at - 1].strip() or not lines[at].strip():
        return
    texts = [raw.removesuffix(b"\r").decode("utf-8", "surrogateescape") for raw in lines]
    if any(at - 1 in numbers and at in numbers for numbers, _ in _blocks(texts)):
        lines.insert(at, b"")


def _is_end(lines: list[bytes], below: int, header: str) -> bool:
    """Say whether a section ends before a line: with the page, or where a heading of its level or above stands."""
    if below == len(lines):
        return True
    level = _level(lines[below].decode("utf-8", "replace"))
    return 0 < level <= _level(header)


def _level(line: str) -> int:
    """Return the level of a heading, 0 for every other line."""
    found = _HEADING.match(line)
    return len(found["marks"]) if found else 0


def linked(data: bytes) -> set[str]:
    """Return the pages of the same folder that a page leads to."""
    found = _LINK.finditer(data.decode("utf-8", "replace"))
    return {link["file"].removeprefix("./") if link["file"] else f"{link['wiki'].strip()}.md" for link in found}


def is_empty(name: str, data: bytes) -> bool:
    """Say whether a page is one of ours on which nothing stands."""
    return name in PAGES and data.rstrip() == new_topic_file(name).rstrip()


def _is_own(name: str, data: bytes) -> bool:
    return name in PAGES and data.startswith(new_topic_file(name).rstrip())


def _statement(numbers: list[int], lines: list[str], day: str, *, is_auto: bool) -> Statement:
    number = numbers[0]
    line = lines[number]
    if len(numbers) > 1:
        piece = "\n".join(lines[n] for n in numbers)
        return Statement(number, piece, in_one_line(piece), day=day)
    auto = _AUTO.match(line) if is_auto else None
    if auto:
        return Statement(number, line, auto["text"], auto["label"], min(int(auto["sure"]), 100) / 100, day)
    pointer = _POINTER.match(line)
    text = words_of_line(line)
    if pointer:
        return Statement(number, line, text, day=day, target=target_of(line), hook=pointer["hook"] or "")
    return Statement(number, line, text, day=day)


def parts_of(piece: str) -> list[tuple[str, str]]:
    """Return the lines of a statement, each as what stands before its words (blanks, a bullet) and its words."""
    found = [_INDENT.match(line) for line in piece.split("\n")]
    return [(one["mark"], one["words"]) for one in found if one]


def in_one_line(piece: str) -> str:
    """Return a bullet with what hangs on it as one line: its points with semicolons between them."""
    (_, text), *rest = parts_of(piece)
    text = text.rstrip()
    for mark, words in rest:
        sign = " " if not mark.strip() or text.endswith((":", ";")) else "; "
        text = f"{text.rstrip('.;') if sign == '; ' else text}{sign}{words.strip()}"
    return text


def _single(lines: list[str]) -> Iterator[tuple[list[int], bool]]:
    """Yield the numbers of the lines of each statement, and whether a header of Cersei's stands above it."""
    for one, is_auto in _blocks(lines):
        if _is_statement(lines[one[0]]) if len(one) == 1 else _is_piece([lines[n] for n in one], one):
            yield one, is_auto


def _blocks(lines: list[str]) -> list[tuple[list[int], bool]]:
    """Return the numbers of the lines that hang together, statements or not, each with what :func:`_single` tells."""
    at = _front_end(lines)
    blocks: list[list[int]] = []
    autos: dict[int, bool] = {}
    block: list[int] = []
    fenced, section, is_auto = False, False, False
    for number in range(at, len(lines)):
        line = lines[number]
        if line.lstrip().startswith("```") or fenced:
            fenced ^= line.lstrip().startswith("```")
            block.append(number)  # code hangs on what stands above it
            continue
        if line.startswith(("#", "<!--")):
            section = (section or line == SECTION) if line.startswith("### ") else line == SECTION
            is_auto = section and bool(_AUTO_DAY.match(line))
            block = []
        elif block and line.strip() and _goes_on(line, lines[number - 1], lines[block[0]]):
            block.append(number)
        elif line.strip():
            block = [number]
            blocks.append(block)
            autos[number] = is_auto
    return [(one, autos[one[0]]) for one in blocks]


def _is_piece(lines: list[str], numbers: list[int]) -> bool:
    """Say whether lines are a bullet with a few points or words below it, and nothing that needs its form."""
    is_short = len(lines) <= _MOST_PARTS and sum(map(len, lines)) <= _MOST_CHARS
    is_whole = numbers[-1] - numbers[0] == len(numbers) - 1
    return (
        is_short
        and is_whole
        and bool(_BULLET.match(lines[0]))
        and all(line.startswith((" ", "\t")) and not _HAS_FORM.match(line) for line in lines[1:])
    )


def _is_statement(line: str) -> bool:
    """Say whether a line that nothing hangs on says something: no step of several, no row, no heading of a list."""
    return not (_STEP.match(line) or line.startswith(("|", ">", " ", "\t", "---")) or line.rstrip().endswith(":"))


def _goes_on(line: str, above: str, head: str) -> bool:
    """Say whether a line hangs on the block above it, which begins with ``head``."""
    if line.startswith((" ", "\t")) or (not _BULLET.match(line) and _PART.match(line)):
        return True
    # in a list of labels each stands for itself
    if _PART.match(line) and not _PART.match(head) and _INSIDE.match(line):
        return True
    return bool(above.strip()) and not _BULLET.match(line) and not above.startswith("#")


def _front_end(lines: list[str]) -> int:
    """Return the number of the line behind the front matter, 0 where there is none."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next((n + 1 for n in range(1, len(lines)) if lines[n].rstrip() == "---"), 0)


# Putting own lines into a file that people write in too, without touching a byte of theirs.
#
# A file is a list of lines with newlines *between* them (a file that ends with a newline has an empty last line). In
# this view taking own lines out of a file gives back exactly what it was before they were put in, whatever its line
# ends are and whether or not it ends with a newline.

_BLANK = line_hash(b"")
_GAPPED = 2
_SECTION = b"## Auto-extracted memories"


def split(data: bytes) -> list[bytes]:
    """Return the lines of a file, each without its newline, with its carriage return."""
    return data.split(b"\n")


def own_lines(data: bytes, hashes: Iterable[str], apart: Container[str] = frozenset()) -> dict[int, str]:
    """Return which lines are own ones: line number -> hash, in file order.

    Args:
        data: the file.
        hashes: of the lines that may be ours.
        apart: those of them that stand below somebody else's headings.

    Each hash stands for one line. Of several that are alike the one is ours that stands among most other lines of
    ours, the first where that does not tell.
    """
    wanted = set(hashes)
    has_gap = _BLANK in wanted
    wanted.discard(_BLANK)
    found: dict[int, str] = {}
    if wanted:
        alike = {n: digest for n, line in enumerate(split(data)) if (digest := line_hash(line)) in wanted}
        beside = _beside(alike) if len(alike) > len(set(alike.values())) else {}
        chosen: dict[str, int] = {}
        for number in sorted(alike, key=lambda n: (-beside.get(n, 0), n)):
            chosen.setdefault(alike[number], number)
        found = {number: digest for digest, number in chosen.items()}
        lines = split(data)
        block = {n for n, digest in found.items() if digest not in apart}
        gaps = [n - 1 for n in block if lines[n].startswith(b"## ") and n - 2 in block and not lines[n - 1].strip()]
        found |= dict.fromkeys(gaps, _BLANK)
        first = min(block, default=0)
        if has_gap and first and lines[first].startswith(b"## ") and not lines[first - 1].strip():
            found[first - 1] = _BLANK
    return dict(sorted(found.items()))


def _beside(numbers: Iterable[int]) -> dict[int, int]:
    """Return by line how many of these lines stand together there; a blank one may lie between them."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number - runs[-1][-1] <= _GAPPED:
            runs[-1].append(number)
        else:
            runs.append([number])
    return {number: len(run) for run in runs for number in run}


def without_own(data: bytes, hashes: Iterable[str]) -> bytes:
    """Return what people wrote: the file without its own lines."""
    own = own_lines(data, hashes)
    return b"\n".join(line for number, line in enumerate(split(data)) if number not in own)


def weave(
    data: bytes,
    old: Iterable[str],
    new: Sequence[str],
    under: Mapping[str, Sequence[str]] | None = None,
    apart: Container[str] = frozenset(),
) -> bytes:
    """Return the file with its own lines replaced by the lines ``new``, which form one block.

    Args:
        data: the file as it is.
        old: hashes of the lines that may be ours.
        new: the lines that shall be there, without line ends.
        under: by the hash of a heading of somebody else's, the lines that shall stand at the end of what is below it.
        apart: hashes of those of our lines that stand so now.

    The block stands where its first line stood, else at the end. Lines of people keep their bytes and order. A
    file that has exactly these own lines in this order already stays as it is, also when a person has put lines of
    their own between them.
    """
    own = own_lines(data, old, apart)
    lines = split(data)
    numbers = [number for number in range(len(lines)) if number not in own]
    kept = [lines[number] for number in numbers]
    block = [number for number, digest in own.items() if digest not in apart]
    first = min(block) if block else _end(lines)
    at = sum(number < first for number in numbers)
    end = b"\r" if _is_crlf(kept) else b""
    # what shall stand above which of the lines that stay
    places: dict[int, list[str]] = {}
    for heading, some in (under or {}).items():
        places.setdefault(_foot(kept, heading, at), []).extend(some)
    places.setdefault(at, []).extend(new)
    every = [line for place in sorted(places) for line in places[place]]
    if list(own.values()) == [line_hash(line) for line in every]:
        return data
    made: list[bytes] = []
    for number in range(len(kept) + 1):
        made += [line.encode("utf-8", "surrogateescape") + end for line in places.get(number, ())]
        made += kept[number : number + 1]
    return b"\n".join(made)


def _foot(lines: Sequence[bytes], heading: str, at: int) -> int:
    """Return the number of the line above which what belongs to a heading ends; our block stands above line ``at``."""
    heads = headings(b"\n".join(lines))
    start = next((n for n in heads if line_hash(lines[n].strip()) == heading), None)
    if start is None:
        return at
    stop = min((n for n in (*heads, at, len(lines)) if n > start), default=len(lines))
    return max(n for n in range(start, stop) if lines[n].strip()) + 1


def _end(lines: Sequence[bytes]) -> int:
    """Return where a first block goes: at the end, but above a section of Cersei's."""
    end = len(lines) - (lines[-1] == b"")
    section = next((n for n, line in enumerate(lines) if line.rstrip() == _SECTION), end)
    # a blank line above the section stays there
    return section - (0 < section < end and not lines[section - 1].strip())


def line_count(data: bytes) -> int:
    """Return the number of lines as a client counts them: a final newline ends a line and starts none."""
    return len(split(data)) - (split(data)[-1] == b"")


def line_cost(line: str, data: bytes) -> int:
    """Return how many bytes an own line adds to a file."""
    return len(line.encode("utf-8", "surrogateescape")) + (2 if _is_crlf(split(data)) else 1)


def _is_crlf(lines: Sequence[bytes]) -> bool:
    return len(lines) > 1 and lines[0].endswith(b"\r")
