"""Carrying out a plan, or a request: archive, throw away, free what lay in the trash long enough, end what a kill left.

Both go under the same holds and into the same audit log.
"""

import errno
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from slowwave.context import Clock
from slowwave.errors import LockHeldError, MovedError, NotFoundError, RefusedError, SlowwaveError, UsageError, told
from slowwave.files import archive_folder, home_folder
from slowwave.formats.locks import STORE_LOCK, TRANSCRIPT_LOCK, held_lock, lock_path
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import FoundFile, FoundSession, StoredSession
from slowwave.locks import WAIT_S, remove_leftovers, retaining
from slowwave.report import Report, RetainItem
from slowwave.retention.audit import BY_RUN, AuditLog, Entry, Told, of_item, of_shelved
from slowwave.retention.holds import Facts, Member, facts_of, facts_of_item, held_by, read_holds, texts_in
from slowwave.retention.plan import REMOVED, Archive, Context, is_of_machine, note, note_failure, refuse
from slowwave.retention.policy import Verdict
from slowwave.settings import Settings
from slowwave.stores.archive.pack import PackedSession, Wanted
from slowwave.stores.archive.shelf import Shelved, with_rows
from slowwave.stores.trash import (
    MANIFEST,
    Removal,
    TrashItem,
    finish_freeing,
    free,
    is_whole,
    plan_removal,
    remove,
    restore,
    stored_session,
    trash_folder,
    trash_items,
)

if TYPE_CHECKING:
    from slowwave.stores.roots import Writers

# a pack is read and compared before anything in it goes: larger ones would only make more wait for it
_PACK_SESSIONS = 200
_PACK_BYTES = 256 << 20
# where one pack cannot be written no other one can
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


class Ready(NamedTuple):
    """A session that may go: its verdict, and how it goes."""

    verdict: Verdict
    member: Member
    removal: Removal


class Remover:
    """Removes the sessions of one plan."""

    def __init__(self, run: Context) -> None:
        self._run = run
        self._begun = False

    def remove(self, goes: Sequence[Verdict]) -> None:
        """Remove sessions, pack by pack; what goes wrong costs no other session anything.

        Raises CorruptStateError: the audit log or the holds are damaged; nothing more is removed; OSError: the audit
        log cannot be written; as above.
        """
        folders: set[Path] = set()
        for verdicts in _packs(goes):
            ready = [one for verdict in verdicts if (one := self._ready(verdict)) is not None]
            for one in self._archived(ready) if self._run.rules.require_archive else ready:
                if self._begun and self._run.rules.pause:
                    time.sleep(self._run.rules.pause.total_seconds())
                self._begun = True
                self._throw_away(one)
            folders |= {path.parent for one in ready for path in one.member.session.files.paths}
        for folder in sorted(folders):
            if folder.is_dir():
                remove_leftovers(folder)  # of a killed run, when it was about to lock a session

    def _ready(self, verdict: Verdict) -> Ready | None:
        member = self._run.fleet.members[verdict.subject.id]
        try:
            removal = plan_removal(as_found(member.session), self._run.environ, self._run.clock)
        except Exception as error:  # noqa: BLE001 - counted, told, and no other session's matter
            self._refuse(verdict, error)
            return None
        return Ready(verdict, member, removal)

    def _archived(self, ready: Sequence[Ready]) -> list[Ready]:
        """Return those of which there is a verified copy, old or new."""
        new: list[Ready] = []
        safe: set[str] = set()
        for one in ready:
            try:
                if self._run.archive.find(one.member.session.id, one.removal) is None:
                    new.append(one)
                else:
                    safe.add(one.verdict.subject.id)
            except Exception as error:  # noqa: BLE001 - as above
                self._refuse(one.verdict, error)
        safe |= self._packed(new)
        return [one for one in ready if one.verdict.subject.id in safe]

    def _packed(self, new: Sequence[Ready]) -> set[str]:
        """Pack sessions, one by one where that goes wrong together, and return the keys of those that lie in a pack."""
        if not new:
            return set()
        try:
            added = self._run.archive.add(self._run.report.run_id, [self._wanted(one) for one in new])
        except Exception as error:  # noqa: BLE001 - as above
            if len(new) > 1 and getattr(error, "errno", None) not in _NO_ROOM:
                return {key for one in new for key in self._packed([one])}
            guard = "" if isinstance(error, MovedError) else "only copy: it could not be archived: "
            for one in new:
                self._refuse(one.verdict, error, guard)
            return set()
        rules = {one.member.session.id: one.verdict.rule for one in new}
        lines = [of_shelved(one, self._run.report.run_id, rules[one.session.id]) for one in added]
        self._run.log.append(lines, self._run.now)
        self._run.report.count("archived", len(added))
        return {one.verdict.subject.id for one in new}

    def _wanted(self, one: Ready) -> Wanted:
        session, project, subject = one.member.session, one.member.project, one.verdict.subject
        at = self._run.now.isoformat()
        packed = PackedSession(
            session.id, session.dialect, project.key, project.root, at, subject.at, (), notes=one.removal.notes
        )
        return Wanted(with_rows(packed, one.removal.paths, self._run.rows), one.removal.paths)

    def _throw_away(self, one: Ready) -> None:
        """Move a session into the trash unless something has changed since the plan."""
        self._run.guards.holds = read_holds(self._run.environ)
        try:
            if guard := self._run.guards.at_hand(one.member):
                refuse(self._run, one.verdict, guard)
                return
            item = self._removed(one)
        except Exception as error:  # noqa: BLE001 - as above
            put_back(self._run.trash, one.member.session.id, self._run.report)
            self._refuse(one.verdict, error)
            return
        self._tell_removed(one, item)

    def _removed(self, one: Ready) -> TrashItem:
        item = remove(one.removal, self._run.trash, self._run.clock, reason=f"{BY_RUN}{one.verdict.rule}")
        if self._run.rules.require_archive and not self._run.archive.has_files(item):
            restore(item, self._run.trash)
            raise MovedError("somebody wrote to what goes with it after it was archived; it was put back")
        return item

    def _tell_removed(self, one: Ready, item: TrashItem) -> None:
        report = self._run.report
        self._run.log.append([of_item("trash", item, report.run_id)], self._run.now)
        size = sum(file.size for file in item.files)
        report.count("removed")
        report.count("removed_bytes", size)
        reason = f"retention.{one.verdict.rule} says that it goes"
        note(self._run, one.verdict, REMOVED, reason, size=size)

    def _refuse(self, verdict: Verdict, error: Exception, guard: str = "") -> None:
        """Keep a session that could not be removed."""
        if not guard:
            guard = "changed: " if isinstance(error, MovedError | FileNotFoundError) else "refused: "
        refuse(self._run, verdict, f"{guard}{told(error, 'the file')}")
        member = self._run.fleet.members[verdict.subject.id]
        note_failure(self._run.report, f"{member.project.key}: session {member.session.id}", error)


