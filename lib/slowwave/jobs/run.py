"""What one run of a job was given, and what a step of it is."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from slowwave.clock import Clock, FixedClock, SystemClock
from slowwave.places import home_folder
from slowwave.report import Report
from slowwave.settings import Settings
from slowwave.stores.model import Project


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that one run of a job was given.

    Attributes:
        id: names the run in reports and ledgers.
        settings: the settings in force.
        clock: what time it is.
        environ: the environment; HOME and the XDG folders are taken from here.
        project: only projects whose key or root contains this; "" takes all.
        force: pass the time and session gates; never the lock, never a live session.
        dry_run: plan and report, change nothing.
        rehearsal: where the extraction of a dry run notes what its dream goes by; None where nothing is rehearsed.
    """

    id: str
    settings: Settings
    clock: Clock
    environ: Mapping[str, str]
    project: str = ""
    force: bool = False
    dry_run: bool = False
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


# what is done for one project, and what is about all of them together
Step = Callable[[Project, Run], Report]
Whole = Callable[[Sequence[Project], Run], Report]
