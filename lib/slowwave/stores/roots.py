"""Which places of which roots hold sessions: homes of the clients, a person's home, or plain folders of transcripts.

And which of the sessions there is meant, and how it is opened for writing.
"""

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from slowwave.errors import NotFoundError, UnknownDialectError, UnreadableError, UsageError
from slowwave.formats.claude import CLIENT as CLAUDE
from slowwave.formats.claude import PLAIN
from slowwave.formats.client import Client, RecordDialect
from slowwave.formats.lines import read_records
from slowwave.formats.registry import CLIENTS, EXPECTED, NAMES, by_name, client_of, sniff
from slowwave.formats.sessions import (
    MEMORY,
    SIDE_PREFIX,
    SUFFIX,
    SUFFIXES,
    FoundFile,
    FoundSession,
    K,
    Known,
    Place,
    StoreProblem,
    Walk,
    numbered_parts,
    session_id,
    session_stem,
)
from slowwave.stores.projects import new_session_folder

if TYPE_CHECKING:  # whoever plans one session needs no settings, and whoever lists them no writers
    from slowwave.formats.writing import Means, Target, Writer
    from slowwave.settings import Settings

DIALECTS = f"{', '.join(NAMES[:-1])} or {NAMES[-1]}"

REMEDY = (
    f"--store, or store.roots, names a folder: a client's home such as ~/.claude, a person's home, or transcripts of "
    f"{DIALECTS}; a project is named by --project"
)


@dataclass(frozen=True, slots=True)
class Root:
    """One root, its places, and whether the settings name it."""

    path: Path
    places: tuple[Place, ...]
    is_named: bool

    def has_memory(self) -> bool:
        """Say whether some project in it has a memory folder: such a root is a store, whatever else is in it."""
        return any(os.path.isdir(f"{place.path}/{MEMORY}") for place in self.places)  # noqa: PTH112

    def refuse_strangers(self, known: int, strangers: Sequence[StoreProblem]) -> None:
        """Refuse a root that somebody named, and that holds nothing but what is no session.

        Raises UnknownDialectError: it is such a root.
        """
        strangers = [stranger for stranger in strangers if stranger.kind != "blocked"]
        if self.is_named and strangers and not known and not self.has_memory():
            text = f"no transcript of a known dialect in it ({len(strangers)} seen, {strangers[-1].kind})"
            raise UnknownDialectError(self.path, text, REMEDY)


def store_roots(settings: "Settings", environ: Mapping[str, str], problems: list[StoreProblem]) -> list[Root]:
    """Return the roots that the settings name, or the homes of all clients when they name none.

    Raises UnreadableError: a named root is missing, a file, unreadable, or holds nothing that could be a store.
    """
    every = _roots(settings, environ, problems)
    if settings.store.follow_links:
        return every
    # a home of clients stands for that of the one whose place it is
    return [
        replace(root, places=tuple(p._replace(store=os.path.realpath(p.store or root.path)) for p in root.places))
        for root in every
    ]


def _roots(settings: "Settings", environ: Mapping[str, str], problems: list[StoreProblem]) -> list[Root]:
    named = [path.expanduser().absolute() for path in dict.fromkeys(settings.store.roots)]
    if named:
        return _once([_named(path, environ, problems) for path in named], problems)
    found = _once(list(_usual(environ, problems)), problems)
    if not found:
        homes = ", ".join(os.fspath(path) for kind in CLIENTS.values() for path in kind.homes(environ)[:1])
        problems.append(StoreProblem("ignored", homes, "not one exists, so there is no store; name one with --store"))
    return found


def _named(path: Path, environ: Mapping[str, str], problems: list[StoreProblem]) -> Root:
    """Return a root that somebody named; where it is none, say also which homes of clients there are."""
    try:
        return Root(path, tuple(_places(path, problems)), is_named=True)
    except UnreadableError as error:
        there = [os.fspath(home) for kind in CLIENTS.values() for home in kind.homes(environ) if home.exists()]
        known = f"; here are {', '.join(there)}" if there else ""
        raise UnreadableError(error.path, error.reason, f"{REMEDY}{known}") from error


