"""What every step of one run of retention shares: guards, the verified copies, and how failures are told."""

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from math import inf
from pathlib import Path

from slowwave.context import Run
from slowwave.errors import SlowwaveError, UnreadableError, told
from slowwave.extraction.job import Pending
from slowwave.files import hash_of, walked
from slowwave.formats.client import Belongings
from slowwave.formats.registry import client_of
from slowwave.memory.book import read_book
from slowwave.memory.model import name_from_json
from slowwave.report import Report
from slowwave.retention.audit import AuditLog
from slowwave.retention.holds import Hold, facts_of, held_by
from slowwave.retention.sessions import Fleet, Member, owner_of, paths_of
from slowwave.secrets.redactor import logger_of
from slowwave.settings import RetentionSettings
from slowwave.settings.model import Subject
from slowwave.stores.archive.pack import SUFFIX, Pack, PackedFile, PackedSession, Wanted, digest, write_pack
from slowwave.stores.archive.shelf import RowsByPath, Shelf, Shelved
from slowwave.stores.catalogue import own_catalogue
from slowwave.stores.discovery import list_sessions, live_reason
from slowwave.stores.trash import Removal, TrashItem, trash_folder

# What must stay whatever the rules say: asked about every session that would go, and again right before it does.


class Guards:
    """The guards of one run; what they read of memories is read once."""

    def __init__(
        self,
        fleet: Fleet,
        run: Run,
        holds: Sequence[Hold],
        restored: Mapping[str, float],
    ) -> None:
        self.holds = holds
        self._restored = restored
        self._fleet = fleet
        self._run = run
        self._pending: dict[Path, Pending] = {}

    def __call__(self, subject: Subject) -> str:
        """Return which guard keeps a session, and why: ``live: changed 0:03:00 ago``; "" when none does.

        What cannot be found out keeps it, too.
        """
        member = self._fleet.members[subject.id]
        try:
            return self.standing(member) or self.at_hand(member)
        except (SlowwaveError, OSError) as error:
            return f"unreadable: {told(error, subject.id)}"

    def at_hand(self, member: Member) -> str:
        """Return what may change between plan and removal: somebody opens the session, or sets a hold."""
        idle = self._run.settings.extraction.idle
        for session in member.sessions:
            if live := live_reason(session, self._run.clock.now(), idle, self._run.home):
                return f"live: {live}"
        held = held_by(self.holds, facts_of(member, self._run.home))
        return f"held: {held}" if held else ""

    def standing(self, member: Member) -> str:
        """Return what holds for the whole run."""
        session = member.session
        if session.in_database or client_of(session.dialect).read_only:
            return "database: only its client writes there; remove it in its client"
        # of a sub-agent that its session left behind the session was brought back
        names = (session.id, owner_of(session)) if session.kind == "subagent" else (session.id,)
        restored = max(self._restored.get(name, -inf) for name in names)
        if restored >= self._run.settings.retention.grace.start(self._run.clock.now()):
            return "restored: somebody brought it back within retention.grace"
        if forks := self._fleet.referring_to(session):
            more = f" and {len(forks) - 1} more" if len(forks) > 1 else ""
            return f"referred to: {forks[0].id}{more} came from it, and goes before it"
        # of the others the fleet knows it without opening a file
        if need := client_of(session.dialect).need(session):
            return f"needed: {need}"
        return self._unsaved(member)

    def _unsaved(self, member: Member) -> str:
        if self._run.settings.retention.require_extracted and (left := self._left(member)):
            return f"not extracted: {left}"
        paths = (os.fspath(path) for path in paths_of(member))
        if not self._run.settings.retention.require_archive and (memory := self.cited_among(paths)):
            return f"cited: memory {memory} rests on it, and no archive is kept"
        return ""

    def cited_among(self, paths: Iterable[str]) -> str:
        """Return the id of a memory that rests on one of the files, or ""."""
        return next((memory for path in paths if (memory := self._cited.get(path))), "")

    def _left(self, member: Member) -> str:
        memory = member.project.memory
        if memory not in self._pending:
            self._pending[memory] = Pending(memory)
        return next((left for session in member.sessions if (left := self._pending[memory].left(session))), "")

    @cached_property
    def _cited(self) -> dict[str, str]:
        folders = {member.project.memory for member in self._fleet.members.values()}
        books = (read_book(folder) for folder in sorted(folders) if folder.is_dir())
        memories = (memory for book in books for memory in book.memories.values())
        return {name_from_json(e.path): memory.id for memory in memories for e in memory.evidence}


