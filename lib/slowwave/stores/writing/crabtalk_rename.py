"""The names of crabtalk's files, which change with every title, while others write to them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from slowwave.errors import MovedError, NotFoundError, UnreadableError
from slowwave.files import at_fault_point
from slowwave.formats.crabtalk import SUFFIX, place_of, sender_slug, titled_name
from slowwave.stores.moving import move_file
from slowwave.stores.writing.base import Target
from slowwave.stores.writing.crabtalk_files import file_of, found_file, session_names

T = TypeVar("T")
# A title can rename a session while it is looked for, but not again and again.
_MOST_ATTEMPTS = 5


def now_at(target: Target) -> Path:
    """Return where the session lies now: a title may have renamed its file since it was found."""
    return target.path if target.path.exists() else file_of(target.path.parent, target.id)


def with_file(target: Target, act: Callable[[Path], T]) -> T:
    """Do something with the session's file, also when it is renamed meanwhile or a message comes in between."""
    for attempt in range(1, _MOST_ATTEMPTS + 1):
        try:
            path = now_at(target)
            return act(path)
        except (NotFoundError, UnreadableError, MovedError) as error:
            is_there = isinstance(error, UnreadableError) and error.path.exists()
            if is_there or attempt == _MOST_ATTEMPTS:
                raise
    raise AssertionError


def rename(path: Path, agent: str, title: str) -> None:
    """Give a file the name that goes with a new title, unless another file has it."""
    place = place_of(path.name, agent)
    name = titled_name(path.name, title)
    if place is None or name == path.name or place.titles[-1:] == (sender_slug(title),):
        return
    try:
        move_file(path, path.with_name(name))
    except FileExistsError:
        return  # another file has the name; the title stands in the metadata, and they decide


def finish_rename(path: Path) -> Path:
    """Return the one name of a file that a killed process left with two: the longer one, which it was to get."""
    at = path.stat()
    if at.st_nlink == 1:
        return path
    longer, shorter = path.stem + "_", {path.stem[:i] for i, letter in enumerate(path.stem) if letter == "_"}
    names = (name.removesuffix(SUFFIX) for name in session_names(path.parent))
    others = (path.with_name(name + SUFFIX) for name in names if name.startswith(longer) or name in shorter)
    same = [other for other in others if (o := found_file(other)) is not None and os.path.samestat(o, at)]
    *old, last = sorted((path, *same), key=lambda p: len(p.name))
    for name in old:
        at_fault_point("unlink", name)
        name.unlink()
    return last
