"""Rescue: what a client is about to delete by itself is archived first, and left in its place.

What Claude Code deletes, and when, tells :func:`cleanup_days`; OpenClaw's own maintenance is that of :func:`tidy`,
while it is left to the client (``retention.openclaw``). Every night does it, whether or not retention is enforced.
Gates: ``retention.rescue``, ``retention.rescue_max_bytes``, and as every writing step a run that is no dry run. It
deletes nothing; a second run finds everything in a pack.
"""

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from slowwave.errors import UnreadableError, told
from slowwave.files import archive_folder, file_bytes, home_folder
from slowwave.formats.claude import PROJECTS, ClaudeCode, persons_files, policy_files, sessions_in_home
from slowwave.memory import name_from_json
from slowwave.memory.candidates import read_candidates
from slowwave.quantities import counted
from slowwave.report import Item, Report, readable
from slowwave.retention.audit import Told, of_shelved
from slowwave.retention.holds import Member, key_of, paths_of
from slowwave.retention.plan import Context, due_by_client
from slowwave.stores.archive.pack import PackedSession, Wanted
from slowwave.stores.archive.shelf import Shelved, ids_of, pack_name, rescued_bytes, with_rows
from slowwave.stores.projects import Project
from slowwave.stores.trash import belongings_of, trash_items

RULE = "rescue"
_DAY_S = 86_400.0
_PACK_SESSIONS = 200
_CLAUDE, _OPENCLAW = "Claude Code", "OpenClaw"


class Due(NamedTuple):
    """A session of which its client is about to delete a file."""

    member: Member  # the session
    at: float  # when it may, in seconds since 1970
    size: int  # all its bytes
    client: str = _CLAUDE  # which client


def due_soon(goes: Collection[str], run: Context) -> list[Due]:
    """Return the sessions of which a file is due within ``retention.rescue`` and lies in no pack, most urgent first."""
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

    Raises CorruptStateError: the audit log is damaged; OSError: the audit log cannot be written.
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
            Item(one.session.id, "rescued", _soon(clients.get(one.session.id, _CLAUDE)), one.session.project)
            for one in added
        ]
        used = rescued_bytes(folder)
    if used > before:
        report.count("rescued_bytes", used - before)
        most = run.rules.rescue_max_bytes
        limit = "" if most.is_unlimited else f" of {readable(most)} at most (retention.rescue_max_bytes)"
        reason = f"{readable(used - before)} by this run, {readable(used)}{limit} in all"
        report.items.append(Item(os.fspath(folder), "rescue room", reason))
    if not left:
        return []
    report.count("rescue_left_out", len(left))
    what = f"{counted(len(left), 'session')} of {readable(sum(one.size for one in left))}"
    room = f"{readable(used)} of {readable(run.rules.rescue_max_bytes)} are taken"
    who = " and ".join(sorted({one.client for one in left}))
    remedy = "raise retention.rescue_max_bytes, or let the client keep more (cleanupPeriodDays, session.maintenance)"
    when = f"{who} deletes within {run.rules.rescue}"
    return [f"rescue: no room in the archive for {what}, which {when}: {room}; {remedy}"]


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

    What slowwave itself removed is told by its own log. Raises UnreadableError: the candidates or memories of a project
    cannot be read; CorruptStateError: a manifest of the trash is damaged.
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
        run.report.failures.append(f"rescue: session {session.id}: {told(error, session.files.paths[0])}")


def wanted_of(member: Member, run: Context) -> Wanted:
    """Return a session with all that belongs to it, as it is packed.

    Raises UnreadableError: an index of its client cannot be read.
    """
    session, project = member.session, member.project
    paths, notes = belongings_of(session, run.home)
    last = max(one.mtime_ns for one in member.sessions) / 1e9
    at = run.now.isoformat()
    packed = PackedSession(session.id, session.dialect, project.key, project.root, at, last, (), notes=notes)
    return Wanted(with_rows(packed, paths, run.rows), paths)


# What Claude Code deletes by itself, and when: whatever was not changed for ``cleanupPeriodDays`` (clients.md 6).
#
# It goes by the time of each file alone. A session that is resumed for months keeps its transcript and loses its old
# sub-agents, results of tools and checkpoints one by one.

CLEANUP_DAYS = 30.0


class Kept(NamedTuple):
    """A file as it lies in its place."""

    path: str
    size: int
    mtime_ns: int


