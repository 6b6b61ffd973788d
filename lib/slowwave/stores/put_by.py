"""The copy of a session that lies in the trash or in the archive, laid out so that it can be read while it stays there.

It is found by its own files alone: in its place the client may have made another session of the same name.
"""

import os
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.files import private_folder
from slowwave.places import state_folder
from slowwave.stores.archive.opened import FOLDER, laid_out, private_place
from slowwave.stores.archive.rows import rows_of
from slowwave.stores.one import session_of_path
from slowwave.stores.trash import TrashItem, trash_folder
from slowwave.stores.walk import FoundSession

if TYPE_CHECKING:
    from slowwave.stores.archive.shelf import Shelved


@contextmanager
def laid_out_copy(one: "TrashItem | Shelved", environ: Mapping[str, str]) -> Generator[tuple[FoundSession, str]]:
    """Yield a session that can be read, and the folder in which its paths begin anew.

    Raises:
        CorruptStateError: its pack is damaged.
        UnreadableError: it has no transcript.
        OSError: it left the trash meanwhile, or there is no room for it.
    """
    if not isinstance(one, TrashItem):
        row = rows_of(*one)[0]
        with laid_out(one, row, environ) as (_, base):
            yield session_of_path(Path(f"{base}{row.path}")), base
        return
    with private_place(state_folder(environ) / FOLDER) as base:
        files = [file for file in one.files if file.kind == "file"]
        for file in files:
            path = Path(f"{base}{file.path}")
            private_folder(path.parent)
            shutil.copyfile(trash_folder(environ) / one.id / file.stored, path)
        # what the client needs most went last
        last = files[-1].path if files else os.fspath(one.id)
        yield session_of_path(Path(f"{base}{last}")), os.fspath(base)
