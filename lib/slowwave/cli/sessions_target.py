"""Which session a command means."""

import argparse
import os
from pathlib import Path

from slowwave.cli.options import settings_of
from slowwave.dialects import by_name
from slowwave.dialects.base import Dialect
from slowwave.dialects.model import SessionFiles
from slowwave.dialects.registry import EXPECTED
from slowwave.errors import NotFoundError, UnknownDialectError, UnreadableError
from slowwave.records.model import Problem
from slowwave.stores.head import read_head
from slowwave.stores.model import StoreProblem
from slowwave.stores.one import session_of_path
from slowwave.stores.walk import SUFFIX, FoundSession


def path_of(name: str) -> Path | None:
    """Return the file that ``name`` is the path of, absolute; None when it looks like a session id."""
    path = Path(name).expanduser()
    if name and (os.sep in name or name.endswith(SUFFIX) or path.exists()):
        return path.absolute()
    return None


def chosen_session(args: argparse.Namespace, name: str) -> FoundSession:
    """Return the session that a person means by an id, a file, or nothing (the most recent one).

    Raises:
        UnreadableError: a file is missing, a folder or unreadable, or a store is.
        NotFoundError: no session or several have this id.
    """
    path = path_of(name)
    if path is not None:
        return _of_file(path)
    from slowwave.stores.ids import found_sessions, meant_session, newest_session  # noqa: PLC0415  # a file needs none

    problems: list[StoreProblem] = []
    sessions = found_sessions(settings_of(args), os.environ, problems)
    if not sessions and problems:
        raise NotFoundError(f"no session {name!r}: {problems[0]}")
    return meant_session(name, sessions) if name else newest_session(sessions)


def _of_file(path: Path) -> FoundSession:
    try:
        path.stat()
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read", "name a transcript or a session id") from error
    if path.is_dir():
        raise UnreadableError(path, "is a folder, not a transcript", "name a file in it, or list it with --store")
    if not path.is_file():
        raise UnreadableError(path, "is not a regular file", "name a transcript or a session id")
    return session_of_path(path)


def opened(found: FoundSession, mode: str = "seed") -> tuple[Dialect, SessionFiles]:
    """Return the dialect and the files of a session that is to be read.

    Raises:
        UnreadableError: it cannot be read.
        UnknownDialectError: it is empty, or no dialect recognises it.
    """
    head = read_head(found)
    if isinstance(head, StoreProblem):
        if head.kind == "unreadable":
            raise UnreadableError(head.path, head.detail, "check its permissions")
        raise UnknownDialectError(head.path, f"{head.kind}: {head.detail}", EXPECTED)
    notes = tuple(
        Problem("gap", Path(found.path), 0, 0, 0, f"part {n} is missing; later parts are read all the same")
        for n in found.missing_parts()
    )
    files = SessionFiles(found.id, tuple(Path(found.folder, file.name) for file in found.files), notes)
    dialect = _cersei_code() if head.dialect == "cersei" and mode == "code" else by_name(head.dialect)
    return dialect, files


def _cersei_code() -> Dialect:
    from slowwave.dialects.cersei.dialect import Cersei  # noqa: PLC0415  # rarely asked for

    return Cersei("code")