def _packs(goes: Sequence[Verdict]) -> Iterator[list[Verdict]]:
    pack: list[Verdict] = []
    size = 0
    for verdict in goes:
        pack.append(verdict)
        size += verdict.subject.size
        if len(pack) >= _PACK_SESSIONS or size >= _PACK_BYTES:
            yield pack
            pack, size = [], 0
    if pack:
        yield pack


def as_found(session: StoredSession) -> FoundSession:
    """Return a session as a walk finds it now. Raises MovedError: it is not what it was when it was planned."""
    files: list[FoundFile] = []
    for path in session.files.paths:
        at = path.lstat()
        if stat.S_ISLNK(at.st_mode):
            at = path.stat()
        files.append(FoundFile(path.name, at.st_size, at.st_mtime_ns, at.st_dev, at.st_ino))
    found = FoundSession(
        os.path.dirname(session.files.paths[0]),  # noqa: PTH120 - a name of any bytes
        session.id,
        files,
        session.kind == "subagent",
        dialect=session.dialect,
        kind=session.kind,
    )
    if (found.size, found.mtime_ns) != (session.size, session.mtime_ns):
        raise MovedError("it changed since the plan was made")
    return found


# Freeing what has lain in the trash for longer than its grace period, unless it must stay now.


class Freer:
    """Frees items of the trash."""

    def __init__(self, run: Context) -> None:
        self._run = run

    def free(self, said: Told) -> None:
        """Free what an earlier run found in the trash and whose grace period is over.

        Raises CorruptStateError: a manifest of the trash is damaged.
        """
        begun = False
        pause = self._run.rules.pause
        for item in trash_items(self._run.trash):
            by = said.run_of("trash", item.id, item.session)
            if by is None or by == self._run.report.run_id or not self._is_due(item) or not self._is_chosen(item):
                continue
            if begun and pause and not self._run.dry_run:
                time.sleep(pause.total_seconds())
            begun = True
            try:
                self._one(item, said)
            except Exception as error:  # noqa: BLE001 - counted, told, and no other item's matter
                if not is_of_machine(error):
                    self._refuse(item, f"unreadable: {told(error, 'the file')}")
                note_failure(self._run.report, f"trash: session {item.session}", error, self._run.trash)

    def _is_due(self, item: TrashItem) -> bool:
        return datetime.fromisoformat(item.at).timestamp() < self._run.rules.grace.start(self._run.now)

    def _is_chosen(self, item: TrashItem) -> bool:
        """Say whether an item is of a project in which something may go; only the archive knows that for sure."""
        known = self._run.archive.about(item.session)
        return self._run.may_touch(known.project if known else "")

    def _one(self, item: TrashItem, said: Told) -> None:
        if guard := self._guard(item):
            self._refuse(item, guard)
            return
        size = sum(file.size for file in item.files)
        report, dry_run = self._run.report, self._run.dry_run
        if not dry_run:
            # the log comes first: what a killed process freed in part is finished by the next run without a second line
            if said.run_of("free", item.id, item.session) is None:
                self._run.log.append([of_item("free", item, report.run_id)], self._run.now)
            free(item, self._run.trash)
        report.count("would_free" if dry_run else "freed")
        report.count("would_reclaim_bytes" if dry_run else "reclaimed_bytes", size)
        self._note(item, "free" if dry_run else "freed", "retention.grace is over")

    def _guard(self, item: TrashItem) -> str:
        # somebody may have set one while others were freed
        self._run.guards.holds = read_holds(self._run.environ)
        facts = facts_of_item(item, self._run.trash, self._run.archive.about(item.session))
        if held := held_by(self._run.guards.holds, facts):
            return f"held: {held}"
        by_run = item.reason.startswith(BY_RUN)
        cited = self._run.guards.cited_among(file.path for file in item.files)
        if not (cited or (by_run and self._run.rules.require_archive)) or self._run.archive.holds_item(
            item, self._run.trash
        ):
            return ""
        if by_run and self._run.rules.require_archive:
            return "only copy: the archive no longer holds it"
        return f"cited: memory {cited} rests on it, and no archive holds it"

    def _refuse(self, item: TrashItem, guard: str) -> None:
        name, _, why = guard.partition(": ")
        self._run.report.count("refused")
        self._run.report.count(f"refused_{name.replace(' ', '_')}")
        self._note(item, "refused", f"{name}: {why} (retention.grace is over)", name)

    def _note(self, item: TrashItem, action: str, reason: str, guard: str = "") -> None:
        known = self._run.archive.about(item.session)
        size = sum(file.size for file in item.files)
        project = known.project if known else ""
        self._run.report.items.append(
            RetainItem(item.session, action, reason, project, rule="grace", guard=guard, bytes=size)
        )