class Belonging:
    """The files of sessions in one home, of transcripts and of all that goes with them; each folder is listed once."""

    def __init__(self, home: Path, user: Path) -> None:
        self._user = user
        self._in_home = sessions_in_home(home)
        self._beside: dict[Path, set[str]] = {}

    def files(self, member: Member) -> Iterator[Kept]:
        """Yield the files of a session that are there. Raises OSError: a folder of it cannot be listed."""
        found = [kept for path in paths_of(member) if (kept := _kept(os.fspath(path))) is not None]
        yield from found
        if found and self._has_more(member):
            for path in belongings_of(member.session, self._user).paths:
                yield from _below(os.fspath(path))

    def may_be_due(self, member: Member, last: float) -> bool:
        """Say whether a file of a session may be as old as ``last``, seconds since 1970; for most it costs no call.

        Raises OSError: a folder of it cannot be listed.
        """
        for session in member.sessions:
            if session.mtime_ns / 1e9 <= last or len(session.files.paths) > 1:
                return True
        return self._has_more(member)

    def _has_more(self, member: Member) -> bool:
        """Say whether something lies beside the transcripts; most sessions have nothing, and cost no call."""
        session, folder = member.session, member.session.files.paths[0].parent
        if folder not in self._beside:
            with os.scandir(folder) as entries:
                self._beside[folder] = {entry.name for entry in entries if entry.is_dir()}
        return session.kind == "subagent" or session.id in self._in_home or session.id in self._beside[folder]


def files_of(member: Member, user: Path) -> Iterator[Kept]:
    """Yield the files of a session of any client that are there. Raises OSError: a folder of it cannot be listed."""
    paths = dict.fromkeys((*paths_of(member), *belongings_of(member.session, user).paths))
    for path in paths:
        yield from _below(os.fspath(path))


def cleanup_days(home: Path, roots: Iterable[str], report: Report) -> float:
    """Return after how many days without a change the client of a home deletes, at the earliest.

    The policy of the machine decides; without one the client cleans up by the settings of the folder that it is started
    in, and nobody knows which one that will be.
    """
    try:
        policy = policy_files()
    except OSError as error:
        report.warnings.append(f"rescue: {error.filename}: {error.strerror}, so nobody knows what it says")
        policy = []
    told = [days for path in policy if (days := _days_in(path, report)) is not None]
    if told:
        return told[-1]
    user = _days_in(persons_files(home, None)[0], report)
    found = [CLEANUP_DAYS if user is None else user]
    for root in roots:
        own = [days for path in persons_files(home, Path(root))[1:] if (days := _days_in(path, report)) is not None]
        found += own[-1:]
    return min(found)


def _days_in(path: Path, report: Report) -> float | None:
    """Return what a file of settings says, None when it says nothing about it."""
    try:
        value: object = msgspec.json.decode(file_bytes(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnreadableError, msgspec.DecodeError, UnicodeDecodeError):
        report.warnings.append(f"rescue: {path}: cannot be read, so what it says of cleanupPeriodDays does not count")
        return None
    days = cast("dict[str, object]", value).get("cleanupPeriodDays") if isinstance(value, dict) else None
    return max(1.0, float(days)) if isinstance(days, int | float) and not isinstance(days, bool) else None


def claude_home(transcript: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the home of Claude Code whose clean-up reaches a transcript, None where no client cleans up."""
    project = next((folder for folder in transcript.parents if folder.parent.name == PROJECTS), None)
    if project is None:
        return None
    home = project.parent.parent
    usual = (*ClaudeCode().homes(environ), home_folder(environ) / ".claude")
    is_one = home in usual or home.name == ".claude" or (home / ".last-cleanup").exists()
    return home if is_one else None


def _below(path: str) -> Iterator[Kept]:
    kept = _kept(path)
    if kept is not None:
        yield kept
    elif os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114 - a name of any bytes
        with os.scandir(path) as entries:
            below = [entry.path for entry in entries]
        for one in below:
            yield from _below(one)


def _kept(path: str) -> Kept | None:
    """Return a file; None for one that is gone since it was listed, and for what is none."""
    try:
        at = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - as above
    except FileNotFoundError:
        return None
    return Kept(path, at.st_size, at.st_mtime_ns) if stat.S_ISREG(at.st_mode) else None
