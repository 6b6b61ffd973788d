"""What all steps of one erasure share: what goes, what must stay, and what was done."""

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from slowwave.context import Run
from slowwave.errors import SlowwaveError
from slowwave.files import at_fault_point, file_bytes, hash_of, private_folder, state_folder
from slowwave.formats.changes import append_record, append_records
from slowwave.formats.sessions import StoredSession
from slowwave.formats.writing import Means
from slowwave.memory import name_from_json, name_to_json
from slowwave.report import Item, Report
from slowwave.retention.erase.mask import Place
from slowwave.retention.erase.memory import Gone, what_goes
from slowwave.retention.erase.subjects import What
from slowwave.retention.erase.transcripts import FOLDER, Along, FilePlan, apply_file, records_of, remove_for_good
from slowwave.retention.holds import Facts, Fleet, Member, facts_of, files_below, held_by, key_of, read_holds
from slowwave.stores.discovery import live_reason
from slowwave.stores.projects import Project
from slowwave.stores.trash import TrashItem, belongings_of

# What an erasure writes, noted before it does: the proof of a run that is killed is made by the next one from this.
#
# A run has one file: a line about itself, then of every file that it is about to change the hash before, then the one
# after. What has no second line is compared with what lies there now.


class _File(msgspec.Struct, frozen=True, tag="file"):
    """A file that is about to change, or has changed."""

    path: str
    before: str
    after: str | None = None


class Written:
    """The notes of one run; without a folder none are kept."""

    def __init__(self, folder: Path | None = None, run: str = "", at: str = "", subjects: Sequence[str] = ()) -> None:
        self._path = None if folder is None else folder / f"{run}{SUFFIX}"
        self._first = _Run(run, at, tuple(subjects))
        self.changed: list[Changed] = []

    def begins(self, before: Mapping[Path, str]) -> None:
        """Note files that are about to be written, with their hashes.

        Raises OSError: the state folder cannot be written; nothing may be written then.
        """
        self._add(_File(name_to_json(path), digest) for path, digest in before.items())

    def ended(self, before: Mapping[Path, str]) -> None:
        """Note what became of these files. Raises OSError: as above."""
        done = [Changed(str(path), old, now) for path, old in before.items() if (now := digest_of(path)) != old]
        self.changed += done
        self._add(_File(name_to_json(one.path), one.before, one.after) for one in done)

    def close(self) -> None:
        """Forget the notes: what they say is certified."""
        if self._path is not None:
            at_fault_point("unlink", self._path)
            self._path.unlink(missing_ok=True)

    def _add(self, lines: Iterable[_File]) -> None:
        if self._path is None:
            return
        private_folder(self._path.parent)
        rows = [msgspec.json.encode(row) for row in lines]
        if rows and not self._path.exists():
            append_record(self._path, msgspec.json.encode(self._first), fsync=True)
        if rows:
            append_records(self._path, lambda: rows, fsync=True)


class Names:
    """Counts the names of files below the folders that an erasure deals with, when it is first asked.

    ``folders``: returns these folders.
    """

    def __init__(self, folders: Callable[[], Iterable[Path]]) -> None:
        self._folders = folders
        self._known: dict[_Inode, int] | None = None

    def elsewhere(self, path: Path) -> str:
        """Say why a file must stay: it has names that nothing would erase; "" when it has none, or is none.

        Raises OSError: a folder cannot be read.
        """
        try:
            at = path.stat()
        except FileNotFoundError:
            return ""
        if at.st_nlink < 2 or not path.is_file():  # noqa: PLR2004 - one name and no other
            return ""
        if self._known is None:
            self._known = Counter(_names(self._folders()))
        others = at.st_nlink - max(self._known.get((at.st_dev, at.st_ino), 0), 1)
        if others <= 0:
            return ""
        return (
            f"has {others} other names (hard links) outside of what is searched, which would keep what goes: find them"
            f" with find -inum {at.st_ino}, remove them or make copies of them, and run this again"
        )


@dataclass(slots=True)
class Across:
    """What all erasers of one run share."""

    sessions: set[str] = field(default_factory=set[str])  # ids of the sessions that go as a whole
    # those of them that go as forks and copies of others
    along: Mapping[str, Along] = field(default_factory=dict[str, Along])
    # those of these that lie in the trash or the archive alone, and what they have to do with the others
    put_by: Mapping[str, str] = field(default_factory=dict[str, str])
    # is told of a session, and of the names of its records, before it goes
    forbid: Callable[[str, Iterable[str]], None] = lambda _session, _records: None
    written: Written = field(default_factory=Written)  # what was written, and notes of it for the next run
    seen: set[Path] = field(default_factory=set[Path])  # files that were dealt with
    held: set[str] = field(default_factory=set[str])  # ids of the sessions that something holds
    # of clients, those with sessions in them, and why one is not written, or ""
    databases: dict[Path, str] = field(default_factory=dict[Path, str])
    # counts the names of files where all of them are dealt with
    names: Names = field(default_factory=lambda: Names(tuple))


