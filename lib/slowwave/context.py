"""What one run of a job was given: the one object that all of its steps, whichever package they lie in, are handed.

The time is a part of it: jobs never read the wall clock themselves.
"""

import secrets
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from slowwave.files import home_folder

if TYPE_CHECKING:  # what writes a record needs the clock and no settings
    from slowwave.settings import Settings


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


@dataclass(frozen=True)
class Run:
    """Everything that one run of a job was given."""

    id: str  # names the run in reports and ledgers
    settings: "Settings"
    clock: Clock  # what time it is
    environ: Mapping[str, str]  # the environment; HOME and the XDG folders are taken from here
    project: str = ""  # only projects whose key or root contains this; "" takes all
    force: bool = False  # pass the time and session gates; never the lock, never a live session
    dry_run: bool = False  # plan and report, change nothing
    options: str = ""  # what a command that follows the run up is given again, see :func:`given_again`
    # where the extraction of a dry run notes what its dream goes by; None where nothing is rehearsed
    rehearsal: Path | None = None

    @property
    def home(self) -> Path:
        """The home folder of the person whose sessions are read."""
        return home_folder(self.environ)


# settings that decide which transcripts and memories a command looks at; others change nothing of what it finds
_PLACES = ("store.", "memory.")


def given_again(
    stores: Iterable[object], config: object = None, overrides: Iterable[str] = (), memory: object = None
) -> str:
    """Return the options with which a command finds what a run worked on, each after a blank; "" where it needs none.

    ``stores``: the stores that were named instead of the home's. ``config``: the settings file that was named, or None.
    ``overrides``: settings that were given for the run, as ``section.key=value``. ``memory``: the memory folder that
    was named instead of a store's, or None.
    """
    options = [("--store", str(store)) for store in stores]
    options += [("--config", str(config))] if config else []
    options += [("--memory", str(memory))] if memory else []
    options += [("--set", one) for one in overrides if one.startswith(_PLACES)]
    return "".join(f" {name} {shlex.quote(value)}" for name, value in options)


def new_run_id(clock: Clock) -> str:
    """Return an id that sorts by time and is unique among runs of one second."""
    return f"{clock.now():%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def clock_of(now: datetime | None) -> Clock:
    """Return a clock that stands at ``now``, or the clock of this machine."""
    return FixedClock(now.astimezone(UTC)) if now else SystemClock()
