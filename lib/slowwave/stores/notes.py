"""Small files beside the catalogue that keep what was dear to find out of single sessions. A cache; delete it any time.

They are no rows of the catalogue, since a context is told in a tenth of a second, and the database alone would take a
tenth of that to open.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from slowwave.files import file_bytes, private_folder
from slowwave.places import state_folder

# The oldest give way: of a session that is gone nobody asks again.
MOST = 500


class FileNotes:
    """Notes in a folder, one file each.

    Args:
        folder: made when the first note is kept.

    Attributes:
        warnings: what could not be kept, and why.
    """

    def __init__(self, folder: Path) -> None:
        self.warnings: list[str] = []
        self._folder = folder

    def get(self, name: str) -> bytes | None:
        """Return what was kept under a name; None when there is nothing, or nothing that can be read."""
        try:
            return file_bytes(self._folder / name)
        except FileNotFoundError:
            return None
        except OSError as error:
            self.warnings.append(f"{self._folder / name}: cannot be read ({error.strerror}), so it is counted again")
            return None

    def put(self, name: str, note: bytes) -> None:
        """Keep something under a name, and as many of the newest other notes as there may be."""
        from slowwave.files import atomic_write  # noqa: PLC0415 - most contexts keep nothing new

        try:
            private_folder(self._folder)
            atomic_write(self._folder / name, note)
            self._forget_oldest()
        except OSError as error:
            self.warnings.append(
                f"{self._folder / name}: cannot be kept ({error.strerror}), so it is counted each time"
            )

    def _forget_oldest(self) -> None:
        with os.scandir(self._folder) as entries:
            notes = sorted((entry.stat().st_mtime_ns, entry.path) for entry in entries)
        for _, path in notes[:-MOST]:
            Path(path).unlink(missing_ok=True)


def context_notes(environ: Mapping[str, str]) -> FileNotes:
    """Return the notes of this user's contexts."""
    return FileNotes(state_folder(environ) / "contexts")
