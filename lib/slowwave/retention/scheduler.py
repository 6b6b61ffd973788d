"""The files of our own scheduler in an erasure: its databases row by row, everything else as in a client's home."""

from collections.abc import Sequence
from pathlib import Path

from slowwave.errors import SlowwaveError
from slowwave.retention.client_homes import erase_from_home_file
from slowwave.retention.databases import bytes_hold, clean_database, found_in_database, is_database
from slowwave.retention.eraser import Eraser


def erase_from_scheduler(folders: Sequence[Path], eraser: Eraser) -> None:
    """Deal with every file of the scheduler, which may be running."""
    for folder in folders:
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_symlink() or not path.is_file() or path.name.endswith(("-wal", "-shm", "-journal")):
                continue
            try:
                if is_database(path):
                    _database(path, eraser)
                else:
                    erase_from_home_file(path, eraser, whole=True)
            except FileNotFoundError:
                continue  # a running server clears its own files away
            except SlowwaveError as error:
                eraser.refuse("", str(path), str(error))


def _database(path: Path, eraser: Eraser) -> None:
    if eraser.dry_run:
        found = found_in_database(path, eraser.what)
    elif not bytes_hold(path, eraser.what):
        return
    else:
        with eraser.rewriting(path):
            found = clean_database(path, eraser.what)
    eraser.found("", str(path), found.places)
    for reason in found.refused:
        eraser.refuse("", str(path), reason)
