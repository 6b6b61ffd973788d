"""Rescue: what Claude Code is about to delete by itself is archived first, and left in its place.

What it deletes, and when, tells :mod:`cleanup`. Gate: ``retention.rescue``, and as every writing step a run that is no
dry run. Deletes nothing; a second run finds everything in a pack.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from slowwave.memory.candidates import read_candidates
from slowwave.memory.names import name_from_json
from slowwave.report import Item, Report
from slowwave.retention.job.cleanup import Belonging, claude_home, cleanup_days
from slowwave.retention.job.context import Context
from slowwave.retention.job.failing import reason_of
from slowwave.retention.job.fleet import Member
from slowwave.retention.job.traces import Told, of_shelved
from slowwave.stores.archive.model import PackedSession
from slowwave.stores.archive.rows import with_rows
from slowwave.stores.archive.shelf import Shelved, ids_of
from slowwave.stores.archive.writing import Wanted
from slowwave.stores.belongings import belongings_of
from slowwave.stores.model import Project
from slowwave.stores.trash import trash_items

RULE = "rescue"
_DAY_S = 86_400.0
_PACK_SESSIONS = 200
_SOON = "Claude Code would delete it soon"


class Due(NamedTuple):
    """A session of which the client is about to delete a file: when it may, in seconds since 1970."""

    member: Member
    at: float


def due_soon(members: Iterable[Member], run: Context) -> list[Due]:
    """Return the sessions of which a file is due within ``retention.rescue`` and lies in no pack, most urgent first."""
    until = 2 * run.now.timestamp() - run.rules.rescue.start(run.now)
    every = run.archive.all()
    packed = {(file.path, file.size, file.mtime_ns) for one in every for file in one.session.files if file.hash}
    homes: dict[Path, tuple[float, Belonging]] = {}
    found: list[Due] = []
    for member in members:
        home = claude_home(member.session.files.paths[0], run.environ)
        if home is None:
            continue
        if home not in homes:
            homes[home] = cleanup_days(home, run.report) * _DAY_S, Belonging(home, run.home)
        keeps, belonging = homes[home]
        try:
            ends = [file.mtime_ns / 1e9 + keeps for file in belonging.files(member) if file not in packed]
        except OSError:
            ends = [run.now.timestamp()]  # nobody knows what else is there: who archives it says what is wrong
        if ends and min(ends) <= until:
            found.append(Due(member, min(ends)))
    return sorted(found, key=lambda due: (due.at, due.member.session.id))


def rescue(due: Iterable[Due], run: Context) -> None:
    """Archive what is due; one session that cannot be read costs no other one anything.

    Raises:
        CorruptStateError: the audit log is damaged.
        OSError: the audit log cannot be written.
    """
    left = list(due)
    report = run.report
    while left:
        batch, left = left[:_PACK_SESSIONS], left[_PACK_SESSIONS:]
        try:
            added = _archived(batch, run)
        except Exception:  # noqa: BLE001 - one that somebody writes to must not keep the others
            added = [one for due in batch for one in _alone(due, run)]
        run.log.append([of_shelved(one, report.run_id, RULE) for one in added], run.now)
        report.count("rescued", len(added))
        report.items += [
            Item(one.session.id, "rescued", f"{_SOON}; it lies in the archive, too", one.session.project)
            for one in added
        ]


def note_gone(projects: Iterable[Project], said: Told, run: Context) -> None:
    """Put into the report what candidates and memories name, and neither client nor slowwave has any more.

    What slowwave itself removed is told by its own log.

    Raises:
        UnreadableError: the candidates or memories of a project cannot be read.
        CorruptStateError: a manifest of the trash is damaged.
    """
    known: set[str] | None = None
    for project in projects:
        if not project.memory.is_dir():
            continue
        ranges = read_candidates(project.memory)[1]
        named = {Path(name_from_json(one.session.path)): name_from_json(one.session.id) for one in ranges}
        for path, session in sorted(named.items()):
            if claude_home(path, run.environ) is None or path.exists():
                continue
            # most nights nothing is gone, and nobody has to know all that ever was
            known = _ever_known(said, run) if known is None else known
            if session not in known:
                run.report.count("already_gone")
                reason = f"{path} is neither there nor archived"
                run.report.items.append(Item(session, "gone", reason, project.key))


def _ever_known(said: Told, run: Context) -> set[str]:
    archived = {name for one in run.archive.all() for name in ids_of(one.session)}
    return archived | said.sessions | {item.session for item in trash_items(run.trash)}


def note_due(due: Iterable[Due], report: Report) -> None:
    """Put into the report of a dry run what a run would archive."""
    for one in due:
        report.count("would_rescue")
        project = one.member.project.key
        report.items.append(Item(one.member.session.id, RULE, _SOON, project))


def _archived(batch: list[Due], run: Context) -> list[Shelved]:
    return run.archive.add(f"{run.report.run_id}-rescue", [wanted_of(due.member, run) for due in batch])


def _alone(due: Due, run: Context) -> Iterator[Shelved]:
    session = due.member.session
    try:
        yield from _archived([due], run)
    except Exception as error:  # noqa: BLE001 - counted, told, and no other session's matter
        # whatever the reason: its client deletes it soon
        run.report.failures.append(f"rescue: session {session.id}: {reason_of(error, session.files.paths[0])}")


def wanted_of(member: Member, run: Context) -> Wanted:
    """Return a session with all that belongs to it, as it is packed.

    Raises:
        UnreadableError: an index of its client cannot be read.
    """
    session, project = member.session, member.project
    paths, notes = belongings_of(session, run.home)
    last = max(one.mtime_ns for one in member.sessions) / 1e9
    at = run.now.isoformat()
    packed = PackedSession(session.id, session.dialect, project.key, project.root, at, last, (), notes=notes)
    return Wanted(with_rows(packed, paths, run.rows), paths)
