"""All sessions of this machine as retention sees them, and holds on them: what must not be removed, purged or erased.

What is judged alone and what goes with something else (:class:`Fleet`); what lies in a folder of its own, beside a
session, and in the home of its client (:func:`session_files`, :func:`home_files`).

A hold says why it is there and who set it. It is asked about a session wherever it lies: in its place, in the trash, or
in a pack of the archive.
"""

import io
import os
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

from slowwave.errors import CorruptStateError, NotFoundError, UnreadableError, UsageError
from slowwave.files import atomic_write, data_folder, file_bytes, private_folder, state_folder
from slowwave.formats import Problem, parse_time
from slowwave.formats.lines import open_regular, plain_of, read_records, relaxed_collector
from slowwave.formats.registry import client_of
from slowwave.formats.sessions import StoredSession, key_in_database
from slowwave.formats.tail import lines_backward
from slowwave.locks import locked_file
from slowwave.quantities import told
from slowwave.retention.audit import AuditLog, Entry
from slowwave.settings import Source, Subject
from slowwave.stores.archive.pack import Pack, PackedSession
from slowwave.stores.archive.shelf import Shelved, ids_of
from slowwave.stores.projects import Project
from slowwave.stores.trash import TrashItem, belongings_of, ids_in

if TYPE_CHECKING:
    from slowwave.retention.erase.subjects import Needle

_UNTYPED = ("cron", "hook", "question")
_PUT_ASIDE: dict[str, Source] = {"archived": "archived", "backup": "archived", "reset": "reset", "deleted": "deleted"}


class Member(msgspec.Struct, frozen=True, gc=False):
    """A session that is judged, and those of sub-agents in its own folder, which go where it goes."""

    session: StoredSession
    project: Project
    inside: tuple[StoredSession, ...] = ()

    @property
    def sessions(self) -> tuple[StoredSession, ...]:
        """All of them."""
        return (self.session, *self.inside)


class Fleet:
    """The sessions of all projects.

    Attributes:
        members: by the id of their subject.
    """

    def __init__(self, projects: Iterable[Project]) -> None:
        """Sort out which sessions stand for themselves."""
        self.members: dict[str, Member] = {}
        with relaxed_collector():
            for project in projects:
                self._add(project)

    def subjects(self) -> Iterator[Subject]:
        """Yield what the rules are asked about."""
        for key, member in self.members.items():
            session = member.session
            newest, size = session.mtime_ns, session.size
            for other in member.inside:
                newest, size = max(newest, other.mtime_ns), size + other.size
            yield Subject(key, session.dialect, member.project.key, source_of(session), newest / 1e9, size)

    def referring_to(self, session: StoredSession) -> Sequence[StoredSession]:
        """Return the sessions that name one as the one that they came from."""
        return self._referring.get((session.dialect, session.id), ())

    @cached_property
    def _referring(self) -> dict[tuple[str, str], list[StoredSession]]:
        found: dict[tuple[str, str], list[StoredSession]] = defaultdict(list)
        for member in self.members.values():
            one = member.session
            if one.parent and client_of(one.dialect).refers:
                found[one.dialect, one.parent].append(one)
        return found

    def _add(self, project: Project) -> None:
        if not any(one.kind == "subagent" for one in project.sessions):
            self.members |= {key_of(one): Member(one, project) for one in project.sessions}
            return
        owners = {(os.fspath(one.folder), one.id): one for one in project.sessions if one.kind != "subagent"}
        inside: dict[int, list[StoredSession]] = defaultdict(list)
        alone: list[StoredSession] = []
        for one in project.sessions:
            owner = owners.get((os.fspath(one.folder), owner_of(one))) if one.kind == "subagent" else None
            if owner is None:
                alone.append(one)
            else:
                inside[id(owner)].append(one)
        for one in alone:
            self.members[key_of(one)] = Member(one, project, tuple(inside.get(id(one), ())))


def key_of(session: StoredSession) -> str:
    """Return what tells a session from every other one."""
    path = str(session.files.paths[0])
    return key_in_database(path, session.id) if session.in_database else path


def source_of(session: StoredSession) -> Source:
    """Return what kind of session one is; who began it counts before that nobody types into it."""
    if session.source in _PUT_ASIDE:
        return _PUT_ASIDE[session.source]
    if session.messages == 0:
        return "empty"
    if session.origin in _UNTYPED:
        return "cron"
    return "subagent" if session.kind == "subagent" else "interactive"


def owner_of(session: StoredSession) -> str:
    """Return the id of the session that a sub-agent's session goes with: in its own folder, or beside.

    Claude Code 2.0 kept them beside the sessions, and says in each which one it works for.
    """
    below = os.fspath(session.files.paths[0])[len(os.fspath(session.folder)) + 1 :]
    name, _, rest = below.partition("/")
    return name if rest else session.parent if client_of(session.dialect).owner_in_records else ""