class Archive:
    """The shelf as a run sees it: what it held when the run began, and what the run added."""

    def __init__(self, shelf: Shelf) -> None:
        """Read which sessions it holds."""
        self._folder = shelf.folder
        self._held: dict[str, list[Shelved]] = defaultdict(list)
        for one in shelf.sessions():
            self._held[one.session.id].append(one)
        # packs that cannot be read: nothing in them counts as archived
        self.problems = list(shelf.problems)

    def all(self) -> Iterator[Shelved]:
        """Yield every session with its pack."""
        for found in self._held.values():
            yield from found

    def find(self, session: str, removal: Removal | Belongings) -> Path | None:
        """Return the pack that holds exactly what would go as it is now, read back and compared; else None."""
        every = (entry for path in removal.paths for entry in walked(path))
        now = {os.fspath(path): _entry(at) for path, at in every}
        for path, packed in reversed(self._held.get(session, [])):
            then = {file.path: (file.kind, file.mode, file.mtime_ns, file.size) for file in packed.files}
            if (
                then == now
                and packed.notes == removal.notes
                and _reads_back(path, packed, lambda file: Path(file.path))
            ):
                return path
        return None

    def holds_item(self, item: TrashItem, trash: Path) -> bool:
        """Say whether all files of an item of the trash are in some pack, read back and compared with the item's."""
        stored = {file.path: trash / item.id / file.stored for file in item.files}
        return any(
            _reads_back(path, packed, lambda file: stored[file.path])
            for path, packed in reversed(self._held.get(item.session, []))
            if _described(packed) == _described(item)
        )

    def has_files(self, item: TrashItem) -> bool:
        """Say whether some pack holds what an item of the trash holds, by names, sizes and times."""
        return any(_described(packed) == _described(item) for _, packed in self._held.get(item.session, []))

    def about(self, session: str) -> PackedSession | None:
        """Return what is known of a session that was archived, or None."""
        held = self._held.get(session)
        return held[-1].session if held else None

    def add(self, name: str, wanted: Sequence[Wanted]) -> list[Shelved]:
        """Pack sessions, read the pack back, and return them with it.

        Raises:
            MovedError: a file changed while it was read; there is no pack.
            SlowwaveError: what was read back is not what was packed, or something cannot be packed.
            OSError: a file cannot be read, or the disk is full; there is no pack.
        """
        number = 1
        while (path := self._folder / f"{name}-{number:03d}{SUFFIX}").exists():
            number += 1
        added = [Shelved(path, session) for session in write_pack(path, wanted).sessions]
        for one in added:
            self._held[one.session.id].append(one)
        return added


@dataclass(frozen=True, kw_only=True)
class Context(Run):
    """A run of retention, and what all of its steps share."""

    fleet: Fleet  # all sessions of this machine
    guards: Guards  # what must stay
    archive: Archive  # the packs
    report: Report  # gets what was done and refused
    chosen: Collection[str] | None = None  # keys of the projects in which something may go; None for all

    @property
    def rules(self) -> RetentionSettings:
        """The settings of retention."""
        return self.settings.retention

    @property
    def now(self) -> datetime:
        """The current time."""
        return self.clock.now()

    @cached_property
    def log(self) -> AuditLog:
        """The audit log."""
        return AuditLog(self.environ)

    @cached_property
    def trash(self) -> Path:
        """The folder of the trash."""
        return trash_folder(self.environ)

    @cached_property
    def rows(self) -> RowsByPath:
        """The rows of all that lies in its place, before anything moves; made once something is packed."""
        with own_catalogue(self.settings, self.environ) as catalogue:
            return RowsByPath(list_sessions(self.settings, self.environ, catalogue, archived=False).rows)

    def may_touch(self, project: str) -> bool:
        """Say whether something of a project may go."""
        return self.chosen is None or project in self.chosen


# The verified copy that is made of whatever goes: found where an earlier run made it, else written into a pack.


def _described(one: PackedSession | TrashItem) -> set[tuple[str, str, int, int]]:
    return {(file.path, file.kind, file.size, file.mtime_ns) for file in one.files}


def _entry(at: os.stat_result) -> tuple[str, int, int, int]:
    """Return what a pack notes of something beside its name."""
    is_folder, is_link = stat.S_ISDIR(at.st_mode), stat.S_ISLNK(at.st_mode)
    kind = "folder" if is_folder else "link" if is_link else "file"
    return kind, stat.S_IMODE(at.st_mode), at.st_mtime_ns, at.st_size if kind == "file" else 0


def _reads_back(path: Path, packed: PackedSession, place: Callable[[PackedFile], Path]) -> bool:
    """Say whether a pack gives back what it once took, and that is what lies in some place."""
    try:
        with Pack(path) as pack:
            pack.check(packed)
    except UnreadableError:
        return False
    return all(hash_of(place(file), digest) == file.hash for file in packed.files if file.kind == "file")


# What went wrong with one session: what the machine refused, or nobody expected, is a failure of the run, too.

_log = logger_of(__name__)


def is_of_machine(error: BaseException) -> bool:
    """Say whether the machine refused something: a full disk, a missing permission; not that something is gone."""
    error = error.__cause__ if isinstance(error, SlowwaveError) and error.__cause__ is not None else error
    return isinstance(error, OSError) and not isinstance(error, FileNotFoundError)


def note_failure(report: Report, where: str, error: Exception, place: Path | str = "the file") -> None:
    """Put a failure into the report unless it is a refusal with a reason, which the report has as such.

    The traceback of what nobody expected goes to the log.
    """
    is_expected = isinstance(error, SlowwaveError | OSError)
    if not is_expected:
        report.count("unexpected")
        _log.error("%s broke", where, exc_info=error)
    if not is_expected or is_of_machine(error):
        report.failures.append(f"{where}: {told(error, place)}")
