"""The first line of a session: found without reading the rest, and written anew with every field that it had.

crabtalk itself truncates the whole file to change it, and puts the present time in the place of ``created_at``; here
the time stays, and fields that this version does not know stay, too.
"""

import json
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple, cast

from slowwave.dialects.crabtalk.records import DECODER, Meta, meta_of
from slowwave.errors import UnreadableError
from slowwave.records.lines import read_records
from slowwave.records.model import Problem, Span
from slowwave.records.values import clean


class MetaLine(NamedTuple):
    """The metadata of a session and the place of their line in its file."""

    meta: Meta
    span: Span


def meta_line_of(path: Path) -> MetaLine | None:
    """Return the metadata that a file begins with, or None when its first record is something else.

    Raises:
        UnreadableError: the file cannot be opened or read.
    """
    problems: list[Problem] = []
    for span, line in islice(read_records(path, DECODER, problems), 1):
        meta = meta_of(line, span)
        return None if meta is None else MetaLine(meta, span)
    return None


def session_meta(path: Path) -> MetaLine:
    """Return the metadata of a session that crabtalk would load.

    Raises:
        UnreadableError: the file cannot be read, or its first line is no metadata.
    """
    found = meta_line_of(path)
    if found is None or found.span.number != 1:
        raise UnreadableError(path, "the first line is no crabtalk metadata, so crabtalk would not load it")
    return found


def changed_line(span: Span, changes: Mapping[str, object]) -> bytes:
    """Return the line of metadata with some fields changed, without a newline.

    Raises:
        UnicodeEncodeError: a change is no valid text.
    """
    fields = cast("dict[str, object]", json.loads(clean(span.raw)))
    text = json.dumps({**fields, **changes}, ensure_ascii=False, separators=(",", ":"))
    return text.encode()
