"""What the extraction of a dry run finds, where its dream looks for it: beside the memory folders, never in them.

A dream plans from what extraction noted. In a dry run nothing may be noted in a memory folder, so its notes are copied
into a folder of the run on first use, grow there, and go with the run. Whatever else is read stays where it is.
"""

import hashlib
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from slowwave.files import private_folder
from slowwave.memory.candidates import FILE as CANDIDATES
from slowwave.memory.foreign import FILE as FOREIGN
from slowwave.memory.guard import OWN_FOLDER


@contextmanager
def rehearsing(*, wanted: bool) -> Generator[Path | None]:
    """Make the folder of a dry run where one is wanted, for its user's eyes only, and remove it at the end.

    Raises:
        OSError: the system's folder for temporary files cannot be written.
    """
    if not wanted:
        yield None
        return
    with TemporaryDirectory(prefix="slowwave-dry-run-") as folder:
        yield Path(folder)


def noted_in(memory: Path, rehearsal: Path | None) -> Path:
    """Return the folder whose notes of extraction count for a memory folder: itself, or in a dry run their copy.

    Args:
        memory: the memory folder.
        rehearsal: the folder of the dry run, None where notes are kept.

    Raises:
        OSError: the copy cannot be made.
    """
    if rehearsal is None:
        return memory
    real = memory.resolve()
    copy = rehearsal / hashlib.sha256(os.fsencode(real)).hexdigest()[:16]
    if not copy.exists():
        private_folder(copy / OWN_FOLDER)
        for name in (CANDIDATES, FOREIGN):
            with suppress(FileNotFoundError):
                shutil.copyfile(real / OWN_FOLDER / name, copy / OWN_FOLDER / name)
    return copy