# Before a run begins: what a killed one left is taken back or finished, and written down.


def settle(trash: Path, archive: Archive, log: AuditLog, at: datetime, report: Report) -> Told:
    """Settle what is half done, and return what the log tells afterwards.

    A removal that did not come to its end is taken back, and this run decides about the session again. Freeing goes on
    to its end. What was archived or thrown away without a line in the log gets its line. Raises CorruptStateError: the
    log or a manifest of the trash is damaged; OSError: the trash or the log cannot be written.
    """
    finish_freeing(trash)
    said = Told(log)
    whole: list[TrashItem] = []
    for item in trash_items(trash):
        if said.run_of("trash", item.id, item.session) is not None:
            whole.append(item)
        elif is_whole(item, trash):
            whole.append(item)
            _let_go(item)
        elif item.reason.startswith(BY_RUN):
            _take_back(item, trash, report)
    said.complete(archive.all(), whole, report.run_id, at)
    return said


def put_back(trash: Path, session: str, report: Report) -> None:
    """Take back what a removal that failed moved already."""
    for item in _halves(trash, session):
        _take_back(item, trash, report)


def _halves(trash: Path, session: str) -> Sequence[TrashItem]:
    items = [item for item in trash_items(trash) if item.session == session and item.reason.startswith(BY_RUN)]
    return [item for item in items if not is_whole(item, trash)]


def _let_go(item: TrashItem) -> None:
    """Remove the locks that a killed process left beside what it had moved: its client may never look there."""
    places = [(Path(file.path), TRANSCRIPT_LOCK) for file in item.files]
    places += [(Path(note.path), STORE_LOCK) for note in item.notes]
    for path, rules in places:
        if lock_path(path).exists():
            # taking over the lock of a process that is gone, and giving it back, removes it
            with suppress(LockHeldError), held_lock(path, rules, timeout_s=0):
                pass


def _take_back(item: TrashItem, trash: Path, report: Report) -> None:
    try:
        report.warnings += restore(item, trash)
    except SlowwaveError as error:
        report.warnings.append(f"session {item.session} was removed only in part: {error}")
    except OSError as error:
        report.failures.append(f"trash: session {item.session} was removed only in part: {told(error, trash)}")
    else:
        report.count("taken_back")


