"""What a purge takes out of a session of Cersei, records that tombstones hide and the tombstones, and doing it.

Gate: ``retention.purge``. Sessions at rest are purged one by one under every guard of retention: a copy into the
archive, the same context before and after, new places for what rests on it. A record that names a hidden one as its
parent is linked to the nearest one above that stays. Damaged sessions are refused: what a torn line hides, or would
show, cannot be told. A second run finds nothing. A killed one is finished by the next: what a file was to become is
noted before it changes, and every file has its old or its new bytes.
"""

import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from slowwave.errors import CorruptStateError, MovedError, RefusedError, UnreadableError, told
from slowwave.files import atomic_write, file_bytes, private_folder, state_folder
from slowwave.formats import Problem, SessionFiles, Span
from slowwave.formats.cersei.dialect import Cersei, Mode
from slowwave.formats.changes import FileState, file_state, rewrite_without
from slowwave.formats.lines import read_records
from slowwave.formats.messages import normal_form
from slowwave.formats.sessions import StoredSession
from slowwave.formats.writing import with_value
from slowwave.journal import Form, Journal, done, name_for
from slowwave.memory import name_to_json
from slowwave.report import Item
from slowwave.retention.audit import Entry, of_shelved
from slowwave.retention.erase.job import recorded_in
from slowwave.retention.erase.memory import OwnFile, apply_own
from slowwave.retention.erase.transcripts import stands
from slowwave.retention.holds import Member, read_holds
from slowwave.retention.plan import Context, note_failure
from slowwave.retention.rescue import wanted_of
from slowwave.stores.trash import belongings_of

# what a tombstone can hide (``session_storage.rs``, second pass of the loader)
_HIDEABLE = frozenset({"user", "assistant", "system", "summary"})


Kind = Literal["link", "record", "tombstone"]


class _Line(msgspec.Struct, gc=False):
    type: object = None
    uuid: object = None
    parent_uuid: object = None
    deleted_uuid: object = None


_DECODER = msgspec.json.Decoder(_Line)
_ORDER: tuple[Kind, ...] = ("link", "record", "tombstone")


class Edit(NamedTuple):
    """A line from its first byte to the one behind its line end; ``new`` takes its place, b"" when it goes."""

    kind: Kind
    start: int
    stop: int
    new: bytes = b""


class PartPlan(NamedTuple):
    """What is to be done with one file."""

    path: Path  # the file
    state: FileState  # what it was like when it was read
    edits: tuple[Edit, ...]  # lines that go or change, in order
    new: bytes  # all that it is to hold


class PurgePlan(NamedTuple):
    """What is to be done with a session."""

    # files to rewrite now; the plan that is made when they are done has the rest. Where there are several, links are
    # mended first, as long as the record that they lead to is there; then hidden records go, last the tombstones: a
    # killed purge shows nothing again and loses no link.
    steps: tuple[PartPlan, ...] = ()
    records: int = 0  # how many hidden records go
    size: int = 0  # bytes that go with this plan and those after it
    refused: str = ""  # why nothing may be done, or ""


class _Part(NamedTuple):
    path: Path
    state: FileState
    data: bytes
    lines: list[tuple[Span, _Line]]