class Eraser:
    """One run over one project, or over what belongs to no project."""

    def __init__(self, run: Run, what: What, across: Across | None = None) -> None:
        self.settings, self.environ, self.clock = run.settings, run.environ, run.clock
        self.now, self.home, self.dry_run = run.clock.now(), run.home, run.dry_run
        self.journals = state_folder(run.environ) / FOLDER
        self.what = what
        self.across = across or Across()
        self.holds = read_holds(run.environ)
        self.report = Report("erase", run.id)
        # what went as a whole
        self.removed: set[Path] = set()
        self.means = Means(run.clock, run.home)
        # by the key of each session of the project that was asked about last
        self._fleet: tuple[Project, dict[str, Member]] | None = None

    def found(self, project: str, target: str, places: Iterable[Place]) -> None:
        """Note what was found at one place, by family and fingerprint."""
        action, every = "found" if self.dry_run else "replaced", list(places)
        for mark, number in Counter(place.mark for place in every).items():
            self.report.count(action, number)
            reason = mark if number == 1 else f"{mark}, {number} times"
            self.report.items.append(Item(target, action, reason, project))
        if number := sum(place.in_path for place in every):
            self.report.count("in_paths", number)

    def tell(self, project: str, plan: FilePlan) -> None:
        """Note what was found in a file."""
        for line in plan.lines:
            self.found(project, f"{plan.path}:{line.number}", line.places)

    def write(self, plan: FilePlan) -> None:
        """Replace a file as planned, and note its hashes.

        Raises MovedError: it is not what the plan saw; LockHeldError: another process held its lock all the time;
        OSError: the disk is full.
        """
        with self.rewriting(plan.path):
            apply_file(plan)

    def look_into(self, texts: Iterable[bytes]) -> None:
        """Look for what must go where a plan does not, in what is refused or goes as a whole: it shows who is there."""
        for text in texts if self.dry_run and self.what.keeps_length else ():
            self.what.hits(text)

    def gone_from(self, memory: Path) -> Gone | None:
        """Return what of a memory folder goes as a whole; nothing does because of secrets."""
        if not self.what.keeps_length:
            return None
        return what_goes(memory, self.across.sessions, lambda text: bool(self.what.hits(text)), self.across.held)

    def held_text(self, text: bytes, path: Path) -> str:
        """Return what holds a piece of a file that no session has for itself, or "": a held session, or a person."""
        if self.across.held and (name := next((one for one in self.across.held if one.encode() in text), "")):
            return f"held: it is of session {name}, which is held"
        facts = Facts((), [os.fspath(path)], lambda: None, lambda: [text])
        held = held_by((hold for hold in self.holds if hold.person), facts)
        return f"held: {held}" if held else ""

    def forgot(self, project: str, gone: Gone | None) -> None:
        """Note which memories and candidates went."""
        if gone is None:
            return
        for name in sorted(gone.memories):
            is_new = name in gone.renewed
            self.report.count("memories_rederived" if is_new else "memories_erased")
            reason = "the next dream derives it anew from what is left" if is_new else "nothing else shows it"
            self.report.items.append(Item(name, "forget", reason, project))
        self.report.count("candidates_erased", len(gone.candidates))

    @contextmanager
    def rewriting(self, *paths: Path) -> Generator[dict[Path, str]]:
        """Note the hashes of files before they are written within, and after.

        What turns out to be left to somebody else is taken out of what is yielded. Raises OSError: the state folder
        cannot be written; then nothing is written within.
        """
        before = {path: digest_of(path) for path in paths}
        self.across.written.begins(before)
        try:
            yield before
        finally:
            self.across.written.ended(before)

    def reason_against(self, project: Project, session: StoredSession) -> str:
        """Return why a session's files are not written, or ""."""
        if session.in_database and (session.id in self.across.sessions or not self.what.keeps_length):
            return "lies in a database that only its client writes; delete what must go in its client"
        member = self._member(project, session)
        # what goes as a whole takes its sub-agents along
        goes = member.sessions if session is member.session and session.id in self.across.sessions else (session,)
        for one in goes:
            if live := live_reason(one, self.now, self.settings.extraction.idle, self.home):
                return f"live: {live}"
        return self._held(member)

    def _held(self, member: Member) -> str:
        """Return why a hold keeps a session, or ""."""
        try:
            held = held_by(self.holds, facts_of(member, self.home))
        except SlowwaveError as error:
            return f"held: nobody knows: {error}"
        return f"held: {held}" if held else ""

    def forbid(self, project: Project, session: StoredSession) -> None:
        """Block a session that goes and only its client can delete, unless a hold keeps it: it teaches nothing more."""
        goes = session.in_database and session.id in self.across.sessions and not self.dry_run
        if goes and not self._held(self._member(project, session)):
            self.across.forbid(session.id, records_of(session))

    def _member(self, project: Project, session: StoredSession) -> Member:
        """Return a session with the sub-agents that go where it goes; of such a sub-agent, the session it goes with."""
        if self._fleet is None or self._fleet[0] is not project:
            members = Fleet([project]).members.values()
            self._fleet = project, {key_of(one): member for member in members for one in member.sessions}
        return self._fleet[1][key_of(session)]

    def remove(self, session: StoredSession) -> TrashItem:
        """Remove a session for good; it is blocked before, so that a kill cannot bring it back.

        Raises RefusedError: a client has it open, a fork needs it, or it changed; UsageError: only its client can
        remove it; OSError: something cannot be moved.
        """
        self.across.forbid(session.id, records_of(session))
        with self.rewriting(*files_below(belongings_of(session, self.home).paths)):
            return remove_for_good(session, self.environ, self.clock, self.report.run_id)

    def linked(self, project: str, *paths: Path) -> list[Path]:
        """Return which files have names that would keep what goes; they stay, and the run has failed in part.

        Raises OSError: a folder cannot be read.
        """
        found = [(path, reason) for path in paths if (reason := self.across.names.elsewhere(path))]
        for path, reason in found:
            self.refuse(project, str(path), reason)
            self.report.failures.append(f"{path}: {reason}")
        return [path for path, _ in found]

    def refuse(self, project: str, target: str, reason: str) -> None:
        """Note what was left alone, and why."""
        self.report.count("refused")
        self.report.items.append(Item(target, "refused", reason, project))


