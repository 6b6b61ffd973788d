"""What an erasure writes, noted before it does: the proof of a run that is killed is made by the next one from this.

A run has one file: a line about itself, then of every file that it is about to change the hash before, then the one
after. What has no second line is compared with what lies there now.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import NamedTuple

import msgspec

from slowwave.files import at_fault_point, file_bytes, private_folder
from slowwave.formats.append import append_record, append_records
from slowwave.memory.names import name_from_json, name_to_json

SUFFIX = ".written"


class Changed(NamedTuple):
    """A file that was written, with the SHA-256 of its bytes before and after; "" when it was or is not there."""

    path: str
    before: str
    after: str


class _Run(msgspec.Struct, frozen=True, tag="run"):
    """The first line: which run it is, since when, and what it takes out, by kind and fingerprint."""

    run: str
    at: str
    subjects: tuple[str, ...]


class _File(msgspec.Struct, frozen=True, tag="file"):
    """A file that is about to change, or has changed."""

    path: str
    before: str
    after: str | None = None


class Left(NamedTuple):
    """A run that did not come to its end, and what it had changed by then."""

    note: Path
    run: str
    at: str
    subjects: tuple[str, ...]
    changed: tuple[Changed, ...]


class Written:
    """The notes of one run; without a folder none are kept."""

    def __init__(self, folder: Path | None = None, run: str = "", at: str = "", subjects: Sequence[str] = ()) -> None:
        self._path = None if folder is None else folder / f"{run}{SUFFIX}"
        self._first = _Run(run, at, tuple(subjects))
        self.changed: list[Changed] = []

    def begins(self, before: Mapping[Path, str]) -> None:
        """Note files that are about to be written, with their hashes.

        Raises:
            OSError: the state folder cannot be written; nothing may be written then.
        """
        self._add(_File(name_to_json(path), digest) for path, digest in before.items())

    def ended(self, before: Mapping[Path, str]) -> None:
        """Note what became of these files.

        Raises:
            OSError: as above.
        """
        done = [Changed(str(path), old, now) for path, old in before.items() if (now := digest_of(path)) != old]
        self.changed += done
        self._add(_File(name_to_json(one.path), one.before, one.after) for one in done)

    def close(self) -> None:
        """Forget the notes: what they say is certified."""
        if self._path is not None:
            at_fault_point("unlink", self._path)
            self._path.unlink(missing_ok=True)

    def _add(self, lines: Iterable[_File]) -> None:
        if self._path is None:
            return
        private_folder(self._path.parent)
        rows = [msgspec.json.encode(row) for row in lines]
        if rows and not self._path.exists():
            append_record(self._path, msgspec.json.encode(self._first), fsync=True)
        if rows:
            append_records(self._path, lambda: rows, fsync=True)


def left(folder: Path) -> Iterator[Left]:
    """Yield the runs that did not come to their end, oldest first.

    Raises:
        OSError: a note, or a file that it names, cannot be read.
    """
    for note in sorted(folder.glob(f"*{SUFFIX}")):
        run, files = _Run(note.stem, "", ()), dict[str, _File]()
        for line in filter(None, file_bytes(note).split(b"\n")):
            try:
                row = msgspec.json.decode(line, type=_Run | _File)
            except msgspec.DecodeError:
                continue  # torn by the kill, so that nothing had been written yet of what it was to tell
            if isinstance(row, _Run):
                run = row
            else:
                # one file may be written several times
                first = files.get(row.path)
                files[row.path] = row if first is None else _File(row.path, first.before, row.after)
        yield Left(note, run.run, run.at, run.subjects, tuple(_changed(files.values())))


def _changed(files: Iterable[_File]) -> Iterator[Changed]:
    for one in files:
        path = Path(name_from_json(one.path))
        after = digest_of(path) if one.after is None else one.after
        if after != one.before:
            yield Changed(str(path), one.before, after)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file of any size, "" when none is there.

    Raises:
        OSError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return ""
