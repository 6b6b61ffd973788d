"""A session as it lies on disk, before its content is read: its files, their place, what is odd there, and the walk.

One pass over the folders of a store reads names and stat, no content, no pathlib. ``listdir`` on a descriptor plus
``stat`` relative to it is the fastest walk that Python has, and names with newlines or bytes that are not UTF-8 come
through it unharmed (they are ``str`` with surrogate escapes).
"""

import os
import re
import stat
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, Protocol, Self, TypeVar

import msgspec

from slowwave.errors import UnreadableError, UsageError
from slowwave.formats import SessionFiles, SessionKind, SessionOrigin, whole
from slowwave.formats.lines import PACKED, open_plain

SUFFIX = ".jsonl"
StoreProblemKind = Literal[
    "unreadable",  # the operating system refuses a folder or file, or it is no regular file
    "unknown-dialect",  # content that no dialect recognises
    "empty",  # a transcript without a byte
    "damaged",  # not one readable record at its beginning
    "link",  # a transcript is a symbolic link out of the store
    "loop",  # a symbolic link leads back to a folder that was read already
    "duplicate",  # the same file under a second name
    "ignored",  # transcripts where no client keeps sessions
    "gap",  # a numbered part is missing
    "too-large",  # more than the session's own client would load
    "blocked",  # it was erased on request, and lies there again
    "catalogue",  # the cache of what is known cannot be kept, so sessions are read again
]


class StoreProblem(msgspec.Struct, frozen=True):
    """Something in a store that is not a session; it is counted and shown and never stops a run."""

    kind: StoreProblemKind
    path: str
    detail: str

    def __str__(self) -> str:
        """Say it in one line, also when the name holds a newline."""
        shown = self.path.replace("\n", "\\n").encode("utf-8", "backslashreplace").decode()
        return f"{shown}: {self.kind}: {self.detail}"


class Place(NamedTuple):
    """One folder or database whose sessions are one page of the catalogue."""

    kind: str  # name of the kind that lists it
    path: str  # the folder, or the database file; its sessions then have their ids as part of their key
    store: str = ""  # the real path of the root that it belongs to, which links may not lead out of; "" when they may


Source = Literal["", "archived", "reset", "deleted", "backup"]


def key_in_database(path: str, session: str) -> str:
    """Return the key of a session that shares its file with others."""
    return f"{path}#{session}"


class FoundFile(msgspec.Struct, gc=False, frozen=True):
    """One file as the walk saw it."""

    name: str
    size: int
    mtime_ns: int
    dev: int
    ino: int


Signature = tuple[bytes, int, int, int, int]


def signatures(files: Iterable[FoundFile]) -> list[Signature]:
    """Return name, size, mtime, device and inode of each file, the name as bytes: it may be no UTF-8."""
    return [(os.fsencode(f.name), f.size, f.mtime_ns, f.dev, f.ino) for f in files]


class FoundSession(msgspec.Struct, gc=False):
    """All files of one session in one folder, in reading order."""

    folder: str  # the folder that its files lie in
    id: str  # the id that its client knows it by
    # its files; of a session in a database, the database with the size and time of the session's own rows
    files: list[FoundFile]
    side: bool  # its place says that it is a sub-agent's
    numbers: list[int] = []  # the part numbers of its files, where they have some
    dialect: str = ""  # the dialect, where the place tells it; else the content does
    cwd: str = ""  # the working folder, where the place tells it
    kind: SessionKind | Literal[""] = ""  # main, subagent or fork, where the place tells it
    source: Source = ""  # what became of it: "", archived, reset, deleted or backup
    in_database: bool = False  # its file holds other sessions, too
    parent: str = ""  # id of the session that it belongs to or was forked from, where the place tells it
    origin: SessionOrigin = ""  # who began it, where the place tells it
    told: str = ""  # what a file beside it told of it, "" for nothing

    @property
    def path(self) -> str:
        """The path of its first file."""
        return f"{self.folder}/{self.files[0].name}"

    @property
    def key(self) -> str:
        """What tells it from every other session: the path, in a database with the id."""
        return key_in_database(self.path, self.id) if self.in_database else self.path

    @property
    def size(self) -> int:
        """Bytes over all parts."""
        return sum(file.size for file in self.files)

    @property
    def mtime_ns(self) -> int:
        """Newest modification over all parts."""
        return max(file.mtime_ns for file in self.files)

    def missing_parts(self) -> list[int]:
        """Return the part numbers that should be there and are not; 1 is the base file."""
        return [n for n in range(1, self.numbers[-1]) if n not in self.numbers] if self.numbers else []


