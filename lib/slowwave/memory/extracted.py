"""``extracted.md``: the waiting candidates in Cersei's line format, where its agents read them.

The file is derived from ``candidates.jsonl``: a kill between the two writes is repaired by :func:`reconcile`. Lines
that slowwave did not write are never touched, and a line that a person took out stays out.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import msgspec

from slowwave.files import atomic_write, file_bytes
from slowwave.formats import Problem
from slowwave.formats.lines import read_records
from slowwave.memory import Candidate, ExtractedRange
from slowwave.memory.book import read_book
from slowwave.memory.candidates import (
    USUAL_LOSS,
    Batch,
    Waiting,
    append_batches,
    candidate_line,
    candidates_path,
    fact_line,
    read_entries,
    waiting,
)
from slowwave.memory.folder import OWN_FOLDER, guarded

__all__ = ["candidate_line", "fact_line"]

FILE = "extracted.md"
# seed 000 names the section; the line format is that of Cersei's own writer
SECTION = "## Auto-extracted memories"
_DAY = "### Session memories — "


def extracted_path(memory: Path) -> Path:
    """Return where the waiting candidates of a memory folder are shown."""
    return memory / FILE


def day_of(at: datetime) -> str:
    """Return the day header's date for a time: the day in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d}"


def add_lines(text: str, facts: Sequence[str], day: str) -> str:
    """Return ``text`` with lines added under the header of ``day``, newest batch first.

    A new day goes right under the section header, so that the newest stands first. A line that the day has already is
    not added again. Everything else stays as it is, byte for byte.
    """
    lines = text.split("\n")
    header = _DAY + day
    section = _find(lines, SECTION, 0, len(lines))
    if section is None:
        fresh = list(dict.fromkeys(facts))
        before = "" if not text else ("\n" if text.endswith("\n") else "\n\n")
        return f"{text}{before}{SECTION}\n\n{header}\n" + "".join(f"{f}\n" for f in fresh) if fresh else text
    end = _end_of(lines, section, "# ", "## ")
    at = _find(lines, header, section, end)
    there = (
        {_bare(line) for line in lines[at : _end_of(lines, at, "# ", "## ", "### ")]} if at is not None else set[str]()
    )
    fresh = [f for f in dict.fromkeys(facts) if f not in there]
    if not fresh:
        return text
    place = section if at is None else at
    cr = "\r" if lines[place].endswith("\r") else ""
    block = [f"{line}{cr}" for line in (fresh if at is not None else ["", header, *fresh])]
    if place == len(lines) - 1:
        block.append("")
    return "\n".join([*lines[: place + 1], *block, *lines[place + 1 :]])


def remove_lines(text: str, facts: Iterable[str]) -> str:
    """Return ``text`` without one occurrence of each given line in the section; a day left empty goes as well."""
    lines = text.split("\n")
    section = _find(lines, SECTION, 0, len(lines))
    if section is None:
        return text
    left = _Left(lines, section, _end_of(lines, section, "# ", "## "))
    for fact in facts:
        left.remove(fact)
    return "\n".join(left.lines())


class _Left:
    """Lines of which some are removed, each found at once: thousands go when a dream has dealt with them.

    ``lines``: all lines of the file. ``start``: the first line of the section. ``stop``: the line behind its last.
    """

    def __init__(self, lines: Sequence[str], start: int, stop: int) -> None:
        self._lines = lines
        self._start = start
        self._gone: set[int] = set()
        # the lines before and behind each that are still there
        self._above = list(range(-1, len(lines)))
        self._below = list(range(1, len(lines) + 2))
        self._places: dict[str, list[int]] = {}
        for at in range(stop - 1, start - 1, -1):
            self._places.setdefault(_bare(lines[at]), []).append(at)

    def remove(self, fact: str) -> None:
        """Remove the first line that is a fact, if there is one, and the header of a day that is left empty."""
        places = self._places.get(fact, [])
        while places and places[-1] in self._gone:
            places.pop()
        if not places:
            return
        at = places.pop()
        self._take(at)
        header = self._above[at]
        if _bare(self._lines[header]).startswith(_DAY) and not self._has_content(self._below[at]):
            self._take(header)
            blank = self._above[header]
            if blank > self._start and not _bare(self._lines[blank]):
                self._take(blank)

    def lines(self) -> list[str]:
        """Return what is left."""
        return [line for at, line in enumerate(self._lines) if at not in self._gone]

    def _take(self, at: int) -> None:
        self._gone.add(at)
        above, below = self._above[at], self._below[at]
        if above >= 0:
            self._below[above] = below
        self._above[below] = above

    def _has_content(self, at: int) -> bool:
        """Say whether anything but blank lines stands between a line and the next header."""
        while at < len(self._lines) and not self._lines[at].startswith(("# ", "## ", "### ")):
            if _bare(self._lines[at]):
                return True
            at = self._below[at]
        return False


def write_extraction(
    memory: Path, batches: Sequence[Batch], at: datetime, max_loss: float = USUAL_LOSS
) -> list[Candidate]:
    """Record what sessions gave: ``candidates.jsonl`` first, then its lines; return the candidates that were new.

    Both happen under one guard, so that no consolidation comes between them. Raises LockHeldError: another process kept
    the memory folder locked for too long; CorruptStateError: the ledger, which says what consolidation has dealt with,
    is damaged; OSError: a file cannot be written; what is missing is written by the next :func:`reconcile`.
    """
    with guarded(memory):
        new = append_batches(memory, batches)
        if any(new):
            bring_up_to_date(memory, read_book(memory).done, day_of(at), max_loss)
    return [candidate for of_batch in new for candidate in of_batch]


