"""What a folder holds, read once as long as nothing in it comes or goes: for questions that are asked of each file.

The kernel sets the time at which a folder itself changed with every name that comes or goes. Within one tick of the
file system's clock a change may leave no trace, so a listing that was made that soon after the last one is made again.
"""

import os
import time
from dataclasses import dataclass, field
from typing import Any

# ticks are 1 to 10 ms, or whole seconds
_TICK_NS = 100_000_000
_COARSE_TICK_NS = 2_000_000_000
_SECOND_NS = 1_000_000_000
_MOST_FOLDERS = 10_000


@dataclass(slots=True)
class KnownFolder:
    """A listing.

    Attributes:
        entries: names and inodes.
        derived: what was made of it, by a name of the caller's.
    """

    stamp: tuple[int, int]
    listed_ns: int
    entries: list[tuple[str, int]]
    derived: dict[str, Any] = field(default_factory=dict[str, Any])


_folders: dict[str, KnownFolder] = {}


def known_folder(folder: str) -> KnownFolder:
    """Return what lies in a folder.

    Raises:
        OSError: it cannot be listed.
    """
    now = time.time_ns()
    at = os.stat(folder)  # noqa: PTH116 - asked once a folder and session
    stamp = at.st_ctime_ns, at.st_ino
    tick = _TICK_NS if at.st_ctime_ns % _SECOND_NS else _COARSE_TICK_NS
    known = _folders.get(folder)
    if known is not None and known.stamp == stamp and known.listed_ns - at.st_ctime_ns > tick:
        return known
    with os.scandir(folder) as entries:
        listed = [(entry.name, entry.inode()) for entry in entries]
    if known is None or known.entries != listed:
        known = KnownFolder(stamp, now, listed)
    known.stamp, known.listed_ns = stamp, now
    if len(_folders) >= _MOST_FOLDERS:
        _folders.clear()
    _folders[folder] = known
    return known
