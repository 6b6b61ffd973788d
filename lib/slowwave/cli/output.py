"""What the commands print: lines for people, JSON for programs, warnings on standard error."""

import json
import sys
from collections.abc import Iterable
from typing import Any

import msgspec


def say(text: str) -> None:
    """Print one line; names that are not UTF-8 are shown with escapes."""
    print(_printable(text))  # noqa: T201 - the command's own output


def say_json(values: Iterable[Any]) -> None:
    """Print one JSON object a line; names that are not UTF-8 stand in it as escapes that JSON readers give back."""
    lines: list[str] = []
    for value in values:
        try:
            lines.append(msgspec.json.encode(value).decode())
        except (msgspec.MsgspecError, UnicodeEncodeError):
            lines.append(json.dumps(msgspec.to_builtins(value)))
    if lines:
        print("\n".join(lines))  # noqa: T201 - the command's own output


def warn(text: str) -> None:
    """Print one line to standard error."""
    print(f"slowwave: {_printable(text)}", file=sys.stderr)  # noqa: T201 - the command's own output


def counted(number: int, thing: str) -> str:
    """Return a number with its noun, ``1 part`` or ``3 parts``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
