"""Which sessions a range means: by project, dialect, id and the time of what happened in them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from os import fspath

import msgspec

from slowwave.errors import NotFoundError, UsageError
from slowwave.formats.times import parse_time
from slowwave.jobs.backfill.model import Wanted
from slowwave.jobs.choice import chosen_by
from slowwave.jobs.run import Run
from slowwave.settings import Settings
from slowwave.stores.catalogue import own_catalogue
from slowwave.stores.discovery import known_projects, list_sessions
from slowwave.stores.model import Project, StoredSession

LastActivity = Callable[[StoredSession], datetime]


def chosen_sessions(run: Run, wanted: Wanted) -> tuple[list[Project], list[str]]:
    """Return the projects with those of their sessions that are in the range, and what discovery met.

    Raises:
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project, or none of the sessions that are named, is there.
        UsageError: the range ends before it begins.
    """
    if wanted.since and wanted.until and wanted.since > wanted.until:
        raise UsageError(f"the range ends ({wanted.until:%Y-%m-%d %H:%M}) before it begins; exchange since and until")
    found = known_projects(run.settings, run.environ)
    projects = _projects(found.projects, wanted.projects)
    last = last_activity(run.settings, run.environ) if wanted.since or wanted.until else None
    chosen = [_within(project, wanted, last) for project in projects]
    if wanted.sessions:
        _refuse_unknown(wanted.sessions, projects)
    return [project for project in chosen if project.sessions], [str(problem) for problem in found.problems]


def _projects(projects: Sequence[Project], texts: Sequence[str]) -> Sequence[Project]:
    if not texts:
        return projects
    named = [chosen_by(text, projects, lambda p: (p.key, p.root)) for text in texts]
    # two stores may hold projects of one name, in different folders
    chosen = {(project.key, project.root, project.memory) for of_text in named for project in of_text}
    return [project for project in projects if (project.key, project.root, project.memory) in chosen]


def _within(project: Project, wanted: Wanted, last: LastActivity | None) -> Project:
    sessions = tuple(
        session
        for session in project.sessions
        if (not wanted.dialects or session.dialect in wanted.dialects)
        and (not wanted.sessions or session.id in wanted.sessions)
        and (last is None or _is_between(last(session), wanted))
    )
    return msgspec.structs.replace(project, sessions=sessions)


def _is_between(at: datetime, wanted: Wanted) -> bool:
    return (wanted.since is None or at >= wanted.since) and (wanted.until is None or at <= wanted.until)


def last_activity(settings: Settings, environ: Mapping[str, str]) -> LastActivity:
    """Return what tells when something last happened in a session: its last message, else the time of its file.

    The time of a file alone is that of the last copy or restore.
    """
    with own_catalogue(settings, environ) as catalogue:
        rows = list_sessions(settings, environ, catalogue).rows
    times = {(row.id, row.path): row.last_activity for row in rows}

    def last(session: StoredSession) -> datetime:
        told = (times.get((session.id, fspath(path))) for path in reversed(session.files.paths))
        at = parse_time(next((time for time in told if time), None))
        return at or datetime.fromtimestamp(session.mtime_ns / 1e9, UTC)

    return last


def _refuse_unknown(sessions: Sequence[str], projects: Sequence[Project]) -> None:
    known = {session.id for project in projects for session in project.sessions}
    if missing := [one for one in sessions if one not in known]:
        raise NotFoundError(f"no session {', '.join(missing)} in the chosen projects; see slowwave sessions list")
