"""Candidates of a memory folder: an append-only file that says what was extracted, and from which bytes.

Every batch is one write: its candidates first, then the ranges of bytes that they came from. A torn write therefore
loses at most the ranges, these bytes are read again, and ids keep the candidates single.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import cast

import msgspec

from slowwave.files import atomic_write, file_bytes
from slowwave.formats import Problem
from slowwave.formats.lines import read_records
from slowwave.memory import BY_PERSON, DROPS, Candidate, ExtractedRange
from slowwave.memory.book import read_book
from slowwave.memory.folder import OWN_FOLDER, append_lines, guarded

FILE = "candidates.jsonl"

# what one session gave: its candidates and the ranges that they came from
Batch = tuple[Sequence[Candidate], Sequence[ExtractedRange]]


class _RangeLine(msgspec.Struct, frozen=True):
    """The form of a range's line."""

    extracted: ExtractedRange


class _AnyLine(msgspec.Struct, frozen=True):
    """What both kinds of line have in common, read first."""

    id: str = ""
    extracted: ExtractedRange | None = None


_any = msgspec.json.Decoder(_AnyLine)
_candidate = msgspec.json.Decoder(Candidate)
_encode = msgspec.json.Encoder().encode


def candidates_path(memory: Path) -> Path:
    """Return where the candidates of a memory folder are."""
    return memory / OWN_FOLDER / FILE


def read_entries(memory: Path) -> tuple[list[Candidate | ExtractedRange], list[Problem]]:
    """Return every line in file order, a candidate that occurs twice only once, and what could not be read.

    Raises UnreadableError: the file exists and cannot be opened.
    """
    path = candidates_path(memory)
    entries: list[Candidate | ExtractedRange] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    if not path.exists():
        return entries, problems
    for span, line in read_records(path, _any, problems):
        if line.extracted is not None:
            entries.append(line.extracted)
            continue
        try:
            candidate = _candidate.decode(span.raw)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            detail = f"not a candidate: {error}"[:160]
            problems.append(Problem("garbage", path, span.number, span.offset, len(span.raw), detail))
            continue
        if candidate.id not in seen:
            seen.add(candidate.id)
            entries.append(candidate)
    return entries, problems


def read_candidates(memory: Path) -> tuple[list[Candidate], list[ExtractedRange], list[Problem]]:
    """Return all candidates, all ranges that were read, and what could not be read, each in file order.

    Raises UnreadableError: the file exists and cannot be opened.
    """
    entries, problems = read_entries(memory)
    candidates = [e for e in entries if isinstance(e, Candidate)]
    ranges = [e for e in entries if isinstance(e, ExtractedRange)]
    return candidates, ranges, problems


def append_candidates(
    memory: Path, candidates: Sequence[Candidate], ranges: Iterable[ExtractedRange]
) -> list[Candidate]:
    """Append a batch in one write and return the candidates that were new.

    Raises LockHeldError: another process kept the memory folder locked for too long; OSError: the disk is full or the
    folder is not writable.
    """
    with guarded(memory):
        return append_unguarded(memory, candidates, ranges)


def append_unguarded(
    memory: Path, candidates: Sequence[Candidate], ranges: Iterable[ExtractedRange]
) -> list[Candidate]:
    """As :func:`append_candidates`, for a caller that holds the guard already."""
    return append_batches(memory, [(candidates, tuple(ranges))])[0]


def append_batches(memory: Path, batches: Iterable[Batch]) -> list[list[Candidate]]:
    """Append several batches in one write and return the new candidates of each; the caller holds the guard.

    The bytes are the same as those of one write for each batch.
    """
    every = list(batches)
    known = {c.id for c in read_candidates(memory)[0]} if any(c for c, _ in every) else set[str]()
    lines: list[bytes] = []
    new: list[list[Candidate]] = []
    for candidates, ranges in every:
        fresh: list[Candidate] = []
        for candidate in candidates:
            if candidate.id not in known:
                known.add(candidate.id)
                fresh.append(candidate)
        lines += lines_of(fresh, ranges)
        new.append(fresh)
    if lines:
        append_lines(candidates_path(memory), lines)
    return new


