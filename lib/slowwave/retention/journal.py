"""What changed hashes in transcripts mean for memories, written down before a transcript changes.

A run that is killed between the two leaves its journals, and the next one puts the hashes into the memories. A journal
counts when its file begins with the bytes that it was to have, what was appended since then does not matter; that of a
database counts when its rows have the bytes that they were to have, and that of a pack by the files in it.
"""

import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import msgspec

from slowwave.errors import UnreadableError
from slowwave.files import atomic_write, file_bytes, private_folder
from slowwave.formats.rows import RowReader
from slowwave.memory.names import name_from_json, name_to_json
from slowwave.retention.transcripts import plain_bytes
from slowwave.stores.archive.model import SUFFIX as PACK
from slowwave.stores.archive.reading import Pack

FOLDER = "erase"
_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


class Journal(msgspec.Struct):
    """The old and new hashes in one file.

    Attributes:
        path: the file.
        size: how many plain bytes it has when it is written.
        sha256: of these bytes.
        hashes: old and new hashes of its records and of ranges of it.
        parts: instead of both new hashes: of the rows of a database by name, of the files in a pack by number.
    """

    path: str
    size: int
    sha256: str
    hashes: dict[str, str]
    parts: dict[str, str] = {}


def write_journal(folder: Path, path: Path, new: bytes, hashes: dict[str, str]) -> None:
    """Note that ``path`` is about to get the plain bytes ``new``.

    Raises:
        OSError: the state folder cannot be written.
    """
    _write(folder, path, Journal(name_to_json(str(path)), len(new), sha256(new).hexdigest(), hashes))


def write_parts_journal(folder: Path, path: Path, parts: dict[str, str], hashes: dict[str, str]) -> None:
    """Note that rows of a database, or files in a pack, are about to have these hashes.

    Raises:
        OSError: the state folder cannot be written.
    """
    _write(folder, path, Journal(name_to_json(str(path)), 0, "", hashes, parts))


def has_journal(folder: Path, path: Path) -> bool:
    """Say whether a run was killed before it was done with a file."""
    return _place(folder, path).is_file()


def _write(folder: Path, path: Path, journal: Journal) -> None:
    private_folder(folder)
    # nobody has put those of a killed run into the memories yet
    left = left_by(folder, path).items()
    journal.hashes = {old: journal.hashes.get(now, now) for old, now in left} | journal.hashes
    atomic_write(_place(folder, path), msgspec.json.encode(journal))


def left_by(folder: Path, path: Path) -> dict[str, str]:
    """Return the hashes that an earlier run noted for a file and did carry out."""
    place = _place(folder, path)
    journal = _read(place) if place.is_file() else None
    return journal.hashes if journal is not None and _stands(journal) else {}


def standing(folder: Path) -> dict[str, str]:
    """Return the hashes of all files that have their new bytes."""
    known: dict[str, str] = {}
    for path in _files(folder):
        journal = _read(path)
        if _stands(journal):
            known |= journal.hashes
    return known


def settle(folder: Path, memories: Iterable[Path]) -> None:
    """Remove the journals; those stay whose hashes a memory folder still has, since it could not be written."""
    known: set[bytes] = set()
    for path in (found for memory in memories for found in memory.rglob("*.json*") if found.is_file()):
        known.update(_HASH.findall(file_bytes(path)))
    for path in _files(folder):
        journal = _read(path)
        if not (_stands(journal) and any(old.encode() in known for old in journal.hashes)):
            path.unlink()


def _place(folder: Path, path: Path) -> Path:
    return folder / f"{sha256(str(path).encode('utf-8', 'surrogateescape')).hexdigest()[:24]}.json"


def _read(path: Path) -> Journal:
    return msgspec.json.decode(file_bytes(path), type=Journal)


def _stands(journal: Journal) -> bool:
    path = Path(name_from_json(journal.path))
    try:
        if not journal.sha256:
            now = hashes_in_pack(path) if path.suffix == PACK else hashes_of_rows(path, journal.parts)
            return now == journal.parts
        data = plain_bytes(path)
    except (UnreadableError, OSError):
        return False
    return sha256(data[: journal.size]).hexdigest() == journal.sha256


def hashes_of_rows(path: Path, records: Iterable[str]) -> dict[str, str]:
    """Return the hashes of those rows of a database that are there, by their names.

    Raises:
        OSError: the database cannot be read, or its client wrote to it meanwhile.
    """
    with RowReader() as rows:
        found = {record: rows.read(path, record) for record in records}
    return {record: sha256(data).hexdigest() for record, data in found.items() if data is not None}


def hashes_in_pack(path: Path) -> dict[str, str]:
    """Return the hashes of all files in a pack, by their numbers.

    Raises:
        CorruptStateError: the pack is damaged.
        OSError: it cannot be read.
    """
    with Pack(path) as pack:
        files = [file for session in pack.table.sessions for file in session.files if file.kind == "file"]
        return {str(number): sha256(pack.read(file)).hexdigest() for number, file in enumerate(files)}


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json")) if folder.is_dir() else []