def plan_purge(files: SessionFiles) -> PurgePlan | None:
    """Return what a purge of a session does; None when nothing is hidden in it.

    Raises UnreadableError: a part cannot be opened.
    """
    problems: list[Problem] = list(files.problems)
    parts = [_read(path, number, problems) for number, path in enumerate(files.paths)]
    hidden = {line.deleted_uuid for part in parts for _, line in part.lines if line.type == "tombstone"}
    if not any(line.type == "tombstone" for part in parts for _, line in part.lines):
        return None
    if problems:
        return PurgePlan(refused=f"damaged: {problems[0].detail or problems[0].kind}")
    if any(not _is_alone(part.data, span) for part in parts for span, _ in part.lines):
        return PurgePlan(refused="damaged: several records on one line")
    above = {line.uuid: line.parent_uuid for part in parts for _, line in part.lines if _is_hidden(line, hidden)}
    edits = [
        list(filter(None, (_edit(part, span, line, hidden, above) for span, line in part.lines))) for part in parts
    ]
    steps = whole = [_stepped(part, of_part) for part, of_part in zip(parts, edits, strict=True)]
    if not any(step.new for step in whole):
        return PurgePlan(refused="empty: nothing of it would be left; remove the session instead")
    if len(parts) > 1:
        kinds = {one.kind for of_part in edits for one in of_part}
        now = next(kind for kind in _ORDER if kind in kinds)
        first = [[one for one in of_part if one.kind == now] for of_part in edits]
        steps = [_stepped(part, of_part) for part, of_part in zip(parts, first, strict=True)]
    records = sum(_is_hidden(line, hidden) for part in parts for _, line in part.lines)
    size = sum(len(part.data) - len(step.new) for part, step in zip(parts, whole, strict=True))
    return PurgePlan(tuple(step for step in steps if step.edits), records, size)


def _read(path: Path, number: int, problems: list[Problem]) -> _Part:
    state = file_state(path)
    lines = list(read_records(path, _DECODER, problems, part=number))
    for _, line in lines:
        _clean(line)
    return _Part(path, state, path.read_bytes(), lines)


def _clean(line: _Line) -> None:
    """Leave only names that can lead somewhere: anything may stand in a record."""
    line.uuid = line.uuid if isinstance(line.uuid, str) else None
    line.parent_uuid = line.parent_uuid if isinstance(line.parent_uuid, str) else None
    line.type = line.type if isinstance(line.type, str) else None
    if line.type == "tombstone" and not isinstance(line.deleted_uuid, str):
        line.type = None
    line.deleted_uuid = line.deleted_uuid if line.type == "tombstone" else None


def _is_hidden(line: _Line, hidden: set[object]) -> bool:
    return line.type in _HIDEABLE and isinstance(line.uuid, str) and line.uuid in hidden


def _is_alone(data: bytes, span: Span) -> bool:
    start, stop = _extent(data, span)
    return data[start:stop].strip() == span.raw.strip()


def _extent(data: bytes, span: Span) -> tuple[int, int]:
    """Return the line that a record stands on, with its line end."""
    end = data.find(b"\n", span.offset + len(span.raw))
    return data.rfind(b"\n", 0, span.offset) + 1, len(data) if end < 0 else end + 1


def _edit(part: _Part, span: Span, line: _Line, hidden: set[object], above: Mapping[object, object]) -> Edit | None:
    if line.type == "tombstone" or _is_hidden(line, hidden):
        return Edit("tombstone" if line.type == "tombstone" else "record", *_extent(part.data, span))
    if line.parent_uuid not in above or not isinstance(line.parent_uuid, str):
        return None
    start, stop = _extent(part.data, span)
    new = with_value(span.raw, "parent_uuid", line.parent_uuid, _nearest(line.parent_uuid, above))
    return Edit("link", start, stop, new)


def _nearest(parent: object, above: Mapping[object, object]) -> str | None:
    """Return the nearest record above that stays, None when none does."""
    seen: set[object] = set()
    while parent in above and parent not in seen:
        seen.add(parent)
        parent = above[parent]
    return parent if isinstance(parent, str) and parent not in above else None


def _stepped(part: _Part, edits: list[Edit]) -> PartPlan:
    pieces: list[bytes] = []
    at = 0
    for edit in edits:
        pieces += [part.data[at : edit.start], edit.new + b"\n" if edit.new else b""]
        at = edit.stop
    return PartPlan(part.path, part.state, tuple(edits), b"".join([*pieces, part.data[at:]]))


# The proof before a purge: with the new files the client sends what it sends with the old ones.

_MODES: tuple[Mode, ...] = ("seed", "code")


def compare(files: SessionFiles, steps: Sequence[PartPlan], folder: Path) -> None:
    """Make sure that the client sends the same with the new files as with the old ones.

    Raises RefusedError: it would not.
    """
    by_path = {step.path: step.new for step in steps}
    private_folder(folder)
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


