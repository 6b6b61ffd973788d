"""Carrying out a plan: archive, then throw away, then write it down; each session alone, and nothing half."""

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from slowwave.clock import Clock
from slowwave.errors import MovedError, RefusedError, SlowwaveError, told
from slowwave.report import Report
from slowwave.retention.audit import AuditLog
from slowwave.retention.beside import remove_leftovers
from slowwave.retention.guards import Guards
from slowwave.retention.holds import read_holds
from slowwave.retention.job.fleet import Fleet, Member
from slowwave.retention.job.packing import Archive
from slowwave.retention.job.plan import REMOVED, note, refuse
from slowwave.retention.job.settling import put_back
from slowwave.retention.job.traces import BY_RUN, of_item, of_shelved
from slowwave.retention.policy import Verdict
from slowwave.settings import Settings
from slowwave.stores.archive.model import PackedSession
from slowwave.stores.archive.rows import RowsByPath, with_rows
from slowwave.stores.archive.writing import Wanted
from slowwave.stores.model import StoredSession
from slowwave.stores.removal import Removal, plan_removal, remove
from slowwave.stores.trash import TrashItem, restore
from slowwave.stores.walk import FoundFile, FoundSession

# a pack is read and compared before anything in it goes: larger ones would only make more wait for it
_PACK_SESSIONS = 200
_PACK_BYTES = 256 << 20


class Ready(NamedTuple):
    """A session that may go: its verdict, and how it goes."""

    verdict: Verdict
    member: Member
    removal: Removal


class Remover:
    """Removes the sessions of one plan."""

    def __init__(
        self,
        fleet: Fleet,
        guards: Guards,
        archive: Archive,
        settings: Settings,
        clock: Clock,
        environ: Mapping[str, str],
        report: Report,
        *,
        trash: Path,
        rows: RowsByPath,
        rest: Callable[[float], None],
    ) -> None:
        self._fleet = fleet
        self._guards = guards
        self._archive = archive
        self._settings = settings
        self._clock = clock
        self._environ = environ
        self._report = report
        self._trash = trash
        self._rows = rows
        self._rest = rest
        self._log = AuditLog(environ)
        self._begun = False

    def remove(self, goes: Sequence[Verdict]) -> None:
        """Remove sessions, pack by pack; what goes wrong costs no other session anything.

        Raises:
            CorruptStateError: the audit log or the holds are damaged; nothing more is removed.
        """
        folders: set[Path] = set()
        for verdicts in _packs(goes):
            ready = [one for verdict in verdicts if (one := self._ready(verdict)) is not None]
            for one in self._archived(ready) if self._settings.retention.require_archive else ready:
                if self._begun and self._settings.retention.pause:
                    self._rest(self._settings.retention.pause.total_seconds())
                self._begun = True
                self._throw_away(one)
            folders |= {path.parent for one in ready for path in one.member.session.files.paths}
        for folder in sorted(folders):
            if folder.is_dir():
                remove_leftovers(folder)  # of a killed run, when it was about to lock a session

    def _ready(self, verdict: Verdict) -> Ready | None:
        member = self._fleet.members[verdict.subject.id]
        try:
            removal = plan_removal(as_found(member.session), self._environ, self._clock)
        except (SlowwaveError, OSError) as error:
            self._refuse(verdict, error)
            return None
        return Ready(verdict, member, removal)

    def _archived(self, ready: Sequence[Ready]) -> list[Ready]:
        """Return those of which there is a verified copy, old or new."""
        new: list[Ready] = []
        safe: set[str] = set()
        for one in ready:
            try:
                if self._archive.find(one.member.session.id, one.removal) is None:
                    new.append(one)
                else:
                    safe.add(one.verdict.subject.id)
            except OSError as error:
                self._refuse(one.verdict, error)
        try:
            safe |= self._pack(new)
        except (MovedError, RefusedError):
            # one that somebody writes to must not keep the others
            for one in new:
                try:
                    safe |= self._pack([one])
                except (SlowwaveError, OSError) as error:
                    self._refuse(one.verdict, error)
        except (SlowwaveError, OSError) as error:
            for one in new:
                self._refuse(one.verdict, error, "only copy: it could not be archived: ")
            self._report.failures.append(f"archive: {_told(error)}")
        return [one for one in ready if one.verdict.subject.id in safe]

    def _pack(self, new: Sequence[Ready]) -> set[str]:
        if not new:
            return set()
        added = self._archive.add(self._report.run_id, [self._wanted(one) for one in new])
        rules = {one.member.session.id: one.verdict.rule for one in new}
        lines = [of_shelved(one, self._report.run_id, rules[one.session.id]) for one in added]
        self._log.append(lines, self._clock.now())
        self._report.count("archived", len(added))
        return {one.verdict.subject.id for one in new}

    def _wanted(self, one: Ready) -> Wanted:
        session, project, subject = one.member.session, one.member.project, one.verdict.subject
        at = self._clock.now().isoformat()
        packed = PackedSession(
            session.id, session.dialect, project.key, project.root, at, subject.at, (), notes=one.removal.notes
        )
        return Wanted(with_rows(packed, one.removal.paths, self._rows), one.removal.paths)

    def _throw_away(self, one: Ready) -> None:
        """Move a session into the trash unless something has changed since the plan."""
        self._guards.holds = read_holds(self._environ)
        try:
            if guard := self._guards.at_hand(one.member):
                refuse(self._report, one.verdict, guard, self._fleet)
                return
            item = remove(one.removal, self._trash, self._clock, reason=f"{BY_RUN}{one.verdict.rule}")
            if self._settings.retention.require_archive and not self._archive.has_files(item):
                restore(item, self._trash)
                raise MovedError("somebody wrote to what goes with it after it was archived; it was put back")
        except (SlowwaveError, OSError) as error:
            put_back(self._trash, one.member.session.id, self._report)
            self._refuse(one.verdict, error)
            return
        self._note(one, item)

    def _note(self, one: Ready, item: TrashItem) -> None:
        self._log.append([of_item("trash", item, self._report.run_id)], self._clock.now())
        size = sum(file.size for file in item.files)
        self._report.count("removed")
        self._report.count("removed_bytes", size)
        note(
            self._report,
            one.verdict,
            REMOVED,
            f"retention.{one.verdict.rule} says that it goes",
            self._fleet,
            size=size,
        )

    def _refuse(self, verdict: Verdict, error: Exception, guard: str = "") -> None:
        """Keep a session that could not be removed; what the machine refused is a failure of the run, too."""
        if not guard:
            guard = "changed: " if isinstance(error, (MovedError, FileNotFoundError)) else "refused: "
        refuse(self._report, verdict, f"{guard}{_told(error)}", self._fleet)
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            member = self._fleet.members[verdict.subject.id]
            self._report.failures.append(f"{member.project.key}: session {member.session.id}: {_told(error)}")


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
    """Return a session as a walk finds it now.

    Raises:
        MovedError: it is not what it was when it was planned.
    """
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


def _told(error: Exception) -> str:
    return told(error, "the file") if isinstance(error, OSError) else str(error)
