"""Which dialects there are, and which one a file is written in, told by its content and never by its path.

Telling needs the marks of :mod:`marks` only; the rules of a dialect are imported when a session of it is read.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import cast

import msgspec

from slowwave.dialects.base import Dialect
from slowwave.dialects.codex.marks import is_codex, is_opencode
from slowwave.dialects.marks import is_bare, is_cersei, is_claude
from slowwave.dialects.openclaw.marks import MOST_RECORDS as MOST_OF_OPENCLAW
from slowwave.dialects.openclaw.marks import is_openclaw, is_openclaw_tables
from slowwave.dialects.pi.marks import is_crabtalk, is_pi, is_ulid
from slowwave.errors import UnknownDialectError, UnreadableError, UsageError
from slowwave.records.model import REFUSALS
from slowwave.records.sources.compressed import open_plain


def _cersei() -> Dialect:
    from slowwave.dialects.cersei.dialect import CERSEI  # noqa: PLC0415

    return CERSEI


def _claude() -> Dialect:
    from slowwave.dialects.claude.dialect import CLAUDE  # noqa: PLC0415

    return CLAUDE


def _cersei_bare() -> Dialect:
    from slowwave.dialects.cersei.bare import CERSEI_BARE  # noqa: PLC0415

    return CERSEI_BARE


def _codex() -> Dialect:
    from slowwave.dialects.codex.dialect import CODEX  # noqa: PLC0415

    return CODEX


def _opencode() -> Dialect:
    from slowwave.dialects.opencode.dialect import OPENCODE  # noqa: PLC0415

    return OPENCODE


def _pi() -> Dialect:
    from slowwave.dialects.pi.dialect import PI  # noqa: PLC0415

    return PI


def _openclaw() -> Dialect:
    from slowwave.dialects.openclaw.dialect import OPENCLAW  # noqa: PLC0415

    return OPENCLAW


def _crabtalk() -> Dialect:
    from slowwave.dialects.crabtalk.dialect import CRABTALK  # noqa: PLC0415

    return CRABTALK


def _ulid() -> Dialect:
    from slowwave.dialects.ulid.dialect import ULID  # noqa: PLC0415

    return ULID


_RULES: dict[str, Callable[[], Dialect]] = {
    "cersei": _cersei,
    "claude": _claude,
    "pi": _pi,
    "openclaw": _openclaw,
    "crabtalk": _crabtalk,
    "ulid": _ulid,
    "cersei-bare": _cersei_bare,
    "codex": _codex,
    "opencode": _opencode,
}
# In the order in which they are asked: what is one of the first could be taken for one of the last.
_MARKS = {
    "cersei": is_cersei,
    "claude": is_claude,
    "pi": is_pi,
    "crabtalk": is_crabtalk,
    "ulid": is_ulid,
    "cersei-bare": is_bare,
    "codex": is_codex,
    "opencode": is_opencode,
}
NAMES = tuple(_RULES)

# A dialect shows in its first record; past this many records or bytes a file is none that we know.
_MOST_RECORDS = 200
_MOST_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"
_PADDING = b" \t\r\n\0"
_DATABASE = b"SQLite format 3\0"


def by_name(name: str) -> Dialect:
    """Return the dialect called ``name``.

    Raises:
        UsageError: there is no such dialect; the message lists all.
    """
    rules = _RULES.get(name)
    if rules is None:
        raise UsageError(f"unknown dialect {name!r}: write one of {', '.join(NAMES)}")
    return rules()


def detect(path: Path) -> Dialect:
    """Return the dialect that the first records of a file are written in.

    Raises:
        UnknownDialectError: the file is empty or no dialect recognises a record near its start.
        UnreadableError: the file cannot be read.
    """
    found = sniff(path)
    if found is None:
        raise UnknownDialectError(
            path,
            "empty, or not a transcript of any known client",
            "expected JSON lines of Claude Code (sessionId), Cersei (session_id, or role and content)"
            ", pi, Clawdbot or OpenClaw (a session header), crabtalk (agent, created_by), the ULID specification"
            " (recordType) or Codex (payload), or an export, a session file or the database of opencode",
        )
    return by_name(found)


def sniff(path: Path) -> str | None:
    """Return the name of a file's dialect, or None when it is empty or shows none (listings skip it with a note).

    Raises:
        UnreadableError: the file cannot be read.
    """
    try:
        with open_plain(path, most=_MOST_BYTES + (1 << 16)) as file:
            head = file.read(1 << 16)
            if head.startswith(_DATABASE):
                return _of_database(path)
            found = _of_records(_records(head)) or _of_records(_over_lines(head))
            if found is None and len(head) == 1 << 16:
                found = _of_records(_records(head + file.read(_MOST_BYTES)))
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    return found


def _of_records(records: Iterator[dict[str, object]]) -> str | None:
    for record in records:
        for name, is_one in _MARKS.items():
            if is_one(record):
                return _of_pi(record, records) if name == "pi" else name
    return None


def _of_pi(first: dict[str, object], rest: Iterator[dict[str, object]]) -> str:
    """Tell Clawdbot and OpenClaw from pi, whose files they write with entries of their own in them."""
    near = islice(rest, MOST_OF_OPENCLAW)
    return "openclaw" if is_openclaw(first) or any(map(is_openclaw, near)) else "pi"


def _of_database(path: Path) -> str | None:
    from slowwave.dialects.opencode.db import is_opencode_database  # noqa: PLC0415  # few files are databases
    from slowwave.records.database import tables_of  # noqa: PLC0415  # as above

    if is_openclaw_tables(tables_of(path)):
        return "openclaw"
    return "opencode" if is_opencode_database(path) else None


def _over_lines(head: bytes) -> Iterator[dict[str, object]]:
    """Yield the fields of one object over many lines, as exports are; those of a cut value have none."""
    raw = head.removeprefix(_BOM).lstrip(_PADDING)
    if raw[:1] == b"{" and raw[1:64].lstrip(_PADDING)[:1] == b'"':
        # Newlines stand between values only: inside of strings they are escaped.
        yield _top_fields(raw.replace(b"\n", b" ").replace(b"\r", b" "))


def _records(head: bytes) -> Iterator[dict[str, object]]:
    """Yield the objects of the first lines; of a line that is cut short or glued, the fields before the damage."""
    for line in head.removeprefix(_BOM).split(b"\n", _MOST_RECORDS)[:_MOST_RECORDS]:
        raw = line.strip(_PADDING)
        if raw[:1] != b"{":
            continue
        try:
            value: object = msgspec.json.decode(raw)
        except REFUSALS:
            value = _top_fields(raw)
        if isinstance(value, dict):
            yield cast("dict[str, object]", value)


def _top_fields(raw: bytes) -> dict[str, object]:
    """Return the top-level fields that stand before the place where ``raw`` stops being one JSON object."""
    fields: dict[str, object] = {}
    at = 1
    while True:
        pair = _next_field(raw, at)
        if pair is None:
            return fields
        key, value, at = pair
        fields[key] = value


def _next_field(raw: bytes, at: int) -> tuple[str, object, int] | None:
    text = raw[at : at + 4096].lstrip(b" ,\t")
    start = at + len(raw[at : at + 4096]) - len(text)
    close = _string_end(raw, start)
    if close is None:
        return None
    colon = raw.find(b":", close)
    if colon < 0:
        return None
    value_at = colon + 1 + (len(raw[colon + 1 : colon + 64]) - len(raw[colon + 1 : colon + 64].lstrip()))
    end = _value_end(raw, value_at)
    try:
        key = msgspec.json.decode(raw[start:close], type=str)
        value: object = msgspec.json.decode(raw[value_at:end]) if end is not None else None
    except REFUSALS:
        return None
    return (key, value, end) if end is not None else (key, value, len(raw))


def _string_end(raw: bytes, start: int) -> int | None:
    """Return the offset behind the string that begins at ``start``, or None when it is not whole."""
    if raw[start : start + 1] != b'"':
        return None
    at = start + 1
    while (close := raw.find(b'"', at)) >= 0:
        slashes = len(raw[:close]) - len(raw[start + 1 : close].rstrip(b"\\")) - start - 1
        if slashes % 2 == 0:
            return close + 1
        at = close + 1
    return None


def _value_end(raw: bytes, start: int) -> int | None:
    """Return the offset behind the value that begins at ``start``, or None when it is cut short."""
    first = raw[start : start + 1]
    if first == b'"':
        return _string_end(raw, start)
    if first not in (b"{", b"["):
        ends = [p for p in (raw.find(b",", start), raw.find(b"}", start)) if p >= 0]
        return min(ends) if ends else None
    depth = 0
    at = start
    while at < len(raw):
        byte = raw[at : at + 1]
        if byte == b'"':
            close = _string_end(raw, at)
            if close is None:
                return None
            at = close
            continue
        depth += (byte in (b"{", b"[")) - (byte in (b"}", b"]"))
        at += 1
        if depth == 0:
            return at
    return None
