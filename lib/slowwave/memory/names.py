r"""Names of files and sessions in JSON: a name may hold bytes that are not UTF-8, a JSON string may not.

Such a byte is written as NUL and its two hex digits, for example ``x\u0000ff.jsonl``: no name holds a NUL, so the
form is reversible, every JSON parser takes it, and all other names stay as they are.
"""

import os
import re
from pathlib import Path

_ESCAPED = re.compile("\0([0-9a-f]{2})")
# how Python spells a byte that is not UTF-8 in a name
_BYTE = re.compile("[\udc80-\udcff]")
# a half of a surrogate pair that stands for no byte is no part of any name on disk
_OTHER = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_BASE = 0xDC00


def name_to_json(name: str | Path) -> str:
    """Return a name or path in the form in which JSON keeps it."""
    return _OTHER.sub("\ufffd", _BYTE.sub(lambda byte: f"\0{ord(byte[0]) - _BASE:02x}", os.fspath(name)))


def name_from_json(text: str) -> str:
    """Return the name or path that :func:`name_to_json` was given."""
    return _ESCAPED.sub(lambda byte: chr(_BASE + int(byte[1], 16)), text)


def printable(text: str) -> str:
    """Return a text that may hold such names in a form that every terminal and every log takes."""
    plain = _BYTE.sub(lambda byte: f"\\x{ord(byte[0]) - _BASE:02x}", name_from_json(text))
    return _OTHER.sub("\ufffd", plain)
