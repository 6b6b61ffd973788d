"""Candidates of a memory folder: an append-only file that says what was extracted, and from which bytes.

Every batch is one write: its candidates first, then the ranges of bytes that they came from. A torn write therefore
loses at most the ranges, these bytes are read again, and ids keep the candidates single.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from slowwave.files import at_fault_point, fsync_folder, require_file, write_all
from slowwave.formats.lines import read_records
from slowwave.formats.model import Problem
from slowwave.memory.guard import OWN_FOLDER, guarded
from slowwave.memory.model import Candidate, ExtractedRange

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

    Raises:
        UnreadableError: the file exists and cannot be opened.
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

    Raises:
        UnreadableError: the file exists and cannot be opened.
    """
    entries, problems = read_entries(memory)
    candidates = [e for e in entries if isinstance(e, Candidate)]
    ranges = [e for e in entries if isinstance(e, ExtractedRange)]
    return candidates, ranges, problems


def append_candidates(
    memory: Path, candidates: Sequence[Candidate], ranges: Iterable[ExtractedRange]
) -> list[Candidate]:
    """Append a batch in one write and return the candidates that were new.

    Raises:
        LockHeldError: another process kept the memory folder locked for too long.
        OSError: the disk is full or the folder is not writable.
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


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Append lines in one write, after ending a line that a kill or a full disk left torn; the caller holds the guard.

    Raises:
        OSError: the disk is full or the file is not writable.
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
