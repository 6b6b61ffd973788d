"""Opening sessions for writing: which writer a session needs, what it writes to, and that nobody else has it open."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from slowwave.errors import UnknownDialectError, UnreadableError, UsageError
from slowwave.formats.claude import CLIENT as CLAUDE
from slowwave.formats.registry import CLIENTS, EXPECTED, client_of
from slowwave.formats.sessions import FoundSession, StoreProblem
from slowwave.formats.writing import Means, Target, Writer
from slowwave.settings import Settings
from slowwave.stores.projects import new_session_folder
from slowwave.stores.roots import Head, is_persons_home, read_head

# What a client has put aside it does not read again, whatever is appended to it.
_PUT_ASIDE = ("reset", "deleted", "backup")


class Opened(NamedTuple):
    """A session and the writer for it."""

    writer: Writer
    target: Target


class Writers:
    """The writers of one task; those that hold back what their client would not have written yet keep it here."""

    def __init__(self, means: Means) -> None:
        """Take what new records are made with."""
        self.means = means
        self._writers: dict[str, Writer] = {}

    def of(self, dialect: str) -> Writer:
        """Return the writer of a dialect.

        Raises UsageError: its sessions are only read; the message says why.
        """
        if dialect not in self._writers:
            self._writers[dialect] = writer_for(dialect, self.means)
        return self._writers[dialect]

    def known(self, found: FoundSession) -> Opened:
        """Return a session that exists, and its writer.

        Raises UnreadableError: it cannot be read; UnknownDialectError: its content is of no known dialect; UsageError:
        sessions of its dialect are only read, its client has put it aside, or its file is a link that leads out of its
        folder.
        """
        head = known_head(found)
        writer = self.of(head.dialect)
        if found.source in _PUT_ASIDE:
            raise UsageError(
                f"{found.path}: its client has put this session aside ({found.source}); nothing was written"
            )
        files = tuple(Path(found.folder, file.name) for file in found.files)
        if files[0].resolve().parent != files[0].parent.resolve():
            raise UsageError(f"{files[0]}: is a link that leads out of its folder; name the real file")
        return Opened(writer, Target(found.id, files[0], files, head.cwd, found.side or head.side))

    def new(self, dialect: str, folder: Path, session_id: str, cwd: str) -> Opened:
        """Return a session that is to be begun, and its writer.

        Raises UsageError: sessions of this dialect are only read, only its client begins one, or the id cannot be a
        name.
        """
        writer = self.of(dialect)
        return Opened(writer, Target(session_id, writer.path(folder, session_id), (), cwd))


def known_head(found: FoundSession) -> Head:
    """Return what the beginning of a session shows.

    Raises UnreadableError: it cannot be read; UnknownDialectError: it is empty, or its content is of no known dialect.
    """
    head = read_head(found)
    if not isinstance(head, StoreProblem):
        return head
    if head.kind == "unreadable":
        raise UnreadableError(head.path, head.detail, "let this user read it")
    raise UnknownDialectError(head.path, head.detail, EXPECTED)


@contextmanager
def held(opened: Opened) -> Generator[Opened]:
    """Yield a session as long as nobody else may write to it.

    Raises RefusedError: a running client has it open.
    """
    with opened.writer.alone(opened.target):
        yield opened


def writable() -> list[str]:
    """Return the names of the clients whose sessions are written to."""
    return [name for name, client in CLIENTS.items() if client.writer is not None]


def writer_for(dialect: str, means: Means) -> Writer:
    """Return the writer of a dialect.

    Raises UsageError: sessions of this dialect are only read; the message says why.
    """
    client = client_of(dialect)
    found = client.writing()
    if found is None:
        reason = client.read_only or f"write to one of {', '.join(writable())}"
        raise UsageError(f"a session of {dialect} is read only: {reason}; nothing was written")
    return found(means)


# Where a new session goes when nobody names a folder: where its client would look for it.


def folder_for(dialect: str, settings: Settings, environ: Mapping[str, str], cwd: Path) -> Path:
    """Return the folder for a new session that works in ``cwd``; it may not exist yet.

    Args:
        dialect: of the new session.
        settings: the first of its store roots is taken, if it names one; in a person's home the client's own.
        environ: where clients are told of other homes.
        cwd: the working folder, absolute.

    Raises UnreadableError: the store is a file.
    """
    client, named = client_of(dialect), settings.store.roots
    is_own = client.new_folder(Path(), cwd) is not None
    if named and is_persons_home(named[0]):
        home = (client if is_own else CLAUDE).homes({"HOME": os.fspath(named[0])})[0]
        settings = settings.with_roots([home])
        named = settings.store.roots
    own = client.new_folder(named[0] if named else client.homes(environ)[0], cwd) if is_own else None
    return new_session_folder(settings, environ, cwd) if own is None else own
