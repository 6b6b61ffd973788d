"""Carrying out a purge: a copy into the archive, the same context before and after, new places for what rests on it.

Gate: ``retention.purge``. Takes out of sessions at rest what their client never shows again, session by session and
under every guard of retention. A second run finds nothing. A killed one is finished by the next: what a file was to
become is noted before it changes, and every file has its old or its new bytes.
"""

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from slowwave.errors import CorruptStateError, MovedError, RefusedError
from slowwave.formats.changes import rewrite_without
from slowwave.formats.sessions import StoredSession
from slowwave.journal import Form, Journal, done, name_for
from slowwave.memory.model import name_to_json
from slowwave.places import state_folder
from slowwave.report import Item
from slowwave.retention.audit import AuditLog, Entry, of_shelved
from slowwave.retention.context import Context, note_failure, reason_of
from slowwave.retention.erase.project import recorded_in
from slowwave.retention.holds import read_holds
from slowwave.retention.purge_plan import (
    FOLDER,
    PartPlan,
    PurgePlan,
    compare,
    moves_of,
    noted_moves,
    plan_purge,
    renew,
    write_moves,
)
from slowwave.retention.rescue import wanted_of
from slowwave.retention.sessions import Member
from slowwave.stores.removal import belongings_of

RULE = "purge"
# whose records can be hidden for good
_DIALECT = "cersei"
_MARK = b"tombstone"
_BLOCK = 1 << 20
# where the new files are read before the old ones change
_CHECK = "check"


class Begun(msgspec.Struct, frozen=True):
    """One purge.

    Attributes:
        run: id of the run that began it.
        session: id of the session.
        dialect: its dialect.
        records: how many hidden records were to go.
        size: bytes that were to go.
        times: time of the last change of each file, by its path, which a purge keeps; another one is its client's.
    """

    run: str
    session: str
    dialect: str
    records: int
    size: int
    times: dict[str, int]

    def is_of(self, session: StoredSession) -> bool:
        """Say whether nobody but the purge has changed the session since."""
        return self.times == times_of(session.files.paths)

    def less(self, records: int, size: int) -> "Begun":
        """Return it without what is still there."""
        return msgspec.structs.replace(self, records=max(self.records - records, 0), size=max(self.size - size, 0))