class StoredSession(msgspec.Struct, frozen=True):
    """One session found on disk, before its content is read."""

    dialect: str  # name of the dialect that its content shows
    files: SessionFiles  # id and files in reading order
    kind: SessionKind  # main, subagent or fork
    folder: Path  # the project folder, or another place of a store, that it lies in
    size: int  # bytes over all parts
    mtime_ns: int  # newest modification time over all parts
    source: str = ""  # what became of it: "", archived, reset, deleted or backup
    in_database: bool = False  # its file holds other sessions, too, so that the file's time says nothing about it
    origin: SessionOrigin = ""  # who began it, "" where its client does not tell
    parent: str = ""  # id of the session that it belongs to or was forked from, as far as the catalogue knows
    messages: int = -1  # how many there are, -1 where nobody counted them or some record could not be read

    @property
    def id(self) -> str:
        """The session's id."""
        return self.files.id

    @property
    def is_stream(self) -> bool:
        """Say whether it is no file of lines."""
        return self.in_database or self.dialect == "opencode"


# Session ids: which ones may become a file name.

# Linux allows 255 bytes for a name; a part number and the suffix must still fit.
_MOST_BYTES = 200
_PART_LIKE = re.compile(r".*_part[0-9]+\Z", re.DOTALL)


def checked_id(session_id: str) -> str:
    """Return ``session_id`` when it can safely become a file name.

    Raises UsageError: it holds a separator or a control character, begins with a dot, is empty or too long, or looks
    like a part file; nothing was touched.
    """
    reason = ""
    if not session_id or session_id.strip() != session_id:
        reason = "is empty or has white space at an end"
    elif any(c in "/\\:" or not c.isprintable() for c in session_id):
        reason = "holds a separator or a control character"
    elif session_id.startswith((".", "-")):
        reason = "begins with a dot or a dash"
    elif len(os.fsencode(session_id)) > _MOST_BYTES:
        reason = f"is longer than {_MOST_BYTES} bytes"
    elif _PART_LIKE.match(session_id):
        reason = "looks like a part file of another session"
    if reason:
        raise UsageError(f"session id {session_id!r} {reason}; use letters, digits, '-', '_' and '.' only")
    return session_id


def base_path(folder: Path, session_id: str) -> Path:
    """Return where the first file of a session lies, surely inside ``folder``.

    Raises UsageError: the id is malformed, or the file is a link that leads out of the folder.
    """
    path = folder / (checked_id(session_id) + SUFFIX)
    if path.resolve().parent != folder.resolve():
        raise UsageError(f"{path}: is a link that leads out of its folder; name the real file")
    return path


# The names of its files. Cersei spreads a session over several: ``ID.jsonl``, ``ID_part2.jsonl``, ``ID_part3.jsonl``...

# Cersei counts from 2 and writes no leading zeros: any other ending belongs to the session's own name
_PART = re.compile(r"(?s)(?P<stem>.+)_part(?P<number>[2-9]|[1-9][0-9]+)")
# pi and Codex put the time before the id: the id alone is what their users know a session by.
_TIMED_NAME = re.compile(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9-]+Z_|rollout-[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9-]{8}-)(.+)\Z", re.DOTALL
)


