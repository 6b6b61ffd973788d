"""What the commands print: lines for people, JSON for programs, warnings on standard error."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

_MOST_PROBLEMS = 5


def say(text: str) -> None:
    """Print one line; names that are not UTF-8 are shown with escapes."""
    print(_printable(text))  # noqa: T201 - the command's own output


def say_json(values: Iterable[Any]) -> None:
    """Print one JSON object a line; names that are not UTF-8 stand in it as escapes that JSON readers give back."""
    lines: list[bytes] = []
    for value in values:
        try:
            lines.append(msgspec.json.encode(value))
        except (msgspec.MsgspecError, UnicodeEncodeError):
            import json  # noqa: PLC0415  # such names are rare

            lines.append(json.dumps(msgspec.to_builtins(value)).encode())
    if sys.stdout:
        sys.stdout.flush()
        out = sys.stdout.buffer  # as text, a session that is most of what there is room for would be copied twice
        for line in lines:
            out.write(line)
            out.write(b"\n")
        out.flush()


def warn(text: str) -> None:
    """Print one line to standard error; what in a name would break the line or reach the terminal is escaped."""
    print(f"slowwave: {_one_line(text)}", file=sys.stderr)  # noqa: T201 - the command's own output


def tell_damage(problems: Sequence[object]) -> None:
    """Print what was damaged in a session to standard error, the first few places one by one."""
    for problem in problems[:_MOST_PROBLEMS]:
        warn(str(problem))
    if len(problems) > _MOST_PROBLEMS:
        warn(f"and {len(problems) - _MOST_PROBLEMS} more problems")


def bold(text: str) -> str:
    """Return a heading: bold where a person reads it on a terminal."""
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout and sys.stdout.isatty() and "NO_COLOR" not in os.environ else text


def screen_width() -> int:
    """Return how wide what is printed may be: the terminal, or 0 for no limit where a program or a file reads it."""
    if not (sys.stdout and sys.stdout.isatty()):
        return 0
    from slowwave.cli.parser import columns  # noqa: PLC0415 - only at a terminal

    return max(columns(), 40)


def wrapped(text: str, *, first: str = "", rest: str = "", width: int = 0) -> list[str]:
    """Return foreign text as lines no wider than ``width``, which never breaks a word; 0 sets no limit.

    Args:
        text: what is told; whatever a terminal would obey is taken out.
        first: what stands before its first line.
        rest: what stands before every further one.
        width: the most characters of a line.
    """
    flat = " ".join(harmless(text).split())
    if not width:
        return [first + flat]
    from textwrap import TextWrapper  # noqa: PLC0415 - only where something is wrapped

    wrapper = TextWrapper(max(width, len(rest) + 20), initial_indent=first, subsequent_indent=rest)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return wrapper.wrap(flat) or [first]


def harmless(text: str) -> str:
    """Return foreign text without what a terminal would obey; line ends and tabs stay."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)


def counted(number: int, thing: str) -> str:
    """Return a number with its noun, ``1 part`` or ``3 parts``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _one_line(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _printable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
