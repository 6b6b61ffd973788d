"""What a store holds: sessions and the projects they worked in."""

from pathlib import Path
from typing import Literal

import msgspec

from slowwave.formats.model import SessionFiles, SessionKind, SessionOrigin

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


class StoredSession(msgspec.Struct, frozen=True):
    """One session found on disk, before its content is read.

    Attributes:
        dialect: name of the dialect that its content shows.
        files: id and files in reading order.
        kind: main, subagent or fork.
        folder: the project folder, or another place of a store, that it lies in.
        size: bytes over all parts.
        mtime_ns: newest modification time over all parts.
        source: what became of it: "", archived, reset, deleted or backup.
        in_database: its file holds other sessions, too, so that the file's time says nothing about it.
        origin: who began it, "" where its client does not tell.
        parent: id of the session that it belongs to or was forked from, as far as the catalogue knows.
        messages: how many there are, -1 where nobody counted them or some record could not be read.
    """

    dialect: str
    files: SessionFiles
    kind: SessionKind
    folder: Path
    size: int
    mtime_ns: int
    source: str = ""
    in_database: bool = False
    origin: SessionOrigin = ""
    parent: str = ""
    messages: int = -1

    @property
    def id(self) -> str:
        """The session's id."""
        return self.files.id

    @property
    def is_stream(self) -> bool:
        """Say whether it is no file of lines."""
        return self.in_database or self.dialect == "opencode"


class Project(msgspec.Struct, frozen=True):
    """A repository or folder that agents worked in, with all its sessions.

    Attributes:
        key: what people call it by on the command line, the name of its folder.
        root: the working folder that its records name (the git root when there is one), or "" when they name none.
        folders: the folders and databases of the stores that its sessions lie in.
        memory: its memory folder (it may not exist yet).
        sessions: all sessions, oldest modification first.
    """

    key: str
    root: str
    folders: tuple[Path, ...]
    memory: Path
    sessions: tuple[StoredSession, ...]


class Discovery(msgspec.Struct):
    """Everything found under the roots.

    Attributes:
        projects: by key, each with its sessions.
        problems: everything that was left out, and why.
    """

    projects: list[Project] = msgspec.field(default_factory=list[Project])
    problems: list[StoreProblem] = msgspec.field(default_factory=list[StoreProblem])
