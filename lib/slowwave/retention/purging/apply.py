"""Carrying out a purge: a copy into the archive, the same context before and after, new places for what rests on it.

Gate: ``retention.purge``. Takes out of sessions at rest what their client never shows again, session by session and
under every guard of retention. A second run finds nothing. A killed one is finished by the next: what a file was to
become is noted before it changes, and every file has its old or its new bytes.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from slowwave.clock import Clock
from slowwave.dialects.cersei.dialect import Cersei, Mode
from slowwave.dialects.model import SessionFiles
from slowwave.dialects.normal import normal_form
from slowwave.errors import CorruptStateError, RefusedError, SlowwaveError, UnreadableError, told
from slowwave.files import atomic_write
from slowwave.places import home_folder, state_folder
from slowwave.records.rewrite import rewrite_without
from slowwave.report import Item, Report
from slowwave.retention.audit import AuditLog, Entry
from slowwave.retention.erasure import recorded_in
from slowwave.retention.guards import Guards
from slowwave.retention.job.fleet import Fleet, Member
from slowwave.retention.job.packing import Archive
from slowwave.retention.job.rescue import wanted_of
from slowwave.retention.job.traces import of_shelved
from slowwave.retention.purging.moves import FOLDER, moves_of, noted_moves, renew, write_moves
from slowwave.retention.purging.plan import PartPlan, PurgePlan, plan_purge
from slowwave.settings import Settings
from slowwave.stores.archive.rows import RowsByPath
from slowwave.stores.belongings import belongings_of
from slowwave.stores.model import StoredSession

RULE = "purge"
# whose records can be hidden for good
_DIALECT = "cersei"
_MARK = b"tombstone"
_BLOCK = 1 << 20
_MODES: tuple[Mode, ...] = ("seed", "code")


class Purger:
    """The purge of one run."""

    def __init__(
        self,
        fleet: Fleet,
        guards: Guards,
        archive: Archive,
        settings: Settings,
        clock: Clock,
        environ: Mapping[str, str],
        report: Report,
        rows: Callable[[], RowsByPath],
    ) -> None:
        """Take what the run has; ``rows`` is asked once something is archived."""
        self._fleet = fleet
        self._guards = guards
        self._archive = archive
        self._settings = settings
        self._clock = clock
        self._home = home_folder(environ)
        self._folder = state_folder(environ) / FOLDER
        self._report = report
        self._rows = rows
        self._log = AuditLog(environ)
        self._memories = sorted({member.project.memory for member in fleet.members.values()})

    def purge(self, chosen: Iterable[str] | None = None, *, dry_run: bool) -> None:
        """Purge every session in which something is hidden; one that is refused keeps no other one.

        Raises:
            CorruptStateError: the audit log or a file of a memory folder is damaged.
            LockHeldError: another process kept a memory folder locked for too long.
        """
        if not dry_run:
            self._finish()
        keys = None if chosen is None else set(chosen)
        subjects = {subject.id: subject for subject in self._fleet.subjects()}
        for key, member in self._fleet.members.items():
            if keys is not None and member.project.key not in keys:
                continue
            for session in member.sessions:
                if session.dialect == _DIALECT and _may_hide(session):
                    self._one(member, session, lambda key=key: self._guards(subjects[key]), dry_run=dry_run)

    def _one(self, member: Member, session: StoredSession, guard: Callable[[], str], *, dry_run: bool) -> None:
        try:
            plan = plan_purge(session.files)
            if plan is None:
                return
            if reason := plan.refused or guard():
                self._refuse(member, session, reason)
            elif dry_run:
                self._note(member, session, plan, "purge", "would_purge")
            else:
                self._apply(member, session, plan)
        except (SlowwaveError, OSError) as error:
            if isinstance(error, CorruptStateError):
                raise
            reason = told(error, session.files.paths[0]) if isinstance(error, OSError) else str(error)
            self._refuse(member, session, f"refused: {reason}")
            if isinstance(error, OSError):
                self._report.failures.append(f"purge: session {session.id}: {reason}")

    def _apply(self, member: Member, session: StoredSession, plan: PurgePlan) -> None:
        if self._settings.retention.require_archive:
            self._archive_first(member)
        left: PurgePlan | None = plan
        while left is not None and left.steps:
            _compare(session.files, left.steps, self._folder / "check")
            for step in left.steps:
                if reason := self._guards.at_hand(member):
                    raise RefusedError(reason)
                self._rewrite(session, step)
            left = plan_purge(session.files)
        entry = Entry(
            action="purge",
            run=self._report.run_id,
            session=session.id,
            dialect=session.dialect,
            rule=RULE,
            files=len(session.files.paths),
            size=plan.size,
        )
        self._log.append([entry], self._clock.now())
        self._note(member, session, plan, "purged", "purged")

    def _archive_first(self, member: Member) -> None:
        if self._archive.find(member.session.id, belongings_of(member.session, self._home)) is None:
            wanted = wanted_of(member, self._rows(), self._clock, self._home)
            added = self._archive.add(f"{self._report.run_id}-{RULE}", [wanted])
            self._log.append([of_shelved(one, self._report.run_id, RULE) for one in added], self._clock.now())

    def _rewrite(self, session: StoredSession, step: PartPlan) -> None:
        old = step.path.read_bytes()
        recorded = {place for memory in self._memories for place in recorded_in(memory).get(step.path, ())}
        moves = moves_of(step, old, session.id, sorted(recorded))
        noted = write_moves(self._folder, moves)
        lines = [(edit.start, len(old[edit.start : edit.stop].rstrip(b"\r\n"))) for edit in step.edits]
        new = [(edit.start, edit.new) for edit in step.edits if edit.new]
        rewrite_without(step.path, lines, new, expect=step.state, keep_mtime=True)
        if sha256(step.path.read_bytes()[: moves.size]).hexdigest() != moves.sha256:
            raise CorruptStateError(step.path, "is not what the purge was to leave", "restore it from the archive")
        if not [path for memory in self._memories for path in renew(memory, moves)]:
            noted.unlink()

    def _finish(self) -> None:
        """Put into the memories what a killed run noted and did carry out."""
        shutil.rmtree(self._folder / "check", ignore_errors=True)
        for noted, moves in noted_moves(self._folder):
            if [path for memory in self._memories for path in renew(memory, moves)]:
                self._report.warnings.append(f"purge: {moves.session}: a memory changed meanwhile; run it again")
            else:
                noted.unlink()

    def _refuse(self, member: Member, session: StoredSession, reason: str) -> None:
        self._report.count("purge_refused")
        self._report.items.append(Item(session.id, "refused", f"purge: {reason}", member.project.key))

    def _note(self, member: Member, session: StoredSession, plan: PurgePlan, action: str, counter: str) -> None:
        self._report.count(counter)
        self._report.count(f"{counter}_records", plan.records)
        self._report.count(f"{counter}_bytes", plan.size)
        reason = f"{plan.records} hidden records, {plan.size} bytes"
        self._report.items.append(Item(session.id, action, reason, member.project.key))


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


def _compare(files: SessionFiles, steps: Sequence[PartPlan], folder: Path) -> None:
    """Make sure that the client sends the same with the new files as with the old ones.

    Raises:
        RefusedError: it would not.
    """
    by_path = {step.path: step.new for step in steps}
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        new: list[Path] = []
        for path in files.paths:
            new.append(folder / path.name)
            atomic_write(new[-1], by_path[path] if path in by_path else path.read_bytes(), mode=0o600)
        for before, after in zip(_contexts(files), _contexts(SessionFiles(files.id, tuple(new))), strict=True):
            if before != after:
                raise RefusedError("context: its client would send something else afterwards")
    finally:
        shutil.rmtree(folder)


def _contexts(files: SessionFiles) -> Iterator[object]:
    for mode in _MODES:
        dialect = Cersei(mode)
        try:
            yield normal_form(dialect.context(dialect.read(files)))
        except UnreadableError as error:
            yield error.reason.partition(":")[0]  # what its loader refuses it refuses in both
