"""Work for a scheduler in portions: a manifest on disk says who does what, and a task gets its path and one index.

Prefect costs about 25 ms a task run and loses history beyond a few thousand, so a task run is a batch of sessions, not
one. Long lists never travel as parameters: they stand in the manifest, next to the settings in force, so that every
task of a run works with the same ones. Sessions of a project keep their order and a project's batches run one after
another, so that a night in batches leaves the same bytes as a night without a scheduler.
"""

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from slowwave.clock import FixedClock
from slowwave.files import atomic_write, file_bytes, private_folder
from slowwave.jobs.run import Run, clock_of
from slowwave.places import state_folder
from slowwave.quantities import Count, Period
from slowwave.settings import Settings
from slowwave.stores.model import Project, StoredSession

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
    """Everything that the tasks of one run need to know.

    Attributes:
        run_id: id of the run.
        settings: the settings in force.
        force: whether gates are passed.
        dry_run: whether anything may change.
        now: what time it is for this run, or None for the real time.
        projects: all projects of the run.
        batches: shares of sessions; one task run each.
        groups: projects by index; one task run each.
        rehearsal: as in :class:`Run`.
    """

    run_id: str
    settings: Settings
    force: bool
    dry_run: bool
    now: datetime | None
    projects: list[Project]
    batches: list[list[Share]]
    groups: list[list[int]]
    rehearsal: Path | None = None

    def run(self, environ: Mapping[str, str]) -> Run:
        """Return the run as the library knows it."""
        return Run(
            id=self.run_id,
            settings=self.settings,
            clock=clock_of(self.now),
            environ=environ,
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
    )


def plan_batches(
    projects: Sequence[Project], *, most_sessions: int, enough_bytes: int = BATCH_BYTES, most_tasks: int = MOST_TASKS
) -> list[list[Share]]:
    """Cut the sessions of all projects into batches.

    A batch is full at ``most_sessions`` sessions or ``enough_bytes`` bytes, whichever comes first; both grow when
    there would otherwise be more than ``most_tasks`` batches.
    """
    sessions = sum(len(p.sessions) for p in projects)
    size = sum(s.size for p in projects for s in p.sessions)
    # half the limit each, since a batch closes at whichever comes first
    most_sessions = max(most_sessions, -(-2 * sessions // most_tasks))
    enough_bytes = max(enough_bytes, -(-2 * size // most_tasks))
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


def plan_groups(projects: int, *, size: int = PROJECTS_A_GROUP, most_tasks: int = MOST_TASKS) -> list[list[int]]:
    """Cut so many projects into groups of ``size``, or more where there would be too many groups."""
    size = max(size, -(-projects // most_tasks))
    return [list(range(start, min(start + size, projects))) for start in range(0, projects, size)]


def write_manifest(manifest: Manifest, environ: Mapping[str, str]) -> Path:
    """Write a manifest into the state folder and return its path.

    Raises:
        OSError: the state folder cannot be written.
    """
    folder = state_folder(environ) / "runs"
    private_folder(folder)
    path = folder / f"{manifest.run_id}.manifest.json"
    atomic_write(path, packed(manifest))
    return path


def read_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Raises:
        OSError: it is gone or cannot be read.
        ValueError: it is not a manifest.
    """
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
    """Return a value from the parsed JSON of :func:`packed`.

    Raises:
        ValueError: it is none of that kind.
    """
    return msgspec.convert(tree, type=kind, dec_hook=_decode)


def _encode(value: Any) -> str:
    return str(value) if isinstance(value, Period | Count) else os.fspath(cast("Path", value))


def _decode(kind: type, value: Any) -> Any:
    if kind is Path or issubclass(kind, Period | Count):
        return kind(value)
    raise TypeError(f"a manifest holds no {kind}")
