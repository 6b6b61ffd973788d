"""The current time as an argument: jobs never read the wall clock themselves."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Something that knows what time it is."""

    def now(self) -> datetime:
        """Return the current time, aware and in UTC."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the wall-clock time in UTC."""
        return datetime.now(UTC)


@dataclass
class FixedClock:
    """A clock that stands still until it is told to move (tests, samples, backfills)."""

    at: datetime

    def now(self) -> datetime:
        """Return the time it was set to."""
        return self.at

    def advance(self, **delta: float) -> None:
        """Move the clock by a ``timedelta`` given as keywords, for example ``hours=2``."""
        self.at += timedelta(**delta)
