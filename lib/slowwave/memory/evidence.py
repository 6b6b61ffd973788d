"""Whether the bytes that prove a fact are still there: in files, in packed files, in rows of databases."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from slowwave.dialects.codex.home import find_rollout, sibling, thread_in_name
from slowwave.dialects.rows import RowReader, StaleRowsError, names_row
from slowwave.errors import UnreadableError
from slowwave.memory.model import Evidence
from slowwave.memory.names import name_from_json, name_to_json, printable
from slowwave.records.sources.compressed import SUFFIX, open_plain

Finding = Literal["ok", "moved", "changed", "lost"]

# A database that its client writes to in each of so many readings is left for later.
_MOST_READINGS = 5


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of one piece of evidence.

    Attributes:
        evidence: as it was recorded.
        finding: ok; moved (the same bytes lie elsewhere); changed (the file or row has other bytes); lost (no file, or
            no row).
        path: where the bytes are now, or the file that was looked at.
        offset: where in ``path``, or in the row, they are, -1 when they were not found.
    """

    evidence: Evidence
    finding: Finding
    path: str
    offset: int


def check_evidence(evidence: Evidence, folders: Sequence[Path] = ()) -> Checked:
    """Read the evidence again.

    Args:
        evidence: what was recorded.
        folders: where to look for a file of the same name when it is no longer at its path; databases among them are
            such files themselves.

    Raises:
        UnreadableError: a database changes all the time while it is read.
    """
    return check_all([evidence], folders)[0]


def check_all(evidence: Sequence[Evidence], folders: Sequence[Path] = ()) -> list[Checked]:
    """Read several pieces of evidence again; each database is opened once for all of them.

    Raises:
        UnreadableError: a database changes all the time while it is read.
    """
    reason = ""
    for _ in range(_MOST_READINGS):
        try:
            with RowReader() as rows:
                return [
                    _checked_row(e, folders, rows) if names_row(e.record) else _checked(e, folders) for e in evidence
                ]
        except StaleRowsError as error:
            reason = str(error)
    raise UnreadableError(evidence[0].path, reason, "try again when its client rests")


def unproven(evidence: Iterable[Evidence], folders: Sequence[Path] = ()) -> str:
    """Return why these bytes do not prove anything any more, or "" when all of them re-read."""
    for checked in check_all(list(evidence), folders):
        if checked.finding == "changed":
            return f"its evidence is no longer in {printable(checked.path)}"
        if checked.finding == "lost":
            return f"its evidence is gone with {printable(checked.path)}"
    return ""


def _checked(evidence: Evidence, folders: Sequence[Path]) -> Checked:
    path = Path(name_from_json(evidence.path))
    if _bytes_at(path, evidence) == evidence.sha256:
        return Checked(evidence, "ok", evidence.path, evidence.offset)
    looked: dict[Path, None] = {}
    for place in _places(path, folders):
        if place in looked or not place.is_file():
            continue
        looked[place] = None
        offset = _find(place, evidence)
        if offset >= 0:
            return Checked(evidence, "moved", name_to_json(place), offset)
    if looked:
        return Checked(evidence, "changed", name_to_json(next(iter(looked))), -1)
    return Checked(evidence, "lost", evidence.path, -1)


def _checked_row(evidence: Evidence, folders: Sequence[Path], rows: RowReader) -> Checked:
    path = Path(name_from_json(evidence.path))
    other: Path | None = None
    for place in dict.fromkeys([path, *(f for f in folders if f.name == path.name), *_named(path.name, folders)]):
        if not place.is_file():
            continue
        try:
            data = rows.read(place, evidence.record)
        except StaleRowsError:
            raise
        except OSError:
            data = b""  # something is there, and it says nothing that could be compared
        if data is None:
            continue
        if hashlib.sha256(data[evidence.offset : evidence.offset + evidence.length]).hexdigest() == evidence.sha256:
            return Checked(evidence, "ok" if place == path else "moved", name_to_json(place), evidence.offset)
        other = other or place
    if other is not None:
        return Checked(evidence, "changed", name_to_json(other), -1)
    return Checked(evidence, "lost", evidence.path, -1)


def _places(path: Path, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the file itself, then where else its client may have put it, then files of its name in the folders."""
    yield path
    if path.name.endswith((".jsonl", f".jsonl{SUFFIX}")):
        yield sibling(path)
        if (thread := thread_in_name(path)) and (rollout := find_rollout(path, thread)) is not None:
            yield rollout
        yield from _named(sibling(path).name, folders)
    yield from _named(path.name, folders)


def _named(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        if folder.is_dir():
            yield from sorted(folder.rglob(_literal(name)))


def _literal(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _bytes_at(path: Path, evidence: Evidence) -> str:
    try:
        with open_plain(path, most=evidence.offset + evidence.length) as file:
            file.seek(evidence.offset)
            return hashlib.sha256(file.read(evidence.length)).hexdigest()
    except (OSError, UnreadableError):
        return ""


def _find(path: Path, evidence: Evidence) -> int:
    """Return where the recorded bytes lie in a file, -1 when nowhere; records stand on lines of their own."""
    if _bytes_at(path, evidence) == evidence.sha256:
        return evidence.offset
    try:
        with open_plain(path) as file:
            offset = 0
            for line in file:
                begin = len(line) - len(line.lstrip(b" \t\r\n\0"))
                raw = line[begin : begin + evidence.length]
                if len(raw) == evidence.length and hashlib.sha256(raw).hexdigest() == evidence.sha256:
                    return offset + begin
                offset += len(line)
    except (OSError, UnreadableError):
        return -1
    return -1