def reconcile(memory: Path, done: Collection[str], max_loss: float = USUAL_LOSS) -> str:
    """Make ``extracted.md`` show exactly the candidates that wait; return what was wrong with it, "" for nothing.

    A line that is missing because of a kill is written again; one that a person took out or reworded is not, unless so
    many are gone at once that it was an accident. ``memory``: the memory folder. ``done``: ids of the candidates that
    consolidation has dealt with. ``max_loss``: the share of the lines that a person may take out at once. Raises
    LockHeldError: another process kept the memory folder locked for too long; UnreadableError: ``candidates.jsonl``
    cannot be opened.
    """
    if not candidates_path(memory).exists():
        return ""
    with guarded(memory):
        return bring_up_to_date(memory, done, max_loss=max_loss)


def reconciled(
    text: str,
    entries: Sequence[Candidate | ExtractedRange],
    done: Collection[str],
    shown: Mapping[str, str] | None = None,
    max_loss: float = USUAL_LOSS,
) -> str:
    """Return the text of ``extracted.md`` with the lines of exactly the waiting candidates among ours.

    ``text``: the file as it is. ``entries``: candidates and ranges in file order. ``done``: ids of the candidates that
    consolidation has dealt with. ``shown``: the lines that the file was given, by candidate: where one is missing, a
    person took it out. ``max_loss``: the share of the lines that a person may take out at once.
    """
    return _with(text, waiting(text, entries, done, shown or {}, max_loss=max_loss))


def shown_before(memory: Path) -> dict[str, str]:
    """Return which lines the file was given; nothing when it is gone as a whole, for then it is made again."""
    return read_shown(memory) if extracted_path(memory).exists() else {}


def bring_up_to_date(memory: Path, done: Collection[str], day: str = "", max_loss: float = USUAL_LOSS) -> str:
    """Write the file as it shall be, then note which lines it was given; the caller holds the guard."""
    before = _read(memory)
    found = waiting(before, read_entries(memory)[0], done, shown_before(memory), day, max_loss)
    text = _with(before, found)
    if text != before:
        _update(memory, text)
    note_shown(memory, found.shown)
    if text == remove_lines(before, found.gone):
        return ""  # what is dealt with by now went, as after an undo; nothing had been missing
    return found.warning or "extracted.md did not show the waiting candidates and was repaired"


def _with(text: str, found: Waiting) -> str:
    text = remove_lines(text, found.gone)
    there = {_bare(line) for line in text.split("\n")}
    # oldest day first, and in a day the newest batch first, as if each had been added by itself
    for of_day, batches in groupby(sorted(found.batches, key=itemgetter(0)), itemgetter(0)):
        fresh: dict[str, None] = {}
        for _, lines in batches:
            fresh = dict.fromkeys(line for line in lines if line not in there and line not in fresh) | fresh
        if fresh:
            text = add_lines(text, list(fresh), of_day)
    return text


def _read(memory: Path) -> str:
    path = extracted_path(memory)
    return file_bytes(path).decode("utf-8", "surrogateescape") if path.exists() else ""


def _update(memory: Path, text: str) -> None:
    path = extracted_path(memory)
    data = text.encode("utf-8", "surrogateescape")
    if not path.exists() or file_bytes(path) != data:
        atomic_write(path, data)


def _bare(line: str) -> str:
    return line.rstrip()


def _find(lines: Sequence[str], wanted: str, start: int, stop: int) -> int | None:
    return next((i for i in range(start, stop) if _bare(lines[i]) == wanted), None)


def _end_of(lines: Sequence[str], start: int, *headers: str) -> int:
    """Return the index of the next header of the given levels after ``start``, or the end."""
    return next((i for i in range(start + 1, len(lines)) if lines[i].startswith(headers)), len(lines))


# Which lines ``extracted.md`` was given: a waiting line that is missing all the same was taken out by a person.
#
# A line that a kill kept from being written was never noted here, so it is told apart and written again. The note comes
# after the file: a kill between the two costs only that one removal right after it is not understood as such.

SHOWN_FILE = "shown.jsonl"


class _Shown(msgspec.Struct, frozen=True):
    """A line of the file: ids of candidates with the line that shows each."""

    shown: dict[str, str]


_decoder = msgspec.json.Decoder(_Shown)
_encode = msgspec.json.Encoder().encode


def read_shown(memory: Path) -> dict[str, str]:
    """Return for each candidate the line that showed it last.

    A note that a kill left torn counts as not written: its lines are given again, and noted again. Raises
    UnreadableError: the file exists and cannot be opened.
    """
    path = memory / OWN_FOLDER / SHOWN_FILE
    torn: list[Problem] = []
    shown: dict[str, str] = {}
    if path.exists():
        for _, note in read_records(path, _decoder, torn):
            shown.update(note.shown)
    return shown


def note_shown(memory: Path, shown: Mapping[str, str]) -> None:
    """Note what is shown now and was not noted yet; the caller holds the guard.

    Raises OSError: the file cannot be written.
    """
    known = read_shown(memory)
    whole = known | dict(shown)
    if whole != known:
        # in the order of ids: a night in portions leaves the same bytes as one that went in one go
        lines = [_encode(_Shown({name: whole[name]})) + b"\n" for name in sorted(whole)]
        atomic_write(memory / OWN_FOLDER / SHOWN_FILE, lines)


def without_shown(data: bytes, candidates: Collection[str]) -> bytes:
    """Return the content of the file without the lines of some candidates; torn notes stay as they are."""
    left: list[bytes] = []
    for line in data.splitlines(keepends=True):
        try:
            note = _decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            left.append(line)
            continue
        shown = {name: text for name, text in note.shown.items() if name not in candidates}
        if shown == note.shown:
            left.append(line)
        elif shown:
            left.append(_encode(_Shown(shown)) + b"\n")
    return b"".join(left)
