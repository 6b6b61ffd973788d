"""Rescue: what a client is about to delete by itself is archived first, and left in its place.

What Claude Code deletes, and when, tells :mod:`cleanup`; OpenClaw's own maintenance is that of :mod:`openclaw`, while
it is left to the client (``retention.openclaw``). Every night does it, whether or not retention is enforced. Gates:
``retention.rescue``, ``retention.rescue_max_bytes``, and as every writing step a run that is no dry run. It deletes
nothing; a second run finds everything in a pack.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from slowwave.memory.candidates import read_candidates
from slowwave.memory.names import name_from_json
from slowwave.places import archive_folder
from slowwave.report import Item, Report
from slowwave.retention.job.cleanup import Belonging, claude_home, cleanup_days, files_of
from slowwave.retention.job.context import Context
from slowwave.retention.job.failing import reason_of
from slowwave.retention.job.fleet import Member, key_of
from slowwave.retention.job.openclaw import due_by_client
from slowwave.retention.job.traces import Told, of_shelved
from slowwave.retention.rescued import pack_name, rescued_bytes
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
_CLAUDE, _OPENCLAW = "Claude Code", "OpenClaw"


class Due(NamedTuple):
    """A session of which its client is about to delete a file.

    Attributes:
        member: the session.
        at: when it may, in seconds since 1970.
        size: all its bytes.
        client: which client.
    """

    member: Member
    at: float
    size: int
    client: str = _CLAUDE


def due_soon(goes: Collection[str], run: Context) -> list[Due]:
    """Return the sessions of which a file is due within ``retention.rescue`` and lies in no pack, most urgent first.

    Args:
        goes: keys of the sessions that this run removes itself.
        run: the run.
    """
    until = 2 * run.now.timestamp() - run.rules.rescue.start(run.now)
    found = _due_by_claude((member for key, member in run.fleet.members.items() if key not in goes), until, run)
    if run.rules.openclaw == "client":
        found += _due_by_openclaw(goes, until, run)
    return sorted(found, key=lambda due: (due.at, due.member.session.id))


def _due_by_openclaw(goes: Collection[str], until: float, run: Context) -> Iterator[Due]:
    packed: set[tuple[str, int, int]] | None = None
    for member, at in due_by_client(run.fleet, (run.now.timestamp(), until), run.report):
        if key_of(member.session) in goes:
            continue
        packed = _packed(run) if packed is None else packed
        files = list(files_of(member, run.home))
        if any(file not in packed for file in files):
            yield Due(member, at, sum(file.size for file in files), _OPENCLAW)


def _due_by_claude(members: Iterable[Member], until: float, run: Context) -> list[Due]:
    packed: set[tuple[str, int, int]] | None = None
    homes: dict[Path, tuple[float, Belonging]] = {}
    found: list[Due] = []
    for member in members:
        home = claude_home(member.session.files.paths[0], run.environ)
        if home is None:
            continue
        if home not in homes:
            homes[home] = cleanup_days(home, _roots_in(home, run), run.report) * _DAY_S, Belonging(home, run.home)
        keeps, belonging = homes[home]
        try:
            if not belonging.may_be_due(member, until - keeps):
                continue
            files = list(belonging.files(member))
        except OSError:
            # nobody knows what else is there: who archives it says what is wrong
            found.append(Due(member, run.now.timestamp(), member.session.size))
            continue
        if packed is None:
            packed = _packed(run)
        ends = [file.mtime_ns / 1e9 + keeps for file in files if file not in packed]
        if ends and min(ends) <= until:
            found.append(Due(member, min(ends), sum(file.size for file in files)))
    return found


def _roots_in(home: Path, run: Context) -> set[str]:
    """Return the working folders of the projects whose sessions lie in a home."""
    projects = {member.project.key: member.project for member in run.fleet.members.values()}
    return {one.root for one in projects.values() if one.root and any(home in path.parents for path in one.folders)}


def _packed(run: Context) -> set[tuple[str, int, int]]:
    return {
        (file.path, file.size, file.mtime_ns) for one in run.archive.all() for file in one.session.files if file.hash
    }


def rescue(due: Iterable[Due], run: Context) -> list[str]:
    """Archive what is due; one session that cannot be read costs no other one anything.

    Returns:
        What found no room below ``retention.rescue_max_bytes``, in words. Nobody knows how small something becomes
        before it is packed, so room is asked for as much as it is now, and again after each pack.

    Raises:
        CorruptStateError: the audit log is damaged.
        OSError: the audit log cannot be written.
    """
    left = list(due)
    report, folder = run.report, archive_folder(run.environ)
    before = used = rescued_bytes(folder)
    while True:
        batch = _fitting(left, run.rules.rescue_max_bytes - used)
        if not batch:
            break
        taken = set(map(id, batch))
        left = [one for one in left if id(one) not in taken]
        try:
            added = _archived(batch, run)
        except Exception:  # noqa: BLE001 - one that somebody writes to must not keep the others
            added = [one for due in batch for one in _alone(due, run)]
        run.log.append([of_shelved(one, report.run_id, RULE) for one in added], run.now)
        report.count("rescued", len(added))
        clients = {due.member.session.id: due.client for due in batch}
        report.items += [
            Item(
                one.session.id,
                "rescued",
                f"{_soon(clients.get(one.session.id, _CLAUDE))}; it lies in the archive, too",
                one.session.project,
            )
            for one in added
        ]
        used = rescued_bytes(folder)
    if used > before:
        report.count("rescued_bytes", used - before)
        most = run.rules.rescue_max_bytes
        limit = "" if most.is_unlimited else f", of {most:,} at most (retention.rescue_max_bytes)"
        reason = f"{used - before:,} bytes by this run, {used:,} in all{limit}"
        report.items.append(Item(os.fspath(folder), "rescue room", reason))
    if not left:
        return []
    report.count("rescue_left_out", len(left))
    what = f"{len(left)} sessions of {sum(one.size for one in left):,} bytes"
    room = f"{used:,} of {run.rules.rescue_max_bytes:,} bytes are taken"
    who = " and ".join(sorted({one.client for one in left}))
    remedy = "raise retention.rescue_max_bytes, or let the client keep more (cleanupPeriodDays, session.maintenance)"
    return [f"rescue: {what}, which {who} deletes within {run.rules.rescue}, are not archived: {room}; {remedy}"]


def _soon(client: str) -> str:
    return f"{client} would delete it soon"


def _fitting(due: Iterable[Due], room: int) -> list[Due]:
    """Return as many as go into one pack, the most urgent first, that surely take no more than the room there is."""
    found: list[Due] = []
    for one in due:
        if one.size <= room and len(found) < _PACK_SESSIONS:
            found.append(one)
            room -= one.size
    return found


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
        report.items.append(Item(one.member.session.id, RULE, _soon(one.client), project))


def _archived(batch: list[Due], run: Context) -> list[Shelved]:
    return run.archive.add(pack_name(run.report.run_id), [wanted_of(due.member, run) for due in batch])


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
