"""What the extraction of a dry run finds, where its dream looks for it: beside the memory folders, never in them.

A dream plans from what extraction noted. In a dry run nothing may be noted in a memory folder, so its notes are copied
into a folder of the run on first use, grow there, and go with the run. Whatever else is read stays where it is.

What a killed dry run left goes when the next run of any job begins, an erasure too: it quotes what was said.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR

from slowwave.errors import LockHeldError, UnreadableError
from slowwave.files import private_folder
from slowwave.locks import locked_file
from slowwave.memory.candidates import FILE as CANDIDATES
from slowwave.memory.foreign import FILE as FOREIGN
from slowwave.memory.guard import OWN_FOLDER

_PREFIX = "slowwave-dry-run-"
# held as long as the run lives, however it ends
_LOCK = "lock"


@contextmanager
def rehearsing(*, wanted: bool) -> Generator[Path | None]:
    """Make the folder of a dry run where one is wanted, for its user's eyes only, and remove it at the end.

    Raises:
        OSError: the system's folder for temporary files cannot be written.
    """
    _remove_abandoned(Path(tempfile.gettempdir()))
    if not wanted:
        yield None
        return
    # under another name until it is locked, lest a run that begins just now takes it for abandoned
    folder = Path(tempfile.mkdtemp(prefix="slowwave-begins-"))
    with locked_file(folder / _LOCK, create=True):
        try:
            folder = folder.rename(folder.with_name(folder.name.replace("slowwave-begins-", _PREFIX)))
            yield folder
        finally:
            # the lock last: as long as it is there, no run that begins just now takes the rest for abandoned
            for one in [path for path in folder.iterdir() if path.name != _LOCK]:
                shutil.rmtree(one) if one.is_dir() else one.unlink()
            with suppress(FileNotFoundError):
                shutil.rmtree(folder)


def _remove_abandoned(temporary: Path) -> None:
    """Remove the folders of dry runs whose process is gone; what belongs to another user stays."""
    for folder in temporary.glob(f"{_PREFIX}*"):
        with suppress(LockHeldError, UnreadableError, FileNotFoundError):
            state = folder.lstat()
            if S_ISDIR(state.st_mode) and state.st_uid == os.getuid():
                # made where a removal was cut short behind it
                with locked_file(folder / _LOCK, create=True, timeout_s=0):
                    shutil.rmtree(folder)


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