def lines_of(candidates: Iterable[Candidate], ranges: Iterable[ExtractedRange]) -> list[bytes]:
    """Return the lines of a batch, without line ends: its candidates first."""
    return [_encode(c) for c in candidates] + [_encode(_RangeLine(r)) for r in ranges]


# Which candidates wait, and which line shows each: one line for one fact, and none that a person took out.

REMOVED = "a person removed its line from extracted.md"
REWORDED = "a person put its line in extracted.md in their own words"
# Indel ratio, 0 to 100: a line at least this like ours is taken for a rewording of it
_ALIKE = 60.0
# one person takes out a few lines; so many at once, and more than a share of all, is an accident
MOST_REMOVED = 3
USUAL_LOSS = 0.25
# agents read the file (seed 000)
_SHOWN = 0.5


def fact_line(label: str, text: str, confidence: float) -> str:
    """Return one fact as Cersei writes it, without line end."""
    words = " ".join(text.split())
    return f"- **[{label}]** {words} *(confidence: {confidence * 100:.0f}%)*"


def candidate_line(candidate: Candidate) -> str:
    """Return the line of a candidate."""
    return fact_line(candidate.category, candidate.text, candidate.confidence)


def _says(line: str, others: Collection[str]) -> bool:
    """Say whether one of other lines is a rewording of a line."""
    from rapidfuzz import fuzz  # noqa: PLC0415 - the commands that only list things need it not

    return any(fuzz.ratio(line, other) >= _ALIKE for other in others)


def _is_for_agents(candidate: Candidate) -> bool:
    """Say whether agents may read a candidate that waits: what is unsure or doubtful waits for a person alone."""
    is_sure = not candidate.doubt and candidate.confidence >= _SHOWN
    # a rewording belongs to a decision: it never waits, also where that was taken back
    return is_sure and candidate.key != DROPS and candidate.extractor != BY_PERSON


@dataclass(slots=True)
class Waiting:
    """What ``extracted.md`` shall show."""

    # day and lines of each batch, in file order; a line stands in one batch only
    batches: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])
    gone: list[str] = field(default_factory=list[str])  # lines of ours that shall not be there
    shown: dict[str, str] = field(default_factory=dict[str, str])  # the line that shows each waiting candidate
    # why a person's change of the file refuses a waiting candidate, by its id
    withdrawn: dict[str, str] = field(default_factory=dict[str, str])
    lost: int = 0  # how many lines went missing by accident; they are given again

    @property
    def warning(self) -> str:
        """What to tell about lines that went missing by accident, "" when there are none."""
        if not self.lost:
            return ""
        return (
            f"{self.lost} waiting lines were gone from extracted.md at once, which looks like an accident; they were "
            f"put back (take out {MOST_REMOVED} at a time, or raise consolidation.max_loss)"
        )


def waiting(
    text: str,
    entries: Sequence[Candidate | ExtractedRange],
    done: Collection[str],
    shown: Mapping[str, str],
    day: str = "",
    max_loss: float = USUAL_LOSS,
) -> Waiting:
    """Return what the file shall show.

    ``text``: the file as it is. ``entries``: candidates and ranges in file order. ``done``: ids of the candidates that
    consolidation has dealt with; as a mapping, with what became of each. ``shown``: the lines that the file was given,
    by candidate. ``day``: of a batch that names none. ``max_loss``: when a larger share of the shown facts is gone at
    once, nobody meant it.
    """
    # what a model takes out is no agent's to read either, whatever the next dream makes of it
    taken = {e.value: "" for e in entries if isinstance(e, Candidate) and e.key == DROPS}
    done = taken | {one: cast("Mapping[str, str]", done)[one] if isinstance(done, Mapping) else "" for one in done}
    entries = [e for e in entries if not isinstance(e, Candidate) or _is_for_agents(e)]
    facts = _Facts(text, entries, done, shown, max_loss)
    found = Waiting()
    for of_day, batch in _batches(entries, day):
        lines = [line for c in batch if c.id not in done and (line := facts.line_of(c))]
        found.batches.append((of_day, lines))
    found.shown = facts.shown
    found.withdrawn = facts.withdrawn
    found.lost = facts.lost
    kept = set(facts.shown.values())
    found.gone = [line for e in entries if isinstance(e, Candidate) and (line := candidate_line(e)) not in kept]
    return found


