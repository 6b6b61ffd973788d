"""What the record layer hands up: spans of bytes with their place in a file, and problems met on the way."""

from pathlib import Path
from typing import Literal

import msgspec

# everything that a decoder raises for a value that it does not accept
REFUSALS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

ProblemKind = Literal[
    "torn",  # the last line is not complete JSON and has no newline
    "garbage",  # a line in the middle that no JSON can be read from
    "glued",  # two or more objects on one line: all are read
    "nul",  # a run of NUL bytes around a line
    "bom",  # a UTF-8 byte order mark at the start of the file
    "not-utf8",  # bytes that are not UTF-8 inside a record that is otherwise read
    "nonstandard",  # a lone surrogate, NaN or Infinity inside a record that is otherwise read
    "not-object",  # valid JSON, but not an object
    "gap",  # a numbered part is missing
    "too-large",  # the session exceeds the total that its client would load
    "unreadable",  # the operating system refuses the file
]


class Span(msgspec.Struct, frozen=True, gc=False):
    """One JSON object in a file, kept as the bytes that it was written with.

    Attributes:
        part: index of the file in the session's list of parts.
        number: 1-based line number within that file.
        offset: byte offset of ``raw`` within that file.
        raw: the bytes of the object, without line terminator, BOM or NUL padding.
    """

    part: int
    number: int
    offset: int
    raw: bytes


class RowSpan(Span, frozen=True, gc=False):
    """A record that is a row of a database: ``offset`` is its rank in the session, ``raw`` its decoded bytes.

    Attributes:
        record: what the row is found by, as the dialect's own reader of rows takes it.
    """

    record: str = ""


class Problem(msgspec.Struct, frozen=True):
    """Something in a file that is not a clean record; it is reported and never stops a run.

    Attributes:
        kind: what is wrong.
        path: the file.
        line: 1-based number of the (first) line.
        offset: byte offset of the first byte concerned.
        length: number of bytes concerned.
        detail: what was expected or done.
        lines: number of lines; adjacent bad lines of one kind are one problem, so that a file of another format
            does not fill the memory with reports.
    """

    kind: ProblemKind
    path: Path
    line: int
    offset: int
    length: int
    detail: str
    lines: int = 1

    def __str__(self) -> str:
        """Say it in one line, with file, line and offset."""
        lines = f"-{self.line + self.lines - 1}" if self.lines > 1 else ""
        place = f"{self.path}:{self.line}{lines} (offset {self.offset}, {self.length} bytes)"
        return f"{place}: {self.kind}: {self.detail}"