class Purger:
    """The purge of one run."""

    def __init__(self, run: Context) -> None:
        self._run = run
        self._folder = state_folder(run.environ) / FOLDER
        self._memories = sorted({member.project.memory for member in run.fleet.members.values()})
        self._begun: dict[Path, Begun] = {}
        # files whose new places could not be put into some memory yet: they may not change again before
        self._waiting: set[str] = set()

    def purge(self, goes: Collection[str]) -> None:
        """Purge every session in which something is hidden; one that is refused keeps no other one.

        Args:
            goes: keys of sessions that go as a whole.

        Raises:
            CorruptStateError: the audit log or a file of a memory folder is damaged.
            LockHeldError: another process kept a memory folder locked for too long.
        """
        if not self._run.dry_run:
            self._begun = dict(begun_in(self._folder).left())
            self._finish_moves()
        subjects = {subject.id: subject for subject in self._run.fleet.subjects()}
        for key, member in self._run.fleet.members.items():
            if key in goes or not self._run.may_touch(member.project.key):
                continue
            for session in member.sessions:
                if session.dialect == _DIALECT and (self._noted(session) is not None or _may_hide(session)):
                    self._one(member, session, lambda key=key: self._run.guards(subjects[key]))
        if self._run.chosen is None:
            for path, begun in list(self._begun.items()):
                if not any(place_of(self._folder, one) == path for one in self._sessions()):
                    self._told(path, begun, len(begun.times))  # the session went as a whole since

    def _sessions(self) -> Iterator[StoredSession]:
        for member in self._run.fleet.members.values():
            yield from (session for session in member.sessions if session.dialect == _DIALECT)

    def _noted(self, session: StoredSession) -> Begun | None:
        return self._begun.get(place_of(self._folder, session)) if self._begun else None

    def _one(self, member: Member, session: StoredSession, guard: Callable[[], str]) -> None:
        try:
            plan = self._planned(session)
            if plan is None:
                return
            waits = "a memory that rests on it could not be written; the next run goes on"
            is_waiting = not self._waiting.isdisjoint(times_of(session.files.paths))
            if reason := plan.refused or (waits if is_waiting else guard()):
                self._refuse(member, session, reason)
            elif self._run.dry_run:
                self._note(member.project.key, session.id, plan, "purge", "would_purge")
            else:
                self._apply(member, session, plan)
        except CorruptStateError:
            raise
        except Exception as error:  # noqa: BLE001 - counted, told, and no other session's matter
            place = session.files.paths[0]
            self._refuse(member, session, f"refused: {reason_of(error, place)}")
            note_failure(self._run.report, f"purge: session {session.id}", error, place)

    def _planned(self, session: StoredSession) -> PurgePlan | None:
        """Return what is left to do, and tell what an earlier run did where that is a purge of its own by now."""
        plan = plan_purge(session.files)
        begun = self._noted(session)
        if begun is None:
            return plan
        path, files = place_of(self._folder, session), len(session.files.paths)
        if plan is None:
            self._told(path, begun, files)
            self._note(self._project_of(session), session.id, begun, "purged", "purged")
        elif not begun.is_of(session):
            self._told(path, begun.less(plan.records, plan.size), files)
        return plan

    def _apply(self, member: Member, session: StoredSession, plan: PurgePlan) -> None:
        begun, path = self._noted(session), place_of(self._folder, session)
        if begun is None:
            if self._run.rules.require_archive:
                self._archive_first(member)
            times = times_of(session.files.paths)
            begun = Begun(self._run.report.run_id, session.id, session.dialect, plan.records, plan.size, times)
            begun_in(self._folder).intend(_name(session), begun)
        left: PurgePlan | None = plan
        while left is not None and left.steps:
            compare(session.files, left.steps, self._folder / _CHECK)
            for step in left.steps:
                self._run.guards.holds = read_holds(self._run.environ)
                if reason := self._run.guards.at_hand(member):
                    raise RefusedError(reason)
                self._rewrite(session, step)
            left = plan_purge(session.files)
        self._told(path, begun, len(session.files.paths))
        self._note(member.project.key, session.id, begun, "purged", "purged")

    def _told(self, path: Path, begun: Begun, files: int) -> None:
        """Write down a purge that came to its end."""
        self._run.log.append(tell(self._run.log, begun, files), self._run.now)
        done(path)
        self._begun.pop(path, None)

    def _archive_first(self, member: Member) -> None:
        if self._run.archive.find(member.session.id, belongings_of(member.session, self._run.home)) is None:
            added = self._run.archive.add(f"{self._run.report.run_id}-{RULE}", [wanted_of(member, self._run)])
            lines = [of_shelved(one, self._run.report.run_id, RULE) for one in added]
            self._run.log.append(lines, self._run.now)

    def _rewrite(self, session: StoredSession, step: PartPlan) -> None:
        old = step.path.read_bytes()
        recorded = {place for memory in self._memories for place in recorded_in(memory).get(step.path, ())}
        moves = moves_of(step, old, session.id, sorted(recorded))
        noted = write_moves(self._folder, moves)
        lines = [(edit.start, len(old[edit.start : edit.stop].rstrip(b"\r\n"))) for edit in step.edits]
        new = [(edit.start, edit.new) for edit in step.edits if edit.new]
        rewrite_without(step.path, lines, new, expect=step.state, keep_mtime=True)
        if sha256(step.path.read_bytes()[: moves.size]).hexdigest() != moves.sha256:
            raise CorruptStateError(step.path, "is not what the purge should have left", "restore it from the archive")
        if [path for memory in self._memories for path in renew(memory, moves)]:
            raise MovedError("a memory that rests on it changed meanwhile; the next run goes on")
        done(noted)

    def _finish_moves(self) -> None:
        """Put into the memories what a killed run noted and did carry out."""
        if (self._folder / _CHECK).is_dir():
            shutil.rmtree(self._folder / _CHECK)
        for noted, moves in noted_moves(self._folder):
            try:
                changed = [path for memory in self._memories for path in renew(memory, moves)]
            except OSError as error:
                note_failure(self._run.report, f"purge: session {moves.session}", error, noted)
                self._waiting.add(moves.path)
                continue
            if changed:
                self._waiting.add(moves.path)
                warning = f"purge: {moves.session}: a memory changed meanwhile; run it again"
                self._run.report.warnings.append(warning)
            else:
                done(noted)

    def _project_of(self, session: StoredSession) -> str:
        members = self._run.fleet.members.values()
        return next(member.project.key for member in members if session in member.sessions)

    def _refuse(self, member: Member, session: StoredSession, reason: str) -> None:
        self._run.report.count("purge_refused")
        self._run.report.items.append(Item(session.id, "refused", f"purge: {reason}", member.project.key))

    def _note(self, project: str, session: str, what: PurgePlan | Begun, action: str, counter: str) -> None:
        report = self._run.report
        report.count(counter)
        report.count(f"{counter}_records", what.records)
        report.count(f"{counter}_bytes", what.size)
        reason = f"{what.records} hidden records, {what.size} bytes"
        report.items.append(Item(session, action, reason, project))


def _may_hide(session: StoredSession) -> bool:
    return any(_mentions(path) for path in session.files.paths)


def _mentions(path: Path) -> bool:
    """Say whether a file may hold a tombstone, at the cost of reading it."""
    tail = b""
    try:
        with path.open("rb", buffering=0) as file:
            while block := file.read(_BLOCK):
                if _MARK in tail + block:
                    return True
                tail = block[-len(_MARK) :]
    except FileNotFoundError:
        return False  # it went since it was listed
    return False


# What a purge of a session set out to do, written down before its first file changes.
#
# A purge rewrites several files, and the plan that is made after some of them knows nothing of what went before. So a
# run that follows a killed one tells from here that the copy in the archive was made, and what the audit log must tell.

_SUFFIX = ".begun"


def times_of(paths: Iterable[Path]) -> dict[str, int]:
    """Return the time of the last change of each file by its path, as :mod:`slowwave.memory.model` spells it."""
    return {name_to_json(str(path)): path.stat().st_mtime_ns for path in paths}


def begun_in(folder: Path) -> Journal[Begun]:
    """Return the purges that did not come to their end."""
    return Journal(folder, Form(Begun, "is no note of a purge", "remove it: the purge is planned anew"), _SUFFIX)


def place_of(folder: Path, session: StoredSession) -> Path:
    """Return where the purge of a session is noted."""
    return begun_in(folder).place(_name(session))


def _name(session: StoredSession) -> str:
    return name_for(name_to_json(str(session.files.paths[0])), 32)


def tell(log: AuditLog, begun: Begun, files: int) -> list[Entry]:
    """Return the line about a purge, none when the log has it already."""
    entry = Entry(
        action="purge",
        run=begun.run,
        session=begun.session,
        dialect=begun.dialect,
        rule="purge",
        files=files,
        size=begun.size,
    )
    own = entry.action, entry.run, entry.session
    is_known = any((line.action, line.run, line.session) == own for line in log.lines())
    return [] if is_known or not begun.size else [entry]