SUFFIX = ".written"


class Changed(NamedTuple):
    """A file that was written, with the SHA-256 of its bytes before and after; "" when it was or is not there."""

    path: str
    before: str
    after: str


class _Run(msgspec.Struct, frozen=True, tag="run"):
    """The first line: which run it is, since when, and what it takes out, by kind and fingerprint."""

    run: str
    at: str
    subjects: tuple[str, ...]


class Left(NamedTuple):
    """A run that did not come to its end, and what it had changed by then."""

    note: Path
    run: str
    at: str
    subjects: tuple[str, ...]
    changed: tuple[Changed, ...]


def left(folder: Path) -> Iterator[Left]:
    """Yield the runs that did not come to their end, oldest first.

    Raises OSError: a note, or a file that it names, cannot be read.
    """
    for note in sorted(folder.glob(f"*{SUFFIX}")):
        run, files = _Run(note.stem, "", ()), dict[str, _File]()
        for line in filter(None, file_bytes(note).split(b"\n")):
            try:
                row = msgspec.json.decode(line, type=_Run | _File)
            except msgspec.DecodeError:
                continue  # torn by the kill, so that nothing had been written yet of what it was to tell
            if isinstance(row, _Run):
                run = row
            else:
                # one file may be written several times
                first = files.get(row.path)
                files[row.path] = row if first is None else _File(row.path, first.before, row.after)
        yield Left(note, run.run, run.at, run.subjects, tuple(_changed(files.values())))


def _changed(files: Iterable[_File]) -> Iterator[Changed]:
    for one in files:
        path = Path(name_from_json(one.path))
        after = digest_of(path) if one.after is None else one.after
        if after != one.before:
            yield Changed(str(path), one.before, after)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file of any size, "" when none is there. Raises OSError: it cannot be read."""
    try:
        return hash_of(path)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return ""


# Other names of a file that is erased (hard links): its new content gets one name, the others would keep the old.

_Inode = tuple[int, int]


def _names(folders: Iterable[Path]) -> Iterable[_Inode]:
    """Yield every name of files with several: folders that lie in one another are walked once."""
    roots = {folder.resolve() for folder in folders}
    for root in roots:
        if not roots.isdisjoint(root.parents):
            continue
        for folder, _, names in os.walk(root):
            for name in names:
                at = os.lstat(os.path.join(folder, name))  # noqa: PTH118 - many files
                if at.st_nlink > 1:
                    yield at.st_dev, at.st_ino
