"""Which dialects there are, and which one a file is written in, told by its content and never by its path.

Of a dialect its marks are imported when a file must be told, its rules when a session of it is read.
"""

import importlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

from slowwave.dialects.base import Dialect
from slowwave.dialects.beginning import object_over_lines, objects_on_lines
from slowwave.errors import UnknownDialectError, UnreadableError, UsageError
from slowwave.records.database import HEADER, tables_of
from slowwave.records.sources.compressed import open_plain


class _Row(NamedTuple):
    """Where a dialect says what it is, each as ``module:name`` below this package.

    Attributes:
        rules: what implements :class:`Dialect`.
        mark: tells one of its records by its fields; "" where a record of another dialect must be met first.
        shows: what people look for in a file to see that it is of this dialect.
        tables: tells a database of its by the names of the tables, where it has databases.
    """

    rules: str
    mark: str
    shows: str
    tables: str = ""


# In the order in which they are asked: what is one of the first could be taken for one of the last.
_DIALECTS = {
    "cersei": _Row("cersei.dialect:CERSEI", "cersei.marks:is_cersei", "Cersei (session_id)"),
    "claude": _Row("claude.dialect:CLAUDE", "claude.marks:is_claude", "Claude Code (sessionId)"),
    "pi": _Row("pi.dialect:PI", "pi.marks:is_pi", "pi (a session header)"),
    "openclaw": _Row(
        "openclaw.dialect:OPENCLAW",
        "",  # pi's, until one of its own records is met
        "Clawdbot or OpenClaw (a session header, or their database)",
        "openclaw.marks:is_openclaw_tables",
    ),
    "crabtalk": _Row("crabtalk.dialect:CRABTALK", "crabtalk.marks:is_crabtalk", "crabtalk (agent, created_by)"),
    "ulid": _Row("ulid.dialect:ULID", "ulid.marks:is_ulid", "the ULID specification (recordType)"),
    "cersei-bare": _Row("cersei.bare:CERSEI_BARE", "cersei.marks:is_bare", "bare messages (role, content)"),
    "codex": _Row("codex.dialect:CODEX", "codex.marks:is_codex", "Codex (payload)"),
    "opencode": _Row(
        "opencode.dialect:OPENCODE",
        "opencode.marks:is_opencode",
        "opencode (an export, a session file or its database)",
        "opencode.marks:is_opencode_tables",
    ),
}
NAMES = tuple(_DIALECTS)
# What a file should have been, for those who get the error that it is of no dialect.
EXPECTED = f"expected JSON lines of {', '.join(row.shows for row in _DIALECTS.values())}"

# Past this many bytes a file is none that we know.
_MOST_BYTES = 1 << 20


def by_name(name: str) -> Dialect:
    """Return the dialect called ``name``.

    Raises:
        UsageError: there is no such dialect; the message lists all.
    """
    row = _DIALECTS.get(name)
    if row is None:
        raise UsageError(f"unknown dialect {name!r}: write one of {', '.join(NAMES)}")
    return cast("Dialect", _loaded(row.rules))


def _loaded(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"slowwave.dialects.{module}"), name)


def detect(path: Path) -> Dialect:
    """Return the dialect that the first records of a file are written in.

    Raises:
        UnknownDialectError: the file is empty or no dialect recognises a record near its start.
        UnreadableError: the file cannot be read.
    """
    found = sniff(path)
    if found is None:
        raise UnknownDialectError(path, "empty, or not a transcript of any known client", EXPECTED)
    return by_name(found)


def sniff(path: Path) -> str | None:
    """Return the name of a file's dialect, or None when it is empty or shows none (listings skip it with a note).

    Raises:
        UnreadableError: the file cannot be read.
    """
    try:
        with open_plain(path, most=_MOST_BYTES + (1 << 16)) as file:
            head = file.read(1 << 16)
            if head.startswith(HEADER):
                return _of_database(path)
            found = _of_records(objects_on_lines(head)) or _of_records(object_over_lines(head))
            if found is None and len(head) == 1 << 16:
                found = _of_records(objects_on_lines(head + file.read(_MOST_BYTES)))
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    return found


@cache
def _marks() -> dict[str, Callable[[dict[str, object]], bool]]:
    return {name: _loaded(row.mark) for name, row in _DIALECTS.items() if row.mark}


def _of_records(records: Iterator[dict[str, object]]) -> str | None:
    for record in records:
        for name, is_one in _marks().items():
            if is_one(record):
                return _of_pi(record, records) if name == "pi" else name
    return None


def _of_pi(first: dict[str, object], rest: Iterator[dict[str, object]]) -> str:
    """Tell Clawdbot and OpenClaw from pi, whose files they write with entries of their own in them."""
    from slowwave.dialects.openclaw.marks import MOST_RECORDS, is_openclaw  # noqa: PLC0415  # few files are pi's

    near = islice(rest, MOST_RECORDS)
    return "openclaw" if is_openclaw(first) or any(map(is_openclaw, near)) else "pi"


def _of_database(path: Path) -> str | None:
    tables = tables_of(path)
    return next((name for name, row in _DIALECTS.items() if row.tables and _loaded(row.tables)(tables)), None)
