"""JSON as it really occurs: records out of damaged lines."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import msgspec

from slowwave.formats import REFUSALS, Problem, ProblemKind, Span, clean, is_utf8

T = TypeVar("T")
BOM = b"\xef\xbb\xbf"
_PADDING = re.compile(rb"[ \t\r\n\x00]*+")
# the start of a record that ended a torn string: its first quote closed the string
_SWALLOWED = re.compile(rb'\{[ \t\r\n]*"[ \t\r\n]*\Z')
_SWALLOWED_MAX = 64
# a line with more pieces behind a torn object is no transcript, and is not worth the memory
_MOST_HELD = 10_000
_RESTART = "an incomplete object; the next record begins right behind it"
_BROKEN = "not JSON"


class OddLine(msgspec.Struct, frozen=True):
    """A line that is not one clean object, with its place."""

    path: Path  # its file
    part: int  # index of the file in its session
    number: int  # 1-based line number
    offset: int  # byte offset of ``raw`` in the file
    raw: bytes  # the bytes of the line without white space at its ends
    torn: bool  # the line is the last one and has no newline, so an incomplete object is a torn append


class Piece(NamedTuple):
    """A stretch of a line: a record (kind ``""``) or something to report."""

    kind: ProblemKind | None
    start: int
    stop: int
    detail: str = ""


def salvage(line: OddLine, decoder: msgspec.json.Decoder[T], problems: list[Problem]) -> Iterator[tuple[Span, T]]:
    """Yield each record that can be read from ``line`` and report what made the slow path necessary."""
    if (clean_value := _exactly_one(line, decoder)) is not None:
        yield clean_value
        return
    found = 0
    for piece in split(line.raw, torn=line.torn):
        if piece.kind is None:
            found += 1
            raw = line.raw if piece.stop - piece.start == len(line.raw) else line.raw[piece.start : piece.stop]
            span = Span(line.part, line.number, line.offset + piece.start, raw)
            yield from _decoded(line, span, decoder, problems)
        else:
            _report(line, piece, problems)
    if found > 1:
        _report(line, Piece("glued", 0, len(line.raw), f"{found} objects on one line, all read"), problems)


def split(raw: bytes, *, torn: bool = False) -> Iterator[Piece]:
    """Cut a line into records and damage; together the pieces cover all but the white space between them."""
    held: list[Piece] = []  # from the first torn object on: they count only if the whole rest of the line is sound
    for piece in _walk(raw, torn=torn):
        if not held and piece.detail != _RESTART:
            yield piece
            continue
        held.append(piece)
        if piece.detail == _BROKEN or len(held) > _MOST_HELD:
            yield Piece("garbage", held[0].start, len(raw), _BROKEN)
            return
    yield from held


def _walk(raw: bytes, *, torn: bool) -> Iterator[Piece]:
    """Yield the pieces from left to right, as if every torn object were one; the last one may be broken."""
    at = found = 0
    while True:
        padding = _padding(raw, at)
        yield from padding.pieces
        at = padding.stop
        if at == len(raw):
            return
        scan = scan_value(raw, at)
        if scan.status == "whole" and raw.startswith(b"{", at):
            yield Piece(None, at, scan.at)
            found += 1
            at = scan.at
        elif (record := _next_record(raw, at, scan)) is not None:
            yield Piece("garbage", at, record, _RESTART)
            at = record
        else:
            yield _last_piece(raw, at, scan, torn=torn, is_alone=not found)
            return


class _Padding(NamedTuple):
    pieces: list[Piece]
    stop: int


def _padding(raw: bytes, at: int) -> _Padding:
    """Step over white space, NUL runs and a byte order mark, and say what is to be reported of them."""
    pieces: list[Piece] = []
    if at == 0 and raw.startswith(BOM):
        pieces.append(Piece("bom", 0, len(BOM), "byte order mark skipped"))
        at = len(BOM)
    match = _PADDING.match(raw, at)
    end = match.end() if match else at
    first = raw.find(b"\0", at, end)
    if first >= 0:
        pieces.append(Piece("nul", first, raw.rfind(b"\0", at, end) + 1, "NUL bytes skipped"))
    return _Padding(pieces, end)


class Scan(NamedTuple):
    """Outcome of a scan."""

    # ``whole`` (one complete value), ``open`` (the bytes end inside a value) or ``broken``
    status: Literal["whole", "open", "broken"]
    at: int  # end of the whole value, end of the bytes, or the first byte at which no JSON can go on


def _next_record(raw: bytes, begin: int, scan: Scan) -> int | None:
    """Return where the record begins that was appended to the torn object at ``begin``, if there is one."""
    if scan.status != "broken" or not raw.startswith(b"{", begin):
        return None
    match = _PADDING.match(raw, scan.at)
    at = match.end() if match else scan.at
    if raw.startswith(b"{", at):
        return at
    window = max(begin + 1, scan.at - _SWALLOWED_MAX)
    swallowed = _SWALLOWED.search(raw[window : scan.at])
    return window + swallowed.start() if swallowed else None


def _last_piece(raw: bytes, at: int, scan: Scan, *, torn: bool, is_alone: bool) -> Piece:
    """Return the piece at the end of the line, which is no record."""
    stop = len(raw)
    if scan.status == "open":
        return Piece("torn" if torn else "garbage", at, stop, "an incomplete object, cut off at the end of the line")
    if scan.status == "whole" and is_alone and not raw[scan.at :].strip(b" \t\r\n\0"):
        return Piece("not-object", at, stop, "a JSON value that is not an object")
    return Piece("garbage", at, stop, _BROKEN)


def _exactly_one(line: OddLine, decoder: msgspec.json.Decoder[T]) -> tuple[Span, T] | None:
    """Decode a line that is odd only by its white space or its length."""
    if not line.raw.startswith(b"{") or not is_utf8(line.raw):
        return None
    try:
        return Span(line.part, line.number, line.offset, line.raw), decoder.decode(line.raw)
    except REFUSALS:
        return None


def _decoded(
    line: OddLine, span: Span, decoder: msgspec.json.Decoder[T], problems: list[Problem]
) -> Iterator[tuple[Span, T]]:
    """Yield the record with its value; what strict decoders refuse is replaced in the value, never in the span."""
    cleaned = clean(span.raw)
    try:
        value = decoder.decode(cleaned)
    except REFUSALS as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        problems.append(Problem("garbage", line.path, span.number, span.offset, len(span.raw), reason[:200]))
        return
    if cleaned is not span.raw and cleaned != span.raw:
        kind: ProblemKind = "nonstandard" if is_utf8(span.raw) else "not-utf8"
        detail = "read with U+FFFD (or null for NaN) in its place; the file keeps the bytes"
        problems.append(Problem(kind, line.path, span.number, span.offset, len(span.raw), detail))
    yield span, value


def _report(line: OddLine, piece: Piece, problems: list[Problem]) -> None:
    """Add a problem; the next line of a run of bad lines extends the one before."""
    kind = piece.kind or "garbage"
    start, stop = line.offset + piece.start, line.offset + piece.stop
    last = problems[-1] if problems else None
    whole = piece.start == 0 and piece.stop == len(line.raw) and kind in {"garbage", "not-object"}
    if whole and last and last.kind == kind and last.path == line.path and last.line + last.lines == line.number:
        problems[-1] = msgspec.structs.replace(last, length=stop - last.offset, lines=last.lines + 1)
    else:
        problems.append(Problem(kind, line.path, line.number, start, stop - start, piece.detail))


# Where JSON ends or breaks, found on the bytes: no recursion, no copies, whatever the size and nesting.
#
# Python's decoder says neither where a value that is merely cut short ends nor where exactly a torn one breaks, and it
# needs the whole line as text; both places decide what can be saved from a damaged line.

_SPACE = re.compile(rb"[ \t\r\n]*+")
_COLON_SIGN = re.compile(rb"[ \t\r\n]*+:")
_COMMA_SIGN = re.compile(rb"[ \t\r\n]*+,")
_STRING_BODY = re.compile(rb'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
_HEX = re.compile(rb"[0-9a-fA-F]*+")
_ATOM_RUN = re.compile(rb"[-+.0-9A-Za-z]*+")
_NUMBER = re.compile(rb"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
# one whole token and, before it is consumed, its first byte; whatever is anything else is looked at more closely
_TOKEN = re.compile(
    rb'[ \t\r\n]*+(?=(.))(?:[]{}[,:]|"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'
    rb"|(?:-?(?:0|[1-9]\d*+)(?:\.\d++)?+(?:[eE][+-]?\d++)?+|true|false|null|NaN|-?Infinity)(?![-+.0-9A-Za-z]))",
    re.DOTALL,
)
_NUMBER_PREFIX = re.compile(rb"-?(?:(?:0|[1-9]\d*)(?:\.\d*)?(?:(?<=\d)[eE][+-]?\d*)?)?")
# NaN and Infinity are no JSON, but Python programs write them; clean() turns them into null
_WORDS = (b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity")
_VALUE = b'{["-0123456789tfnNI'
_FIRST_ITEM = _VALUE + b"]"
_KEY = b'"'
_FIRST_KEY = b'"}'
_KEYS = (_KEY, _FIRST_KEY)
_COLON = b":"
_CLOSING = b"]}"
_AFTER = {b"}": b",}", b"]": b",]"}


def scan_value(raw: bytes, at: int = 0) -> Scan:
    """Find the end of the JSON value that begins at or, after white space, behind ``at``."""
    stack: list[bytes] = []  # the closing bracket of every open object and array
    want = _VALUE
    while want:
        token = _TOKEN.match(raw, at)
        if token is None:
            return _stop(raw, at, want)
        char = token[1]
        if char not in want:
            return Scan("broken", token.start(1))
        at = token.end()
        want = _wanted_after(char, want, stack)
    return Scan("whole", at)


class Member(NamedTuple):
    """A member of an object: its key as it is written, where its value begins, and how that ends."""

    key: bytes
    start: int
    value: Scan


def members_of(raw: bytes) -> Iterator[Member]:
    """Yield the members of the object that ``raw`` begins with, up to its end or its damage; values stay unread."""
    at = 1
    while (name := scan_value(raw, at)).status == "whole" and (colon := _COLON_SIGN.match(raw, name.at)):
        start = _skip(_SPACE, raw, colon.end())
        value = scan_value(raw, start)
        yield Member(raw[at : name.at].strip(), start, value)
        comma = _COMMA_SIGN.match(raw, value.at) if value.status == "whole" else None
        if comma is None:
            return
        at = comma.end()


def _stop(raw: bytes, at: int, want: bytes) -> Scan:
    """Say where exactly no token is whole."""
    at = _skip(_SPACE, raw, at)
    char = raw[at : at + 1]
    if not char:
        return Scan("open", at)
    if char not in want:
        return Scan("broken", at)
    return _string(raw, at + 1) if char == b'"' else _atom(raw, at)


def _wanted_after(char: bytes, want: bytes, stack: list[bytes]) -> bytes:
    """Return the characters with which the next token may begin; none when the value is complete."""
    if char == b'"' and want in _KEYS:
        return _COLON
    if char == b",":
        return _KEY if stack[-1] == b"}" else _VALUE
    if char == b":":
        return _VALUE
    if char == b"{":
        stack.append(b"}")
        return _FIRST_KEY
    if char == b"[":
        stack.append(b"]")
        return _FIRST_ITEM
    if char in _CLOSING:
        stack.pop()
    return _AFTER[stack[-1]] if stack else b""


def _skip(pattern: re.Pattern[bytes], raw: bytes, at: int) -> int:
    match = pattern.match(raw, at)
    return match.end() if match else at


def _string(raw: bytes, at: int) -> Scan:
    """Scan a string from behind its opening quote."""
    at = _skip(_STRING_BODY, raw, at)
    char = raw[at : at + 1]
    if char == b'"':
        return Scan("whole", at + 1)
    if char == b"\\":  # an escape that JSON does not know, or one that is cut off
        at = _skip(_HEX, raw, at + 2) if raw[at + 1 : at + 2] == b"u" else at + 1
    return Scan("broken" if at < len(raw) else "open", at)


def _atom(raw: bytes, at: int) -> Scan:
    """Scan a number or a word."""
    end = _skip(_ATOM_RUN, raw, at)
    atom = raw[at:end]
    if _NUMBER.fullmatch(atom) or atom in _WORDS:
        return Scan("whole", end)
    if _NUMBER_PREFIX.fullmatch(atom) or any(word.startswith(atom) for word in _WORDS):
        return Scan("broken" if end < len(raw) else "open", end)
    return Scan("broken", at)
