"""How far a run is: whoever watches is told after every step, and nobody is by default.

The one who watches is a context variable: the story of a job tells it the same way in this process and inside a flow,
and its functions need not hand it on.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

# what a person calls each step, without a scheduler and through Prefect; before the first one a run looks around
LOOK, REACH, START = "look", "reach_server", "start_server"
_WORDS = {
    LOOK: "looking for sessions",
    REACH: "reaching the Prefect server",
    START: "starting a Prefect server for this run (about ten seconds)",
    **dict.fromkeys(("extract", "extract_batch"), "reading sessions"),
    "hand_over_questions": "handing questions to the model",
    **dict.fromkeys(("consolidate", "consolidate_group"), "dreaming"),
    **dict.fromkeys(("end_dreaming", "propose_shared"), "sharing and delivering memories"),
    **dict.fromkeys(("compact", "compact_at_night", "compact_group"), "compacting long sessions"),
    **dict.fromkeys(
        ("retain_everywhere", "retain_at_night", "retain_sessions", "retain_at_the_end"),
        "archiving and tidying sessions",
    ),
    **dict.fromkeys(("erase", "erase_group"), "taking secrets out of projects"),
    **dict.fromkeys(("finish_erasing", "erase_others"), "taking secrets out of everything else"),
    "read": "reading sessions",
    "land": "adding what was found",
}


def words(step: str) -> str:
    """Return what a person calls a step; one of another version keeps its name."""
    return _WORDS.get(step, step)


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
