"""Whether the bytes that prove a fact are still there: in files, in packed files, in rows of databases."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from slowwave.errors import UnreadableError
from slowwave.formats.rows import RowReader, StaleRowsError, names_row
from slowwave.memory.lookup import PlainFiles, all_transcripts, named, places
from slowwave.memory.model import Evidence
from slowwave.memory.names import name_from_json, name_to_json, printable
from slowwave.stores.archive.shelf import is_inside

Finding = Literal["ok", "moved", "changed", "lost"]

# A database that its client writes to in each of so many readings is left for later.
_MOST_READINGS = 5
# A file of another name is first looked at in the recorded places; for more pieces one reading of it all is cheaper.
_FEW = 50


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of one piece of evidence.

    Attributes:
        evidence: as it was recorded.
        finding: ok; moved (the same bytes lie elsewhere: archived, renamed, forked into parts, copied);
            changed (the file or row has other bytes); lost (no file, or
            no row).
        path: where the bytes are now, or the file that was looked at; of what is archived its pack, and behind it where
            it lay.
        offset: where in ``path``, or in the row, they are, -1 when they were not found.
    """

    evidence: Evidence
    finding: Finding
    path: str
    offset: int

    @property
    def is_archived(self) -> bool:
        """Whether the bytes are in an archive."""
        return is_inside(Path(self.path))


def check_evidence(evidence: Evidence, folders: Sequence[Path] = ()) -> Checked:
    """Read the evidence again.

    Args:
        evidence: what was recorded.
        folders: where to look for a file of the same name when it is no longer at its path; databases among them are
            such files themselves, and packs in them are looked into.

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
            with RowReader() as rows, PlainFiles(folders) as files:
                return _read_again(evidence, folders, rows, files)
        except StaleRowsError as error:
            reason = str(error)
    raise UnreadableError(evidence[0].path, reason, "try again when its client is idle")


def unproven(evidence: Mapping[str, Sequence[Evidence]], folders: Sequence[Path] = ()) -> dict[str, str]:
    """Return why the evidence of some facts does not prove anything any more, by the fact; none for what re-reads.

    Raises:
        UnreadableError: a database changes all the time while it is read.
    """
    every = [(fact, piece) for fact, pieces in evidence.items() for piece in pieces]
    reasons = {fact: "it has no evidence" for fact, pieces in evidence.items() if not pieces}
    for (fact, _), checked in zip(every, check_all([piece for _, piece in every], folders), strict=True):
        if checked.finding == "changed":
            reasons.setdefault(fact, f"its evidence is no longer in {printable(checked.path)}")
        elif checked.finding == "lost":
            reasons.setdefault(fact, f"its evidence is gone with {printable(checked.path)}")
    return reasons


def _read_again(
    evidence: Sequence[Evidence], folders: Sequence[Path], rows: RowReader, files: PlainFiles
) -> list[Checked]:
    """Check pieces file by file and return the findings in the order of the pieces."""
    found: dict[int, Checked] = {}
    missing: dict[int, Evidence] = {}
    looked: dict[int, Path] = {}
    # from the last piece of a file to its first: what the last one needs of a packed file is enough for all
    for index in sorted(range(len(evidence)), key=lambda i: (evidence[i].path, -evidence[i].offset)):
        piece = evidence[index]
        if names_row(piece.record):
            found[index] = _checked_row(piece, folders, rows)
        elif files.is_at(Path(name_from_json(piece.path)), piece):
            found[index] = Checked(piece, "ok", piece.path, piece.offset)
        else:
            missing[index] = piece
    _search_by_name(missing, folders, files, found, looked)
    _search_all(missing, folders, files, found)
    for index, piece in missing.items():
        if index not in found:
            at = looked.get(index)
            found[index] = Checked(piece, "changed" if at else "lost", name_to_json(at) if at else piece.path, -1)
    return [found[index] for index in range(len(evidence))]


def _search_by_name(
    missing: Mapping[int, Evidence],
    folders: Sequence[Path],
    files: PlainFiles,
    found: dict[int, Checked],
    looked: dict[int, Path],
) -> None:
    """Look for pieces in their own file and in files of its name, each file read once for all of them."""
    by_path: dict[str, list[int]] = {}
    for index, piece in missing.items():
        by_path.setdefault(piece.path, []).append(index)
    for path, indexes in by_path.items():
        for place in dict.fromkeys(places(Path(name_from_json(path)), folders, files.packs)):
            left = [i for i in indexes if i not in found]
            if not left or not files.has(place):
                continue
            for index in left:
                looked.setdefault(index, place)
            _search_in(place, {i: missing[i] for i in left}, files, found)


def _search_all(
    missing: Mapping[int, Evidence], folders: Sequence[Path], files: PlainFiles, found: dict[int, Checked]
) -> None:
    """Look for what is still missing in every transcript of the folders: renamed, forked into parts, or copied."""
    left = {index: piece for index, piece in missing.items() if index not in found}
    for place in all_transcripts(folders, files.packs) if left else ():
        _search_in(place, left, files, found)
        left = {index: piece for index, piece in left.items() if index not in found}
        if not left:
            return


def _search_in(place: Path, pieces: Mapping[int, Evidence], files: PlainFiles, found: dict[int, Checked]) -> None:
    # a file that was only moved has every piece at its old offset
    at_place = {i for i, piece in pieces.items() if files.is_at(place, piece)} if len(pieces) < _FEW else set[int]()
    offsets = (
        files.search(place, [piece for i, piece in pieces.items() if i not in at_place])
        if len(at_place) < len(pieces)
        else {}
    )
    for index, piece in pieces.items():
        if index in at_place:
            found[index] = Checked(piece, "moved", name_to_json(place), piece.offset)
        elif piece.sha256 in offsets:
            found[index] = Checked(piece, "moved", name_to_json(place), offsets[piece.sha256])


def _checked_row(evidence: Evidence, folders: Sequence[Path], rows: RowReader) -> Checked:
    path = Path(name_from_json(evidence.path))
    other: Path | None = None
    for place in dict.fromkeys([path, *(f for f in folders if f.name == path.name), *named(path.name, folders)]):
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
