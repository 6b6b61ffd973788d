"""The words of the transcript that evidence points at, as they stand there now, for a person who asks why."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import orjson

from slowwave.errors import UnreadableError
from slowwave.formats.rows import RowReader, names_row
from slowwave.memory.evidence import Checked
from slowwave.memory.lookup import PlainFiles
from slowwave.memory.names import name_from_json
from slowwave.secrets.redactor import NAMELESS
from slowwave.stores.archive.shelf import pack_of

# what is shown around the words that matter
_AROUND = 240
_LEAST_ALIKE = 50.0


def said_at(checked: Checked) -> str:
    """Return what was said where evidence was found, cut around its quote, without secrets; "" when it is gone."""
    if checked.finding not in {"ok", "moved"}:
        return ""
    from rapidfuzz import fuzz  # noqa: PLC0415 - the commands that only list things need it not

    texts = list(_texts(_decoded(_bytes_of(checked))))
    quote = " ".join(checked.evidence.quote.split())
    if not texts:
        return ""
    best = max(texts, key=lambda text: (fuzz.partial_ratio(quote, text[:20_000]), -len(text))) if quote else texts[0]
    if quote and fuzz.partial_ratio(quote, best[:20_000]) < _LEAST_ALIKE:
        return ""
    # secrets are looked for in the whole text: a cut one would not be known as one
    return _around(NAMELESS(best), quote)


def _bytes_of(checked: Checked) -> bytes:
    path, piece = Path(name_from_json(checked.path)), checked.evidence
    try:
        if names_row(piece.record):
            with RowReader() as rows:
                return (rows.read(path, piece.record) or b"")[piece.offset : piece.offset + piece.length]
        folders = [pack_of(path).parent] if checked.is_archived else []
        with PlainFiles(folders) as files:
            file = files.open(path, most=checked.offset + piece.length)
            file.seek(checked.offset)
            return file.read(piece.length)
    except (OSError, UnreadableError):
        return b""  # it was there a moment ago, and its client goes on writing


def _decoded(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return raw.decode("utf-8", "replace")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in cast("dict[str, Any]", value).values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _texts(item)


def _around(text: str, quote: str) -> str:
    """Return the part of a text around a quote."""
    from rapidfuzz import fuzz  # noqa: PLC0415 - as above

    at = fuzz.partial_ratio_alignment(quote, text) if quote else None
    begin, end = (at.dest_start, at.dest_end) if at else (0, len(quote))
    start, stop = max(begin - _AROUND, 0), end + _AROUND
    return ("…" if start else "") + text[start:stop].strip() + ("…" if stop < len(text) else "")
