"""Where a new session of a dialect goes when nobody names a folder: where its client would look for it."""

import os
from collections.abc import Mapping
from pathlib import Path

from slowwave.settings import Settings
from slowwave.stores.kinds.claude import FOLDER_OF_PROJECT
from slowwave.stores.kinds.registry import BY_NAME, HOMES
from slowwave.stores.places import new_session_folder
from slowwave.stores.roots import is_persons_home

_SESSIONS = "sessions"
# Clients that keep all sessions below one folder called so in their home.
_HOMES = ("pi", "crabtalk", "ulid")
_DASHES = str.maketrans("/\\:", "---")


def folder_for(dialect: str, settings: Settings, environ: Mapping[str, str], cwd: Path) -> Path:
    """Return the folder for a new session that works in ``cwd``; it may not exist yet.

    Args:
        dialect: of the new session.
        settings: the first of its store roots is taken, if it names one; in a person's home the client's own.
        environ: where clients are told of other homes.
        cwd: the working folder, absolute.

    Raises:
        UnreadableError: the store is a file.
    """
    root = settings.store.roots[0] if settings.store.roots else None
    if root is not None and is_persons_home(root):
        name = dialect if dialect in _HOMES else FOLDER_OF_PROJECT
        kind = next(kind for kind in HOMES if kind.name == name)
        settings = settings.with_roots(kind.usual({"HOME": os.fspath(root)})[:1])
    if dialect not in _HOMES:
        return new_session_folder(settings, environ, cwd)
    named = settings.store.roots
    home = named[0] if named else BY_NAME[dialect].usual(environ)[0]
    folder = home if home.name == _SESSIONS else home / _SESSIONS
    return folder / _of_pi(cwd) if dialect == "pi" else folder


def _of_pi(cwd: Path) -> str:
    """Return the name of pi's folder: the working folder without its first slash, every separator a dash."""
    text = os.fspath(cwd)
    bare = text[1:] if text[:1] in "/\\" else text
    return f"--{bare.translate(_DASHES)}--"
