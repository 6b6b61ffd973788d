"""Sessions that were read and were not due: as long as they and the settings stay the same, they are not read again.

A cache beside the books, one file a project; delete it any time.
"""

import hashlib
import os
from pathlib import Path

import msgspec

from slowwave.files import atomic_write, file_bytes, private_folder
from slowwave.settings import CompactionSettings
from slowwave.stores.model import StoredSession

_FOLDER = "rested"
_DIGITS = 24
_decoder = msgspec.json.Decoder(dict[str, str])


class Rested:
    """The sessions of one project that were not due.

    Args:
        folder: where the books are.
        project: key of the project.
        settings: what was due by these may not be by others.
    """

    def __init__(self, folder: Path, project: str, settings: CompactionSettings) -> None:
        self._file = folder / _FOLDER / hashlib.sha256(os.fsencode(project)).hexdigest()[:_DIGITS]
        self._settings = hashlib.sha256(msgspec.json.encode(settings)).hexdigest()[:_DIGITS]
        self._known = self._read()
        self._now: dict[str, str] = {}

    def knows(self, session: StoredSession) -> bool:
        """Say whether a session was not due and has not changed since."""
        path, state = self._state(session)
        if self._known.get(path) != state:
            return False
        self._now[path] = state
        return True

    def add(self, session: StoredSession) -> None:
        """Note that a session was not due."""
        path, state = self._state(session)
        self._now[path] = state

    def save(self) -> None:
        """Keep what is known of the sessions of this run.

        Raises:
            OSError: the folder cannot be written.
        """
        if self._now != self._known:
            private_folder(self._file.parent)
            atomic_write(self._file, msgspec.json.encode(self._now))

    def _state(self, session: StoredSession) -> tuple[str, str]:
        path = os.fsencode(os.path.realpath(session.files.paths[0])).decode("utf-8", "backslashreplace")
        return path, f"{session.size}:{session.mtime_ns}:{self._settings}"

    def _read(self) -> dict[str, str]:
        try:
            return _decoder.decode(file_bytes(self._file))
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return {}  # a cache: the sessions are read once more
