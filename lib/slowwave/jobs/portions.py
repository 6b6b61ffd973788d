"""Work for a scheduler in portions: a manifest says who does what, a task gets its path and one index.

Prefect costs about 25 ms a task run and loses history beyond a few thousand, so a task run is a batch of sessions, not
one. Long lists never travel as parameters: they stand in the manifest, next to the settings in force, so that every
task of a run works with the same ones. Sessions of a project keep their order and a project's batches run one after
another, so that a night in batches leaves the same bytes as a night without a scheduler.
"""

import json
import os
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from slowwave.context import FixedClock, Run, clock_of
from slowwave.errors import UnreadableError
from slowwave.extraction.job import unread
from slowwave.files import atomic_write, file_bytes, private_folder, state_folder
from slowwave.formats.sessions import StoredSession
from slowwave.jobs.run import Step, Whole, contained, discreet, discreet_all, timed
from slowwave.jobs.steps import extract_some
from slowwave.locks import beside_jobs, deaf_to_interrupts
from slowwave.quantities import Count, Period
from slowwave.report import Item, Report
from slowwave.settings import Settings
from slowwave.stores.projects import Project

T = TypeVar("T")

BATCH_BYTES = 64 << 20
# Far below the 1,000 task runs of a flow run that a server surely records.
MOST_TASKS = 400
PROJECTS_A_GROUP = 25


class Share(msgspec.Struct, frozen=True):
    """A project's sessions from ``start`` to ``stop`` (exclusive), in the order of ``Project.sessions``."""

    project: int
    start: int
    stop: int


class Manifest(msgspec.Struct, frozen=True):
    """Everything that the tasks of one run need to know."""

    run_id: str
    settings: Settings
    force: bool  # whether gates are passed
    dry_run: bool  # whether anything may change
    now: datetime | None  # what time it is for this run, or None for the real time
    projects: list[Project]  # all projects of the run
    batches: list[list[Share]]  # shares of sessions; one task run each
    groups: list[list[int]]  # projects by index; one task run each
    rehearsal: Path | None = None  # as in :class:`Run`
    project: str = ""  # as in :class:`Run`

    def run(self, environ: Mapping[str, str]) -> Run:
        """Return the run as the library knows it."""
        return Run(
            id=self.run_id,
            settings=self.settings,
            clock=clock_of(self.now),
            environ=environ,
            project=self.project,
            force=self.force,
            dry_run=self.dry_run,
            rehearsal=self.rehearsal,
        )


def manifest_of(run: Run, projects: Sequence[Project]) -> Manifest:
    """Return the manifest of a run over these projects."""
    return Manifest(
        run_id=run.id,
        settings=run.settings,
        force=run.force,
        dry_run=run.dry_run,
        now=run.clock.now() if isinstance(run.clock, FixedClock) else None,
        projects=list(projects),
        batches=plan_batches(projects, most_sessions=run.settings.extraction.batch_sessions),
        groups=plan_groups(len(projects)),
        rehearsal=run.rehearsal,
        project=run.project,
    )


