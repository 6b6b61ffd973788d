"""Where a new session of a working folder goes: the project's folder, in the spelling that exists or is set."""

import os
from collections.abc import Mapping
from pathlib import Path

from slowwave.errors import UnreadableError
from slowwave.settings import Settings
from slowwave.stores.spelling import spelled, spelling_key
from slowwave.stores.walk import SUFFIX


def new_session_folder(settings: Settings, environ: Mapping[str, str], cwd: Path) -> Path:
    """Return the folder for a new session that works in ``cwd``; it may not exist yet.

    A project that has a folder already, in whichever spelling, keeps it. A store that is one folder of transcripts
    takes the session itself.

    Raises:
        UnreadableError: the store is a file.
    """
    named = settings.store.roots
    root = named[0] if named else Path(environ.get("HOME") or "~").expanduser() / ".claude"
    if root.exists() and not root.is_dir():
        raise UnreadableError(root, "is a file, not a folder", "name a folder with --store")
    names = os.listdir(root) if root.is_dir() else []  # noqa: PTH208 - names only
    if root.name != "projects" and "projects" not in names:
        if any(name.endswith(SUFFIX) for name in names):
            return root
        if not any((root / name).is_dir() for name in names):
            root = root / "projects"
    elif "projects" in names:
        root = root / "projects"
    folder = spelled(os.fspath(cwd), settings.store.write_spelling)
    if root.is_dir():
        for entry in sorted(root.iterdir()):
            if entry.is_dir() and spelling_key(entry.name) == spelling_key(folder):
                return entry
    return root / folder
