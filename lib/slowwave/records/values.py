"""JSON as it really occurs, made fit for strict decoders: valid UTF-8, no lone surrogates, no NaN."""

import re

from slowwave.records.utf8 import is_utf8

_HIGH = rb"u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = rb"u[dD][c-fC-F][0-9a-fA-F]{2}"
# a pair, a lone half (group 1), or any other escape; the order matters, and "\\" must be eaten as one
_ESCAPE = re.compile(rb"\\(?:" + _HIGH + rb"\\" + _LOW + rb"|(" + _HIGH + rb"|" + _LOW + rb")|.)", re.DOTALL)
_LONE = re.compile(rb"\\" + _HIGH + rb"|\\" + _LOW)
_NOT_A_NUMBER = re.compile(rb'"(?:[^"\\]|\\.)*+"|(NaN|-?Infinity)', re.DOTALL)


def without_lone_halves(raw: bytes) -> bytes:
    """Return the JSON value ``raw`` without lone halves of surrogate pairs, as clients in JavaScript send it."""
    return _ESCAPE.sub(_nothing, raw) if _LONE.search(raw) else raw


def clean(raw: bytes) -> bytes:
    """Return the JSON value ``raw`` with everything that strict decoders refuse replaced.

    Bytes that are not UTF-8 and lone halves of surrogate pairs become U+FFFD, as a UTF-8 encoder would write them;
    NaN and Infinity become null. A value that has none of these comes back as it is.
    """
    if not is_utf8(raw):
        raw = raw.decode("utf-8", "replace").encode()
    if b"\\u" in raw:
        raw = _ESCAPE.sub(_whole_character, raw)
    if b"NaN" in raw or b"Infinity" in raw:
        raw = _NOT_A_NUMBER.sub(_number, raw)
    return raw


def _nothing(match: re.Match[bytes]) -> bytes:
    return b"" if match[1] else match[0]


def _whole_character(match: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if match[1] else match[0]


def _number(match: re.Match[bytes]) -> bytes:
    return b"null" if match[1] else match[0]