def paths_of(member: Member) -> list[Path]:
    """Return the files of a member's sessions."""
    return [path for session in member.sessions for path in session.files.paths]


# Where else the text of a session lies: in a folder of its own, beside it, and in the home of its client.
#
# Copies of the person's own files (``file-history`` of Claude Code) are no transcripts: what is in them is in the files
# themselves, and a rewind must give them back as they were.

# from a transcript up to the home of its client: Codex has a folder for each day
_MOST_ABOVE = 5
# between a session and its sub-agent in the name of a list of tasks
_OF_AGENT = "-agent-"


def session_files(session: StoredSession) -> Iterator[Path]:
    """Yield the files of a session, and those that its client keeps beside it for this session alone."""
    for path in session.files.paths:
        yield path
        yield from client_of(session.dialect).beside(session, path)


def named_after(session: StoredSession, home: Path) -> Iterator[Path]:
    """Yield the files and folders near a session that are named after it, whatever its client keeps in them.

    Looked at are the folders above its transcript and those in them, below the user's home: lists of tasks, notes of
    errors, differences, messages each have a folder of their own in the home of their client.
    """
    first = session.files.paths[0]
    for folder in first.parents[:_MOST_ABOVE]:
        if folder in (home, folder.parent):
            break
        for one in (folder, *_folders_in(folder)):
            yield from (one / name for name in _by_token(one).get(session.id, ()))


def _folders_in(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))


def _by_token(folder: Path) -> Mapping[str, tuple[str, ...]]:
    """Return what lies in a folder by what its name begins with."""
    at = folder.stat()
    return _listed(os.fspath(folder), at.st_mtime_ns, at.st_ino)


@lru_cache(maxsize=4096)
def _listed(folder: str, mtime_ns: int, ino: int) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG001 - the key
    found: dict[str, list[str]] = {}
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 - names only
        token = name.partition(".")[0]
        for one in dict.fromkeys((name, token, token.partition(_OF_AGENT)[0])):
            found.setdefault(one, []).append(name)
    return {token: tuple(names) for token, names in found.items()}


def home_files(sessions: Iterable[StoredSession]) -> list[Path]:
    """Return the files in the homes of clients that quote sessions of any project: prompts, names, indexes."""
    found: set[Path] = set()
    for session in sessions:
        found.update(client_of(session.dialect).quoting(session.files.paths[0]))
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


FILE = "holds.json"
LOCK = "holds.lock"
_VERSION = 1
_TIMES = ("since", "until")
_NAMES = ("project", "session", "person", *_TIMES)
_REMEDY = "restore it from a copy; nothing is removed until it is known what is held"