def session_id(name: str) -> str:
    """Return the id that a transcript's file name holds."""
    stem = name.removesuffix(PACKED).removesuffix(SUFFIX)
    timed = _TIMED_NAME.match(stem) if stem[:1] in "0123456789r" else None
    return timed[1] if timed else stem


def session_stem(name: str) -> tuple[str, int]:
    """Return the session's name and the part number for a file name, with or without ``.jsonl`` (base = 1)."""
    stem = name.removesuffix(SUFFIX)
    match = _PART.fullmatch(stem)
    return (match["stem"], int(match["number"])) if match else (stem, 1)


def part_name(stem: str, number: int) -> str:
    """Return the file name of a part; number 1 is the base file."""
    return f"{stem}{SUFFIX}" if number == 1 else f"{stem}_part{number}{SUFFIX}"


def numbered_parts(base: Path) -> dict[int, str]:
    """Return the file names of a session by part number, from one listing of names."""
    stem = base.name.removesuffix(SUFFIX)
    try:
        names = os.listdir(base.parent)
    except OSError as error:
        raise UnreadableError(base.parent, error.strerror or "cannot be listed") from error
    numbers = {1: base.name} if base.name in names else {}
    for name in names:
        if name.startswith(stem) and name.endswith(SUFFIX):
            found, number = session_stem(name)
            if found == stem and number > 1:
                numbers[number] = name
    return numbers


# ruff: noqa: PTH208 - pathlib makes the walk four times slower


# What a folder holds, read once as long as nothing in it comes or goes: for questions that are asked of each file.
#
# The kernel sets the time at which a folder itself changed with every name that comes or goes. Within one tick of the
# file system's clock a change may leave no trace, so a listing that was made that soon after the last one is made
# again.


# ticks are 1 to 10 ms, or whole seconds
_TICK_NS = 100_000_000
_COARSE_TICK_NS = 2_000_000_000
_SECOND_NS = 1_000_000_000
_MOST_FOLDERS = 10_000


@dataclass(slots=True)
class KnownFolder:
    """A listing."""

    stamp: tuple[int, int]
    listed_ns: int
    entries: list[tuple[str, int]]  # names and inodes
    derived: dict[str, Any] = field(default_factory=dict[str, Any])  # what was made of it, by a name of the caller's


_folders: dict[str, KnownFolder] = {}


def known_folder(folder: str) -> KnownFolder:
    """Return what lies in a folder."""
    now = time.time_ns()
    at = os.stat(folder)  # noqa: PTH116 - asked once a folder and session
    stamp = at.st_ctime_ns, at.st_ino
    tick = _TICK_NS if at.st_ctime_ns % _SECOND_NS else _COARSE_TICK_NS
    known = _folders.get(folder)
    if known is not None and known.stamp == stamp and known.listed_ns - at.st_ctime_ns > tick:
        return known
    with os.scandir(folder) as entries:
        listed = [(entry.name, entry.inode()) for entry in entries]
    if known is None or known.entries != listed:
        known = KnownFolder(stamp, now, listed)
    known.stamp, known.listed_ns = stamp, now
    if len(_folders) >= _MOST_FOLDERS:
        _folders.clear()
    _folders[folder] = known
    return known


# Which sessions in some folders name another one as the one that they came from.

# A header stands in front; damage, or a note of the client, may stand before it.
_HEADER_WITHIN = 8
_LONGEST_HEADER = 4 << 20
_MOST_KNOWN = 200_000
Header = dict[str, Any]
# Whom a header names, by folder, name and inode: it never changes. One that is not there yet is looked for again.
_named_parent: dict[tuple[str, str, int], str] = {}


def sessions_naming(own: str, folders: Iterable[Path], kind: str, source: Callable[[Header], str]) -> Iterator[Path]:
    """Yield the sessions in some folders whose header names another one as the one that they came from."""
    for folder in folders:
        if folder.is_dir():
            for name in _forks_in(os.fspath(folder), kind, source).get(own, ()):
                yield folder / name