def _once(roots: list[Root], problems: list[StoreProblem]) -> list[Root]:
    """Leave out places that lie in two roots, or in one under two names; the walk itself enters no folder twice."""
    met: set[tuple[int, int]] = set()

    def is_new(place: Place) -> bool:
        if client_of(place.kind).is_flat:
            return True
        try:
            at = os.stat(place.path)  # noqa: PTH116 - a name as it is on disk, any bytes
        except OSError:
            return True  # reported by those who list it
        identity = (at.st_dev, at.st_ino)
        if identity in met:
            problems.append(StoreProblem("duplicate", place.path, "lies in another root, too, or has another name"))
            return False
        met.add(identity)
        return True

    return [replace(root, places=tuple(filter(is_new, root.places))) for root in roots]


def sessions_of(place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
    """Yield the sessions of a place as its kind lists them, except those that are known and have not changed."""
    walk.store = place.store
    return client_of(place.kind).sessions(place, walk)


def _usual(environ: Mapping[str, str], problems: list[StoreProblem]) -> Iterator[Root]:
    """Yield the homes of all clients that exist; one that cannot be read does not stop the others."""
    for kind in CLIENTS.values():
        for path in kind.homes(environ):
            if path.exists():
                try:
                    places = kind.places(path, _names(path), problems) or []
                except (OSError, UnreadableError) as error:
                    reason = error.reason if isinstance(error, UnreadableError) else error.strerror
                    problems.append(StoreProblem("unreadable", os.fspath(path), reason or "cannot be listed"))
                else:
                    yield Root(path, tuple(places), is_named=False)


def is_persons_home(path: Path) -> bool:
    """Say whether clients keep their own homes in a folder, as in the home of somebody who uses them."""
    usual = (home for kind in CLIENTS.values() for home in kind.homes({"HOME": os.fspath(path)}))
    return any(path in home.parents and home.exists() for home in usual)


def _places(path: Path, problems: list[StoreProblem]) -> list[Place]:
    names = _names(path)
    try:
        if is_persons_home(path):
            whole = [
                place._replace(store=os.fspath(root.path))
                for root in _usual({"HOME": os.fspath(path)}, problems)
                for place in root.places
            ]
            if whole:
                return whole
        for kind in (*CLIENTS.values(), PLAIN):
            places = kind.places(path, names, problems)
            if places is not None:
                return places
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be listed", REMEDY) from error
    raise UnreadableError(path, "no transcripts in it", REMEDY)


def _names(path: Path) -> set[str]:
    try:
        return set(os.listdir(path))  # noqa: PTH208 - names only
    except FileNotFoundError:
        raise UnreadableError(path, "does not exist", REMEDY) from None
    except NotADirectoryError:
        raise UnreadableError(path, "is a file, not a folder", REMEDY) from None
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be listed", REMEDY) from error


# What the first records of a session show, without reading the rest: dialect, sub-agent or not, working folder.

# The first message of real sessions stands within the first 30 records (copies of requests come before it).
_MOST_RECORDS = 60
# A header is the first record, unless damage or a note of the client stands before it.
_HEADER_WITHIN = 8


class Head(NamedTuple):
    """What is known of a session before its content is read; parent and messages only where it was read before."""

    dialect: str
    side: bool
    cwd: str
    parent: str = ""
    messages: int = -1


class _Record(msgspec.Struct, gc=False):
    """The few fields that tell; anything may stand in them."""

    type: object = None
    cwd: object = None
    isSidechain: object = None  # noqa: N815 - the client's spelling
    is_sidechain: object = None


_decoder = msgspec.json.Decoder(_Record)


def read_head(found: FoundSession) -> Head | StoreProblem:
    """Return what the beginning of a session shows, or why it is none.

    The dialect is told by content, unless the place tells it; the first part that shows one decides, since a first
    part may be damaged.
    """
    side = found.side or found.kind == "subagent"
    if found.in_database:
        return Head(found.dialect, side, found.cwd)
    if not found.size and client_of(found.dialect).may_be_empty:
        return Head(found.dialect, side, found.cwd)
    if not found.size:
        return StoreProblem("empty", found.path, "holds not a single byte")
    for file in found.files:
        path = Path(found.folder, file.name)
        if not file.size:
            continue
        try:
            dialect = found.dialect or sniff(path)
            if dialect is not None:
                is_side, cwd = _beginning(path, dialect)
                return Head(dialect, side or is_side, found.cwd or cwd)
        except UnreadableError as error:
            return StoreProblem("unreadable", os.fspath(path), error.reason)
    return StoreProblem("unknown-dialect", found.path, f"no record of a known dialect ({DIALECTS})")


def _beginning(path: Path, dialect: str) -> tuple[bool, str]:
    """Return whether the first records are a sub-agent's, and the first working folder that is named."""
    if client_of(dialect).names_folder:
        return _first_message(path)
    rules = by_name(dialect)
    if isinstance(rules, RecordDialect):
        for span, record in islice(read_records(path, rules.decoder, []), _HEADER_WITHIN):
            told = rules.told(span, record)
            if told.kind is not None:
                return told.kind == "subagent", told.cwd
    return False, ""


def _first_message(path: Path) -> tuple[bool, str]:
    side: bool | None = None
    cwd = ""
    for _, record in islice(read_records(path, _decoder, []), _MOST_RECORDS):
        if not cwd and isinstance(record.cwd, str):
            cwd = record.cwd
        if record.type in ("user", "assistant") and side is not False:
            # client 1.0 keeps sub-agents in the main file: one message of the main conversation decides
            side = record.isSidechain is True or record.is_sidechain is True
        if cwd and side is False:
            break
    return side is True, cwd


# Which session a person means by a few characters of its id.


def found_sessions(
    settings: "Settings", environ: Mapping[str, str], problems: list[StoreProblem]
) -> list[FoundSession]:
    """Return every session under the roots by its names alone; no content is read.

    Raises UnreadableError: a root is missing, a file, or unreadable.
    """
    walk = Walk[Known](problems)
    roots = store_roots(settings, environ, problems)
    return [found for root in roots for place in root.places for found in sessions_of(place, walk)]


def meant_session(session_id: str, sessions: Iterable[FoundSession]) -> FoundSession:
    """Return the session with this id, or the only one whose id begins with it.

    Main sessions go before those of sub-agents, and of files with one id those with content before empty ones. Raises
    NotFoundError: none or several fit; the message names some.
    """
    known = list(sessions)
    fitting = [s for s in known if s.id == session_id]
    if not fitting and session_id:
        fitting = [s for s in known if s.id.startswith(session_id)]
    fitting = [s for s in fitting if not s.side] or fitting
    fitting = _latest_of(session_id, fitting) or fitting
    if len({s.id for s in fitting}) == 1:
        fitting = [s for s in fitting if s.size] or fitting
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        among = f"{len(known)} session{'' if len(known) == 1 else 's'}"
        raise NotFoundError(f"no session {session_id!r} among {among}; `slowwave sessions list` shows them all")
    places = ", ".join(f"{s.id} in {s.folder}" for s in sorted(fitting, key=lambda s: s.path)[:4])
    raise NotFoundError(
        f"{session_id!r} matches {len(fitting)} sessions ({places}); write more of it, or the file's path"
    )


def _latest_of(name: str, sessions: list[FoundSession]) -> list[FoundSession]:
    """Return the session with the highest number where ``name`` is all but the number (crabtalk), else none."""
    numbers = {s.id: s.id.removeprefix(f"{name}_") for s in sessions if client_of(s.dialect).is_numbered}
    own = [s for s in sessions if (number := numbers.get(s.id, "")).isascii() and number.isdecimal()]
    most = max((int(numbers[s.id]) for s in own), default=0)
    return [s for s in own if int(numbers[s.id]) == most]


def newest_session(sessions: Iterable[FoundSession], cwd: str = "") -> FoundSession:
    """Return the main session that was written to last; what is of no known dialect is passed over.

    ``cwd``: only those that work in this folder. Raises NotFoundError: there is none.
    """
    main = sorted((s for s in sessions if not s.side and s.size), key=lambda s: s.mtime_ns, reverse=True)
    for session in main:
        head = read_head(session)
        if not isinstance(head, StoreProblem) and cwd in ("", head.cwd):
            return session
    if cwd:
        raise NotFoundError(f"no session of {cwd} was found; leave --here out, or name one")
    if main:
        raise NotFoundError(f"no session of a known dialect yet ({len(main)} other files seen); name one by its path")
    raise NotFoundError("no session yet; name a store with --store")


# What clients note of a session beside its messages, in files and databases of their own.


class ClientFacts:
    """What clients note of sessions (keys, counters, statistics, permissions); each of their files is read once."""

    def __init__(self) -> None:
        self._by_place: dict[str, Mapping[str, Mapping[str, Any]]] = {}

    def of(self, dialect: str, path: str, session: str) -> Mapping[str, Any]:
        """Return what is noted of a session, nothing where its client notes nothing or that cannot be read."""
        client = client_of(dialect)
        place = client.facts_at(path)
        if place and place not in self._by_place:
            self._by_place[place] = _facts(client, Path(place))
        return self._by_place[place].get(session, {}) if place else {}


def _facts(client: Client, place: Path) -> Mapping[str, Mapping[str, Any]]:
    import sqlite3  # noqa: PLC0415 - few sessions are asked for what is noted of them

    try:
        return client.facts(place)
    except (UnreadableError, OSError, sqlite3.Error):
        return {}  # the listing of the sessions themselves reports it


def known_by(name: str, sessions: Iterable[FoundSession]) -> FoundSession | None:
    """Return the session with a key (OpenClaw), or with an id that its transcript's name does not show.

    Several agents may have one key, such as that of a job; then it names none.
    """
    facts = ClientFacts()
    found: list[FoundSession] = []
    for session in sessions:
        if not session.source:
            told = facts.of(session.dialect, session.path, session.id)
            found += [session] if name in (told.get("key"), told.get("session_id")) else []
    return found[0] if len(found) == 1 else None


# The session that one file belongs to, found by the names of its folder alone: only its own parts are looked at.


def session_of_path(path: Path) -> FoundSession:
    """Return the session that a file belongs to, with its other parts (Cersei), whatever lies beside them.

    Raises UnreadableError: a file of it, or the folder, cannot be looked at.
    """
    side = path.name.startswith(SIDE_PREFIX)
    folder = os.fspath(path.parent)
    if named := next(filter(None, (client.named(path) for client in CLIENTS.values())), ""):
        return FoundSession(folder, named, [_found(path)], side=False)
    if not path.name.endswith(SUFFIXES) or path.name.startswith("."):
        return FoundSession(folder, path.name, [_found(path)], side=False)
    base = path.with_name(session_stem(path.name)[0] + SUFFIX)
    numbers = numbered_parts(base) if path.name.endswith(SUFFIX) else {}
    if set(numbers) <= {1}:
        return FoundSession(folder, session_id(path.name), [_found(path)], side)
    files = [_found(path.with_name(numbers[number])) for number in sorted(numbers)]
    return FoundSession(folder, session_id(base.name), files, side, sorted(numbers))


def _found(path: Path) -> FoundFile:
    try:
        at = path.stat()
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read", "name a transcript or a session id") from error
    return FoundFile(path.name, at.st_size, at.st_mtime_ns, at.st_dev, at.st_ino)


# Opening sessions for writing: which writer a session needs, what it writes to, and that nobody else has it open.

# What a client has put aside it does not read again, whatever is appended to it.
_PUT_ASIDE = ("reset", "deleted", "backup")


class Opened(NamedTuple):
    """A session and the writer for it."""

    writer: "Writer"
    target: "Target"


class Writers:
    """The writers of one task; those that hold back what their client would not have written yet keep it here."""

    def __init__(self, means: "Means") -> None:
        """Take what new records are made with."""
        self.means = means
        self._writers: dict[str, Writer] = {}

    def of(self, dialect: str) -> "Writer":
        """Return the writer of a dialect. Raises UsageError: its sessions are only read; the message says why."""
        if dialect not in self._writers:
            self._writers[dialect] = writer_for(dialect, self.means)
        return self._writers[dialect]

    def known(self, found: FoundSession) -> Opened:
        """Return a session that exists, and its writer.

        Raises UnreadableError: it cannot be read; UnknownDialectError: its content is of no known dialect; UsageError:
        sessions of its dialect are only read, its client has put it aside, or its file is a link that leads out of its
        folder.
        """
        head = known_head(found)
        writer = self.of(head.dialect)
        if found.source in _PUT_ASIDE:
            raise UsageError(
                f"{found.path}: its client has put this session aside ({found.source}); nothing was written"
            )
        files = tuple(Path(found.folder, file.name) for file in found.files)
        if files[0].resolve().parent != files[0].parent.resolve():
            raise UsageError(f"{files[0]}: is a link that leads out of its folder; name the real file")
        from slowwave.formats.writing import Target  # noqa: PLC0415 - listing needs no writers

        return Opened(writer, Target(found.id, files[0], files, head.cwd, found.side or head.side))

    def new(self, dialect: str, folder: Path, session_id: str, cwd: str) -> Opened:
        """Return a session that is to be begun, and its writer.

        Raises UsageError: sessions of this dialect are only read, only its client begins one, or the id cannot be a
        name.
        """
        writer = self.of(dialect)
        from slowwave.formats.writing import Target  # noqa: PLC0415 - listing needs no writers

        return Opened(writer, Target(session_id, writer.path(folder, session_id), (), cwd))


def known_head(found: FoundSession) -> Head:
    """Return what the beginning of a session shows.

    Raises UnreadableError: it cannot be read; UnknownDialectError: it is empty, or its content is of no known dialect.
    """
    head = read_head(found)
    if not isinstance(head, StoreProblem):
        return head
    if head.kind == "unreadable":
        raise UnreadableError(head.path, head.detail, "let this user read it")
    raise UnknownDialectError(head.path, head.detail, EXPECTED)


@contextmanager
def held(opened: Opened) -> Generator[Opened]:
    """Yield a session as long as nobody else may write to it. Raises RefusedError: a running client has it open."""
    with opened.writer.alone(opened.target):
        yield opened


def writable() -> list[str]:
    """Return the names of the clients whose sessions are written to."""
    return [name for name, client in CLIENTS.items() if client.writer is not None]


def writer_for(dialect: str, means: "Means") -> "Writer":
    """Return the writer of a dialect.

    Raises UsageError: sessions of this dialect are only read; the message says why.
    """
    client = client_of(dialect)
    found = client.writing()
    if found is None:
        reason = client.read_only or f"write to one of {', '.join(writable())}"
        raise UsageError(f"a session of {dialect} is read only: {reason}; nothing was written")
    return found(means)


# Where a new session goes when nobody names a folder: where its client would look for it.


def folder_for(dialect: str, settings: "Settings", environ: Mapping[str, str], cwd: Path) -> Path:
    """Return the folder for a new session that works in ``cwd``; it may not exist yet.

    Args:
        dialect: of the new session.
        settings: the first of its store roots is taken, if it names one; in a person's home the client's own.
        environ: where clients are told of other homes.
        cwd: the working folder, absolute.

    Raises UnreadableError: the store is a file.
    """
    client, named = client_of(dialect), settings.store.roots
    is_own = client.new_folder(Path(), cwd) is not None
    if named and is_persons_home(named[0]):
        home = (client if is_own else CLAUDE).homes({"HOME": os.fspath(named[0])})[0]
        settings = settings.with_roots([home])
        named = settings.store.roots
    own = client.new_folder(named[0] if named else client.homes(environ)[0], cwd) if is_own else None
    return new_session_folder(settings, environ, cwd) if own is None else own
