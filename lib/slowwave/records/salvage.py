"""The slow path of reading: take every object out of a line that does not decode as exactly one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from slowwave.records.model import Problem, ProblemKind, Span

T = TypeVar("T")

_BOM = b"\xef\xbb\xbf"
_SPACE = " \t\r\n"
_json = json.JSONDecoder()


def salvage(
    raw: bytes,
    path: Path,
    part: int,
    number: int,
    offset: int,
    decoder: msgspec.json.Decoder[T],
    problems: list[Problem],
    *,
    torn: bool,
) -> Iterator[tuple[Span, T]]:
    """Yield each object that can be read from ``raw`` and report what made the slow path necessary.

    Args:
        raw: the stripped bytes of the line.
        path: its file, for the report.
        part: index of the file in its session.
        number: 1-based line number.
        offset: byte offset of ``raw`` in the file.
        decoder: decodes one object.
        problems: reports are appended here.
        torn: the line is the last one and has no newline, so an incomplete object is a torn append.
    """

    def report(kind: ProblemKind, at: int, length: int, detail: str) -> None:
        problems.append(Problem(kind, path, number, at, length, detail))

    if offset == 0 and raw.startswith(_BOM):
        report("bom", 0, len(_BOM), "byte order mark skipped")
        raw, offset = raw[len(_BOM) :], len(_BOM)
    if b"\0" in raw:
        stripped = raw.lstrip(b"\0" + _SPACE.encode())
        lead = len(raw) - len(stripped)
        body = stripped.rstrip(b"\0" + _SPACE.encode())
        report("nul", offset, len(raw) - len(body), "NUL bytes around the line skipped")
        raw, offset = body, offset + lead
        if not raw:
            return
    # surrogateescape maps every odd byte to one character and back, so offsets stay exact
    text = raw.decode("utf-8", "surrogateescape")
    if _has_escaped_byte(text):
        report("not-utf8", offset, len(raw), "bytes that are not UTF-8 are shown as U+FFFD; the file keeps them")
    found = 0
    at = 0
    while at < len(text):
        begin = at + len(text[at:]) - len(text[at:].lstrip(_SPACE))
        if begin == len(text):
            break
        try:
            value, end = cast("tuple[object, int]", _json.raw_decode(text, begin))
        except (ValueError, RecursionError) as error:
            place = offset + _bytes_before(text, begin)
            kind: ProblemKind = "torn" if torn else "garbage"
            report(kind, place, offset + len(raw) - place, f"not JSON: {error}"[:160])
            break
        span = Span(part, number, offset + _bytes_before(text, begin), _encoded(text[begin:end]))
        if isinstance(value, dict):
            found += 1
            decoded = _decode(span.raw, cast("dict[str, object]", value), decoder)
            if decoded is None:
                report("garbage", span.offset, len(span.raw), "a field has an unexpected type")
            else:
                yield span, decoded
        else:
            report(
                "not-object",
                span.offset,
                len(span.raw),
                f"a JSON {type(value).__name__} instead of an object",
            )
        at = end
    if found > 1:
        report("glued", offset, len(raw), f"{found} objects on one line, all read")


def _decode(raw: bytes, value: dict[str, object], decoder: msgspec.json.Decoder[T]) -> T | None:
    """Decode one object; a second try goes over cleaned text (lone surrogates become U+FFFD)."""
    try:
        return decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return decoder.decode(json.dumps(_clean(value)).encode())
    except (msgspec.MsgspecError, RecursionError):
        return None


def _clean(value: Any) -> Any:
    """Replace lone surrogates in all strings of a JSON value by U+FFFD, as a UTF-8 encoder would."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case list():
            return [_clean(v) for v in cast("list[Any]", value)]
        case dict():
            return {_clean(k): _clean(v) for k, v in cast("dict[str, Any]", value).items()}
        case float() if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124
            return None  # NaN and Infinity are not JSON
        case _:
            return value


def _has_escaped_byte(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _bytes_before(text: str, index: int) -> int:
    return len(_encoded(text[:index]))
