"""Taking secrets or subjects out of one file of a session, or a whole session out of all places, with its forks.

A file is planned by reading, and done as one crash-safe replacement. What a fork shares with the session it came from
is the same record, or needs it.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import msgspec

from slowwave.context import Clock
from slowwave.errors import MovedError, NotFoundError, SlowwaveError, UnreadableError
from slowwave.files import archive_folder, file_bytes, replacement, write_all
from slowwave.formats import Problem
from slowwave.formats.changes import FileState, copy_range, file_state
from slowwave.formats.database import RowReader
from slowwave.formats.lines import PACKED, open_plain, raw_lines
from slowwave.formats.registry import by_name
from slowwave.formats.sessions import StoredSession
from slowwave.journal import Form, Journal, name_for, outcome
from slowwave.locks import locked_file
from slowwave.memory import name_from_json, name_to_json
from slowwave.retention.audit import AuditLog, Entry
from slowwave.retention.erase.mask import STUCK, Place, masked
from slowwave.retention.erase.subjects import What
from slowwave.retention.holds import Facts, Fleet, facts_of_item, facts_of_shelved, session_files, texts_in
from slowwave.retention.removal import as_found
from slowwave.secrets.blocklist import moment_name, record_name, record_names
from slowwave.settings import Settings
from slowwave.stores.archive.pack import SUFFIX as PACK
from slowwave.stores.archive.pack import Pack
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.catalogue import own_catalogue
from slowwave.stores.discovery import list_sessions
from slowwave.stores.projects import Project
from slowwave.stores.trash import (
    TrashItem,
    finish_freeing,
    free,
    ids_in,
    plan_removal,
    remove,
    trash_folder,
    trash_items,
)

# of each transcript what is recorded of it: ranges of bytes with their hash
Ranges = Mapping[Path, Sequence[tuple[int, int, str]]]
_BLANK = b" \t\r\n\0"
# what must go may stand on several lines of these
_WHOLE = frozenset({".json", ".txt", ".md", ".log"})
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """A line that has to change: its place, and what it is to be."""

    number: int
    offset: int
    new: bytes
    places: tuple[Place, ...]


@dataclass(slots=True)
class FilePlan:
    """What is to be done with one file."""

    path: Path  # the file
    state: FileState  # what it was like when it was read
    lines: list[Line] = field(default_factory=list[Line])  # the lines that change
    # of every record that changes the old and the new sha256
    hashes: dict[str, str] = field(default_factory=dict[str, str])
    refused: list[str] = field(default_factory=list[str])  # what stays in it, by line, each with the reason


def plan_file(path: Path, what: What, *, whole: bool = False) -> FilePlan:
    """Return which lines of a file hold what must go, and what they become.

    ``whole``: it is no file of records, so that what must go may stand on several lines. Raises UnreadableError: the
    file cannot be read.
    """
    plan = FilePlan(path, file_state(path))
    for number, (offset, line) in enumerate(_lines(path, whole=whole), 1):
        found = masked(line, what)
        plan.refused += [f"line {number}: {place.mark} {STUCK}" for place in found.stuck]
        if found.places:
            plan.lines.append(Line(number, offset, found.data, tuple(found.places)))
            plan.hashes[_digest(line)] = _digest(found.data)
    return plan


def apply_file(plan: FilePlan) -> None:
    """Replace a file by itself with the planned lines; its time stays, so that no age changes.

    Raises MovedError: it is not what the plan saw, or somebody wrote to it meanwhile; it is untouched; LockHeldError:
    another process held its lock all the time; UnreadableError: it cannot be opened; OSError: the disk is full; it is
    untouched.
    """
    path = plan.path.resolve()
    with locked_file(path) as old:
        found = os.fstat(old)
        if FileState.of(found) != plan.state:
            raise MovedError(f"{path}: changed since the plan was made; make a new plan")

        def check() -> None:
            if FileState.of(os.fstat(old)) != plan.state or file_state(path) != plan.state:
                raise MovedError(f"{path}: somebody wrote to it meanwhile; make a new plan")

        with replacement(path, check=check) as new:
            if path.name.endswith(PACKED):
                _pack(path, new, plan)
            else:
                at = 0
                for line in plan.lines:
                    copy_range(old, new, at, line.offset)
                    write_all(new, line.new)
                    at = line.offset + len(line.new)
                copy_range(old, new, at, plan.state.size)
            os.utime(new, ns=(found.st_atime_ns, found.st_mtime_ns))


def plain_bytes(path: Path) -> bytes:
    """Return the plain bytes of a file.

    Raises UnreadableError: it cannot be read, or what is packed in it is damaged: it could not be packed again whole.
    """
    problems: list[Problem] = []
    try:
        with open_plain(path, problems) as file:
            file.seek(0)
            data = file.read()
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    if problems:
        raise UnreadableError(path, problems[0].detail)
    return data


def planned_bytes(old: bytes, plan: FilePlan) -> bytes:
    """Return the plain bytes of a file with the planned changes; none of them moves a byte."""
    data = bytearray(old)
    for line in plan.lines:
        data[line.offset : line.offset + len(line.new)] = line.new
    return bytes(data)


def record_hashes(old: bytes, new: bytes, recorded: Sequence[tuple[int, int, str]]) -> dict[str, str]:
    """Return old and new hashes of the records that changed, and of what is recorded of their file."""
    hashes: dict[str, str] = {}
    start = 0
    for line in old.split(b"\n"):
        # by its place: what went may have stood on several lines
        now = new[start : start + len(line)]
        if now != line:
            hashes[_digest(line)] = _digest(now)
        start += len(line) + 1
    for start, stop, digest in recorded:
        if sha256(old[start:stop]).hexdigest() == digest:
            hashes[digest] = sha256(new[start:stop]).hexdigest()
    return hashes


def _lines(path: Path, *, whole: bool) -> Iterator[tuple[int, bytes]]:
    """Yield the pieces in which is looked: records, and of anything but records the whole file."""
    if path.suffix == PACKED:
        offset = 0
        for line in plain_bytes(path).splitlines(keepends=True):
            yield offset, line
            offset += len(line)
    elif (path.suffix in _WHOLE or whole) and path.stat().st_size <= _MOST_BYTES:
        yield 0, plain_bytes(path)
    else:
        yield from raw_lines(path)


def _pack(path: Path, new: int, plan: FilePlan) -> None:
    import zstandard  # noqa: PLC0415 - few files are packed

    data = planned_bytes(plain_bytes(path), plan)
    write_all(new, zstandard.ZstdCompressor(level=3, write_checksum=True).compress(data))


def _digest(line: bytes) -> str:
    return sha256(line.strip(_BLANK)).hexdigest()


# What changed hashes in transcripts mean for memories, written down before a transcript changes.
#
# A run that is killed between the two leaves its journals, and the next one puts the hashes into the memories. A
# journal counts when its file begins with the bytes that it was to have, what was appended since then does not matter;
# that of a database counts when its rows have the bytes that they were to have, and that of a pack by the files in it.

FOLDER = "erase"
_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


class Renewed(msgspec.Struct):
    """The old and new hashes in one file."""

    path: str  # the file
    size: int  # how many plain bytes it has when it is written
    sha256: str  # of these bytes
    hashes: dict[str, str]  # old and new hashes of its records and of ranges of it
    # instead of both new hashes: of the rows of a database by name, of the files in a pack by number
    parts: dict[str, str] = {}


def write_journal(folder: Path, path: Path, new: bytes, hashes: dict[str, str]) -> None:
    """Note that ``path`` is about to get the plain bytes ``new``.

    Raises OSError: the state folder cannot be written.
    """
    _write(folder, path, Renewed(name_to_json(str(path)), len(new), sha256(new).hexdigest(), hashes))


def write_parts_journal(folder: Path, path: Path, parts: dict[str, str], hashes: dict[str, str]) -> None:
    """Note that rows of a database, or files in a pack, are about to have these hashes.

    Raises OSError: the state folder cannot be written.
    """
    _write(folder, path, Renewed(name_to_json(str(path)), 0, "", hashes, parts))


def has_journal(folder: Path, path: Path) -> bool:
    """Say whether a run was killed before it was done with a file."""
    return _journal(folder).place(_name(path)).is_file()


def _write(folder: Path, path: Path, journal: Renewed) -> None:
    # nobody has put those of a killed run into the memories yet
    left = left_by(folder, path).items()
    journal.hashes = {old: journal.hashes.get(now, now) for old, now in left} | journal.hashes
    _journal(folder).intend(_name(path), journal)


def left_by(folder: Path, path: Path) -> dict[str, str]:
    """Return the hashes that an earlier run noted for a file and did carry out."""
    journal = _journal(folder).find(_name(path))
    return journal.hashes if journal is not None and _stands(journal) else {}


def standing(folder: Path) -> dict[str, str]:
    """Return the hashes of all files that have their new bytes."""
    known: dict[str, str] = {}
    for _, journal in _journal(folder).left():
        if _stands(journal):
            known |= journal.hashes
    return known


def settle(folder: Path, memories: Iterable[Path]) -> None:
    """Remove the journals; those stay whose hashes a memory folder still has, since it could not be written."""
    known: set[bytes] = set()
    for path in (found for memory in memories for found in memory.rglob("*.json*") if found.is_file()):
        known.update(_HASH.findall(file_bytes(path)))
    for path, journal in _journal(folder).left():
        if not (_stands(journal) and any(old.encode() in known for old in journal.hashes)):
            path.unlink()


def _journal(folder: Path) -> Journal[Renewed]:
    return Journal(folder, Form(Renewed, "is no note of an erasure", "remove it, and see slowwave memory verify"))


def _name(path: Path) -> str:
    return name_for(str(path))


def _stands(journal: Renewed) -> bool:
    if journal.sha256:
        return stands(journal.path, journal.size, journal.sha256)
    path = Path(name_from_json(journal.path))
    try:
        now = hashes_in_pack(path) if path.suffix == PACK else hashes_of_rows(path, journal.parts)
    except (UnreadableError, OSError):
        return False
    return now == journal.parts


def stands(name: str, size: int, digest: str) -> bool:
    """Say whether a file, as :mod:`slowwave.memory` spells it, begins with the plain bytes that it was to get."""
    try:
        return outcome(BytesIO(plain_bytes(Path(name_from_json(name)))), 0, size, digest) in ("written", "followed")
    except (UnreadableError, OSError):
        return False


def hashes_of_rows(path: Path, records: Iterable[str]) -> dict[str, str]:
    """Return the hashes of those rows of a database that are there, by their names.

    Raises OSError: the database cannot be read, or its client wrote to it meanwhile.
    """
    with RowReader() as rows:
        found = {record: rows.read(path, record) for record in records}
    return {record: sha256(data).hexdigest() for record, data in found.items() if data is not None}


def hashes_in_pack(path: Path) -> dict[str, str]:
    """Return the hashes of all files in a pack, by their numbers.

    Raises CorruptStateError: the pack is damaged; OSError: it cannot be read.
    """
    with Pack(path) as pack:
        files = [file for session in pack.table.sessions for file in session.files if file.kind == "file"]
        return {str(number): sha256(pack.read(file)).hexdigest() for number, file in enumerate(files)}


REASON = "erased"


def remove_for_good(session: StoredSession, environ: Mapping[str, str], clock: Clock, run: str) -> TrashItem:
    """Remove a session with all that its client keeps of it, and return what went.

    It passes through the trash, which survives a kill; the next run frees what is left there. Raises RefusedError: a
    client has it open, a fork needs it, or it changed; UsageError: only its client can remove it; OSError: something
    cannot be moved.
    """
    trash = trash_folder(environ)
    item = remove(plan_removal(as_found(session), environ, clock), trash, clock, reason=REASON)
    _note(item, environ, clock, run)
    free(item, trash)
    return item


def unknown(names: Iterable[str], projects: Iterable[Project], environ: Mapping[str, str]) -> list[str]:
    """Return which of some ids no session has, in its place, in the trash or in the archive.

    Raises CorruptStateError: a manifest of the trash does not parse.
    """
    left = set(names) - {session.id for project in projects for session in project.sessions}
    if left:
        left -= {name for item in trash_items(trash_folder(environ)) for name in ids_in(item)}
    shelf = Shelf(archive_folder(environ))
    return [name for name in sorted(left) if not shelf.find(name)]


def in_trash(sessions: Collection[str], environ: Mapping[str, str]) -> list[TrashItem]:
    """Return what lies in the trash of these sessions. Raises CorruptStateError: a manifest does not parse."""
    return [item for item in trash_items(trash_folder(environ)) if item.session in sessions]


def put_by(environ: Mapping[str, str]) -> Iterator[tuple[Path, Facts]]:
    """Yield every copy of a session in the trash and in the archive: where it lies, and what a hold is asked about it.

    Raises CorruptStateError: a manifest does not parse.
    """
    trash, shelf = trash_folder(environ), Shelf(archive_folder(environ))
    archived = {one.session.id: one.session for one in shelf.sessions()}
    for item in trash_items(trash):
        yield trash / item.id, facts_of_item(item, trash, archived.get(item.session))
    for one in shelf.sessions():
        yield one.pack, facts_of_shelved(one)


def free_from_trash(sessions: Collection[str], environ: Mapping[str, str], clock: Clock, run: str) -> None:
    """Free what lies in the trash of these sessions, whatever its grace period.

    Raises CorruptStateError: a manifest does not parse; OSError: something cannot be removed.
    """
    for item in in_trash(sessions, environ):
        _note(item, environ, clock, run)
        free(item, trash_folder(environ))
    finish_freeing(trash_folder(environ))


def in_archive(sessions: Collection[str], environ: Mapping[str, str]) -> list[str]:
    """Return the ids of these sessions that some pack holds."""
    shelf = Shelf(archive_folder(environ))
    return [name for name in sorted(sessions) if shelf.find(name)]


def leave_archive(sessions: Collection[str], environ: Mapping[str, str]) -> None:
    """Take these sessions out of all packs.

    Raises CorruptStateError: a pack is damaged; OSError: a pack cannot be written.
    """
    with suppress(NotFoundError):
        Shelf(archive_folder(environ)).without(sessions)


def lines_of(path: Path, sessions: Collection[str]) -> int:
    """Return how many lines of an index of prompts are of these sessions."""
    marks = _marks(sessions)
    return sum(any(mark in line for mark in marks) for line in path.read_bytes().splitlines()) if marks else 0


def drop_lines(path: Path, sessions: Collection[str]) -> None:
    """Take the lines of these sessions out of an index of prompts.

    Raises SlowwaveError: somebody wrote to it meanwhile, or keeps it locked; it is untouched; OSError: it cannot be
    written.
    """
    marks = _marks(sessions)
    with locked_file(path) as old:
        state = file_state(path)

        def check() -> None:
            if file_state(path) != state:
                raise SlowwaveError(f"{path}: somebody wrote to it meanwhile; run it again")

        with replacement(path, check=check) as new, open(old, "rb", closefd=False) as file:
            for line in file:
                if not any(mark in line for mark in marks):
                    write_all(new, line)


def _marks(sessions: Collection[str]) -> list[bytes]:
    return [f'"{name}"'.encode() for name in sorted(sessions)]


def _note(item: TrashItem, environ: Mapping[str, str], clock: Clock, run: str) -> None:
    size = sum(file.size for file in item.files)
    entry = Entry(
        action="erase",
        run=run,
        session=item.session,
        dialect=item.dialect,
        files=len(item.files),
        size=size,
        item=item.id,
    )
    AuditLog(environ).append([entry], clock.now())


# Forks and copies of sessions that are erased as a whole: they hold the same records, or need what they came from.

# so many bytes of a model's own words are not said twice by chance
_OWN_WORDS = 200


class Along(NamedTuple):
    """A session that goes along."""

    session: StoredSession
    project: str  # key of its project
    reason: str  # what it has to do with one that was asked for
    depth: int = 1  # how many forks lie between: what came from another one goes before it
    needs: str = ""  # id of the session that its client looks for when it is opened, or ""


class Kin(NamedTuple):
    """What goes along with some sessions."""

    stored: dict[str, Along]  # forks and copies in the stores by their ids
    # those in the trash or the archive by their ids, each with what it has to do with a session that goes
    put_by: dict[str, str]
    problems: list[str]  # what could not be looked into


class _Line(msgspec.Struct, gc=False):
    """A line of crabtalk: its header, or a message without an id."""

    agent: object = None
    created_by: object = None
    role: object = None
    content: object = None
    compact: object = None


_line = msgspec.json.Decoder(_Line)


def along(
    names: Collection[str], projects: Iterable[Project], forks: Mapping[str, str], environ: Mapping[str, str]
) -> Kin:
    """Return the forks and copies of sessions, and what could not be looked into.

    Args:
        names: ids of the sessions that were asked for.
        projects: all projects: a copy may lie in another one.
        forks: of each session that its client calls a fork, what it came from.
        environ: the environment: what was asked for may lie in the trash or the archive.

    Raises CorruptStateError: a manifest of the trash, or a pack, is damaged.
    """
    every, problems, away = list(projects), list[str](), list(put_by(environ))
    sessions = [(project.key, one) for project in every for one in project.sessions]
    # of what lies in databases only opencode's forks can be told, by what is read of them
    read = {one.dialect for _, one in sessions if one.id in names} & {"opencode"}
    known = [(key, one) for key, one in sessions if not one.in_database or one.dialect in read]
    theirs: dict[str, set[str]] = {name: set() for name in names}
    for _, one in known:
        if one.id in theirs:
            theirs[one.id] |= _read(one, problems)
    for _, facts in away:
        for name in theirs.keys() & set(facts.ids):
            theirs[name] |= _put_by(name, facts, problems)
    fleet = Fleet(every)
    found = {one.session.id: one for one in _needing(names, fleet)}
    goes = [member for member in fleet.members.values() if member.session.id in names]
    inside = {id(one) for member in goes for one in member.inside}
    for project, one in known:
        if one.id in names or one.id in found or id(one) in inside:
            continue
        if forks.get(one.id) in names:
            found[one.id] = Along(one, project, f"came from session {forks[one.id]}")
        elif reason := _shared(_read(one, problems), theirs):
            found[one.id] = Along(one, project, reason)
    # what lies in its place as well is dealt with by its name
    left = [facts for _, facts in away if not (theirs.keys() | found.keys()) & set(facts.ids)]
    return Kin(found, _away(left, theirs, problems), problems)


def _away(left: Iterable[Facts], theirs: Mapping[str, set[str]], problems: list[str]) -> dict[str, str]:
    """Return the ids of what shares records with sessions that go, and why."""
    found: dict[str, str] = {}
    for facts in left:
        if reason := _shared(_put_by(min(facts.ids), facts, problems), theirs):
            found |= dict.fromkeys(facts.ids, reason)
    return found


def _shared(own: Collection[str], theirs: Mapping[str, set[str]]) -> str:
    """Return what a session has to do with the one that it shares most records with, or ""."""
    same = {name: len(of_it.intersection(own)) for name, of_it in theirs.items()}
    name = max(same, key=lambda name: same[name])
    return f"has {same[name]} of its {len(own)} records from session {name}" if same[name] else ""


def forks_of(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return of each session that the listing calls a fork what it came from."""
    with own_catalogue(settings, environ) as catalogue:
        rows = list_sessions(settings, environ, catalogue, archived=False).rows
    return {row.id: row.parent for row in rows if row.kind == "fork" and row.parent}


