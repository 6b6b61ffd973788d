"""A session as it lies on disk, before its content is read: its files, their place, and what is odd there."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from slowwave.errors import UnreadableError, UsageError
from slowwave.formats.lines import PACKED
from slowwave.formats.model import SessionFiles, SessionKind, SessionOrigin

SUFFIX = ".jsonl"
StoreProblemKind = Literal[
    "unreadable",  # the operating system refuses a folder or file, or it is no regular file
    "unknown-dialect",  # content that no dialect recognises
    "empty",  # a transcript without a byte
    "damaged",  # not one readable record at its beginning
    "link",  # a transcript is a symbolic link out of the store
    "loop",  # a symbolic link leads back to a folder that was read already
    "duplicate",  # the same file under a second name
    "ignored",  # transcripts where no client keeps sessions
    "gap",  # a numbered part is missing
    "too-large",  # more than the session's own client would load
    "blocked",  # it was erased on request, and lies there again
    "catalogue",  # the cache of what is known cannot be kept, so sessions are read again
]


class StoreProblem(msgspec.Struct, frozen=True):
    """Something in a store that is not a session; it is counted and shown and never stops a run."""

    kind: StoreProblemKind
    path: str
    detail: str

    def __str__(self) -> str:
        """Say it in one line, also when the name holds a newline."""
        shown = self.path.replace("\n", "\\n").encode("utf-8", "backslashreplace").decode()
        return f"{shown}: {self.kind}: {self.detail}"


class Place(NamedTuple):
    """One folder or database whose sessions are one page of the catalogue."""

    kind: str  # name of the kind that lists it
    path: str  # the folder, or the database file; its sessions then have their ids as part of their key
    store: str = ""  # the real path of the root that it belongs to, which links may not lead out of; "" when they may


Source = Literal["", "archived", "reset", "deleted", "backup"]


def key_in_database(path: str, session: str) -> str:
    """Return the key of a session that shares its file with others."""
    return f"{path}#{session}"


class FoundFile(msgspec.Struct, gc=False, frozen=True):
    """One file as the walk saw it."""

    name: str
    size: int
    mtime_ns: int
    dev: int
    ino: int


Signature = tuple[bytes, int, int, int, int]


def signatures(files: Iterable[FoundFile]) -> list[Signature]:
    """Return name, size, mtime, device and inode of each file, the name as bytes: it may be no UTF-8."""
    return [(os.fsencode(f.name), f.size, f.mtime_ns, f.dev, f.ino) for f in files]


class FoundSession(msgspec.Struct, gc=False):
    """All files of one session in one folder, in reading order."""

    folder: str  # the folder that its files lie in
    id: str  # the id that its client knows it by
    # its files; of a session in a database, the database with the size and time of the session's own rows
    files: list[FoundFile]
    side: bool  # its place says that it is a sub-agent's
    numbers: list[int] = []  # the part numbers of its files, where they have some
    dialect: str = ""  # the dialect, where the place tells it; else the content does
    cwd: str = ""  # the working folder, where the place tells it
    kind: SessionKind | Literal[""] = ""  # main, subagent or fork, where the place tells it
    source: Source = ""  # what became of it: "", archived, reset, deleted or backup
    in_database: bool = False  # its file holds other sessions, too
    parent: str = ""  # id of the session that it belongs to or was forked from, where the place tells it
    origin: SessionOrigin = ""  # who began it, where the place tells it
    told: str = ""  # what a file beside it told of it, "" for nothing

    @property
    def path(self) -> str:
        """The path of its first file."""
        return f"{self.folder}/{self.files[0].name}"

    @property
    def key(self) -> str:
        """What tells it from every other session: the path, in a database with the id."""
        return key_in_database(self.path, self.id) if self.in_database else self.path

    @property
    def size(self) -> int:
        """Bytes over all parts."""
        return sum(file.size for file in self.files)

    @property
    def mtime_ns(self) -> int:
        """Newest modification over all parts."""
        return max(file.mtime_ns for file in self.files)

    def missing_parts(self) -> list[int]:
        """Return the part numbers that should be there and are not; 1 is the base file."""
        return [n for n in range(1, self.numbers[-1]) if n not in self.numbers] if self.numbers else []


class StoredSession(msgspec.Struct, frozen=True):
    """One session found on disk, before its content is read."""

    dialect: str  # name of the dialect that its content shows
    files: SessionFiles  # id and files in reading order
    kind: SessionKind  # main, subagent or fork
    folder: Path  # the project folder, or another place of a store, that it lies in
    size: int  # bytes over all parts
    mtime_ns: int  # newest modification time over all parts
    source: str = ""  # what became of it: "", archived, reset, deleted or backup
    in_database: bool = False  # its file holds other sessions, too, so that the file's time says nothing about it
    origin: SessionOrigin = ""  # who began it, "" where its client does not tell
    parent: str = ""  # id of the session that it belongs to or was forked from, as far as the catalogue knows
    messages: int = -1  # how many there are, -1 where nobody counted them or some record could not be read

    @property
    def id(self) -> str:
        """The session's id."""
        return self.files.id

    @property
    def is_stream(self) -> bool:
        """Say whether it is no file of lines."""
        return self.in_database or self.dialect == "opencode"


