"""The end of a compacted pi session that alone determines its context.

The walk from the last entry to the root needs what it passes only, and ends for the context at the first entry that
the latest compaction keeps. An id means the last entry that has it, so what lies before the suffix changes nothing.
Only files of version 3 whose first line is a sound header are read so, and only where the suffix has no damage.
"""

from typing import NamedTuple

from slowwave.dialects.model import SessionFiles
from slowwave.dialects.pi.context import Model, settings_of
from slowwave.dialects.pi.load import Loaded
from slowwave.dialects.pi.records import DECODER, Entry, entry_of, text_or_empty
from slowwave.dialects.pi.tree import path_of
from slowwave.records.suffix import Suffix, first_record

_MARK = b'"compaction"'
_V3 = 3


class Tail(NamedTuple):
    """What the context is made of."""

    loaded: Loaded
    path: list[Entry]
    model: Model | None


def tail_of(files: SessionFiles) -> Tail | None:
    """Return the end of a session from the first entry on that its latest compaction keeps, else None.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    header = header_of(files)
    if header is None:
        return None
    suffix = Suffix(files.paths, DECODER)
    behind: list[Entry] = []
    is_more = suffix.back_to(_MARK)
    while is_more and not suffix.is_whole and not suffix.problems:
        more = suffix.records[: len(suffix.records) - len(behind)]
        behind = [*(entry_of(env, span) for span, env in more), *behind]
        entries = [header, *behind]
        loaded = Loaded(entries, float(header.env.version))
        path = path_of(entries)
        if _is_enough(path) and (model := _model(path, entries)) is not None:
            return Tail(loaded, path, model) if suffix.is_steady() else None
        is_more = suffix.grow()
    return None


def header_of(files: SessionFiles) -> Entry | None:
    """Return the header of a file of version 3 or later whose first line is sound, else None."""
    first = first_record(files.paths[0], DECODER) if len(files.paths) == 1 else None
    if first is None:
        return None
    entry = entry_of(first[1], first[0])
    version = entry.env.version
    is_known = isinstance(version, int | float) and not isinstance(version, bool) and version >= _V3
    return entry if entry.type == "session" and entry.id is not None and is_known else None


def _is_enough(path: list[Entry]) -> bool:
    """Say whether the path reaches back to the first entry that its latest compaction keeps."""
    last = max((i for i, e in enumerate(path) if e.type == "compaction"), default=-1)
    if last < 0:
        return False
    first = path[last].fields().get("firstKeptEntryId")
    return not isinstance(first, str) or any(e.id == first for e in path[:last])


def _model(path: list[Entry], entries: list[Entry]) -> Model | None:
    """Return the model that goes on, when the suffix names it and has an answer of it."""
    model = settings_of(path, entries).model
    if model is None:
        return None
    for entry in reversed(entries):
        if entry.role == "assistant":
            body = entry.message()
            if text_or_empty(body.get("api")) and (body.get("provider"), body.get("model")) == model[:2]:
                return model
    return None