# Where recorded bytes of a file are after a purge, and putting the new places into what memories rest on.
#
# Written down before a file is rewritten: a run that is killed in between is finished by the next one, which finds the
# file with its new bytes. What rested on a record that went keeps its old place; the archived copy still shows it.

FOLDER = "purge"
_TEXT = rb'"(?:[^"\\]|\\.)*"'


class Moved(msgspec.Struct, frozen=True):
    """A recorded range of a file, and where its bytes are in the new one."""

    start: int
    length: int
    sha256: str
    new_start: int
    new_length: int
    new_sha256: str


class Moves(msgspec.Struct, frozen=True):
    """What a purge of one file means for its readers."""

    path: str  # the file, as :mod:`slowwave.memory` spells it
    size: int  # bytes that it gets
    sha256: str  # of these bytes
    session: str  # its session
    moved: tuple[Moved, ...]  # recorded ranges that are elsewhere, or hold other bytes


_MOVES = Form(Moves, "is no note of a purge", "remove it: memories may name places that hold something else now")


def moves_of(plan: PartPlan, old: bytes, session: str, recorded: Iterable[tuple[int, int, str]]) -> Moves:
    """Return the moves of one file."""
    moved: list[Moved] = []
    for start, stop, digest in recorded:
        if sha256(old[start:stop]).hexdigest() != digest:
            continue
        new_start, new_stop = _now(start, plan.edits, is_end=False), _now(stop, plan.edits, is_end=True)
        new = plan.new[new_start:new_stop]
        if new:
            moved.append(Moved(start, stop - start, digest, new_start, len(new), sha256(new).hexdigest()))
    path = name_to_json(str(plan.path))
    return Moves(path, len(plan.new), sha256(plan.new).hexdigest(), session, tuple(moved))


def _now(at: int, edits: Sequence[Edit], *, is_end: bool) -> int:
    """Return where a boundary between bytes is now; one inside a changed line is at the end of what it became."""
    shift = 0
    for edit in edits:
        new = len(edit.new) + 1 if edit.new else 0
        if at <= edit.start:
            break
        if at < edit.stop:
            # evidence ends before the line end, which the new line has, too
            return edit.start + shift + (len(edit.new) if is_end else 0)
        shift += new - (edit.stop - edit.start)
    return at + shift


def renew(memory: Path, moves: Moves) -> list[str]:
    """Put new places into everything that a memory folder records of a file.

    Returns:
        Files that somebody changed meanwhile; they are left for the next run.

    Raises LockHeldError: another process kept the memory folder locked for too long; OSError: the folder cannot be
    written.
    """
    if not memory.is_dir() or not moves.moved:
        return []
    changed: list[OwnFile] = []
    for path in sorted(found for found in memory.rglob("*.json*") if found.is_file() and not found.is_symlink()):
        old = file_bytes(path)
        new = renewed(old, moves)
        if new != old:
            changed.append(OwnFile(path, old, new, ()))
    return apply_own(memory, changed, is_memory=True) if changed else []


def renewed(data: bytes, moves: Moves) -> bytes:
    """Return lines of slowwave's own with the new places of what they name; all other bytes stay."""
    known = {(one.start, one.length, one.sha256): one for one in moves.moved}
    path = re.escape(msgspec.json.encode(moves.path))

    def evidence(match: re.Match[bytes]) -> bytes:
        one = known.get((int(match[2]), int(match[3]), match[4].decode()))
        if one is None:
            return match[0]
        return b'%b"offset":%d,"length":%d,"sha256":"%b"' % (
            match[1], one.new_start, one.new_length, one.new_sha256.encode()
        )  # fmt: skip

    def read(match: re.Match[bytes]) -> bytes:
        start, stop = int(match[2]), int(match[3])
        one = known.get((start, stop - start, match[4].decode()))
        if one is None:
            return match[0]
        stop = one.new_start + one.new_length
        return b'%b"from":%d,"to":%d,"sha256":"%b"' % (match[1], one.new_start, stop, one.new_sha256.encode())

    digest = rb'"sha256":"([0-9a-f]{64})"'
    pieces = rb'("path":%b,"record":%b,)"offset":(\d+),"length":(\d+),%b' % (path, _TEXT, digest)
    ranges = rb'("path":%b\},)"from":(\d+),"to":(\d+),%b' % (path, digest)
    return re.sub(ranges, read, re.sub(pieces, evidence, data))


