"""Whether the bytes that prove a fact are still there: in files, in packed files, in rows of databases."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Self

from slowwave.dialects.codex.home import find_rollout, sibling, thread_in_name
from slowwave.dialects.rows import RowReader, StaleRowsError, names_row
from slowwave.errors import UnreadableError
from slowwave.memory.model import Evidence
from slowwave.memory.names import name_from_json, name_to_json, printable
from slowwave.records.sources.compressed import MOST_BYTES, SUFFIX, open_plain

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
    """Read several pieces of evidence again; each database is opened, each packed file unpacked once for all of them.

    Raises:
        UnreadableError: a database changes all the time while it is read.
    """
    reason = ""
    for _ in range(_MOST_READINGS):
        try:
            with RowReader() as rows, _PlainFiles() as files:
                return _read_again(evidence, folders, rows, files)
        except StaleRowsError as error:
            reason = str(error)
    raise UnreadableError(evidence[0].path, reason, "try again when its client rests")


def unproven(evidence: Mapping[str, Sequence[Evidence]], folders: Sequence[Path] = ()) -> dict[str, str]:
    """Return why the evidence of some facts does not prove anything any more, by the fact; none for what re-reads.

    Raises:
        UnreadableError: a database changes all the time while it is read.
    """
    every = [(fact, piece) for fact, pieces in evidence.items() for piece in pieces]
    reasons: dict[str, str] = {}
    for (fact, _), checked in zip(every, check_all([piece for _, piece in every], folders), strict=True):
        if checked.finding == "changed":
            reasons.setdefault(fact, f"its evidence is no longer in {printable(checked.path)}")
        elif checked.finding == "lost":
            reasons.setdefault(fact, f"its evidence is gone with {printable(checked.path)}")
    return reasons


class _PlainFiles:
    """Opens plain and packed files for reading; the last one stays open, since its pieces come one after the other."""

    def __init__(self) -> None:
        self._opened: tuple[Path, int, BinaryIO] | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(self, path: Path, most: int = MOST_BYTES) -> BinaryIO:
        """Return the file; of its plain bytes only the first ``most`` are needed.

        Raises:
            UnreadableError: it cannot be opened.
        """
        if self._opened is None or self._opened[0] != path or self._opened[1] < most:
            self._opened = None
            self._stack.close()
            self._opened = path, most, self._stack.enter_context(open_plain(path, most=most))
        return self._opened[2]


def _read_again(
    evidence: Sequence[Evidence], folders: Sequence[Path], rows: RowReader, files: _PlainFiles
) -> list[Checked]:
    """Check pieces file by file and return the findings in the order of the pieces."""
    # from the last piece of a file to its first: what the last one needs of a packed file is enough for all
    order = sorted(range(len(evidence)), key=lambda i: (evidence[i].path, -evidence[i].offset))
    found: dict[int, Checked] = {}
    for index in order:
        piece = evidence[index]
        is_row = names_row(piece.record)
        found[index] = _checked_row(piece, folders, rows) if is_row else _checked(piece, folders, files)
    return [found[index] for index in range(len(evidence))]


def _checked(evidence: Evidence, folders: Sequence[Path], files: _PlainFiles) -> Checked:
    path = Path(name_from_json(evidence.path))
    if _bytes_at(path, evidence, files) == evidence.sha256:
        return Checked(evidence, "ok", evidence.path, evidence.offset)
    looked: dict[Path, None] = {}
    for place in _places(path, folders):
        if place in looked or not place.is_file():
            continue
        looked[place] = None
        offset = _find(place, evidence, files)
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


def _bytes_at(path: Path, evidence: Evidence, files: _PlainFiles) -> str:
    try:
        file = files.open(path, most=evidence.offset + evidence.length)
        file.seek(evidence.offset)
        return hashlib.sha256(file.read(evidence.length)).hexdigest()
    except (OSError, UnreadableError):
        return ""


def _find(path: Path, evidence: Evidence, files: _PlainFiles) -> int:
    """Return where the recorded bytes lie in a file, -1 when nowhere; records stand on lines of their own."""
    if _bytes_at(path, evidence, files) == evidence.sha256:
        return evidence.offset
    try:
        file = files.open(path)
        offset = file.seek(0)
        for line in file:
            begin = len(line) - len(line.lstrip(b" \t\r\n\0"))
            raw = line[begin : begin + evidence.length]
            if len(raw) == evidence.length and hashlib.sha256(raw).hexdigest() == evidence.sha256:
                return offset + begin
            offset += len(line)
    except (OSError, UnreadableError):
        return -1
    return -1