class Hold(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One hold; what is empty says nothing."""

    id: str  # names it
    reason: str  # why, in the words of who set it
    by: str  # who set it
    at: str  # when, as ISO time
    project: str = ""  # projects whose key or folder contains this
    session: str = ""  # id of one session; with that of a sub-agent, the session that it goes with is held, too
    person: str = ""  # sessions in which this name or phrase stands, in whatever form
    since: str = ""  # sessions in which something happened at this ISO time or later
    until: str = ""  # sessions in which something happened at this ISO time or before

    @property
    def what(self) -> str:
        """What it holds, in one line, with times in the zone of this machine."""
        return ", ".join(f"{name} {_said(name, value)}" for name in _NAMES if (value := getattr(self, name)))


class _File(msgspec.Struct, frozen=True):
    v: int
    holds: list[Hold]


class Facts(NamedTuple):
    """What a hold is asked about."""

    ids: Collection[str]  # of the session, and of the sub-agents that go where it goes
    # key and folder of its project, and where its files lie; None when nobody knows its project any more
    places: Sequence[str] | None
    # returns when something first and last happened in it, in seconds since 1970; None when that is unknown
    times: Callable[[], tuple[float, float] | None]
    # returns the bytes of all that goes with it, in pieces that no record is parted by
    texts: Callable[[], Iterable[bytes]]


def read_holds(environ: Mapping[str, str]) -> list[Hold]:
    """Return all holds, oldest first. Raises CorruptStateError: the file does not parse; it never counts as empty."""
    path = data_folder(environ) / FILE
    if not path.exists():
        return []
    try:
        file = msgspec.json.decode(file_bytes(path), type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptStateError(path, f"does not parse: {error}", _REMEDY) from error
    if file.v != _VERSION:
        raise CorruptStateError(path, f"has the form {file.v}, which a newer version wrote", "use that version")
    return file.holds


def place_hold(environ: Mapping[str, str], at: datetime, *, reason: str, by: str, **what: str) -> Hold:
    """Set a hold and return it.

    ``what``: any of ``project``, ``session``, ``person``, ``since`` and ``until``. Raises UsageError: it names nothing,
    no reason, a person without a letter, or an end before its beginning; CorruptStateError: the holds or the audit log
    are damaged; OSError: the data folder cannot be written.
    """
    named = {name: text for name, text in what.items() if text}
    if not named:
        raise UsageError(f"a hold names something: {', '.join(_NAMES)}")
    if not reason.strip():
        raise UsageError("a hold has a reason: whoever finds it later must know why it is there")
    if {"since", "until"} <= named.keys() and _seconds(named["since"]) > _seconds(named["until"]):
        raise UsageError("a hold ends before it begins; exchange since and until")
    if "person" in named:
        try:
            _needle(named["person"])
        except ValueError as error:
            raise UsageError(f"--person {named['person']!r}: {error}") from error
    hold = Hold(id=f"h{secrets.token_hex(4)}", reason=reason.strip(), by=by, at=at.isoformat(), **named)
    with _changing(environ) as holds:
        # the log comes second: a kill in between leaves a hold too much, never one too few
        _write(environ, [*holds, hold])
        AuditLog(environ).append([Entry(action="hold", item=hold.id)], at)
    return hold


def release_hold(environ: Mapping[str, str], name: str, at: datetime) -> Hold:
    """Take a hold back and return it.

    Raises NotFoundError: there is none of this id; CorruptStateError: the holds or the audit log are damaged; OSError:
    the data folder cannot be written.
    """
    with _changing(environ) as holds:
        found = next((hold for hold in holds if hold.id == name), None)
        if found is None:
            raise NotFoundError(f"there is no hold {name!r}; `slowwave retain holds` lists them")
        AuditLog(environ).append([Entry(action="release", item=name)], at)
        _write(environ, [hold for hold in holds if hold.id != name])
    return found


def held_reason(hold: Hold, facts: Facts) -> str:
    """Return why a hold holds a session, or ""."""
    if hold.session and hold.session not in facts.ids:
        return ""
    if hold.project and facts.places is not None and not any(hold.project in place for place in facts.places):
        return ""
    if (hold.since or hold.until) and not _overlaps(hold, facts.times()):
        return ""
    if hold.person:
        needle = _needle(hold.person)
        if not any(needle.occurs_in(text) for text in facts.texts()):
            return ""
    return f"{hold.id} ({hold.reason}; set by {hold.by})"


def held_by(holds: Iterable[Hold], facts: Facts) -> str:
    """Return why the first of the holds holds a session, or ""; those that need no look into files come first."""
    reasons = (held_reason(hold, facts) for hold in sorted(holds, key=lambda hold: bool(hold.person)))
    return next((reason for reason in reasons if reason), "")


def _overlaps(hold: Hold, times: tuple[float, float] | None) -> bool:
    if times is None:
        return True
    first, last = times
    return not (hold.since and last < _seconds(hold.since)) and not (hold.until and first > _seconds(hold.until))


@lru_cache(maxsize=64)
def _needle(person: str) -> "Needle":
    from slowwave.retention.erase.subjects import Needle  # noqa: PLC0415 - whoever lists holds looks for nobody

    return Needle(person)


def _said(name: str, value: str) -> str:
    return told(datetime.fromisoformat(value)) if name in _TIMES else value


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@contextmanager
def _changing(environ: Mapping[str, str]) -> Generator[list[Hold]]:
    folder = state_folder(environ)
    private_folder(folder)
    with locked_file(folder / LOCK, create=True):
        yield read_holds(environ)


def _write(environ: Mapping[str, str], holds: list[Hold]) -> None:
    path = data_folder(environ) / FILE
    private_folder(path.parent)
    atomic_write(path, msgspec.json.format(msgspec.json.encode(_File(_VERSION, holds)), indent=1), mode=0o600)


# What a hold is asked about a session: in its place, in the trash, or in a pack of the archive.

# so many records at each end of a file tell when something happened in it
_LOOKED_AT = 60
_BLOCK = 16 << 20
_Times = tuple[float, float]


class _Line(msgspec.Struct, gc=False):
    timestamp: object = None
    created_at: object = None


_decoder = msgspec.json.Decoder(_Line)


def facts_of(member: Member, home: Path) -> Facts:
    """Return what a hold is asked about a session that lies in its place, with all that goes where it goes."""
    project, paths = member.project, paths_of(member)
    places = [project.key, project.root, *dict.fromkeys(os.fspath(path.parent) for path in paths)]
    newest = max(one.mtime_ns for one in member.sessions) / 1e9
    return Facts(
        {one.id for one in member.sessions},
        places,
        lambda: _until(newest, times_of(paths)),
        lambda: _texts(member, home),
    )


def facts_of_item(item: TrashItem, trash: Path, known: PackedSession | None) -> Facts:
    """Return what a hold is asked about an item of the trash.

    ``trash``: the folder of the trash; ``known``: its session as it was archived: nothing else tells its project for
    sure.
    """
    stored = {Path(file.path): trash / item.id / file.stored for file in item.files if file.kind == "file"}
    newest = max((file.mtime_ns for file in item.files if file.kind == "file"), default=0) / 1e9
    places = None if known is None else _places(known, (file.path for file in item.files))
    return Facts(
        ids_in(item),
        places,
        lambda: _until(newest, times_of(stored.values())),
        lambda: (text for name, path in stored.items() for text in _blocks(name, open_regular(path))),
    )


def facts_of_shelved(one: Shelved) -> Facts:
    """Return what a hold is asked about a session in the archive."""
    session = one.session
    return Facts(
        ids_of(session),
        _places(session, (file.path for file in session.files)),
        lambda: _times_in(session),
        lambda: _texts_in(one),
    )


def texts_in(paths: Iterable[Path]) -> Iterator[bytes]:
    """Yield the names of files and their plain bytes, in blocks of whole lines.

    Raises UnreadableError: one of them cannot be read to its end.
    """
    for path in paths:
        yield from _blocks(path, open_regular(path))


def times_of(paths: Iterable[Path]) -> _Times | None:
    """Return the earliest and latest time that the first and last records of files tell, None when none does."""
    found: list[float] = []
    for path in paths:
        problems: list[Problem] = []
        first = (raw for _, raw in islice(read_records(path, _decoder, problems), _LOOKED_AT))
        found += _parsed_times(first)
        found += _parsed_times(line for line in map(_decoded, islice(lines_backward(path), _LOOKED_AT)) if line)
    return (min(found), max(found)) if found else None


def files_below(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files among some paths, and those in their folders; no link is followed."""
    for path in paths:
        if path.is_symlink():
            continue
        if path.is_dir():
            yield from files_below(sorted(path.iterdir()))
        elif path.is_file():
            yield path


def _blocks(name: Path, file: BinaryIO) -> Iterator[bytes]:
    """Yield the name of a file and its plain bytes; the name tells whether it is packed, wherever it lies now."""
    yield os.fsencode(name)
    problems: list[Problem] = []
    with plain_of(name, file, problems) as plain:
        if problems:
            raise UnreadableError(name, problems[0].detail)  # nobody knows who is in the rest
        while block := plain.read(_BLOCK):
            yield block + plain.readline()


def _places(session: PackedSession, paths: Iterable[str]) -> Sequence[str]:
    return [session.project, session.root, *dict.fromkeys(os.path.dirname(path) for path in paths)]  # noqa: PTH120


def _until(newest: float, found: _Times | None) -> _Times | None:
    return (found[0], max(found[1], newest)) if found else None


def _times_in(session: PackedSession) -> _Times | None:
    """Return the times that are listed of an archived session and of what went with it, None when one is missing."""
    rows = (session.row, *session.inside)
    times = [parse_time(str(row.get(name))) for row in rows for name in ("created", "last_activity")]
    known = [at.timestamp() for at in times if at is not None]
    return (min(known), max(*known, session.last)) if len(known) == len(times) else None


def files_of(session: StoredSession, home: Path) -> Iterator[Path]:
    """Yield every file that a client keeps of a session alone: what is held, or left alone, with it.

    Raises UnreadableError: the index of its client cannot be read; OSError: a folder cannot be listed.
    """
    yield from session_files(session)
    yield from files_below(belongings_of(session, home).paths)
    if not session.in_database:
        yield from files_below(named_after(session, home))


def _texts(member: Member, home: Path) -> Iterator[bytes]:
    notes = belongings_of(member.session, home).notes
    yield "\n".join((member.session.id, *(note.text for note in notes))).encode("utf-8", "surrogateescape")
    yield from texts_in(dict.fromkeys(path for one in member.sessions for path in files_of(one, home)))


def _texts_in(one: Shelved) -> Iterator[bytes]:
    with Pack(one.pack) as pack:
        for file in one.session.files:
            if file.kind == "file":
                yield from _blocks(Path(file.path), io.BytesIO(pack.read(file)))


def _decoded(line: tuple[int, bytes]) -> _Line | None:
    try:
        return _decoder.decode(line[1].strip(b" \t\r\n\0"))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _parsed_times(lines: Iterable[_Line]) -> list[float]:
    texts = (text for line in lines for text in (line.timestamp, line.created_at) if isinstance(text, str))
    return [at.timestamp() for at in map(parse_time, texts) if at is not None]
