"""What every step of one run of retention shares."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from slowwave.clock import Clock
from slowwave.places import home_folder
from slowwave.report import Report
from slowwave.retention.audit import AuditLog
from slowwave.retention.guards import Guards
from slowwave.retention.job.fleet import Fleet
from slowwave.retention.job.packing import Archive
from slowwave.settings import RetentionSettings, Settings
from slowwave.stores.archive.rows import RowsByPath
from slowwave.stores.catalogue import own_catalogue
from slowwave.stores.listing import list_sessions
from slowwave.stores.trash import trash_folder


@dataclass(frozen=True)
class Context:
    """One run.

    Attributes:
        fleet: all sessions of this machine.
        guards: what must stay.
        archive: the packs.
        settings: the settings in force.
        clock: what time it is.
        environ: the environment.
        report: gets what was done and refused.
        chosen: keys of the projects in which something may go; None for all.
        dry_run: plan and report, change nothing.
        rest: waits for so many seconds between two removals.
    """

    fleet: Fleet
    guards: Guards
    archive: Archive
    settings: Settings
    clock: Clock
    environ: Mapping[str, str]
    report: Report
    chosen: Collection[str] | None = None
    dry_run: bool = False
    rest: Callable[[float], None] = time.sleep

    @property
    def rules(self) -> RetentionSettings:
        """The settings of retention."""
        return self.settings.retention

    @property
    def now(self) -> datetime:
        """The current time."""
        return self.clock.now()

    @cached_property
    def log(self) -> AuditLog:
        """The audit log."""
        return AuditLog(self.environ)

    @cached_property
    def trash(self) -> Path:
        """The folder of the trash."""
        return trash_folder(self.environ)

    @cached_property
    def home(self) -> Path:
        """The home folder of the person whose sessions they are."""
        return home_folder(self.environ)

    @cached_property
    def rows(self) -> RowsByPath:
        """The rows of all that lies in its place, before anything moves; made once something is packed."""
        with own_catalogue(self.settings, self.environ) as catalogue:
            return RowsByPath(list_sessions(self.settings, self.environ, catalogue, archived=False).rows)

    def may_touch(self, project: str) -> bool:
        """Say whether something of a project may go."""
        return self.chosen is None or project in self.chosen
