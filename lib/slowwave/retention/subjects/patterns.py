"""Regular expressions that people write for an erasure: checked before, and stopped where one would never end."""

import re
import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from slowwave.errors import UsageError

# for one record or file; an honest expression takes milliseconds
MOST_S = 30.0


class Pattern:
    """An expression; after it took too long once it is not tried again.

    Args:
        text: the expression.

    Raises:
        UsageError: it is none, or fits an empty text.
    """

    def __init__(self, text: str) -> None:
        try:
            self._expression = re.compile(text)
        except re.error as error:
            raise UsageError(f"--pattern: is no regular expression: {error}") from error
        if self._expression.match(""):
            raise UsageError("--pattern: fits an empty text, so it would fit everywhere")
        self.text = text
        self._is_endless = False

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Return where it fits, from the first character to the one behind the last; never an empty range.

        Raises:
            UsageError: it takes too long, here or before.
        """
        if not self._is_endless:
            try:
                with _at_most(MOST_S):
                    spans = [match.span() for match in self._expression.finditer(text)]
            except _TooLongError:
                self._is_endless = True
            else:
                return ((start, stop) for start, stop in spans if start < stop)
        raise UsageError(
            f"--pattern: takes more than {MOST_S:g} s for one record; write it without a repetition in a repetition"
        )


class _TooLongError(Exception):
    """Raised by the clock within a search."""


@contextmanager
def _at_most(seconds: float) -> Generator[None]:
    """Stop what runs within after so many seconds; beside the main thread there is no clock that could."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
