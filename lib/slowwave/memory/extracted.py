"""``extracted.md``: the waiting candidates in Cersei's line format, where its agents read them.

The file is derived from ``candidates.jsonl``: a kill between the two writes is repaired by :func:`reconcile`. Lines
that slowwave did not write are never touched.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from slowwave.files import atomic_write
from slowwave.memory.candidates import Batch, append_batches, candidates_path, read_entries
from slowwave.memory.guard import guarded
from slowwave.memory.model import Candidate, ExtractedRange

FILE = "extracted.md"
# seed 000 names the section; the line format is that of Cersei's own writer
SECTION = "## Auto-extracted memories"
_DAY = "### Session memories — "


def extracted_path(memory: Path) -> Path:
    """Return where the waiting candidates of a memory folder are shown."""
    return memory / FILE


def fact_line(label: str, text: str, confidence: float) -> str:
    """Return one fact as Cersei writes it, without line end."""
    return f"- **[{label}]** {text} *(confidence: {confidence * 100:.0f}%)*"


def candidate_line(candidate: Candidate) -> str:
    """Return the line of a candidate."""
    return fact_line(candidate.category, candidate.text, candidate.confidence)


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
    for fact in facts:
        at = _find(lines, fact, section, _end_of(lines, section, "# ", "## "))
        if at is None:
            continue
        del lines[at]
        above = at - 1
        if _bare(lines[above]).startswith(_DAY) and not _has_content(lines, at):
            del lines[above]
            if not _bare(lines[above - 1]) and above - 1 > section:
                del lines[above - 1]
    return "\n".join(lines)


def write_extraction(memory: Path, batches: Sequence[Batch], at: datetime) -> list[Candidate]:
    """Record what sessions gave: ``candidates.jsonl`` first, then its lines; return the candidates that were new.

    Both happen under one guard, so that no consolidation comes between them.

    Raises:
        LockHeldError: another process kept the memory folder locked for too long.
        OSError: a file cannot be written; what is missing is written by the next :func:`reconcile`.
    """
    with guarded(memory):
        new = append_batches(memory, batches)
        text = _read(memory) if any(new) else ""
        for of_batch in new:
            text = add_lines(text, [candidate_line(c) for c in of_batch], day_of(at))
        if any(new):
            _update(memory, text)
    return [candidate for of_batch in new for candidate in of_batch]


def reconcile(memory: Path, done: Collection[str]) -> bool:
    """Make ``extracted.md`` show exactly the candidates that wait; return whether it had to change.

    Args:
        memory: the memory folder.
        done: ids of the candidates that consolidation has dealt with.

    Raises:
        LockHeldError: another process kept the memory folder locked for too long.
        UnreadableError: ``candidates.jsonl`` cannot be opened.
    """
    if not candidates_path(memory).exists():
        return False
    with guarded(memory):
        before = _read(memory)
        text = reconciled(before, read_entries(memory)[0], done)
        if text != before:
            _update(memory, text)
        return text != before


def reconciled(text: str, entries: Sequence[Candidate | ExtractedRange], done: Collection[str]) -> str:
    """Return the text of ``extracted.md`` with the lines of exactly the waiting candidates among ours."""
    waiting: list[tuple[str, list[str]]] = []
    gone: list[str] = []
    batch: list[Candidate] = []
    day = ""
    for entry in [*entries, None]:
        if isinstance(entry, Candidate):
            batch.append(entry)
            continue
        # a batch ends with its ranges, which say when it was read; a torn one takes the day of its last message
        day = entry.at[:10] if entry is not None and entry.at else day
        if batch:
            gone += [candidate_line(c) for c in batch if c.id in done]
            waiting.append((day or batch[-1].observed_at[:10], [candidate_line(c) for c in batch if c.id not in done]))
        batch = []
    kept = {line for _, lines in waiting for line in lines}
    text = remove_lines(text, [line for line in gone if line not in kept])
    shown = {_bare(line) for line in text.split("\n")}
    # batch by batch and oldest day first, as they were added
    for of_day, lines in sorted(waiting, key=lambda pair: pair[0]):
        text = add_lines(text, [line for line in lines if line not in shown], of_day)
    return text


def _read(memory: Path) -> str:
    path = extracted_path(memory)
    return path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""


def _update(memory: Path, text: str) -> None:
    path = extracted_path(memory)
    data = text.encode("utf-8", "surrogateescape")
    if not path.exists() or path.read_bytes() != data:
        atomic_write(path, data)


def _bare(line: str) -> str:
    return line.rstrip()


def _find(lines: Sequence[str], wanted: str, start: int, stop: int) -> int | None:
    return next((i for i in range(start, stop) if _bare(lines[i]) == wanted), None)


def _end_of(lines: Sequence[str], start: int, *headers: str) -> int:
    """Return the index of the next header of the given levels after ``start``, or the end."""
    return next((i for i in range(start + 1, len(lines)) if lines[i].startswith(headers)), len(lines))


def _has_content(lines: Sequence[str], start: int) -> bool:
    """Say whether anything but blank lines stands between ``start`` and the next header."""
    return any(_bare(line) for line in lines[start : _end_of(lines, start - 1, "# ", "## ", "### ")])
