"""Other names of a file that is erased (hard links): its new content gets one name, the others would keep the old."""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

_Inode = tuple[int, int]


class Names:
    """Counts the names of files below the folders that an erasure deals with, when it is first asked.

    Args:
        folders: returns these folders.
    """

    def __init__(self, folders: Callable[[], Iterable[Path]]) -> None:
        self._folders = folders
        self._known: dict[_Inode, int] | None = None

    def elsewhere(self, path: Path) -> str:
        """Say why a file must stay: it has names that nothing would erase; "" when it has none, or is none.

        Raises:
            OSError: a folder cannot be read.
        """
        try:
            at = path.stat()
        except FileNotFoundError:
            return ""
        if at.st_nlink < 2 or not path.is_file():  # noqa: PLR2004 - one name and no other
            return ""
        if self._known is None:
            self._known = Counter(_names(self._folders()))
        others = at.st_nlink - max(self._known.get((at.st_dev, at.st_ino), 0), 1)
        if others <= 0:
            return ""
        return (
            f"has {others} other names (hard links) outside of what is searched, which would keep what goes: find them"
            f" with find -inum {at.st_ino}, remove them or make copies of them, and run this again"
        )


def _names(folders: Iterable[Path]) -> Iterable[_Inode]:
    """Yield every name of files with several: folders that lie in one another are walked once."""
    roots = {folder.resolve() for folder in folders}
    for root in roots:
        if not roots.isdisjoint(root.parents):
            continue
        for folder, _, names in os.walk(root):
            for name in names:
                at = os.lstat(os.path.join(folder, name))  # noqa: PTH118 - many files
                if at.st_nlink > 1:
                    yield at.st_dev, at.st_ino
