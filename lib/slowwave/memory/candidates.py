"""Candidates of a memory folder: an append-only file that says what was extracted, and from which bytes.

Every batch is one write: its candidates first, then the ranges of bytes that they came from. A torn write therefore
loses at most the ranges, these bytes are read again, and ids keep the candidates single.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar, cast

import msgspec

from slowwave.files import at_fault_point, fsync_folder, require_file, write_all
from slowwave.formats import Problem
from slowwave.formats.lines import read_records
from slowwave.memory import BY_PERSON, DROPS, Candidate, ExtractedRange
from slowwave.memory.folder import OWN_FOLDER, guarded

FILE = "candidates.jsonl"
T = TypeVar("T", bound=msgspec.Struct)

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


class Notes(Generic[T]):
    """A file of notes beside the ledger: an object a line, only ever appended to, and nothing lost that is deleted.

    ``kind``: what a line holds. ``file``: its name.
    """

    def __init__(self, kind: type[T], file: str) -> None:
        self._decoder = msgspec.json.Decoder(kind)
        self._file = file

    def path(self, memory: Path) -> Path:
        """Return where the notes of a memory folder are."""
        return memory / OWN_FOLDER / self._file

    def read(self, memory: Path) -> tuple[list[T], list[Problem]]:
        """Return the notes, oldest first, and what could not be read.

        Raises UnreadableError: the file exists and cannot be opened.
        """
        path, problems = self.path(memory), list[Problem]()
        return [note for _, note in read_records(path, self._decoder, problems)] if path.exists() else [], problems

    def append(self, memory: Path, notes: Iterable[T], *, once: bool = False) -> None:
        """Add notes in one write.

        ``memory``: the memory folder. ``notes``: what to add. ``once``: leave out what is there already; notes are then
        hashable. Raises LockHeldError: another process kept the memory folder locked for too long; OSError: the file
        cannot be written.
        """
        wanted = list(dict.fromkeys(notes) if once else notes)
        if wanted:
            with guarded(memory):
                known = set(self.read(memory)[0]) if once else set[T]()
                lines = [_encode(note) for note in wanted if not once or note not in known]
                if lines:
                    append_lines(self.path(memory), lines)


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Append lines in one write, after ending a line that a kill or a full disk left torn; the caller holds the guard.

    Raises OSError: the disk is full or the file is not writable.
    """
    data = b"\n".join(lines) + b"\n"
    is_new = not path.exists()
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o600)
    try:
        require_file(path, os.fstat(fd))
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            data = b"\n" + data
        at_fault_point("write", path)
        try:
            write_all(fd, data)
        except OSError:
            # a full disk: half a line would be told as damage until the next one is written
            os.ftruncate(fd, size)
            raise
        at_fault_point("fsync", path)
        os.fsync(fd)
    finally:
        os.close(fd)
    if is_new:
        fsync_folder(path.parent)


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
