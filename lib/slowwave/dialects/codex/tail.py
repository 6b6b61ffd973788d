"""The end of a compacted Codex rollout that alone determines its context.

It begins where a turn begins at or before the newest surviving compaction with a whole history. The search for that
compaction goes from the last line backward and parts the lines at the starts of turns, so it finds the same one in
the suffix; the replay then begins at it. Rollouts without marks of turns, and compressed ones, are read as a whole.
"""

from typing import NamedTuple

from slowwave.dialects.codex.head import is_paginated
from slowwave.dialects.codex.records import DECODER, UNREADABLE_LINE, Line, line_of
from slowwave.dialects.codex.sound import parsed
from slowwave.dialects.codex.turns import base_of, window_start
from slowwave.dialects.model import SessionFiles
from slowwave.records.model import Problem
from slowwave.records.suffix import Suffix, first_record

_COMPACTED = b'"replacement_history"'
_STARTED = b'_started"'
# Each try looks at the suffix anew; a session with so many turns taken back is read as a whole.
_MOST_TRIES = 50


class Tail(NamedTuple):
    """The last lines of a rollout, and what was no clean record among them."""

    lines: list[Line]
    problems: list[Problem]
    is_paginated: bool


def tail_of(files: SessionFiles) -> Tail | None:
    """Return the last lines of a rollout when they hold the base of its context and the turn around it, else None.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    if any(path.suffix != ".jsonl" or not path.is_file() for path in files.paths):
        return None
    header = first_record(files.paths[0], DECODER) if len(files.paths) == 1 else None
    first = line_of(*header) if header is not None else None
    suffix = Suffix(files.paths, DECODER)
    if first is None or first.kind != "session_meta" or not suffix.back_to(_COMPACTED):
        return None
    paged = is_paginated(first.fields())
    suffix.back_to(_STARTED)  # nearly always the turn around it is all that is missing, and saves a try
    for _ in range(_MOST_TRIES):
        lines = parsed([line_of(span, env) for span, env in suffix.records])
        if any(p.kind in UNREADABLE_LINE for p in suffix.problems) or any(x.kind == "session_meta" for x in lines):
            return None
        if base_of(lines, is_whole=False)[0] is not None or (paged and window_start(lines) is not None):
            return Tail(lines, suffix.problems, paged) if suffix.is_steady() else None
        if not suffix.back_to(_STARTED):
            return None
    return None