def plan_batches(projects: Sequence[Project], *, most_sessions: int) -> list[list[Share]]:
    """Cut the sessions of all projects into batches.

    A batch is full at ``most_sessions`` sessions or :data:`BATCH_BYTES`, whichever comes first; both grow when there
    would otherwise be more than :data:`MOST_TASKS` batches.
    """
    sessions = sum(len(p.sessions) for p in projects)
    size = sum(s.size for p in projects for s in p.sessions)
    # half the limit each, since a batch closes at whichever comes first
    most_sessions = max(most_sessions, -(-2 * sessions // MOST_TASKS))
    enough_bytes = max(BATCH_BYTES, -(-2 * size // MOST_TASKS))
    batches: list[list[Share]] = []
    room, bytes_left = 0, 0
    for index, project in enumerate(projects):
        start = 0
        # a project without sessions has its say, too
        while start < max(len(project.sessions), 1):
            if room <= 0 or bytes_left <= 0:
                batches.append([])
                room, bytes_left = most_sessions, enough_bytes
            stop, taken = _fill(project.sessions, start, room, bytes_left)
            batches[-1].append(Share(index, start, stop))
            room -= stop - start
            bytes_left -= taken
            start = max(stop, 1)
    return batches


def _fill(sessions: Sequence[StoredSession], start: int, room: int, bytes_left: int) -> tuple[int, int]:
    """Return where a share that starts at ``start`` stops, and how many bytes it holds."""
    stop, taken = start, 0
    while stop < len(sessions) and stop - start < room and taken < bytes_left:
        taken += sessions[stop].size
        stop += 1
    return stop, taken


def plan_groups(projects: int, *, size: int = PROJECTS_A_GROUP) -> list[list[int]]:
    """Cut so many projects into groups of ``size``, or more where there would be too many groups."""
    size = max(size, -(-projects // MOST_TASKS))
    return [list(range(start, min(start + size, projects))) for start in range(0, projects, size)]


def write_manifest(manifest: Manifest, environ: Mapping[str, str]) -> Path:
    """Write a manifest into the state folder and return its path.

    Raises OSError: the state folder cannot be written.
    """
    folder = state_folder(environ) / "runs"
    private_folder(folder)
    path = folder / f"{manifest.run_id}.manifest.json"
    atomic_write(path, packed(manifest))
    return path


def read_manifest(path: Path) -> Manifest:
    """Read a manifest. Raises OSError: it is gone or cannot be read; ValueError: it is not a manifest."""
    about = path.stat()
    return _parsed(path, about.st_mtime_ns, about.st_ino)


# Hundreds of portions of one run read the same file of many megabytes.
@lru_cache(maxsize=1)
def _parsed(path: Path, _mtime_ns: int, _inode: int) -> Manifest:
    return unpacked(json.loads(file_bytes(path)), Manifest)


def packed(value: msgspec.Struct) -> bytes:
    """Return what a file for workers holds: paths and settings pass through it unharmed."""
    # the standard library's JSON: file names that are not UTF-8 pass through it
    return json.dumps(msgspec.to_builtins(value, enc_hook=_encode)).encode()


def unpacked(tree: Any, kind: type[T]) -> T:
    """Return a value from the parsed JSON of :func:`packed`. Raises ValueError: it is none of that kind."""
    return msgspec.convert(tree, type=kind, dec_hook=_decode)


def _encode(value: Any) -> str:
    return str(value) if isinstance(value, Period | Count) else os.fspath(cast("Path", value))


def _decode(kind: type, value: Any) -> Any:
    if kind is Path or issubclass(kind, Period | Count):
        return kind(value)
    raise TypeError(f"a manifest holds no {kind}")


# Carrying out one portion of a manifest, over several processes where that pays.
#
# Projects are independent of each other, so they go to different processes; the shares of one project stay together and
# in order. What goes wrong stays within its project. A worker process that dies (out of memory, killed) costs the
# projects it had, named as failures, and the portion goes on.

# Starting two processes costs about as much as reading this many bytes of transcripts.
PAYS_FROM_BYTES = 32 << 20
# To see that nothing in a session is new, its bytes are hashed, so many times faster than they would be read.
_HASHED = 64

Reports = dict[str, Report]


def extract_everywhere(projects: Sequence[Project], run: Run, over: Callable[[str], None]) -> list[Report]:
    """Extract from all sessions of a run, over several processes; return a report for each project.

    Raises OSError: the state folder cannot be written, where the processes find what they have to do.
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

    Raises OSError: the manifest cannot be read.
    """
    whole = read_manifest(manifest)
    shares = whole.batches[index]
    projects = tuple(dict.fromkeys(share.project for share in shares))
    return discreet_all(_spread(manifest, whole, projects, shares, environ, over))


def whole_portion(manifest: Path, step: Whole, environ: Mapping[str, str]) -> Report:
    """Take a step that is about all projects of a run together.

    Raises SlowwaveError: as the step; a scheduler may try it again; OSError: the manifest cannot be read, or a folder
    not be written.
    """
    whole = read_manifest(manifest)
    run = whole.run(environ)
    return discreet(timed(lambda: step(whole.projects, run)))


def group_portion(manifest: Path, step: Step, index: int, environ: Mapping[str, str]) -> Reports:
    """Take a step for each project of group ``index``, one after another; two stores may hold projects of one name.

    Raises OSError: the manifest cannot be read.
    """
    whole = read_manifest(manifest)
    run = whole.run(environ)
    done: Reports = {}
    for project in (whole.projects[i] for i in whole.groups[index]):
        done.setdefault(project.key, Report(step.__name__, run.id)).absorb(contained(step, project, run))
    return discreet_all(done)


def _spread(
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
        done = _extract(manifest, projects, shares, environ)
        for i in projects:
            over(whole.projects[i].key)
        return done
    done: Reports = {}
    with pool_of(processes) as pool:
        # the largest first: it would else be read alone in the end
        sizes = {i: sum(session.size for session in whole.projects[i].sessions) for i in projects}
        with deaf_to_interrupts():
            futures = {
                i: pool.submit(_extract, manifest, (i,), shares, dict(environ))
                for i in sorted(projects, key=lambda i: -sizes[i])
            }
        for i in projects:
            for key, report in _outcome(futures[i], whole.projects[i], whole.run_id).items():
                done.setdefault(key, Report("extract", whole.run_id)).absorb(report)
            over(whole.projects[i].key)
    return done


@contextmanager
def pool_of(processes: int) -> Generator[ProcessPoolExecutor]:
    """Yield a pool of so many processes for reading; however the block ends, none of them goes on."""
    others = set(active_children())
    # spawn: a scheduler's threads hold locks that a forked child would wait for for ever
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_end_with_parent)
    try:
        yield pool
    except BaseException:
        # cancelled or out of time: what runs is ended, which every write survives, and what has not begun never begins
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """End this process when the one that started it was killed: nobody would take what it reads, or end it."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)  # every write survives that

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _outcome(future: Future[Reports], project: Project, run_id: str) -> Reports:
    try:
        return future.result()
    except BrokenProcessPool as error:
        report = Report("extract", run_id)
        report.failures.append(f"{project.key}: extract: the worker process died ({error}); the next run tries again")
        report.items.append(Item(project.key, "failed", "the worker process died", project=project.key))
        return {project.key: report}


def _extract(manifest: Path, projects: tuple[int, ...], shares: Sequence[Share], environ: Mapping[str, str]) -> Reports:
    whole = read_manifest(manifest)
    run = whole.run(environ)
    done: Reports = {}
    # also held by a process whose parent was killed
    with beside_jobs(environ):
        for share in (share for share in shares if share.project in projects):

            def extract(project: Project, run: Run, share: Share = share) -> Report:
                return extract_some(project, project.sessions[share.start : share.stop], run)

            project = whole.projects[share.project]
            report = contained(extract, project, run)
            done.setdefault(project.key, Report("extract", run.id)).absorb(report)
    return done