def _forks_in(folder: str, kind: str, source: Callable[[Header], str]) -> Mapping[str, Sequence[str]]:
    """Return the names of the forks in a folder by what they came from; only new headers are read."""
    known = known_folder(folder)
    if kind in known.derived:
        return known.derived[kind]
    found: dict[str, list[str]] = defaultdict(list)
    is_whole = True
    for name, inode in sorted(known.entries):
        if not name.endswith(SUFFIXES) or name[0] == ".":
            continue
        key = folder, name, inode
        if key not in _named_parent:
            if len(_named_parent) >= _MOST_KNOWN:
                _named_parent.clear()
            header = _header(Path(folder, name), kind)
            if not header:
                is_whole = False
                continue
            _named_parent[key] = source(header)
        if _named_parent[key]:
            found[_named_parent[key]].append(name)
    if is_whole:
        known.derived[kind] = found
    return found


def _header(path: Path, kind: str) -> Header:
    try:
        with open_plain(path) as file:
            for _ in range(_HEADER_WITHIN):
                fields = whole(file.readline(_LONGEST_HEADER))
                if fields.get("type") == kind:
                    return fields
    except FileNotFoundError:
        pass  # removed since the folder was listed
    return {}


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder in order, none where it is not there."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


# Codex packs old rollouts; the plain file counts where both are there.
PACKED_SUFFIX = SUFFIX + PACKED
SUFFIXES = (SUFFIX, PACKED_SUFFIX)
SIDE_FOLDER = "subagents"
MEMORY = "memory"
SIDE_PREFIX = "agent-"
# Cersei numbers its part files from 2, without leading zeros; the base file has no number.
_PART_FILE = re.compile(r"(.+)_part([2-9]|[1-9][0-9]+)\.jsonl\Z", re.DOTALL)
# What lies beside sessions and is certainly no folder: not worth a failing system call each.
_PLAIN_FILES = (".json", ".md", ".txt", ".bak", ".lock", ".tmp", ".gz", ".zst")
MAX_DEPTH = 8
K = TypeVar("K", bound="Known")


class Known(Protocol):
    """A session that a catalogue knows: as long as these hold, a session of one file need not be looked into."""

    size: int
    mtime_ns: int
    dev: int
    ino: int
    parts: "list[Signature] | None"
    told: str


class Snapshot(msgspec.Struct, array_like=True, frozen=True):
    """The names in a folder, and what told its transcripts from others."""

    names: str  # all names in the order of the folder, with slashes between them
    others: list[str]  # the names that are no transcripts
    folders: list[str]  # those of them that may be folders
    # inode, size, mtime and device of each transcript, in the order of the names; encoded, since bytes are compared at
    # once
    facts: bytes
    device: int  # the device that all of them lie on

    @classmethod
    def of(cls, names: Sequence[str], seen: dict[str, os.stat_result], folders: list[str]) -> Self | None:
        """Return the snapshot of a folder; None when its names are no UTF-8, or its files lie on several devices.

        ``seen``: the transcripts among them, as they were seen, in the same order. ``folders``: the names that may be
        folders.
        """
        joined = "/".join(names)
        try:
            joined.encode()
        except UnicodeEncodeError:
            return None
        facts = _encode([_facts_of(at) for at in seen.values()])
        devices = {at.st_dev for at in seen.values()} or {0}
        others = [name for name in names if name not in seen]
        return cls(joined, others, folders, facts, devices.pop()) if len(devices) == 1 else None

    def inodes_of_same(self, fd: int, names: list[str]) -> set[int] | None:
        """Return the inodes of the transcripts in an open folder, None when anything in it is no longer as it was."""
        if "/".join(names) != self.names:
            return None
        others = set(self.others)
        look = os.stat
        try:
            facts = [_facts_of(look(name, dir_fd=fd)) for name in names if name not in others]
        except OSError:
            return None  # whoever looks at them one by one reports it
        return {fact[0] for fact in facts} if _encode(facts) == self.facts else None

    def has_names_of(self, other: Self) -> bool:
        """Say whether another one has the same names, in whichever order."""
        return self.names == other.names or sorted(self.names.split("/")) == sorted(other.names.split("/"))


