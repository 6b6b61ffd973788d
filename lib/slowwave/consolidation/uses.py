"""Which sessions used which memory file: their transcript names it by its full path, as a tool call that reads it does.

That is one search for a few strings in the bytes of the sessions that changed since the last dream, at memory speed,
and only when a dream has something to do. What agents load by themselves (the index) shows in no transcript.
"""

import json
import mmap
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from slowwave.memory.topics import TOPICS
from slowwave.stores.model import StoredSession


def uses_of(
    memory: Path, sessions: Iterable[StoredSession], known: Mapping[str, Iterable[str]]
) -> dict[str, tuple[str, ...]]:
    """Return the sessions that name each topic file, without those that are known.

    A file that cannot be read (packed, gone, a database) tells nothing: use only changes ranks.

    Args:
        memory: the memory folder.
        sessions: where to look.
        known: by file, the sessions that were counted before.
    """
    there = [t.file for t in TOPICS.values() if (memory / t.file).exists()]
    needles = {file: json.dumps(os.fspath(memory / file), ensure_ascii=False)[1:-1] for file in there}
    encoded = {file: text.encode("utf-8", "surrogateescape") for file, text in needles.items()}
    found: dict[str, set[str]] = {}
    for session in sessions if encoded else ():
        if session.in_database:
            continue
        for path in session.files.paths:
            for file in _named_in(path, encoded):
                found.setdefault(file, set()).add(session.id)
    new = {file: tuple(sorted(ids - set(known.get(file, ())))) for file, ids in sorted(found.items())}
    return {file: ids for file, ids in new.items() if ids}


def _named_in(path: Path, needles: Mapping[str, bytes]) -> list[str]:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return [name for name, needle in needles.items() if data.find(needle) >= 0]
    except (OSError, ValueError):  # an empty file cannot be mapped
        return []
