"""Checks of this installation: each says what it looked at, whether that is well, and how to mend it.

Nothing is changed, not even a folder made. A check that cannot be carried out is a check that failed.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from slowwave.clock import Clock
from slowwave.consolidation.lock import refusal
from slowwave.consolidation.state import read_state
from slowwave.errors import SlowwaveError
from slowwave.files import is_leftover
from slowwave.memory.book import read_book
from slowwave.memory.folder import LOCK_FILE
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.places import siblings
from slowwave.service.checks import (
    Check,
    archive,
    clients,
    delivery,
    disk,
    first_there,
    model,
    private,
    runs,
    storage,
    telling,
)
from slowwave.service.scheduler_checks import scheduler
from slowwave.settings import Settings
from slowwave.stores.discovery import find_projects
from slowwave.stores.model import Discovery, Project

# Files from a machine whose clock runs a little ahead are no reason to worry.
AHEAD = timedelta(hours=1)


def checks(
    settings: Settings,
    environ: Mapping[str, str],
    clock: Clock,
    *,
    ask_model: bool = False,
    read_archive: bool = False,
) -> Iterator[Check]:
    """Yield every check, cheap ones first.

    Args:
        settings: the settings in force.
        environ: the environment.
        clock: what time it is.
        ask_model: ask the language model one tiny question, where one is set.
        read_archive: read every byte of the archive.
    """
    yield Check("settings", ok=True, seen="all keys are known and all values well formed")
    yield from scheduler(environ)
    yield model(settings, environ, ask=ask_model)
    yield from telling(settings)
    yield runs(settings, environ, clock.now())
    try:
        found = find_projects(settings, environ)
    except SlowwaveError as error:
        yield disk(environ, None)
        yield Check("stores", ok=False, seen=str(error), fix="name the store with --store or store.roots")
        return
    yield disk(environ, found)
    yield _stores(found)
    yield from clients(found)
    yield _clock(found, clock.now())
    yield from _permissions(found)
    yield private(environ, found)
    yield storage(found)
    yield from _locks(found, settings)
    yield from _leftovers(found)
    yield from _states(found, clock.now())
    yield delivery(found, settings, environ)
    yield from archive(environ, read_back=read_archive)


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
    closed = [p.memory for p in found.projects if not os.access(first_there(p.memory), os.W_OK | os.X_OK)]
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
            read_book(project.memory)
        except SlowwaveError as error:
            wrong.append(str(error))
            continue
        if last is not None and last > now.timestamp() + AHEAD.total_seconds():
            wrong.append(f"{project.memory}: the last dream lies in the future; correct the clock or the state")
    if wrong:
        yield Check("state", ok=False, seen=f"{len(wrong)} projects, first: {wrong[0]}", fix="follow that remedy")
    else:
        yield Check("state", ok=True, seen="every project's state and ledger can be read")
