"""What one run of a job was given: the one object that all of its steps, whichever package they lie in, are handed."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from slowwave.clock import Clock, FixedClock, SystemClock
from slowwave.places import home_folder
from slowwave.settings import Settings


@dataclass(frozen=True)
class Run:
    """Everything that one run of a job was given."""

    id: str  # names the run in reports and ledgers
    settings: Settings
    clock: Clock  # what time it is
    environ: Mapping[str, str]  # the environment; HOME and the XDG folders are taken from here
    project: str = ""  # only projects whose key or root contains this; "" takes all
    force: bool = False  # pass the time and session gates; never the lock, never a live session
    dry_run: bool = False  # plan and report, change nothing
    # where the extraction of a dry run notes what its dream goes by; None where nothing is rehearsed
    rehearsal: Path | None = None

    @property
    def home(self) -> Path:
        """The home folder of the person whose sessions are read."""
        return home_folder(self.environ)


def new_run_id(clock: Clock) -> str:
    """Return an id that sorts by time and is unique among runs of one second."""
    return f"{clock.now():%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def clock_of(now: datetime | None) -> Clock:
    """Return a clock that stands at ``now``, or the clock of this machine."""
    return FixedClock(now.astimezone(UTC)) if now else SystemClock()
