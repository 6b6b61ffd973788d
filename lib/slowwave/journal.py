"""What is about to change, noted on disk before it does, so that the next run finishes what a killed one began.

Every job that changes more than one thing goes the same way:

- *intent*: a note says what is to become of which bytes; it is written whole before the first of them changes;
- *done*: what the note tells has happened, and the note goes, or says that it has;
- *settle*: whoever comes next reads the notes that are left (:meth:`Journal.left`), looks at the files for what became
  of each (:func:`outcome`), and goes on, or takes back. No note ever says what happened; the bytes do.

A note is one JSON value in a file of its own, named after what it is about. Compactions, purges, erasures, landings of
a backfill and questions of a batch keep theirs here; a change of a memory folder notes its own inside of what is
exchanged (:mod:`slowwave.memory.transaction`), since both have to appear in one step.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Generic, Literal, NamedTuple, TypeVar

import msgspec

from slowwave.errors import CorruptStateError
from slowwave.files import at_fault_point, atomic_write, file_bytes, private_folder

T = TypeVar("T")
_DIGITS = 24


class Form(NamedTuple, Generic[T]):
    """What notes of one kind are."""

    kind: type[T]  # their type
    wrong: str  # what a file that holds something else is told to be: "is no note of a purge"
    remedy: str  # what to do about it


def read_note(path: Path, form: Form[T]) -> T | None:
    """Return a note, None when there is none.

    Raises CorruptStateError: it is damaged or cannot be read: that never counts as nothing noted.
    """
    try:
        return msgspec.json.decode(file_bytes(path), type=form.kind)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptStateError(path, f"{form.wrong} ({error})", form.remedy) from error


class Journal(Generic[T]):
    """The notes of one kind, a file each.

    ``folder``: where they are; made when something is first noted. ``form``: what they are. ``suffix``: of their names.
    """

    def __init__(self, folder: Path, form: Form[T], suffix: str = ".json") -> None:
        self.folder, self._form, self._suffix = folder, form, suffix

    def place(self, name: str) -> Path:
        """Return where the note of a name is, which may not be one of a file."""
        return self.folder / f"{name}{self._suffix}"

    def intend(self, name: str, note: T) -> Path:
        """Note what is about to happen, and return where; an earlier note of the name is replaced."""
        private_folder(self.folder)
        path = self.place(name)
        atomic_write(path, msgspec.json.encode(note))
        return path

    def find(self, name: str) -> T | None:
        """Return the note of a name, None when there is none."""
        return read_note(self.place(name), self._form)

    def left(self) -> Iterator[tuple[Path, T]]:
        """Yield the notes that are there, by their names."""
        for path in sorted(self.folder.glob(f"*{self._suffix}")):
            note = read_note(path, self._form)
            if note is not None:
                yield path, note


def done(path: Path) -> None:
    """Forget a note: what it told has come to its end."""
    at_fault_point("unlink", path)
    path.unlink(missing_ok=True)


def name_for(subject: str | bytes, digits: int = _DIGITS) -> str:
    """Return the name of the note about a file or whatever else is known by such bytes."""
    data = subject if isinstance(subject, bytes) else subject.encode("utf-8", "surrogateescape")
    return hashlib.sha256(data).hexdigest()[:digits]


# What became of bytes that were to stand in a file: nothing of them is there; they are its end; something follows them;
# what is there is something else.
Outcome = Literal["absent", "written", "followed", "other"]


def outcome(file: BinaryIO, start: int, stop: int, sha256: str) -> Outcome:
    """Say what became of the bytes that were to stand in a file from ``start`` to ``stop``.

    ``file``: the file, opened for reading; plain, whatever it is packed in.
    """
    size = file.seek(0, os.SEEK_END)
    if size <= start:
        return "absent"
    file.seek(start)
    if size < stop or hashlib.sha256(file.read(stop - start)).hexdigest() != sha256:
        return "other"
    return "written" if size == stop else "followed"
