"""The end of a compacted Codex rollout that alone determines its context.

It begins where a turn begins at or before the newest surviving compaction with a whole history. The search for that
compaction goes from the last line backward and parts the lines at the starts of turns, so it finds the same one in
the suffix; the replay then begins at it. Rollouts without marks of turns, and compressed ones, are read as a whole.
"""

from typing import NamedTuple

from slowwave.dialects.codex.records import DECODER, Line, line_of
from slowwave.dialects.codex.replay import base_of, starts_turn
from slowwave.dialects.model import SessionFiles
from slowwave.records.model import Problem
from slowwave.records.suffix import Suffix

_COMPACTED = b'"replacement_history"'
_STARTED = b'_started"'
# Each try looks at the suffix anew; a session with so many turns taken back is read as a whole.
_MOST_TRIES = 50


class Tail(NamedTuple):
    """The last lines of a rollout, and what was no clean record among them."""

    lines: list[Line]
    problems: list[Problem]


def tail_of(files: SessionFiles) -> Tail | None:
    """Return the last lines of a rollout when they hold the base of its context and the turn around it, else None.

    Raises:
        UnreadableError: a file cannot be opened.
    """
    if any(path.suffix != ".jsonl" or not path.is_file() for path in files.paths):
        return None
    suffix = Suffix(files.paths, DECODER)
    if not suffix.back_to(_COMPACTED):
        return None
    for _ in range(_MOST_TRIES):
        lines = [line_of(span, env) for span, env in suffix.records]
        start = next((i for i, line in enumerate(lines) if starts_turn(line)), None)
        if start is not None and base_of(lines[start:])[0] > 0:
            return Tail(lines[start:], suffix.problems) if suffix.is_steady() else None
        if not suffix.back_to(_STARTED):
            return None
    return None
