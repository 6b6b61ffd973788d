"""What a store holds: sessions and the projects they worked in."""

from dataclasses import dataclass
from pathlib import Path

from slowwave.dialects.model import SessionFiles, SessionKind


@dataclass(frozen=True, slots=True)
class StoredSession:
    """One session found on disk, before its content is read.

    Attributes:
        dialect: name of the dialect that its content shows.
        files: id and files in reading order.
        kind: main, subagent or fork.
        folder: the project folder it lies in.
        size: bytes over all parts.
        mtime_ns: newest modification time over all parts.
    """

    dialect: str
    files: SessionFiles
    kind: SessionKind
    folder: Path
    size: int
    mtime_ns: int

    @property
    def id(self) -> str:
        """The session's id."""
        return self.files.id


@dataclass(frozen=True, slots=True)
class Project:
    """A repository or folder that agents worked in, with all its sessions.

    Attributes:
        key: what people call it by on the command line, the name of its folder.
        root: the working folder that its records name (the git root when there is one), or "".
        folders: its folders in the store; the clients spell one project in up to three ways.
        memory: its memory folder (it may not exist yet).
        sessions: all sessions, oldest modification first.
    """

    key: str
    root: str
    folders: tuple[Path, ...]
    memory: Path
    sessions: tuple[StoredSession, ...]
