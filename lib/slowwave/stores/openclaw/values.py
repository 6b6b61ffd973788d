"""Objects taken apart into the bytes of their values, also where a strict decoder refuses what a client wrote.

JavaScript writes half of a character that was cut in two as an escape, which is no text that could be encoded.
"""

import re
from typing import Any

import msgspec

from slowwave.formats.model import REFUSALS
from slowwave.formats.salvage import clean, scan_value

Fields = dict[str, msgspec.Raw]

_SPACE = b" \t\r\n"
_SPACE_RUN = re.compile(rb"[ \t\r\n]*")


def values_of(raw: bytes | msgspec.Raw) -> Fields | None:
    """Return the values of an object by their keys, each as it stands; None when it is no JSON object."""
    try:
        return msgspec.json.decode(raw, type=Fields)
    except REFUSALS:
        return _scanned(bytes(raw))


def decoded(raw: msgspec.Raw, kind: Any = Any) -> Any:
    """Return a value decoded, with halves of characters replaced; None when it is not of this kind."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except REFUSALS:
        pass
    try:
        return msgspec.json.decode(clean(bytes(raw)), type=kind)
    except REFUSALS:
        return None


def _scanned(raw: bytes) -> Fields | None:
    """Cut an object at its own commas; the values are not looked into."""
    text = raw.strip(_SPACE)
    whole = scan_value(text)
    if text[:1] != b"{" or (whole.status, whole.at) != ("whole", len(text)):
        return None
    fields: Fields = {}
    at = _behind_space(text, 1)
    while text[at : at + 1] == b'"':
        key_end = scan_value(text, at).at
        begin = _behind_space(text, text.index(b":", key_end) + 1)
        end = scan_value(text, begin).at
        key = decoded(msgspec.Raw(text[at:key_end]), str)
        if key is None:
            return None
        fields[key] = msgspec.Raw(text[begin:end])
        at = _behind_space(text, _behind_space(text, end) + 1)
    return fields


def _behind_space(text: bytes, at: int) -> int:
    found = _SPACE_RUN.match(text, at)
    return found.end() if found else at
