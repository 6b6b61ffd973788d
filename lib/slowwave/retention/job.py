"""The story of one run of ``retain``: settle, free what is due, decide, archive, throw away, write everything down.

A dry run tells what would happen, with the same reasons. A second run over the same sessions finds nothing to do, and
one that follows a killed run leaves what it would have left.
"""

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path

from slowwave.context import Run
from slowwave.errors import LockHeldError
from slowwave.files import archive_folder, at_fault_point, data_folder, state_folder
from slowwave.formats.codex import home_of
from slowwave.formats.registry import NAMES
from slowwave.locks import remove_leftovers, retaining
from slowwave.memory.folder import OWN_FOLDER
from slowwave.memory.transaction import recover
from slowwave.report import UNCONFIRMED, Gate, Report
from slowwave.retention.audit import AuditLog, Told
from slowwave.retention.holds import Fleet, paths_of, read_holds
from slowwave.retention.plan import (
    LATER,
    Archive,
    Context,
    Guards,
    Loose,
    asked_to_confirm,
    note_plan,
    note_planned,
    plan_removals,
    tidy,
    with_upkeep,
)
from slowwave.retention.policy import check
from slowwave.retention.removal import Freer, Remover, settle
from slowwave.retention.rescue import due_soon, note_due, note_gone, rescue
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.discovery import known_projects
from slowwave.stores.projects import Project
from slowwave.stores.trash import trash_folder


def retain(
    projects: Sequence[Project], run: Run, *, chosen: Collection[str] | None = None, removes: bool = True
) -> Report:
    """Remove what the rules say, as far as no guard keeps it.

    Args:
        projects: all projects of this machine: quotas and forks know no bounds.
        run: the run; ``force`` passes the gate about the clock.
        chosen: keys of the projects in which something may go; None for all.
        removes: whether anything may go at all; else what a client deletes soon is archived, and that is all.

    Raises SettingsError: the rules contradict each other; CorruptStateError: holds, audit log or trash are damaged;
    nothing is removed by guessing; OSError: the state or data folder cannot be written.
    """
    if removes:
        check(run.settings.retention, NAMES)
    report = Report("retain", run.id)
    log = AuditLog(run.environ)
    _ask_clock(log, run.clock.now(), report, force=run.force)
    if not all(gate.passed for gate in report.gates):
        return report
    left_out: list[str] = []
    with _alone(run.environ, report, dry_run=run.dry_run) as is_alone:
        if is_alone:
            with at_work(state_folder(run.environ), report, dry_run=run.dry_run) as was_left:
                archive, said = _begun(run, log, report)
                if report.counts.get("taken_back"):
                    # what was on its way into the trash lies in its place again, and goes as a whole
                    projects = known_projects(run.settings, run.environ).projects
                fleet = Fleet(projects)
                guards = Guards(fleet, run, read_holds(run.environ), said.restored)
                context = Context(
                    **vars(run), fleet=fleet, guards=guards, archive=archive, report=report, chosen=chosen
                )
                if was_left:
                    report.count("resumed")
                    clear_leftovers(context)
                left_out = _take_steps(context, said, projects, removes=removes)
    # not before: such a run came to its end, and left nothing that the next one would have to look for
    report.failures += left_out
    return report


def _begun(run: Run, log: AuditLog, report: Report) -> tuple[Archive, Told]:
    """Return what lies in the archive and what the log tells, once what a killed run left is settled."""
    shelf = Shelf(archive_folder(run.environ))
    archive = Archive(shelf)
    report.warnings += [str(problem) for problem in archive.problems]
    if run.dry_run:
        return archive, Told(log)
    shelf.clear_away()
    return archive, settle(trash_folder(run.environ), archive, log, run.clock.now(), report)


def _take_steps(run: Context, said: Told, projects: Sequence[Project], *, removes: bool) -> list[str]:
    """Take all steps; return what was left out for want of room."""
    goes = _remove(run, said) if removes else set[str]()
    # what goes by the plan lies in the archive, or will
    left_out = _rescue(run, goes if run.dry_run else set())
    note_gone(projects, said, run)
    if removes and run.rules.purge:
        from slowwave.retention.purge import Purger  # noqa: PLC0415 - only where settings ask

        Purger(run).purge(goes)
    return left_out


