"""Where JSON ends or breaks, found on the bytes: no recursion, no copies, whatever the size and nesting.

Python's decoder says neither where a value that is merely cut short ends nor where exactly a torn one breaks, and
it needs the whole line as text; both places decide what can be saved from a damaged line.
"""

import re
from typing import Literal, NamedTuple

_SPACE = re.compile(rb"[ \t\r\n]*+")
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


class Scan(NamedTuple):
    """Outcome of a scan.

    Attributes:
        status: ``whole`` (one complete value), ``open`` (the bytes end inside a value) or ``broken``.
        at: end of the whole value, end of the bytes, or the first byte at which no JSON can go on.
    """

    status: Literal["whole", "open", "broken"]
    at: int


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
