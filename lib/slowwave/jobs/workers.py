"""Carrying out one portion of a manifest, over several processes where that pays.

Projects are independent of each other, so they go to different processes; the shares of one project stay together and
in order. What goes wrong stays within its project. A worker process that dies (out of memory, killed) costs the
projects it had, named as failures, and the portion goes on.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import active_children, get_context
from pathlib import Path

import msgspec

from slowwave.errors import UnreadableError
from slowwave.extraction.job import unread
from slowwave.jobs.batches import Manifest, Share, manifest_of, read_manifest, write_manifest
from slowwave.jobs.compacting import compact
from slowwave.jobs.containing import contained, discreet, discreet_all, timed
from slowwave.jobs.everywhere import end_dreaming
from slowwave.jobs.model import hand_over_questions
from slowwave.jobs.run import Run, Step
from slowwave.jobs.steps import RETAINING, consolidate, erase, extract_some, finish_erasing
from slowwave.processes import deaf_to_interrupts
from slowwave.report import Item, Report
from slowwave.retention.locks import beside_jobs
from slowwave.stores.model import Project, StoredSession

# Starting two processes costs about as much as reading this many bytes of transcripts.
PAYS_FROM_BYTES = 32 << 20
# To see that nothing in a session is new, its bytes are hashed, so many times faster than they would be read.
_HASHED = 64

Reports = dict[str, Report]
Task = Callable[[Path, tuple[int, ...], Sequence[Share], Mapping[str, str]], Reports]


def extract_everywhere(projects: Sequence[Project], run: Run, over: Callable[[str], None]) -> list[Report]:
    """Extract from all sessions of a run, over several processes; return a report for each project.

    Args:
        projects: the projects.
        run: the run.
        over: is told the key of each project that is read.

    Raises:
        OSError: the state folder cannot be written, where the processes find what they have to do.
    """
    everything = [Share(number, 0, len(project.sessions)) for number, project in enumerate(projects)]
    whole = msgspec.structs.replace(manifest_of(run, projects), batches=[everything])
    path = write_manifest(whole, run.environ)
    try:
        found = extract_portion(path, 0, run.environ, over)
    finally:
        path.unlink(missing_ok=True)
    # two stores may hold projects of one name: their reports are one
    return [found.pop(project.key, None) or Report("extract", run.id) for project in projects]


def pays_to_spread(projects: Sequence[Project]) -> bool:
    """Say whether reading these projects over several processes takes less time than to start these."""
    return _processes([(project, project.sessions) for project in projects]) > 1


def _processes(work: Sequence[tuple[Project, Sequence[StoredSession]]]) -> int:
    """Return over how many processes it pays to read sessions of some projects."""
    most = min(os.cpu_count() or 1, len({id(project) for project, _ in work}))
    size = sum(session.size for _, sessions in work for session in sessions)
    # of most nights nearly everything was read before; to find that out is worth it only for large stores
    if most > 1 and size >= PAYS_FROM_BYTES and _unread(work) + size // _HASHED >= PAYS_FROM_BYTES:
        return most
    return 1


def _unread(work: Sequence[tuple[Project, Sequence[StoredSession]]]) -> int:
    try:
        return sum(unread(project, sessions) for project, sessions in work)
    except UnreadableError:
        # whoever reads the sessions tells of it
        return sum(session.size for _, sessions in work for session in sessions)


def extract_portion(
    manifest: Path, index: int, environ: Mapping[str, str], over: Callable[[str], None] = lambda _key: None
) -> Reports:
    """Extract from the sessions of batch ``index``; return a report for each project, and tell ``over`` of each.

    Raises:
        OSError: the manifest cannot be read.
    """
    whole = read_manifest(manifest)
    shares = whole.batches[index]
    projects = tuple(dict.fromkeys(share.project for share in shares))
    return discreet_all(_spread(_extract, manifest, whole, projects, shares, environ, over))


def hand_over(manifest: Path, environ: Mapping[str, str]) -> Report:
    """Send the questions that this run and earlier ones noted, as a batch; return what there is to say about it.

    Raises:
        CorruptStateError: a file of the spool is damaged.
        OSError: the manifest cannot be read or the state folder not be written.
    """
    run = read_manifest(manifest).run(environ)
    report = Report("extract", run.id)
    hand_over_questions(report, run.settings, environ, run.clock.now())
    return discreet(report)


def consolidate_portion(manifest: Path, index: int, environ: Mapping[str, str]) -> Reports:
    """Dream over the projects of group ``index``, one after another.

    Raises:
        OSError: the manifest cannot be read.
    """
    return _group("consolidate", consolidate, manifest, index, environ)


def propose_portion(manifest: Path, environ: Mapping[str, str], project: str) -> Report:
    """Propose what the projects of a run share for all of them, and bring memories where agents read them.

    Raises:
        OSError: the manifest cannot be read.
    """
    whole = read_manifest(manifest)
    run = replace(whole.run(environ), project=project)
    return discreet(timed(lambda: end_dreaming(whole.projects, run)))


def compact_portion(manifest: Path, index: int, environ: Mapping[str, str]) -> Reports:
    """Compact the sessions of the projects of group ``index``.

    Raises:
        OSError: the manifest cannot be read.
    """
    return _group("compact", compact, manifest, index, environ)


def retain_portion(manifest: Path, environ: Mapping[str, str], project: str, job: str = "retain") -> Report:
    """Remove what the retention rules say, over all projects of a run together.

    Raises:
        SlowwaveError: holds, audit log or trash are damaged.
        OSError: the manifest cannot be read, or a folder not be written.
    """
    whole = read_manifest(manifest)
    run = replace(whole.run(environ), project=project)
    return discreet(timed(lambda: RETAINING[job](whole.projects, run)))


def erase_portion(manifest: Path, index: int, environ: Mapping[str, str]) -> Reports:
    """Take the secrets out of the projects of group ``index``.

    Raises:
        OSError: the manifest cannot be read.
    """
    return _group("erase", erase, manifest, index, environ)


def erase_rest(manifest: Path, environ: Mapping[str, str], project: str) -> Report:
    """Take the secrets out of what belongs to no project.

    Raises:
        OSError: the manifest cannot be read, or a folder not be written.
    """
    whole = read_manifest(manifest)
    run = replace(whole.run(environ), project=project)
    return discreet(timed(lambda: finish_erasing(whole.projects, run)))


def _group(job: str, step: Step, manifest: Path, index: int, environ: Mapping[str, str]) -> Reports:
    """Run a step for each project of a group, one after another; two stores may hold projects of one name."""
    whole = read_manifest(manifest)
    run = whole.run(environ)
    done: Reports = {}
    for project in (whole.projects[i] for i in whole.groups[index]):
        done.setdefault(project.key, Report(job, run.id)).absorb(contained(step, project, run))
    return discreet_all(done)


def _spread(
    task: Task,
    manifest: Path,
    whole: Manifest,
    projects: tuple[int, ...],
    shares: Sequence[Share],
    environ: Mapping[str, str],
    over: Callable[[str], None],
) -> Reports:
    work = [(whole.projects[s.project], whole.projects[s.project].sessions[s.start : s.stop]) for s in shares]
    processes = _processes(work)
    if processes == 1:
        done = task(manifest, projects, shares, environ)
        for i in projects:
            over(whole.projects[i].key)
        return done
    others = set(active_children())
    done: Reports = {}
    # spawn: a scheduler's threads hold locks that a forked child would wait for for ever
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
    try:
        # the largest first: it would else be read alone in the end
        sizes = {i: sum(session.size for session in whole.projects[i].sessions) for i in projects}
        with deaf_to_interrupts():
            futures = {
                i: pool.submit(task, manifest, (i,), shares, dict(environ))
                for i in sorted(projects, key=lambda i: -sizes[i])
            }
        for i in projects:
            for key, report in _outcome(futures[i], whole.projects[i], whole.run_id).items():
                done.setdefault(key, Report("extract", whole.run_id)).absorb(report)
            over(whole.projects[i].key)
    except BaseException:
        # cancelled or out of time: what runs is ended, which every write survives, and what has not begun never begins
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return done


def _outcome(future: Future[Reports], project: Project, run_id: str) -> Reports:
    try:
        return future.result()
    except BrokenProcessPool as error:
        report = Report("extract", run_id)
        report.failures.append(f"{project.key}: extract: the worker process died ({error}); the next run tries again")
        report.items.append(Item(project.key, "failed", "the worker process died", project=project.key))
        return {project.key: report}


def _extract(manifest: Path, projects: tuple[int, ...], shares: Sequence[Share], environ: Mapping[str, str]) -> Reports:
    # also held by a process whose parent was killed
    with beside_jobs(environ):
        return _extracted(manifest, projects, shares, environ)


def _extracted(
    manifest: Path, projects: tuple[int, ...], shares: Sequence[Share], environ: Mapping[str, str]
) -> Reports:
    whole = read_manifest(manifest)
    run = whole.run(environ)
    done: Reports = {}
    for share in shares:
        if share.project in projects:
            project = whole.projects[share.project]
            report = contained(_share_step(share), project, run)
            done.setdefault(project.key, Report("extract", run.id)).absorb(report)
    return done


def _share_step(share: Share) -> Step:
    def extract(project: Project, run: Run) -> Report:
        """Extract from a part of the project's sessions."""
        return extract_some(project, project.sessions[share.start : share.stop], run)

    return extract