def _batches(entries: Sequence[Candidate | ExtractedRange], default: str) -> Iterator[tuple[str, list[Candidate]]]:
    """Yield the candidates batch by batch with their day."""
    batch: list[Candidate] = []
    day = ""
    for entry in [*entries, None]:
        if isinstance(entry, Candidate):
            batch.append(entry)
            continue
        # a batch ends with its ranges, which say when it was read; a torn one takes the day of its last message
        day = entry.at[:10] if entry is not None and entry.at else day
        if batch:
            yield day or default or batch[-1].observed_at[:10], batch
        batch = []


class _Facts:
    """The waiting candidates by what they say."""

    def __init__(
        self,
        text: str,
        entries: Sequence[Candidate | ExtractedRange],
        done: Collection[str],
        shown: Mapping[str, str],
        max_loss: float,
    ) -> None:
        candidates = [e for e in entries if isinstance(e, Candidate)]
        self._settled = {candidate_line(c) for c in candidates if c.id in done}
        self.shown: dict[str, str] = {}
        self.withdrawn: dict[str, str] = {}
        self._leads: dict[str, str] = {}
        present = [line.rstrip() for line in text.split("\n")]
        ours = {candidate_line(c) for c in candidates}
        self._others = [line for line in present if line.startswith("- ") and line not in ours]
        self._present = set(present)
        refused = _refused_before(candidates, done)
        facts: dict[tuple[str, str], list[Candidate]] = {}
        for candidate in candidates:
            if candidate.id not in done:
                facts.setdefault(_fact(candidate), []).append(candidate)
        changed = {fact: self._withdrawn(group, shown) for fact, group in facts.items() if fact not in refused}
        removed = [fact for fact, reason in changed.items() if reason == REMOVED]
        known = sum(any(c.id in shown for c in facts[fact]) for fact in changed)
        self.lost = len(removed) if len(removed) > max(MOST_REMOVED, max_loss * known) else 0
        reasons = refused | changed | (dict.fromkeys(removed, "") if self.lost else {})
        for fact, group in facts.items():
            reason = reasons[fact]
            lead = max(group, key=lambda c: c.confidence)
            for candidate in group:
                if reason:
                    self.withdrawn[candidate.id] = reason
                else:
                    self.shown[candidate.id] = candidate_line(lead)
            self._leads[lead.id] = candidate_line(lead)

    def line_of(self, candidate: Candidate) -> str:
        """Return the line of a candidate that leads its fact, "" for every other one."""
        return self._leads.get(candidate.id, "") if candidate.id not in self.withdrawn else ""

    def _withdrawn(self, group: Sequence[Candidate], shown: Mapping[str, str]) -> str:
        """Return why a person does not want this fact, or "": a line was given, and none for it is there."""
        given = [line for c in group if (line := shown.get(c.id)) and line not in self._settled]
        if not given or any(line in self._present for line in (*given, *map(candidate_line, group))):
            return ""
        return REWORDED if _says(given[-1], self._others) else REMOVED


def _fact(candidate: Candidate) -> tuple[str, str]:
    return candidate.category, candidate.text.casefold()


def _refused_before(candidates: Sequence[Candidate], done: Collection[str]) -> dict[tuple[str, str], str]:
    """Return the facts that consolidation refused for a person's sake, with the reason: they hold for new sessions."""
    outcomes: Mapping[str, str] = cast("Mapping[str, str]", done) if isinstance(done, Mapping) else {}
    found: dict[tuple[str, str], str] = {}
    for candidate in candidates:
        reason = outcomes.get(candidate.id, "").removeprefix("refuse: ")
        if reason in (REMOVED, REWORDED):
            found[_fact(candidate)] = reason
    return found


# ``extracted.md``: the waiting candidates in Cersei's line format, where its agents read them.
#
# The file is derived from ``candidates.jsonl``: a kill between the two writes is repaired by :func:`reconcile`. Lines
# that slowwave did not write are never touched, and a line that a person took out stays out.

EXTRACTED = "extracted.md"
# seed 000 names the section; the line format is that of Cersei's own writer
SECTION = "## Auto-extracted memories"
_DAY = "### Session memories — "


def extracted_path(memory: Path) -> Path:
    """Return where the waiting candidates of a memory folder are shown."""
    return memory / EXTRACTED


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