class Walk(msgspec.Struct, Generic[K], eq=False):
    """One walk over some folders: what it met already, what was odd, and what a catalogue knew."""

    problems: list[StoreProblem]  # everything that was left out, and why
    # known sessions that were met and have not changed; they are not yielded
    kept: list[K] = msgspec.field(default_factory=list[K])
    # folders of which all is as it was; their sessions are neither yielded nor kept
    same: list[str] = msgspec.field(default_factory=list[str])
    seen: dict[str, Snapshot] = msgspec.field(default_factory=dict[str, Snapshot])  # what the other folders look like
    store: str = ""  # the real path that links to transcripts may not lead out of; "" lets them lead anywhere
    _then: Mapping[str, Snapshot] = msgspec.field(default_factory=dict[str, Snapshot])
    _load: Callable[[], dict[str, K]] = dict
    _known: dict[str, K] | None = None
    _files: dict[int, set[int]] = msgspec.field(default_factory=dict[int, set[int]])
    _linking: set[str] = msgspec.field(default_factory=set[str])
    _folders: set[tuple[int, int]] = msgspec.field(default_factory=set[tuple[int, int]])

    @property
    def known(self) -> dict[str, K]:
        """Sessions of the place at hand by their path."""
        if self._known is None:
            self._known = self._load()
        return self._known

    def enter(self, then: Mapping[str, Snapshot], load: Callable[[], dict[str, K]]) -> None:
        """Begin with another place.

        ``then``: its folders as they were when its sessions were looked at. ``load``: returns those sessions by their
        path; it is not called as long as only such folders are met.
        """
        self.kept, self.same, self.seen = [], [], {}
        self._then, self._load, self._known = then, load, None

    def sessions(self, folder: str, *, inside: str = "", depth: int = 0) -> Iterator[FoundSession]:
        """Yield the sessions that lie in ``folder`` and those of their sub-agents, except known and unchanged ones.

        Everything that is left out for another reason than its name is reported: unreadable, no regular file, met
        already under another name, or a folder of transcripts where the clients keep none. ``inside``: its path in the
        project folder with a slash at its end; "" for the project folder itself. ``depth``: how many folders it lies
        below the first one of sub-agents.
        """
        try:
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            self.problems.append(StoreProblem("unreadable", folder, error.strerror or "cannot be opened"))
            return
        try:
            if not self._enters(fd, folder):
                return
            names = _unpacked_once(os.listdir(fd))
            found, folders = self._unchanged(fd, folder, names) or self._grouped(fd, folder, names, inside)
        except OSError as error:
            self.problems.append(StoreProblem("unreadable", folder, error.strerror or "cannot be listed"))
            return
        finally:
            os.close(fd)
        yield from found
        for name in folders:
            yield from self._below(folder, name, inside, depth)

    def look(self, folder: str, name: str, told: str = "") -> FoundFile | None:
        """Return one file of a client that names its files itself; None when it is known and unchanged, or refused.

        What is left out is reported as :meth:`sessions` reports it. ``told``: what a file beside it tells of it now, ""
        for nothing; another word than before is a change.
        """
        path = f"{folder}/{name}"
        if self.leads_out(path):
            return None
        try:
            at = os.stat(path)  # noqa: PTH116 - once a session
        except OSError as error:
            self.problems.append(StoreProblem("unreadable", path, error.strerror or "no stat"))
            return None
        met = self._files.setdefault(at.st_dev, set())
        if at.st_ino in met or not stat.S_ISREG(at.st_mode):
            self._refuse(path, at)
            return None
        met.add(at.st_ino)
        old = self.known.get(path)
        file = FoundFile(name, at.st_size, at.st_mtime_ns, at.st_dev, at.st_ino)
        if old is None or old.parts is not None or told not in ("", old.told):
            return file
        if (old.size, old.mtime_ns, old.dev, old.ino) != (file.size, file.mtime_ns, file.dev, file.ino):
            return file
        self.kept.append(old)
        return None

    def leads_out(self, path: str) -> bool:
        """Say whether a transcript is a link out of the store, and note it: whoever made it chose what is read."""
        if not self.store or not os.path.islink(path):  # noqa: PTH114 - once a session
            return False
        target = os.path.realpath(path)
        # the folder itself may lie elsewhere behind a link
        stores = (self.store, os.path.realpath(os.path.dirname(path)))  # noqa: PTH120 - no pathlib in the walk
        if any(target.startswith(f"{store}/") for store in stores):
            return False
        detail = f"is a link out of the store, to {target}; store.follow_links reads such sessions"
        self.problems.append(StoreProblem("link", path, detail))
        return True

    def _behind(self, fd: int, folder: str, name: str) -> os.stat_result:
        """Return the status of a file, or of what a link leads to; of the link itself when it may not be followed."""
        at = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if not stat.S_ISLNK(at.st_mode):
            return at
        self._linking.add(folder)
        return at if self.leads_out(f"{folder}/{name}") else os.stat(name, dir_fd=fd)

    def _enters(self, fd: int, folder: str) -> bool:
        at = os.fstat(fd)
        if (at.st_dev, at.st_ino) in self._folders:
            self.problems.append(
                StoreProblem("loop", folder, "leads to a folder that was read already (symbolic link)")
            )
            return False
        self._folders.add((at.st_dev, at.st_ino))
        return True

    def _unchanged(self, fd: int, folder: str, names: list[str]) -> tuple[list[FoundSession], list[str]] | None:
        """Return what a folder has beside known sessions when nothing in it has changed, else None."""
        then = self._then.get(folder)
        inodes = then.inodes_of_same(fd, names) if then else None
        if then is None or inodes is None:
            return None
        met = self._files.setdefault(then.device, set())
        if not met.isdisjoint(inodes):
            return None  # links to what was read already
        met |= inodes
        self.same.append(folder)
        return [], then.folders

    def _grouped(self, fd: int, folder: str, names: list[str], inside: str) -> tuple[list[FoundSession], list[str]]:
        found: list[FoundSession] = []
        numbered: list[tuple[str, int, FoundFile]] = []
        folders: list[str] = []
        get, keep, look = self.known.get, self.kept.append, self._behind
        here = os.fstat(fd).st_dev
        met = self._files.setdefault(here, set())
        seen: dict[str, os.stat_result] = {}
        odd = len(self.problems)
        prefix = folder + "/"
        # one look at all names: most folders have no parts
        parts = [name for name in names if "_part" in name] if "_part" in "/".join(names) else []
        split = {one for name in parts if (match := _PART_FILE.match(name)) for one in (name, match[1] + SUFFIX)}
        for name in names:
            old = get(prefix + name)
            if old is None and (not name.endswith(SUFFIXES) or name[0] == "."):
                if name[0] != "." and name != MEMORY and not name.endswith(_PLAIN_FILES):
                    folders.append(name)
                continue
            try:
                at = look(fd, folder, name)
            except OSError as error:
                self.problems.append(StoreProblem("unreadable", f"{folder}/{name}", error.strerror or "no stat"))
                continue
            ino = at.st_ino
            seen[name] = at
            if (
                old is not None
                and ino == old.ino
                and at.st_mtime_ns == old.mtime_ns
                and at.st_size == old.size
                and at.st_dev == old.dev == here
                and old.parts is None
                and ino not in met
                and not (split and name in split)
            ):
                met.add(ino)
                keep(old)
                continue
            others = self._files.setdefault(at.st_dev, set())
            if ino in others or not stat.S_ISREG(at.st_mode):
                self._refuse(f"{folder}/{name}", at)
                continue
            others.add(ino)
            file = FoundFile(name, at.st_size, at.st_mtime_ns, at.st_dev, ino)
            if split and (match := _PART_FILE.match(name)):
                numbered.append((match[1], int(match[2]), file))
            else:
                side = bool(inside) or name.startswith(SIDE_PREFIX)
                found.append(FoundSession(folder, session_id(name), [file], side, parent=inside.partition("/")[0]))
        if numbered:
            _stitch(found, numbered, folder, side=bool(inside))
        # whether links may lead out is asked each time
        if (
            len(self.problems) == odd
            and folder not in self._linking
            and (snapshot := Snapshot.of(names, seen, folders)) is not None
        ):
            self.seen[folder] = snapshot
        return found, folders

    def _refuse(self, path: str, at: os.stat_result) -> None:
        if stat.S_ISREG(at.st_mode):
            self.problems.append(StoreProblem("duplicate", path, "is a file that was read already under another name"))
        elif not stat.S_ISLNK(at.st_mode):  # a link that leads out is noted already
            self.problems.append(StoreProblem("unreadable", path, "is not a regular file"))

    def _below(self, folder: str, name: str, inside: str, depth: int) -> Iterator[FoundSession]:
        path = f"{folder}/{name}"
        if inside:
            if os.path.isdir(path):  # noqa: PTH112 - no pathlib in the walk
                if depth >= MAX_DEPTH:
                    self.problems.append(StoreProblem("ignored", path, f"lies more than {MAX_DEPTH} folders deep"))
                    return
                yield from self.sessions(path, inside=f"{inside}{name}/", depth=depth + 1)
            return
        try:
            names = os.listdir(path)
        except NotADirectoryError:
            return
        except OSError as error:
            self.problems.append(StoreProblem("unreadable", path, error.strerror or "cannot be listed"))
            return
        if SIDE_FOLDER in names:
            yield from self.sessions(f"{path}/{SIDE_FOLDER}", inside=f"{name}/{SIDE_FOLDER}/")
        stray = sum(n.endswith(SUFFIX) for n in names)
        if stray:
            self.problems.append(StoreProblem("ignored", path, f"{stray} .jsonl files where no client keeps sessions"))