def records_put_by(name: str, facts: Facts, problems: list[str]) -> set[str]:
    """Return the names of the records of a session in the trash or the archive; none when it is not whole there.

    A removal that was killed leaves such an item; what it did not move yet lies in its place.
    """
    try:
        return set(record_names(facts.texts()))
    except SlowwaveError as error:
        problems.append(f"session {name}: its copy in the trash or the archive tells nothing about others: {error}")
        return set()


def _put_by(name: str, facts: Facts, problems: list[str]) -> set[str]:
    """Return what a session in the trash or the archive is known by beside others."""
    found = records_put_by(name, facts, problems)
    return found | set(_beginnings(facts.texts())) if found else found


def _beginnings(texts: Iterable[bytes]) -> Iterator[str]:
    """Yield a name for each message of crabtalk, which has neither an id nor a time: all of the session up to there.

    A copy begins with the same messages, whatever became of its header. It is one where enough of them are a model's.
    """
    so_far, said = sha256(), 0
    for raw in (line.strip() for text in texts for line in text.split(b"\n")):
        try:
            line = _line.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if isinstance(line.agent, str) and isinstance(line.created_by, str):
            so_far, said = sha256(f"{line.agent}\n{line.created_by}".encode("utf-8", "surrogatepass")), 0
        elif isinstance(line.role, str) or isinstance(line.compact, str):
            so_far.update(raw + b"\n")
            if line.role == "assistant" and isinstance(line.content, str):
                said += len(line.content)
            if said >= _OWN_WORDS:
                yield so_far.hexdigest()


