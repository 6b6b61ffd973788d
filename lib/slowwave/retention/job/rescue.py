"""Rescue: what Claude Code is about to delete by itself is archived first, and left in its place.

The client deletes what was not changed for ``cleanupPeriodDays`` (settings.json in its home, 30 days by default, 1 at
least), by the time of each file, once a day and in every project folder (clients.md 6). Gate: ``retention.rescue``, and
as every writing step a run that is no dry run. Deletes nothing; a second run finds everything in a pack.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from slowwave.clock import Clock
from slowwave.errors import SlowwaveError, told
from slowwave.memory.candidates import read_candidates
from slowwave.memory.names import name_from_json
from slowwave.places import home_folder
from slowwave.quantities import Period
from slowwave.report import Item, Report
from slowwave.retention.audit import AuditLog
from slowwave.retention.job.fleet import Member, paths_of
from slowwave.retention.job.packing import Archive
from slowwave.retention.job.traces import of_shelved
from slowwave.stores.archive.model import PackedSession
from slowwave.stores.archive.rows import RowsByPath, with_rows
from slowwave.stores.archive.shelf import Shelved, ids_of
from slowwave.stores.archive.writing import Wanted
from slowwave.stores.belongings import belongings_of
from slowwave.stores.kinds.claude import PROJECTS, ClaudeHome
from slowwave.stores.model import Project
from slowwave.stores.trash import trash_items

RULE = "rescue"
CLEANUP_DAYS = 30.0
_DAY_S = 86_400.0
_PACK_SESSIONS = 200
_SOON = "Claude Code would delete it soon"


class Due(NamedTuple):
    """A session of which the client is about to delete a file: when it may, in seconds since 1970."""

    member: Member
    at: float


def due_soon(
    members: Iterable[Member],
    ahead: Period,
    environ: Mapping[str, str],
    now: datetime,
    archive: Archive,
    report: Report,
) -> list[Due]:
    """Return the sessions that are due within a time and lie in no pack as they are, the most urgent first."""
    until = 2 * now.timestamp() - ahead.start(now)
    packed = {(file.path, file.size, file.mtime_ns) for one in archive.all() for file in one.session.files if file.hash}
    days: dict[Path, float] = {}
    found: list[Due] = []
    for member in members:
        home = claude_home(member.session.files.paths[0], environ)
        if home is None:
            continue
        if home not in days:
            days[home] = cleanup_days(home, report)
        ends = [
            at.st_mtime + days[home] * _DAY_S
            for path in paths_of(member)
            if (at := _stat(path)) is not None and (os.fspath(path), at.st_size, at.st_mtime_ns) not in packed
        ]
        if ends and min(ends) <= until:
            found.append(Due(member, min(ends)))
    return sorted(found, key=lambda due: (due.at, due.member.session.id))


def cleanup_days(home: Path, report: Report) -> float:
    """Return after how many days without a change the client of a home deletes."""
    path = home / "settings.json"
    try:
        value: object = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        return CLEANUP_DAYS
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        report.warnings.append(f"rescue: {path}: cannot be read, so the client's default of 30 days counts")
        return CLEANUP_DAYS
    days = cast("dict[str, object]", value).get("cleanupPeriodDays") if isinstance(value, dict) else None
    if not isinstance(days, int | float) or isinstance(days, bool):
        return CLEANUP_DAYS
    return max(1.0, float(days))


def claude_home(transcript: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the home of Claude Code whose clean-up reaches a transcript, None where no client cleans up."""
    project = next((folder for folder in transcript.parents if folder.parent.name == PROJECTS), None)
    if project is None:
        return None
    home = project.parent.parent
    usual = (*ClaudeHome().usual(environ), home_folder(environ) / ".claude")
    is_one = home in usual or home.name == ".claude" or (home / ".last-cleanup").exists()
    return home if is_one else None


def rescue(
    due: Iterable[Due],
    archive: Archive,
    rows: RowsByPath,
    log: AuditLog,
    clock: Clock,
    environ: Mapping[str, str],
    report: Report,
) -> None:
    """Archive what is due; one session that cannot be read costs no other one anything.

    Raises:
        CorruptStateError: the audit log is damaged.
    """
    left = list(due)
    home = home_folder(environ)
    while left:
        batch, left = left[:_PACK_SESSIONS], left[_PACK_SESSIONS:]
        try:
            added = _archived(batch, archive, rows, clock, home, report)
        except (SlowwaveError, OSError):
            # one that somebody writes to must not keep the others
            added = [one for due in batch for one in _alone(due, archive, rows, clock, home, report)]
        log.append([of_shelved(one, report.run_id, RULE) for one in added], clock.now())
        report.count("rescued", len(added))
        report.items += [
            Item(one.session.id, "rescued", f"{_SOON}; it lies in the archive, too", one.session.project)
            for one in added
        ]


def note_gone(
    projects: Iterable[Project],
    archive: Archive,
    trash: Path,
    log: AuditLog,
    environ: Mapping[str, str],
    report: Report,
) -> None:
    """Put into the report what candidates and memories name, and neither client nor slowwave has any more.

    What slowwave itself removed is told by its own log.

    Raises:
        UnreadableError: the candidates or memories of a project cannot be read.
        CorruptStateError: the log or a manifest of the trash is damaged.
    """
    known = {name for one in archive.all() for name in ids_of(one.session)}
    known |= {item.session for item in trash_items(trash)} | {line.session for line in log.lines()}
    for project in projects:
        if not project.memory.is_dir():
            continue
        ranges = read_candidates(project.memory)[1]
        named = {Path(name_from_json(one.session.path)): name_from_json(one.session.id) for one in ranges}
        for path, session in sorted(named.items()):
            if session not in known and claude_home(path, environ) is not None and not path.exists():
                report.count("already_gone")
                report.items.append(Item(session, "gone", f"{path} is neither there nor archived", project.key))


def note_due(due: Iterable[Due], report: Report) -> None:
    """Put into the report of a dry run what a run would archive."""
    for one in due:
        report.count("would_rescue")
        project = one.member.project.key
        report.items.append(Item(one.member.session.id, RULE, _SOON, project))


def _archived(
    batch: list[Due], archive: Archive, rows: RowsByPath, clock: Clock, home: Path, report: Report
) -> list[Shelved]:
    wanted = [wanted_of(due.member, rows, clock, home) for due in batch]
    return archive.add(f"{report.run_id}-rescue", wanted)


def _alone(due: Due, archive: Archive, rows: RowsByPath, clock: Clock, home: Path, report: Report) -> Iterator[Shelved]:
    session = due.member.session
    try:
        yield from _archived([due], archive, rows, clock, home, report)
    except (SlowwaveError, OSError) as error:
        reason = told(error, session.files.paths[0]) if isinstance(error, OSError) else str(error)
        report.failures.append(f"rescue: session {session.id}: {reason}")


def wanted_of(member: Member, rows: RowsByPath, clock: Clock, home: Path) -> Wanted:
    """Return a session with all that belongs to it, as it is packed.

    Raises:
        UnreadableError: an index of its client cannot be read.
    """
    session, project = member.session, member.project
    paths, notes = belongings_of(session, home)
    last = max(one.mtime_ns for one in member.sessions) / 1e9
    at = clock.now().isoformat()
    packed = PackedSession(session.id, session.dialect, project.key, project.root, at, last, (), notes=notes)
    return Wanted(with_rows(packed, paths, rows), paths)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None  # gone since it was listed