def listed(folder: str, problems: list[StoreProblem]) -> list[str]:
    """Return the names in a folder in order; none of one that cannot be listed, which is reported."""
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        problems.append(StoreProblem("unreadable", folder, error.strerror or "cannot be listed"))
        return []


def _unpacked_once(names: list[str]) -> list[str]:
    """Leave out packed files whose plain file is there, too."""
    packed = [name for name in names if name.endswith(PACKED)] if PACKED in "/".join(names) else []
    if packed:
        twice = {name[: -len(PACKED)] for name in packed}.intersection(names)
        return [name for name in names if not (name.endswith(PACKED_SUFFIX) and name[: -len(PACKED)] in twice)]
    return names


def _stitch(found: list[FoundSession], numbered: list[tuple[str, int, FoundFile]], folder: str, *, side: bool) -> None:
    """Add numbered parts to their base, or to each other where there is no base file."""
    by_id = {session.id: session for session in found}
    for stem, number, file in sorted(numbered, key=lambda item: (item[0], item[1])):
        session = by_id.get(stem)
        if session is None:
            session = by_id[stem] = FoundSession(folder, stem, [], side or stem.startswith(SIDE_PREFIX), [])
            found.append(session)
        elif not session.numbers:
            session.numbers = [1]
        session.files.append(file)
        session.numbers.append(number)


# A folder as one walk saw it: when all of it is the same the next time, not one of its sessions has to be looked up.
#
# Comparing the names and the facts of a folder at once costs a tenth of doing so one file at a time.

# What the catalogue trusts a file by.
_facts_of = attrgetter("st_ino", "st_size", "st_mtime_ns", "st_dev")
_encode = msgspec.msgpack.Encoder().encode