def _remove(run: Context, said: Told) -> set[str]:
    """Remove what the rules say, or would; return the keys of what goes."""
    Freer(run).free(said)
    now = run.now.astimezone()
    plan = plan_removals(run.fleet, run.rules, now, run.guards, run.chosen)
    loose: list[Loose] = []
    if run.rules.openclaw == "own":
        plan, loose = with_upkeep(plan, run)
    if question := asked_to_confirm(plan, run):
        run.report.gates.append(Gate(UNCONFIRMED, "", passed=False, reason=question))
        if not run.dry_run:
            plan, loose = plan._replace(goes=[], waits=[*plan.goes, *plan.waits]), []
    note_plan(plan, run, "waits until retention.confirm allows as many" if question else LATER)
    if run.dry_run:
        note_planned(plan, run)
    else:
        if plan.goes:
            Remover(run).remove(plan.goes)
        tidy(loose, run)
    return {verdict.subject.id for verdict in plan.goes}


def _rescue(run: Context, goes: Collection[str]) -> list[str]:
    """Archive what its client deletes soon; return what was left out for want of room."""
    if run.rules.rescue.is_off:
        return []
    due = due_soon(goes, run)
    if run.dry_run:
        note_due(due, run.report)
        return []
    return rescue(due, run)


def _ask_clock(log: AuditLog, now: datetime, report: Report, *, force: bool) -> None:
    """Refuse to work when time runs backwards: what seems old, or past its grace, may be neither."""
    last = log.last()
    if last is not None and last > now:
        reason = f"it is {now:%Y-%m-%d %H:%M:%S} UTC, and the audit log was written at {last:%Y-%m-%d %H:%M:%S} UTC"
        report.gates.append(Gate("clock", "", force, f"{reason}: set the clock right, or wait"))


@contextmanager
def _alone(environ: Mapping[str, str], report: Report, *, dry_run: bool) -> Generator[bool]:
    """Hold off other runs; say whether this one may go on."""
    with ExitStack() as held:
        try:
            held.enter_context(nullcontext() if dry_run else retaining(environ))
        except LockHeldError as error:
            report.gates.append(Gate("lock", "", passed=False, reason=str(error)))
            yield False
            return
        yield True


# The mark of a run at work: where it is found by the next one, that one clears away what the first left behind.
#
# Temporary files beside transcripts, indexes, memories and our own state hold copies of what people said. Looking for
# them in every folder costs as much as a walk, so it is done after a run that did not come to its end.

_MARK = "retain.working"


@contextmanager
def at_work(state: Path, report: Report, *, dry_run: bool) -> Generator[bool]:
    """Mark a run in the state folder as long as it works; yield whether one before it did not come to its end.

    Raises OSError: the folder cannot be written.
    """
    mark = state / _MARK
    was_left = mark.exists()
    if not dry_run:
        remove_leftovers(state)  # one folder; what other jobs left there goes, too
        mark.touch(mode=0o600)
    yield was_left and not dry_run
    # an error leaves the mark as a kill does: the machine may have refused to clear something away, too
    if not dry_run and not report.failures:
        at_fault_point("unlink", mark)
        mark.unlink()


def clear_leftovers(run: Context) -> None:
    """Remove temporary files of processes that are gone wherever a run writes; settle what they changed in memories.

    Raises LockHeldError: another process kept a memory folder locked for too long; OSError: one of them cannot be
    removed.
    """
    from slowwave.retention.purge import FOLDER as PURGE  # noqa: PLC0415 - few runs are killed

    state, data = state_folder(run.environ), data_folder(run.environ)
    folders = {state, state / PURGE, data}
    for memory in sorted({member.project.memory for member in run.fleet.members.values()}):
        recover(memory)
    for member in run.fleet.members.values():
        for path in paths_of(member):
            folders |= {path.parent, home_of(path) or path.parent}
        folders |= {member.project.memory, member.project.memory / OWN_FOLDER}
    for folder in sorted(folders):
        if folder.is_dir():
            remove_leftovers(folder)
