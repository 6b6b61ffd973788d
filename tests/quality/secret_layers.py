"""The ways in which a secret is written down, and whether one can still be read out of a text."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote, unquote

from tests.quality.secret_values import Planted

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_WINDOW = 12


def _coloured(planted: Planted) -> str:
    """Return the text as grep shows it: the value in red, with a change of colour inside of it."""
    at = len(planted.value) // 2
    inner = f"\x1b[01;31m\x1b[K{planted.value[:at]}\x1b[m\x1b[K\x1b[01;32m{planted.value[at:]}\x1b[0m"
    return planted.text.replace(planted.value, inner)


def _wrapped(planted: Planted) -> str:
    """Return the text as a narrow terminal breaks it, the second line indented now and then."""
    at = len(planted.value) - max(6, len(planted.value) // 3)
    end = "\n" if len(planted.value) % 2 else "\n    "
    return planted.text.replace(planted.value, f"{planted.value[:at]}{end}{planted.value[at:]}")


LAYERS: dict[str, Callable[[Planted], str]] = {
    "plain": lambda p: f"first line\n{p.text}\nlast line",
    "JSON-escaped": lambda p: json.dumps({"stdout": f"first line\n{p.text}\nlast line"}),
    "base64": lambda p: f"payload: {base64.b64encode(p.text.encode()).decode()}\n",
    "URL-encoded": lambda p: f"GET /collect?line={quote(p.text, safe='')}&n=1 HTTP/1.1",
    "ANSI colours": _coloured,
    "split over lines": _wrapped,
}


def is_revealed(text: str, planted: Planted) -> bool:
    """Say whether twelve characters in a row of a secret's random part can be read out of a text in any way."""
    windows = {
        body[at : at + _WINDOW]
        for body in planted.bodies
        if len(body) >= _WINDOW
        for at in range(len(body) - _WINDOW + 1)
    } or {body for body in planted.bodies if body}
    return any(window in form for form in _forms(text) for window in windows)


def _forms(text: str) -> Iterator[str]:
    yield text
    yield re.sub(r"\s+", "", _ANSI.sub("", text))
    yield unquote(text)
    yield text.replace("\\n", "\n").replace("\\/", "/").replace('\\"', '"')
    for run in _BASE64.findall(text):
        for start in range(4):
            yield _decoded(run[start:])


def _decoded(run: str) -> str:
    bare = run.rstrip("=").replace("-", "+").replace("_", "/")
    bare = bare[: len(bare) - (len(bare) % 4 == 1)]
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4)).decode("latin-1")
    except binascii.Error:
        return ""
