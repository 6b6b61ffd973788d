"""The story of one run of ``retain``: settle, free what is due, decide, archive, throw away, write everything down.

A dry run tells what would happen, with the same reasons. A second run over the same sessions finds nothing to do, and
one that follows a killed run leaves what it would have left.
"""

import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from slowwave.clock import Clock
from slowwave.dialects.registry import NAMES
from slowwave.errors import LockHeldError
from slowwave.places import archive_folder, state_folder
from slowwave.records.lock import locked_file
from slowwave.report import Gate, Report
from slowwave.retention.audit import AuditLog
from slowwave.retention.guards import Guards
from slowwave.retention.holds import read_holds
from slowwave.retention.job.apply import Remover
from slowwave.retention.job.fleet import Fleet
from slowwave.retention.job.free import Freer
from slowwave.retention.job.openclaw import Loose, tidy, with_upkeep
from slowwave.retention.job.packing import Archive
from slowwave.retention.job.plan import Plan, note_plan, note_planned, plan_removals
from slowwave.retention.job.rescue import due_soon, note_due, note_gone, rescue
from slowwave.retention.job.settling import settle
from slowwave.retention.job.traces import Told, of_item
from slowwave.retention.policy.check import check
from slowwave.retention.purging.apply import Purger
from slowwave.settings import Settings
from slowwave.stores.archive.rows import RowsByPath
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.catalogue import Catalogue, catalogue_path
from slowwave.stores.listing import list_sessions
from slowwave.stores.model import Project
from slowwave.stores.trash import trash_folder

LOCK = "retain.lock"


def retain(
    projects: Sequence[Project],
    settings: Settings,
    clock: Clock,
    environ: Mapping[str, str],
    *,
    run_id: str,
    dry_run: bool,
    force: bool = False,
    chosen: Collection[str] | None = None,
    rest: Callable[[float], None] = time.sleep,
) -> Report:
    """Remove what the rules say, as far as no guard keeps it.

    Args:
        projects: all projects of this machine: quotas and forks know no bounds.
        settings: the settings in force.
        clock: what time it is.
        environ: the environment.
        run_id: names the run in the report and in the audit log.
        dry_run: plan and report, change nothing.
        force: pass the gate about the clock.
        chosen: keys of the projects in which something may go; None for all.
        rest: waits for so many seconds between two removals.

    Raises:
        SettingsError: the rules contradict each other.
        CorruptStateError: holds, audit log or trash are damaged; nothing is removed by guessing.
        OSError: the state or data folder cannot be written.
    """
    check(settings.retention, NAMES)
    report = Report("retain", run_id)
    log = AuditLog(environ)
    _ask_clock(log, clock.now(), report, force=force)
    if not all(gate.passed for gate in report.gates):
        return report
    with _alone(state_folder(environ), report, dry_run=dry_run) as is_alone:
        if is_alone:
            _Run(projects, settings, clock, environ, report, log, rest).go(chosen, dry_run=dry_run)
    return report


class _Run:
    """What the steps of one run share."""

    def __init__(
        self,
        projects: Sequence[Project],
        settings: Settings,
        clock: Clock,
        environ: Mapping[str, str],
        report: Report,
        log: AuditLog,
        rest: Callable[[float], None],
    ) -> None:
        self.settings, self.clock, self.environ, self.report, self.log, self.rest = (
            settings,
            clock,
            environ,
            report,
            log,
            rest,
        )
        self.projects = projects
        self.trash = trash_folder(environ)
        self.shelf = Shelf(archive_folder(environ))
        self.archive = Archive(self.shelf)
        report.warnings += [str(problem) for problem in self.archive.problems]

    def go(self, chosen: Collection[str] | None, *, dry_run: bool) -> None:
        """Take the steps."""
        said = Told(self.log) if dry_run else self._settled()
        fleet = Fleet(self.projects)
        guards = Guards(fleet, self.settings, self.environ, self.clock, read_holds(self.environ), said.restored)
        freer = Freer(
            self.trash, self.settings.retention, self.clock, guards, self.archive, self.log, self.report, self.rest
        )
        freer.free(said, dry_run=dry_run)
        plan = plan_removals(fleet, self.settings.retention, self.clock.now().astimezone(), guards, chosen)
        loose: list[Loose] = []
        if self.settings.retention.openclaw == "own":
            rules, now = self.settings.retention, self.clock.now()
            plan, loose = with_upkeep(plan, fleet, rules, guards, now, self.report, chosen)
        note_plan(plan, fleet, self.report)
        if dry_run:
            note_planned(plan, fleet, self.report)
            self._rescue(fleet, plan, dry_run=True)
            self._purge(fleet, guards, chosen, dry_run=True)
            return
        if plan.goes:
            self._remove(plan, fleet, guards)
        for item in tidy(loose, self.trash, self.clock.now(), self.report):
            self.log.append([of_item("trash", item, self.report.run_id)], self.clock.now())
        # what went is in the archive already
        self._rescue(fleet, plan, dry_run=False)
        self._purge(fleet, guards, chosen, dry_run=False)

    def _purge(self, fleet: Fleet, guards: Guards, chosen: Collection[str] | None, *, dry_run: bool) -> None:
        if self.settings.retention.purge:
            purger = Purger(
                fleet, guards, self.archive, self.settings, self.clock, self.environ, self.report, self._rows
            )
            purger.purge(chosen, dry_run=dry_run)

    def _rescue(self, fleet: Fleet, plan: Plan, *, dry_run: bool) -> None:
        ahead, goes = self.settings.retention.rescue, {verdict.subject.id for verdict in plan.goes}
        members = (member for key, member in fleet.members.items() if not (dry_run and key in goes))
        due = due_soon(members, ahead, self.environ, self.clock.now(), self.archive, self.report)
        note_gone(self.projects, self.archive, self.trash, self.log, self.environ, self.report)
        if dry_run:
            note_due(due, self.report)
        elif due:
            rescue(due, self.archive, self._rows(), self.log, self.clock, self.environ, self.report)

    def _settled(self) -> Told:
        self.shelf.clear_away()
        return settle(self.trash, self.archive, self.log, self.clock.now(), self.report)

    def _rows(self) -> RowsByPath:
        with Catalogue(catalogue_path(self.environ)) as catalogue:
            return RowsByPath(list_sessions(self.settings, self.environ, catalogue).rows)

    def _remove(self, plan: Plan, fleet: Fleet, guards: Guards) -> None:
        Remover(
            fleet,
            guards,
            self.archive,
            self.settings,
            self.clock,
            self.environ,
            self.report,
            trash=self.trash,
            rows=self._rows(),
            rest=self.rest,
        ).remove(plan.goes)


def _ask_clock(log: AuditLog, now: datetime, report: Report, *, force: bool) -> None:
    """Refuse to work when time runs backwards: what seems old, or past its grace, may be neither."""
    last = log.last()
    if last is not None and last > now:
        reason = f"it is {now:%Y-%m-%d %H:%M:%S} UTC, and the audit log was written at {last:%Y-%m-%d %H:%M:%S} UTC"
        report.gates.append(Gate("clock", "", force, f"{reason}: set the clock right, or wait"))


@contextmanager
def _alone(folder: Path, report: Report, *, dry_run: bool) -> Generator[bool]:
    """Hold off other runs; say whether this one may go on."""
    if dry_run:
        yield True
        return
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with locked_file(folder / LOCK, create=True, timeout_s=0):
            yield True
    except LockHeldError:
        report.gates.append(Gate("lock", "", passed=False, reason="another run of retain is at work"))
        yield False