def refuse_held(plans: Sequence[Removal], settings: Settings, environ: Mapping[str, str]) -> None:
    """Refuse a removal when something in it is held.

    Raises RefusedError: it is; the message says by which hold; CorruptStateError: the holds do not parse; nothing
    counts as not held; UnreadableError: a session cannot be read, so nobody knows whether somebody is in it.
    """
    holds = read_holds(environ)
    if not holds:
        return
    from slowwave.retention.holds import Fleet, key_of  # noqa: PLC0415 - as above
    from slowwave.stores.discovery import known_projects  # noqa: PLC0415 - as above

    fleet = Fleet(known_projects(settings, environ).projects)
    members = {key_of(one): member for member in fleet.members.values() for one in member.sessions}
    for plan in plans:
        stored = stored_session(plan.session, plan.dialect)
        member = members.get(key_of(stored))
        # what lies outside of every store has no project that is known, so a hold of a project holds it, too
        alone = Facts({stored.id}, None, lambda: None, lambda stored=stored: texts_in(stored.files.paths))
        if held := held_by(holds, alone if member is None else facts_of(member, home_folder(environ))):
            raise RefusedError(f"session {stored.id} is held: {held}; slowwave retain release takes a hold back")


def remove_by_hand(plan: Removal, environ: Mapping[str, str], clock: Clock) -> TrashItem:
    """Move a session into the trash and write it down.

    Raises MovedError, RefusedError, LockHeldError: as :func:`slowwave.stores.trash.remove`; CorruptStateError: the
    audit log is damaged; the session is in the trash; OSError: the audit log cannot be written; the next run of the job
    writes the line.
    """
    item = remove(plan, trash_folder(environ), clock)
    AuditLog(environ).append([of_item("trash", item, "")], clock.now())
    return item


def bring_back(one: "TrashItem | Shelved", environ: Mapping[str, str], clock: Clock) -> list[str]:
    """Put a session back from the trash or the archive, write it down, and return what is worth a word.

    Retention is held off meanwhile: it would free what is on its way, and take what is back for what it was before.
    Raises LockHeldError: a run of retention was at work for too long; NotFoundError: it was freed from the trash since
    it was looked for; RefusedError: something else lies in one of the places; nothing was written; CorruptStateError:
    the pack or the audit log is damaged; OSError: something cannot be written; call it again.
    """
    with retaining(environ, wait_s=WAIT_S):
        if isinstance(one, TrashItem):
            if not (trash_folder(environ) / one.id / MANIFEST).is_file():
                raise NotFoundError(
                    f"session {one.session} left the trash meanwhile (slowwave retain audit says how); "
                    f"slowwave sessions restore {one.session} looks for it in the archive"
                )
            warnings = restore(one, trash_folder(environ))
            entry = of_item("restore", one, "")
        else:
            from slowwave.stores.archive.shelf import Shelf  # noqa: PLC0415 - few sessions are archived

            warnings = Shelf(archive_folder(environ)).restore(one)
            files, session = one.session.files, one.session
            entry = Entry(
                action="restore", session=session.id, dialect=session.dialect, files=len(files), size=session.size,
                item=Path(one.pack).name,
            )  # fmt: skip
        AuditLog(environ).append([entry], clock.now())
    return warnings


def bring_back_as(
    one: "TrashItem | Shelved", new_id: str, writers: "Writers", environ: Mapping[str, str], clock: Clock
) -> list[Path]:
    """Write the transcript of a session that was put by under a new id into its old folder, and return its files.

    What lies in its place stays, and so does the copy, with what belongs to the session beside its transcript. Raises
    LockHeldError: a run of retention was at work for too long; UsageError: its client's sessions cannot be copied, or
    the id is malformed or taken; nothing was written; CorruptStateError: the pack or the audit log is damaged; OSError:
    it left the trash meanwhile, or something cannot be written.
    """
    from slowwave.stores.archive import laid_out_copy  # noqa: PLC0415 - few sessions come back so

    with retaining(environ, wait_s=WAIT_S), laid_out_copy(one, environ) as (found, base):
        writer, target = writers.known(found)
        # a copy is a reference to the bytes of that file, which is not in its place here
        if client_of(writer.dialect).refers == "id":
            raise UsageError(
                f"{target.id}: a fork of {writer.dialect} refers to its parent, which is not in its place; move away"
                " what is there, then restore it without --as"
            )
        folder = Path(os.fspath(writer.folder(target)).removeprefix(base))
        # a copy says where the file lies that it was made from
        if client_of(writer.dialect).refers == "file":
            target = target._replace(path=Path(os.fspath(target.path).removeprefix(base)))
        paths = writer.fork(target, folder, new_id)
        item = one.id if isinstance(one, TrashItem) else Path(one.pack).name
        size = sum(path.stat().st_size for path in paths)
        entry = Entry(
            action="restore", session=new_id, dialect=writer.dialect, files=len(paths), size=size, item=item
        )  # fmt: skip
        AuditLog(environ).append([entry], clock.now())
    return paths
