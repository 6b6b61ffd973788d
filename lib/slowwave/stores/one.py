"""The session that one file belongs to, found by the names of its folder alone: only its own parts are looked at."""

import os
from pathlib import Path

from slowwave.errors import UnreadableError
from slowwave.formats.append import SUFFIX, numbered_parts, session_id, session_stem
from slowwave.stores.walk import SIDE_PREFIX, SUFFIXES, FoundFile, FoundSession

# The specification with ULIDs names the folder of a session by its id, and every log alike.
_ULID_LOG = "session.jsonl"


def session_of_path(path: Path) -> FoundSession:
    """Return the session that a file belongs to, with its other parts (Cersei), whatever lies beside them.

    Raises:
        UnreadableError: a file of it, or the folder, cannot be looked at.
    """
    side = path.name.startswith(SIDE_PREFIX)
    folder = os.fspath(path.parent)
    if path.name == _ULID_LOG and _is_ulid(path.parent.name):
        return FoundSession(folder, path.parent.name, [_found(path)], side=False)
    if not path.name.endswith(SUFFIXES) or path.name.startswith("."):
        return FoundSession(folder, path.name, [_found(path)], side=False)
    base = path.with_name(session_stem(path.name)[0] + SUFFIX)
    numbers = numbered_parts(base) if path.name.endswith(SUFFIX) else {}
    if set(numbers) <= {1}:
        return FoundSession(folder, session_id(path.name), [_found(path)], side)
    files = [_found(path.with_name(numbers[number])) for number in sorted(numbers)]
    return FoundSession(folder, session_id(base.name), files, side, sorted(numbers))


def _is_ulid(name: str) -> bool:
    from slowwave.formats.ulid.metadata import is_ulid  # noqa: PLC0415 - no other client has a file of this name

    return is_ulid(name)


def _found(path: Path) -> FoundFile:
    try:
        at = path.stat()
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read", "name a transcript or a session id") from error
    return FoundFile(path.name, at.st_size, at.st_mtime_ns, at.st_dev, at.st_ino)
