"""``.consolidation_state.json``: when the last dream of a memory folder began (seed 000, read by Cersei as well)."""

from pathlib import Path
from typing import cast

import orjson

from slowwave.errors import CorruptStateError
from slowwave.memory.folder import STATE_FILE, read_or_none

# The last second that a date can name; a stamp in milliseconds lies beyond it.
_LAST_SECOND = 253_402_300_799
_REMEDY = "repair or remove it; a damaged file does not count as one that is missing"


def parse_state(data: bytes | None, path: Path) -> int | None:
    """Return the second at which the last dream began, None when there was none.

    Raises:
        CorruptStateError: the content is not such a state.
    """
    if data is None:
        return None
    try:
        state = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise CorruptStateError(path, f"is not JSON ({error})", _REMEDY) from error
    if not isinstance(state, dict) or "last_consolidated_at" not in state:
        raise CorruptStateError(path, "has no last_consolidated_at", _REMEDY)
    last = cast("dict[str, object]", state)["last_consolidated_at"]
    if last is None:
        return None
    if not isinstance(last, int) or isinstance(last, bool) or not 0 <= last <= _LAST_SECOND:
        raise CorruptStateError(path, f"last_consolidated_at is {last!r}, not seconds since 1970", _REMEDY)
    return last


def read_state(memory: Path) -> int | None:
    """Return the second at which the last dream of a memory folder began, None when there was none.

    Raises:
        CorruptStateError: the state does not parse.
        UnreadableError: it cannot be read.
    """
    path = memory / STATE_FILE
    return parse_state(read_or_none(path), path)


def render_state(last: int) -> bytes:
    """Return the state as Cersei writes it: its key order, two blanks, no final newline, ``lock_etag`` always null."""
    return b'{\n  "last_consolidated_at": %d,\n  "lock_etag": null\n}' % last