def _moments(session: StoredSession) -> Iterator[str]:
    """Yield a name for each message of opencode: a fork gives it a new id, and keeps its time and words."""
    for message in by_name(session.dialect).read(session.files).messages:
        if name := moment_name(message.role, message.timestamp, message.text):
            yield name


def _read(session: StoredSession, problems: list[str]) -> set[str]:
    found: set[str] = set()
    try:
        found |= set(records_of(session))
        if session.dialect == "crabtalk":
            found |= set(_beginnings(texts_in(session.files.paths)))
    except SlowwaveError as error:
        problems.append(f"session {session.id}: nobody knows whether it is a copy of what goes: {error}")
    return found


def _needing(names: Collection[str], fleet: Fleet) -> Iterator[Along]:
    """Yield the sessions that name one of these, or one another, as what they came from."""
    projects = {id(member.session): member.project.key for member in fleet.members.values()}
    waiting = [(member.session, 1) for member in fleet.members.values() if member.session.id in names]
    seen = set(names)
    while waiting:
        session, depth = waiting.pop()
        for fork in fleet.referring_to(session):
            if fork.id not in seen:
                seen.add(fork.id)
                reason = f"came from session {session.id}, and needs it"
                yield Along(fork, projects[id(fork)], reason, depth, session.id)
                waiting.append((fork, depth + 1))


def records_of(session: StoredSession) -> Iterator[str]:
    """Yield the names of the records of a session that no other one has unless it is a copy or a fork.

    Raises UnreadableError: a file cannot be read.
    """
    if session.dialect == "opencode":
        yield from _moments(session)
    if not session.in_database:
        for path in dict.fromkeys(session_files(session)):
            yield from _records_in(path)


def _records_in(path: Path) -> Iterator[str]:
    if path.suffix == ".json":
        if name := record_name(path.read_bytes()):
            yield name
    else:
        yield from record_names(texts_in([path]))
