"""Sessions that were read and were not due: as long as they and the settings stay the same, they are not read again.

A cache beside the books, one file a project; delete it any time.
"""

import hashlib
import os
from pathlib import Path

import msgspec

from slowwave.compaction.job.chosen import settings_files
from slowwave.files import atomic_write, file_bytes, private_folder
from slowwave.settings import CompactionSettings
from slowwave.stores.model import Project, StoredSession

_FOLDER = "rested"
_DIGITS = 24
_decoder = msgspec.json.Decoder(dict[str, str])


class Rested:
    """The sessions of one project that were not due.

    Args:
        folder: where the books are.
        project: the project.
        settings: what was due by these may not be by others, nor by others of the client.
    """

    def __init__(self, folder: Path, project: Project, settings: CompactionSettings) -> None:
        self._file = folder / _FOLDER / hashlib.sha256(os.fsencode(project.key)).hexdigest()[:_DIGITS]
        self._root = project.root
        self._chosen: dict[tuple[str, Path], str] = {}
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
        return path, f"{session.size}:{session.mtime_ns}:{self._settings}{self._told(session)}"

    def _told(self, session: StoredSession) -> str:
        """Return what the client's files of settings look like, "" where there are none."""
        path = session.files.paths[0]
        place = (session.dialect, path.parent)
        if place not in self._chosen:
            try:
                self._chosen[place] = self._files_of(session.dialect, path)
            except OSError:
                self._chosen[place] = ":?"  # whoever reads them for a session says why it cannot be done
        return self._chosen[place]

    def _files_of(self, dialect: str, path: Path) -> str:
        files = settings_files(dialect, path, self._root)
        if dialect == "openclaw":
            from slowwave.stores.openclaw.config import config_file  # noqa: PLC0415 - only where this client is

            config = config_file(path)
            files += [config] if config is not None else []
        return "".join(f":{at.st_ino}:{at.st_size}:{at.st_mtime_ns}" for at in (f.stat() for f in files if f.is_file()))

    def _read(self) -> dict[str, str]:
        try:
            return _decoder.decode(file_bytes(self._file))
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return {}  # a cache: the sessions are read once more