# Session ids: which ones may become a file name.

# Linux allows 255 bytes for a name; a part number and the suffix must still fit.
_MOST_BYTES = 200
_PART_LIKE = re.compile(r".*_part[0-9]+\Z", re.DOTALL)


def checked_id(session_id: str) -> str:
    """Return ``session_id`` when it can safely become a file name.

    Raises UsageError: it holds a separator or a control character, begins with a dot, is empty or too long, or looks
    like a part file; nothing was touched.
    """
    reason = ""
    if not session_id or session_id.strip() != session_id:
        reason = "is empty or has white space at an end"
    elif any(c in "/\\:" or not c.isprintable() for c in session_id):
        reason = "holds a separator or a control character"
    elif session_id.startswith((".", "-")):
        reason = "begins with a dot or a dash"
    elif len(os.fsencode(session_id)) > _MOST_BYTES:
        reason = f"is longer than {_MOST_BYTES} bytes"
    elif _PART_LIKE.match(session_id):
        reason = "looks like a part file of another session"
    if reason:
        raise UsageError(f"session id {session_id!r} {reason}; use letters, digits, '-', '_' and '.' only")
    return session_id


def base_path(folder: Path, session_id: str) -> Path:
    """Return where the first file of a session lies, surely inside ``folder``.

    Raises UsageError: the id is malformed, or the file is a link that leads out of the folder.
    """
    path = folder / (checked_id(session_id) + SUFFIX)
    if path.resolve().parent != folder.resolve():
        raise UsageError(f"{path}: is a link that leads out of its folder; name the real file")
    return path


# The names of its files. Cersei spreads a session over several: ``ID.jsonl``, ``ID_part2.jsonl``, ``ID_part3.jsonl``...

# Cersei counts from 2 and writes no leading zeros: any other ending belongs to the session's own name
_PART = re.compile(r"(?s)(?P<stem>.+)_part(?P<number>[2-9]|[1-9][0-9]+)")
# pi and Codex put the time before the id: the id alone is what their users know a session by.
_TIMED_NAME = re.compile(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9-]+Z_|rollout-[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9-]{8}-)(.+)\Z", re.DOTALL
)


def session_id(name: str) -> str:
    """Return the id that a transcript's file name holds."""
    stem = name.removesuffix(PACKED).removesuffix(SUFFIX)
    timed = _TIMED_NAME.match(stem) if stem[:1] in "0123456789r" else None
    return timed[1] if timed else stem


def session_stem(name: str) -> tuple[str, int]:
    """Return the session's name and the part number for a file name, with or without ``.jsonl`` (base = 1)."""
    stem = name.removesuffix(SUFFIX)
    match = _PART.fullmatch(stem)
    return (match["stem"], int(match["number"])) if match else (stem, 1)


def part_name(stem: str, number: int) -> str:
    """Return the file name of a part; number 1 is the base file."""
    return f"{stem}{SUFFIX}" if number == 1 else f"{stem}_part{number}{SUFFIX}"


def numbered_parts(base: Path) -> dict[int, str]:
    """Return the file names of a session by part number, from one listing of names."""
    stem = base.name.removesuffix(SUFFIX)
    try:
        names = os.listdir(base.parent)  # noqa: PTH208 - paths would cost more than the listing
    except OSError as error:
        raise UnreadableError(base.parent, error.strerror or "cannot be listed") from error
    numbers = {1: base.name} if base.name in names else {}
    for name in names:
        if name.startswith(stem) and name.endswith(SUFFIX):
            found, number = session_stem(name)
            if found == stem and number > 1:
                numbers[number] = name
    return numbers
