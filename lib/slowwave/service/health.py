"""Checks of this installation: each says what it looked at, whether that is well, and how to mend it.

Nothing is changed, not even a folder made. A check that cannot be carried out is a check that failed.
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import msgspec

from slowwave.clock import Clock
from slowwave.consolidation.lock import refusal
from slowwave.consolidation.state import read_state
from slowwave.errors import SlowwaveError
from slowwave.files import is_leftover
from slowwave.memory.folder import LOCK_FILE
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.places import siblings
from slowwave.places import state_folder
from slowwave.service.server import is_healthy
from slowwave.settings import Settings
from slowwave.stores.discovery import find_projects
from slowwave.stores.model import Discovery, Project

LEAST_FREE = 1 << 30
# Files from a machine whose clock runs a little ahead are no reason to worry.
AHEAD = timedelta(hours=1)


class Check(msgspec.Struct, frozen=True):
    """One check: its name, whether all is well, what was seen, and what to do when it is not."""

    name: str
    ok: bool
    seen: str
    fix: str = ""


def checks(settings: Settings, environ: Mapping[str, str], clock: Clock) -> Iterator[Check]:
    """Yield every check, cheap ones first."""
    yield Check("settings", ok=True, seen="all keys are known and all values well formed")
    yield _prefect(environ)
    yield _disk(state_folder(environ))
    try:
        found = find_projects(settings, environ)
    except SlowwaveError as error:
        yield Check("stores", ok=False, seen=str(error), fix="name the store with --store or store.roots")
        return
    yield _stores(found)
    yield _clock(found, clock.now())
    yield from _permissions(found)
    yield from _locks(found, settings)
    yield from _leftovers(found)
    yield from _states(found, clock.now())


def _prefect(environ: Mapping[str, str]) -> Check:
    release = f"Prefect {version('prefect')}"
    api = environ.get("PREFECT_API_URL")
    if not api:
        return Check("prefect", ok=True, seen=f"{release}; no PREFECT_API_URL, so each run starts a server of its own")
    if is_healthy(api):
        return Check("prefect", ok=True, seen=f"{release}; the server at {api} answers")
    fix = "start the server (prefect server start), correct PREFECT_API_URL, or run jobs with --direct"
    return Check("prefect", ok=False, seen=f"{release}; the server at {api} does not answer", fix=fix)


def _disk(folder: Path) -> Check:
    there = next(p for p in (folder, *folder.parents) if p.exists())
    free = shutil.disk_usage(there).free
    seen = f"{free / (1 << 30):.1f} GiB free for {folder}"
    return Check("disk", ok=free >= LEAST_FREE, seen=seen, fix="" if free >= LEAST_FREE else "make at least 1 GiB free")


def _stores(found: Discovery) -> Check:
    sessions = Counter(s.dialect for p in found.projects for s in p.sessions)
    by_client = ", ".join(f"{number} {dialect}" for dialect, number in sorted(sessions.items()))
    seen = f"{len(found.projects)} projects with {sessions.total()} sessions" + (f" ({by_client})" if by_client else "")
    if found.problems:
        seen += f"; {len(found.problems)} left out, first: {found.problems[0]}"
    fix = "" if sessions else "name the store with --store DIR or store.roots in the settings"
    return Check("stores", ok=bool(sessions), seen=seen, fix=fix)


def _clock(found: Discovery, now: datetime) -> Check:
    newest = max((s.mtime_ns for p in found.projects for s in p.sessions), default=0)
    latest = datetime.fromtimestamp(newest / 1e9, UTC)
    if latest > now + AHEAD:
        seen = f"it is {now:%Y-%m-%d %H:%M} UTC, but a session was written at {latest:%Y-%m-%d %H:%M}"
        return Check(
            "clock", ok=False, seen=seen, fix="set this machine's clock, or touch the sessions from the future"
        )
    return Check("clock", ok=True, seen=f"{now:%Y-%m-%d %H:%M} UTC")


def _permissions(found: Discovery) -> Iterator[Check]:
    closed = [p.memory for p in found.projects if not os.access(_first_there(p.memory), os.W_OK | os.X_OK)]
    closed += [p.memory for p in found.projects if p.memory.exists() and not p.memory.is_dir()]
    unread = [f for p in found.projects for s in p.sessions for f in s.files.paths if not os.access(f, os.R_OK)]
    if not closed and not unread:
        yield Check("permissions", ok=True, seen="every session can be read and every memory folder written")
    if closed:
        seen = f"{len(closed)} memory folders cannot be written, first: {closed[0]}"
        yield Check("permissions", ok=False, seen=seen, fix=f"chown or chmod u+rwx {closed[0]}")
    if unread:
        seen = f"{len(unread)} session files cannot be read, first: {unread[0]}"
        yield Check("permissions", ok=False, seen=seen, fix=f"chmod u+r {unread[0]}")


def _first_there(path: Path) -> Path:
    return next(p for p in (path, *path.parents) if p.exists())


def _locks(found: Discovery, settings: Settings) -> Iterator[Check]:
    present = [p for p in found.projects if (p.memory / LOCK_FILE).exists()]
    stale = [p for p in present if not refusal(p.memory, settings.consolidation.lock_stale)]
    if stale:
        path = stale[0].memory / LOCK_FILE
        seen = f"{len(stale)} locks whose owner is gone, first: {path}"
        yield Check("locks", ok=False, seen=seen, fix="the next dream takes them over; or remove them by hand")
    else:
        yield Check("locks", ok=True, seen=f"{len(present)} held, none stale")


def _leftovers(found: Discovery) -> Iterator[Check]:
    left = [path for project in found.projects for path in _left_behind(project)]
    if left:
        seen = f"{len(left)} files or folders of a run that was killed, first: {left[0]}"
        yield Check("leftovers", ok=False, seen=seen, fix="the next dream of the project clears them away")
    else:
        yield Check("leftovers", ok=True, seen="no run left anything behind")


def _left_behind(project: Project) -> Iterator[Path]:
    yield from (path for _, _, path in siblings(project.memory))
    for folder in (project.memory, project.memory / OWN_FOLDER):
        if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK):
            yield from (Path(entry) for entry in os.scandir(folder) if is_leftover(entry.name))


def _states(found: Discovery, now: datetime) -> Iterator[Check]:
    wrong: list[str] = []
    for project in found.projects:
        try:
            last = read_state(project.memory)
        except SlowwaveError as error:
            wrong.append(str(error))
            continue
        if last is not None and last > now.timestamp() + AHEAD.total_seconds():
            wrong.append(f"{project.memory}: the last dream lies in the future; correct the clock or the state")
    if wrong:
        yield Check("state", ok=False, seen=f"{len(wrong)} projects, first: {wrong[0]}", fix="follow that remedy")
    else:
        yield Check("state", ok=True, seen="every project's state can be read")