RULE = "purge"
# whose records can be hidden for good
_DIALECT = "cersei"
_MARK = b"tombstone"
_BLOCK = 1 << 20
# where the new files are read before the old ones change
_CHECK = "check"


class Begun(msgspec.Struct, frozen=True):
    """What a purge of a session set out to do, written down before its first file changes.

    A purge rewrites several files, and the plan that is made after some of them knows nothing of what went before. So
    a run that follows a killed one tells from here that the copy in the archive was made, and what the audit log must
    tell.
    """

    run: str  # id of the run that began it
    session: str  # id of the session
    dialect: str  # its dialect
    records: int  # how many hidden records were to go
    size: int  # bytes that were to go
    # time of the last change of each file, by its path, which a purge keeps; another one is its client's
    times: dict[str, int]

    def is_of(self, session: StoredSession) -> bool:
        """Say whether nobody but the purge has changed the session since."""
        return self.times == _times_of(session.files.paths)

    def less(self, records: int, size: int) -> "Begun":
        """Return it without what is still there."""
        return msgspec.structs.replace(self, records=max(self.records - records, 0), size=max(self.size - size, 0))


class Purger:
    """The purge of one run."""

    def __init__(self, run: Context) -> None:
        self._run = run
        self._folder = state_folder(run.environ) / FOLDER
        self._memories = sorted({member.project.memory for member in run.fleet.members.values()})
        form = Form(Begun, "is no note of a purge", "remove it: the purge is planned anew")
        self._notes = Journal(self._folder, form, ".begun")
        self._moves = Journal(self._folder, _MOVES)
        self._begun: dict[Path, Begun] = {}
        # files whose new places could not be put into some memory yet: they may not change again before
        self._waiting: set[str] = set()

    def purge(self, goes: Collection[str]) -> None:
        """Purge every session in which something is hidden; one that is refused keeps no other one.

        ``goes``: keys of sessions that go as a whole. Raises CorruptStateError: the audit log or a file of a memory
        folder is damaged; LockHeldError: another process kept a memory folder locked for too long.
        """
        if not self._run.dry_run:
            self._begun = dict(self._notes.left())
            self._finish_moves()
        subjects = {subject.id: subject for subject in self._run.fleet.subjects()}
        for key, member in self._run.fleet.members.items():
            if key in goes or not self._run.may_touch(member.project.key):
                continue
            for session in member.sessions:
                if session.dialect == _DIALECT and (
                    self._noted(session) is not None or any(map(_mentions, session.files.paths))
                ):
                    self._one(member, session, lambda key=key: self._run.guards(subjects[key]))
        if self._run.chosen is None:
            for path, begun in list(self._begun.items()):
                every = (one for member in self._run.fleet.members.values() for one in member.sessions)
                if not any(self._notes.place(_name(one)) == path for one in every if one.dialect == _DIALECT):
                    self._told(path, begun, len(begun.times))  # the session went as a whole since

    def _noted(self, session: StoredSession) -> Begun | None:
        return self._begun.get(self._notes.place(_name(session))) if self._begun else None

    def _one(self, member: Member, session: StoredSession, guard: Callable[[], str]) -> None:
        try:
            plan = self._planned(session)
            if plan is None:
                return
            waits = "a memory that rests on it could not be written; the next run goes on"
            is_waiting = not self._waiting.isdisjoint(_times_of(session.files.paths))
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
            self._refuse(member, session, f"refused: {told(error, place)}")
            note_failure(self._run.report, f"purge: session {session.id}", error, place)

    def _planned(self, session: StoredSession) -> PurgePlan | None:
        """Return what is left to do, and tell what an earlier run did where that is a purge of its own by now."""
        plan = plan_purge(session.files)
        begun = self._noted(session)
        if begun is None:
            return plan
        path, files = self._notes.place(_name(session)), len(session.files.paths)
        if plan is None:
            self._told(path, begun, files)
            self._note(self._project_of(session), session.id, begun, "purged", "purged")
        elif not begun.is_of(session):
            self._told(path, begun.less(plan.records, plan.size), files)
        return plan

    def _apply(self, member: Member, session: StoredSession, plan: PurgePlan) -> None:
        begun, path = self._noted(session), self._notes.place(_name(session))
        if begun is None:
            if self._run.rules.require_archive:
                self._archive_first(member)
            times = _times_of(session.files.paths)
            begun = Begun(self._run.report.run_id, session.id, session.dialect, plan.records, plan.size, times)
            self._notes.intend(_name(session), begun)
        left: PurgePlan | None = plan
        while left is not None and left.steps:
            compare(session.files, left.steps, self._folder / _CHECK)
            for step in left.steps:
                self._check(member)
                self._rewrite(member, session, step)
            left = plan_purge(session.files)
        self._told(path, begun, len(session.files.paths))
        self._note(member.project.key, session.id, begun, "purged", "purged")

    def _told(self, path: Path, begun: Begun, files: int) -> None:
        """Write down a purge that came to its end, unless a killed run has."""
        entry = Entry(
            action="purge", run=begun.run, session=begun.session, dialect=begun.dialect, rule=RULE, files=files,
            size=begun.size,
        )  # fmt: skip
        own = entry.action, entry.run, entry.session
        is_known = any((line.action, line.run, line.session) == own for line in self._run.log.lines())
        self._run.log.append([] if is_known or not begun.size else [entry], self._run.now)
        done(path)
        self._begun.pop(path, None)

    def _archive_first(self, member: Member) -> None:
        if self._run.archive.find(member.session.id, belongings_of(member.session, self._run.home)) is None:
            added = self._run.archive.add(f"{self._run.report.run_id}-{RULE}", [wanted_of(member, self._run)])
            lines = [of_shelved(one, self._run.report.run_id, RULE) for one in added]
            self._run.log.append(lines, self._run.now)

    def _check(self, member: Member) -> None:
        """Refuse a session that somebody opened or held since the plan; its client may write to any part of it."""
        self._run.guards.holds = read_holds(self._run.environ)
        if reason := self._run.guards.at_hand(member):
            raise RefusedError(reason)

    def _rewrite(self, member: Member, session: StoredSession, step: PartPlan) -> None:
        old = step.path.read_bytes()
        recorded = {place for memory in self._memories for place in recorded_in(memory).get(step.path, ())}
        moves = moves_of(step, old, session.id, sorted(recorded))
        noted = self._moves.intend(f"{name_for(moves.path)}-{moves.sha256[:8]}", moves)
        lines = [(edit.start, len(old[edit.start : edit.stop].rstrip(b"\r\n"))) for edit in step.edits]
        new = [(edit.start, edit.new) for edit in step.edits if edit.new]
        still = partial(self._check, member)
        rewrite_without(step.path, lines, new, expect=step.state, keep_mtime=True, check_more=still)
        if sha256(step.path.read_bytes()[: moves.size]).hexdigest() != moves.sha256:
            raise CorruptStateError(step.path, "is not what the purge should have left", "restore it from the archive")
        if [path for memory in self._memories for path in renew(memory, moves)]:
            raise MovedError("a memory that rests on it changed meanwhile; the next run goes on")
        done(noted)

    def _finish_moves(self) -> None:
        """Put into the memories what a killed run noted and did carry out."""
        if (self._folder / _CHECK).is_dir():
            shutil.rmtree(self._folder / _CHECK)
        for noted, moves in list(self._moves.left()):
            if not stands(moves.path, moves.size, moves.sha256):
                noted.unlink()  # nobody carried it out
                continue
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


def _times_of(paths: Iterable[Path]) -> dict[str, int]:
    """Return the time of the last change of each file by its path, as :mod:`slowwave.memory` spells it."""
    return {name_to_json(str(path)): path.stat().st_mtime_ns for path in paths}


def _name(session: StoredSession) -> str:
    return name_for(name_to_json(str(session.files.paths[0])), 32)
