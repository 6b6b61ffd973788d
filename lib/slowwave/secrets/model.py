"""What a rule and a finding are."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Rule:
    """One shape of secrets.

    Attributes:
        family: its name in the mark.
        anchors: literals in lower case; the shape can begin only where one of them does.
        shape: regular expression, tried right there; its group ``secret`` is the secret. Every repetition in it is
            bounded, so that no text can make it slow.
        back: how many characters before the literal the shape begins, each number that is possible; empty for none.
        behind: the shape begins where the literal ends.
        is_valid: refuses look-alikes; None takes every match.
        joins: what it finds may be put together from several lines.
    """

    family: str
    anchors: tuple[str, ...]
    shape: str
    back: tuple[int, ...] = ()
    behind: bool = False
    is_valid: Callable[[str], bool] | None = None
    joins: bool = True

    # compiled when a text holds one of its literals, which most never do: all of them together take 0.1 s
    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled shape."""
        return re.compile(self.shape)

    @cached_property
    def match(self) -> Callable[[str, int], re.Match[str] | None]:
        """Tries the shape at one place of a text."""
        return self.pattern.match


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret in a text.

    Attributes:
        start: where what has to go begins in the text that was searched.
        stop: behind its end.
        family: what it is.
        secret: the secret in plain, however the text writes it.
        depth: how many layers of encoding were taken off to find it.
    """

    start: int
    stop: int
    family: str
    secret: str
    depth: int = 0
