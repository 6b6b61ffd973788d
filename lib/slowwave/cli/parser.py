"""A parser that declares what was asked for and nothing else: every command line pays for what it declares.

``slowwave sessions`` has over twenty actions with a hundred options; to declare them takes longer than to read the end
of a session. All are declared where the first word is none of them: for ``--help``, and to tell what there is.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

_USUAL_WIDTH = 80


class Parser(argparse.ArgumentParser):
    """A parser whose formatter looks up the terminal's width without ``shutil`` and its compressors.

    Attributes:
        is_laid_out: its description and its epilog have their own lines, which are not filled anew.
        behind: the words behind the command that it stands for, as far as they tell which of its actions is meant.
    """

    behind: Sequence[str] = ()
    is_laid_out: bool = False

    def __init__(self, **how: Any) -> None:
        """Take only whole names of options: ``--ap`` for ``--apply`` would delete for who meant another option."""
        super().__init__(**how)
        self.allow_abbrev = False

    def _get_formatter(self) -> argparse.HelpFormatter:
        # two characters less than the terminal has, as argparse itself does
        kind = argparse.RawDescriptionHelpFormatter if self.is_laid_out else argparse.HelpFormatter
        return kind(self.prog, width=columns() - 2)

    def filled(self, text: str) -> str:
        """Return text in lines as wide as the terminal."""
        import textwrap  # noqa: PLC0415 - only a page of help waits for it

        return textwrap.fill(text, max(columns() - 2, 20))

    def columns(self, rows: Iterable[tuple[str, str]], left: int = 34) -> str:
        """Return rows of two columns, the second filled to the width of the terminal."""
        import textwrap  # noqa: PLC0415 - only a page of help waits for it

        width = max(columns() - 2 - left, 20)
        lines: list[str] = []
        for name, text in rows:
            first, *others = textwrap.wrap(text, width) or [""]
            lines += [f"  {name}"] if len(name) > left - 4 else []
            lines.append(f"  {'' if len(name) > left - 4 else name:<{left - 2}}{first}".rstrip())
            lines += [f"{'':<{left}}{other}" for other in others]
        return "\n".join(lines)


class Undeclared(argparse.ArgumentParser):
    """Takes the options of an action that nobody asked for, and keeps none."""

    def __init__(self) -> None:
        """Make nothing ready."""

    def add_argument(self, *_names: Any, **_how: Any) -> Any:
        """Do nothing."""


def declared(names: Iterable[str], words: Sequence[str]) -> list[str]:
    """Return the one of ``names`` that the first word is, else all of them."""
    return [words[0]] if words and words[0] in names else list(names)


def columns() -> int:
    """Return the width of the terminal, by the rules of ``shutil.get_terminal_size``."""
    try:
        columns = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        columns = 0
    if columns > 0:
        return columns
    try:
        found = os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else 0
    except (OSError, ValueError):
        found = 0
    return found or _USUAL_WIDTH
