"""How far a run is: whoever watches is told after every step, and nobody is by default.

The one who watches is a context variable: the story of a job tells it the same way in this process and inside a flow,
and its functions need not hand it on.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Watcher(Protocol):
    """Somebody who is told how far a run is."""

    def plan(self, step: str, total: int) -> None:
        """Take note that a step is about to go over so many things."""
        ...

    def done(self, step: str, what: str) -> None:
        """Take note that a step is over for one of them."""
        ...


class Nobody:
    """Watches nothing."""

    def plan(self, step: str, total: int) -> None:
        """Do nothing."""

    def done(self, step: str, what: str) -> None:
        """Do nothing."""


_watching: ContextVar[Watcher] = ContextVar("slowwave_watching", default=Nobody())  # noqa: B039 - it holds nothing


def watcher() -> Watcher:
    """Return who watches now."""
    return _watching.get()


@contextmanager
def watched_by(one: Watcher) -> Generator[None]:
    """Let somebody watch what is inside."""
    token = _watching.set(one)
    try:
        yield
    finally:
        _watching.reset(token)
