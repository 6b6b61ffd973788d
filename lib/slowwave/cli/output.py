"""What the commands print: lines for people, JSON for programs, warnings on standard error."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
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
    """Return a heading."""
    return _drawn("1", text)


def dim(text: str) -> str:
    """Return what is only looked at by whoever needs it: ids, places, reasons."""
    return _drawn("2", text)


def good(text: str) -> str:
    """Return what is well."""
    return _drawn("32", text)


def open_to(text: str) -> str:
    """Return what waits for somebody."""
    return _drawn("33", text)


def bad(text: str) -> str:
    """Return what went wrong."""
    return _drawn("31", text)


def _drawn(code: str, text: str) -> str:
    """Return text in a colour or a weight where a person reads it on a terminal, and as it is anywhere else."""
    is_seen = sys.stdout and sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\x1b[{code}m{text}\x1b[0m" if text and is_seen else text


def screen_width() -> int:
    """Return how wide what is printed may be: the terminal, or 0 for no limit where a program or a file reads it."""
    if not (sys.stdout and sys.stdout.isatty()):
        return 0
    from slowwave.cli.parser import columns  # noqa: PLC0415 - only at a terminal

    return max(columns(), 40)


def screen_height() -> int:
    """Return how many lines a person sees at once, or 0 for no limit where a program or a file reads it."""
    if not (sys.stdout and sys.stdout.isatty()):
        return 0
    from slowwave.cli.parser import size_of  # noqa: PLC0415 - only at a terminal

    return max(size_of("LINES"), 10)


def wrapped(
    text: str, *, first: str = "", rest: str = "", width: int = 0, draw: Callable[[str], str] = str
) -> list[str]:
    """Return foreign text as lines no wider than ``width``, which never breaks a word; 0 sets no limit.

    Args:
        text: what is told; whatever a terminal would obey is taken out.
        first: what stands before its first line.
        rest: what stands before every further one.
        width: the most characters of a line.
        draw: what ``first`` is drawn with.
    """
    flat = " ".join(harmless(text).split())
    if not width:
        return [draw(first) + flat]
    from textwrap import TextWrapper  # noqa: PLC0415 - only where something is wrapped

    wrapper = TextWrapper(max(width, len(rest) + 20), initial_indent=first, subsequent_indent=rest)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    lines = wrapper.wrap(flat) or [first]
    return [draw(first) + lines[0][len(first) :], *lines[1:]]


def shortened(text: str, width: int) -> str:
    """Return foreign text on one line; of more than ``width`` characters the beginning, with 0 always all of it."""
    flat = " ".join(harmless(text).split())
    return flat if not width or len(flat) <= width else flat[: max(width, 20) - 3].rstrip() + "..."


def harmless(text: str) -> str:
    """Return foreign text without what a terminal would obey; line ends and tabs stay."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)


def counted(number: int, thing: str, several: str = "") -> str:
    """Return a number with its noun, ``1 part`` or ``3 parts``; ``several`` is for a noun that takes more than an s."""
    return f"{number:,} {thing if number == 1 else several or thing + 's'}"


def short_time(at: str) -> str:
    """Return an ISO time to the minute."""
    return at[:16].replace("T", " ")


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
