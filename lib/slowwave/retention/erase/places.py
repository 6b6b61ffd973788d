"""Every place that an erasure looks into: what slowwave writes, homes of clients, git stores, and what is left out."""

import os
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from functools import lru_cache
from pathlib import Path
from struct import unpack_from

from slowwave.errors import RefusedError, SlowwaveError
from slowwave.files import file_bytes
from slowwave.formats.database import HEADER
from slowwave.formats.registry import CLIENTS
from slowwave.journal import remove_leftovers
from slowwave.memory.folder import global_folder
from slowwave.memory.guard import OWN_FOLDER
from slowwave.places import archive_folder, config_folder, data_folder, scheduler_folder, state_folder
from slowwave.report import NOT_SEARCHED, Item
from slowwave.retention.erase.databases import bytes_hold, found_in_database
from slowwave.retention.erase.eraser import Eraser, Names
from slowwave.retention.erase.mask import Place, is_packed, layers
from slowwave.retention.erase.project import tell, write_plan
from slowwave.retention.erase.sessions import drop_lines, lines_of
from slowwave.retention.erase.transcripts import FilePlan, Line, plain_bytes, plan_file
from slowwave.retention.sessions import home_files
from slowwave.settings import Settings
from slowwave.stores.archive.pack import SUFFIX as PACK
from slowwave.stores.model import Project
from slowwave.stores.roots import is_persons_home
from slowwave.stores.trash import trash_folder

# what an erasure does with each setting that names a place; a test holds that none is missing
SETTINGS = {
    "store.roots": "searched as the homes of clients are",
    "store.moved": "names only folders; searched with the other settings",
    "memory.folder": "found with its project",
    "memory.elsewhere": "found by its template",
    "memory.global_folder": "found by its template",
    "memory.global_import": "gets one line, the path of the global memory",
    "memory.shared": "files of shared memories that hold it are removed; git's history keeps what was committed",
    "secrets.key_file": "holds only a random key",
    "telemetry.log_file": "overwritten as a file in the home of a client is",
}
_SENT = "batches/sent"


def roots_of(environ: Mapping[str, str]) -> list[Path]:
    """Return the folders below which all lies that slowwave writes, unless settings say otherwise."""
    return [
        folder for folder in (data_folder(environ), state_folder(environ), config_folder(environ)) if folder.is_dir()
    ]


def names_in(settings: Settings, environ: Mapping[str, str]) -> Names:
    """Return what counts the names of files below all that an erasure of everything deals with."""
    return Names(lambda: (*homes(settings.store.roots, environ), *roots_of(environ)))


def memories_in(settings: Settings, environ: Mapping[str, str]) -> set[Path]:
    """Return the memory folders that lie where the settings put those of projects without a folder of their own.

    They are found whether or not a session of their project is left.

    Raises:
        SettingsError: a template is malformed.
    """
    data = data_folder(environ)
    found = {path.parent.parent for path in data.rglob(f"{OWN_FOLDER}/*.jsonl")} if data.is_dir() else set[Path]()
    pattern = Path(settings.memory.elsewhere.format(data=os.fspath(data), key="*")).expanduser().absolute()
    places = [*Path(pattern.anchor).glob(os.fspath(pattern.relative_to(pattern.anchor)))]
    return found | {path for path in (*places, global_folder(settings, environ)) if (path / OWN_FOLDER).is_dir()}


def erase_from_logs(eraser: Eraser) -> None:
    """Overwrite what must go from the log that the settings name, and from those that it was before a rotation."""
    name = eraser.settings.telemetry.log_file
    if not name or name == "-":
        return
    place = Path(name).expanduser()
    for path in sorted(place.parent.glob(f"{place.name}*")) if place.parent.is_dir() else ():
        if path.is_file():
            erase_from_home_file(path, eraser, whole=True)


def look_into_rest(eraser: Eraser, memories: Collection[Path]) -> None:
    """Look into what no step knows, and into what people wrote: holds, settings. It is named, and theirs to change."""
    for path in _rest(eraser.environ, memories):
        try:
            data = file_bytes(path)
            is_found = bool(eraser.what.hits(data)) or any(map(eraser.what.hits, layers(data)))
        except FileNotFoundError:
            continue  # a running job clears its own files away
        except (SlowwaveError, OSError) as error:
            eraser.refuse("", str(path), str(error))
            continue
        if is_found:
            eraser.refuse("", str(path), "settings, holds or a file of slowwave name a subject; change it yourself")


def _rest(environ: Mapping[str, str], memories: Collection[Path]) -> Iterator[Path]:
    """Yield the files below the folders for data and settings that no other step overwrites."""
    known = {trash_folder(environ), *memories}
    for root in (data_folder(environ), config_folder(environ)):
        for folder, inner, names in os.walk(root):
            inner[:] = sorted(name for name in inner if Path(folder, name) not in known)
            for path in (Path(folder, name) for name in sorted(names)):
                is_pack = path.suffix == PACK and path.parent == archive_folder(environ)
                if path.is_file() and not path.is_symlink() and not is_pack:
                    yield path
    # never replaced by another file, since processes hold them
    yield from sorted(path for path in state_folder(environ).rglob("*") if path.suffix in (".lock", ".key"))


def refuse_on_their_way(eraser: Eraser) -> None:
    """Name questions to a model that were handed over: their answers are still to come, and may name a subject."""
    sent = state_folder(eraser.environ) / _SENT
    if number := sum(1 for _ in sent.glob("*.json")):
        reason = f"{number} batches of questions lie at the server of a model, with what they quote; run this again"
        eraser.refuse("", str(sent), f"{reason} once their answers were read, and delete them there")


# What clients keep in their homes over all sessions, and whatever else lies there, in an erasure.


def erase_from_homes(projects: Sequence[Project], eraser: Eraser, memories: Collection[Path]) -> list[Path]:
    """Deal with prompts, names and indexes, then with every other file; return the databases that were met.

    Raises:
        OSError: a folder cannot be read.
    """
    known = home_files(session for project in projects for session in project.sessions)
    for path in known:
        _drop_sessions(path, eraser)
        erase_from_home_file(path, eraser)
        if not eraser.dry_run:
            remove_leftovers(path.parent)
    return _others(known, eraser, memories) if eraser.what.keeps_length else []


def _drop_sessions(path: Path, eraser: Eraser) -> None:
    sessions = eraser.across.sessions
    if sessions and (number := lines_of(path, sessions)) and not eraser.linked("", path):
        eraser.found("", str(path), [Place(0, 0, "session", "lines of erased sessions")] * number)
        if not eraser.dry_run:
            with eraser.rewriting(path):
                drop_lines(path, sessions)


def _others(known: Collection[Path], eraser: Eraser, memories: Collection[Path]) -> list[Path]:
    databases: list[Path] = []
    folders = homes(eraser.settings.store.roots, eraser.environ)
    for folder in () if eraser.dry_run else folders:
        remove_leftovers(folder, below=True)
    for path, sort in other_files(folders, eraser.across.seen | set(known), memories):
        if sort is Sort.LINK:
            eraser.report.count("not_searched")
            eraser.report.items.append(Item(os.fspath(path), NOT_SEARCHED, sort.value))
            continue
        eraser.report.count("searched_files")
        if sort is Sort.DATABASE:
            databases.append(path)
        elif sort is Sort.GIT:
            _look_into_git(path, eraser)
        elif is_packed(path) and _is_refused_packed(path, eraser):
            continue
        elif sort is Sort.KNOWN:
            if path.name in INDEXES:
                _drop_sessions(path, eraser)  # the last session of this home has gone, now or in a run that was killed
            erase_from_home_file(path, eraser, whole=".jsonl" not in path.name)
        elif eraser.what.hits(path.read_bytes()):
            eraser.refuse("", str(path), sort.value)
    return databases


def look_into_names(folders: Collection[Path], eraser: Eraser) -> None:
    """Name every file and folder whose own name holds a subject: other programs find it by that."""
    for home in folders:
        for folder, inner, names, links in walk_home(home):
            for name in sorted((*inner, *names, *links)):
                if eraser.what.hits(os.fsencode(name)):
                    eraser.refuse("", os.path.join(folder, name), "its name holds a subject; rename it")  # noqa: PTH118 - as it is on disk


def _look_into_git(folder: Path, eraser: Eraser) -> None:
    try:
        number = sum(bool(eraser.what.hits(one)) for one in objects_in(folder))
    except (SlowwaveError, OSError) as error:
        eraser.refuse("", str(folder), str(error))
        return
    if number:
        reason = f"a git store with {number} objects that hold a subject; they are named by their hashes, so it goes as"
        eraser.refuse("", str(folder), f"{reason} a whole: end its client, then remove the folder")


def _is_refused_packed(path: Path, eraser: Eraser) -> bool:
    """Refuse a file when what is packed in it holds a subject, or nobody can look into it."""
    try:
        is_found = any(eraser.what.hits(one) for one in layers(path.read_bytes()))
    except (SlowwaveError, OSError) as error:
        eraser.refuse("", str(path), str(error))
        return True
    if is_found:
        eraser.refuse("", str(path), "what is packed in it holds a subject; remove it, or unpack it and run this again")
    return is_found


def _leave_held(plan: FilePlan, eraser: Eraser) -> None:
    """Take the lines out of a plan that something holds, and name them."""
    if not plan.lines or not eraser.holds:
        return
    data = plain_bytes(plan.path)
    free: list[Line] = []
    for line in plan.lines:
        if held := eraser.held_text(data[line.offset : line.offset + len(line.new)], plan.path):
            eraser.refuse("", f"{plan.path}:{line.number}", held)
        else:
            free.append(line)
    plan.lines = free


def erase_from_home_file(path: Path, eraser: Eraser, *, whole: bool = False) -> None:
    """Deal with a file in the home of a client, which no session's lock protects: only while nobody writes to it."""
    idle = eraser.settings.extraction.idle
    try:
        plan = plan_file(path, eraser.what, whole=whole)
        age = timedelta(seconds=eraser.now.timestamp() - plan.state.mtime_ns / 1e9)
        if plan.lines and age < idle:
            eraser.refuse("", str(path), f"live: its client changed it a moment ago, and it must rest for {idle}")
            return
        _leave_held(plan, eraser)
        if plan.lines and eraser.linked("", path):
            return
        if plan.lines and not eraser.dry_run:
            write_plan(plan, eraser)
    except SlowwaveError as error:
        eraser.refuse("", str(path), str(error))
        return
    for wrong in plan.refused:
        eraser.refuse("", str(path), wrong)
    tell("", plan, eraser)


# All other files in the homes of clients: those that clients write of what was said, and those that nobody knows.

# what clients keep beside transcripts: Claude Code, Codex, pi, OpenClaw, opencode (clients.md 6, formats.md); not
# "agents", where Claude Code has what a person wrote for their sub-agents, and OpenClaw has "sessions" below it
_FOLDERS = frozenset(
    {
        *("projects", "sessions", "archived_sessions", "todos", "tasks", "file-history", "paste-cache"),
        *("shell-snapshots", "shell_snapshots", "session-env", "plans", "debug", "log", "logs", "cron"),
        *("storage", "tool-output"),
    }
)
# what clients note of all sessions, a line each
INDEXES = frozenset({"history.jsonl", "session_index.jsonl"})
_FILES = INDEXES | {"sessions.json"}


class Sort(Enum):
    """What a file is to an erasure."""

    KNOWN = "written by a client of what was said"
    UNKNOWN = "not known: look at it yourself"
    DATABASE = "a database"
    GIT = "a git store"
    LINK = "a link to something that is not a client's, so it was not followed"


def homes(roots: Collection[Path], environ: Mapping[str, str]) -> list[Path]:
    """Return the homes of clients: those that they use, and those that lie in roots that somebody named."""
    found: list[Path] = []
    for root in roots or [Path()]:
        if not roots:
            found += [home for kind in CLIENTS.values() for home in kind.homes(environ)]
        elif is_persons_home(root):
            found += [home for kind in CLIENTS.values() for home in kind.homes({"HOME": os.fspath(root)})]
        else:
            found.append(root)
    return [home for home in dict.fromkeys(found) if home.is_dir()]


def other_files(
    folders: Collection[Path], seen: Collection[Path], memories: Collection[Path]
) -> Iterator[tuple[Path, Sort]]:
    """Yield every file below the folders that was not seen yet and is in no memory folder, with what it is.

    Of a git store (opencode's snapshots of working folders) its folder stands for all of its objects.
    """
    for home in folders:
        for folder, inner, names, links in walk_home(home):
            yield from ((Path(folder, name), Sort.LINK) for name in links)
            inner[:] = sorted(name for name in inner if Path(folder, name) not in memories)
            if is_git_store(inner, names):
                inner.remove(OBJECTS)
                yield Path(folder), Sort.GIT
            for name in sorted(names):
                path = Path(folder, name)
                if path in seen or not path.is_file() or _is_of_database(path):
                    continue
                if path.is_symlink():
                    if not path.resolve().is_relative_to(home.resolve()):
                        yield path, Sort.LINK
                    continue
                yield path, _sort(home, path)


def walk_home(home: Path) -> Iterator[tuple[str, list[str], list[str], list[str]]]:
    """Walk through a home as :func:`os.walk` does, and yield the links to folders that are not followed, too.

    A client's own folder, or that of a project in it, may lie elsewhere behind a link; it is followed once. Whatever
    else a link leads to is somebody's own.
    """
    followed: set[Path] = set()
    for folder, inner, names in os.walk(home, followlinks=True):
        here = Path(folder)
        links: list[str] = []
        for name in [name for name in inner if (here / name).is_symlink()]:
            target = (here / name).resolve()
            is_theirs = name in _FOLDERS or here.name in _FOLDERS
            if is_theirs and target not in followed and not here.resolve().is_relative_to(target):
                followed.add(target)
            else:
                inner.remove(name)
                links.append(name)
        yield folder, inner, names, sorted(links)


def _sort(home: Path, path: Path) -> Sort:
    with path.open("rb") as file:
        if file.read(len(HEADER)) == HEADER:
            return Sort.DATABASE
    inside = path.relative_to(home).parts
    is_known = path.name in _FILES or not _FOLDERS.isdisjoint(inside[:-1]) or not _FOLDERS.isdisjoint(home.parts)
    return Sort.KNOWN if is_known else Sort.UNKNOWN


def _is_of_database(path: Path) -> bool:
    """Say whether a file holds the last writes of a database beside it, which is looked into together with it."""
    name, dash, end = path.name.rpartition("-")
    return bool(dash) and end in ("wal", "shm", "journal") and path.with_name(name).is_file()


# The objects of a git store, to be searched; opencode's snapshots of working folders are such stores.
#
# After gitformat-pack(5): a pack is a row of objects, each a size and a zlib stream; a delta copies pieces of a base,
# which lies before it in the pack, or anywhere under its name.

OBJECTS, HEAD = "objects", "HEAD"
_SIGNATURE, _INDEX = b"PACK", b"\xfftOc"
_VERSIONS = (2, 3)
_HEADER = 12
_SHA1 = 20
_BY_OFFSET, _BY_NAME = 6, 7
_MOST_BYTES = 1 << 28
_KEPT = 64
_STEP = 16 << 10
_WRONG = "is a git store that cannot be searched"


def is_git_store(folders: list[str], names: list[str]) -> bool:
    """Say whether a folder with these folders and files is a git store."""
    return OBJECTS in folders and HEAD in names


def objects_in(store: Path) -> Iterator[bytes]:
    """Yield the content of every object of a git store.

    Raises:
        RefusedError: one of them is damaged, of an unknown form, or larger than 256 MB.
        OSError: one of them cannot be read.
    """
    objects = store / OBJECTS
    for folder in sorted(path for path in objects.iterdir() if len(path.name) == 2 and path.is_dir()):  # noqa: PLR2004
        for path in sorted(folder.iterdir()):
            if path.is_file():
                yield _inflated(path.read_bytes(), 0)[0]
    packs = objects / "pack"
    for path in sorted(packs.glob("*.pack")) if packs.is_dir() else ():
        yield from _Pack(path, objects).objects()


class _Pack:
    def __init__(self, path: Path, objects: Path) -> None:
        self._objects = objects
        self._data = path.read_bytes()
        if self._data[:4] != _SIGNATURE or unpack_from(">I", self._data, 4)[0] not in _VERSIONS:
            raise RefusedError(f"{_WRONG}: {path.name} is not a known kind of git pack")
        self._number: int = unpack_from(">I", self._data, 8)[0]
        self._offsets = _offsets(path.with_suffix(".idx"))
        self._content = lru_cache(maxsize=_KEPT)(self._content_at)

    def objects(self) -> Iterator[bytes]:
        at = _HEADER
        for _ in range(self._number):
            yield self._content(at)
            at = self._stop(at)

    def _stop(self, at: int) -> int:
        _, start = self._head(at)
        return _inflated(self._data, start)[1]

    def _head(self, at: int) -> tuple[tuple[int, bytes | int], int]:
        """Return the kind of an object with its base, and where its stream begins."""
        byte = self._data[at]
        kind = byte >> 4 & 7
        at += 1
        while byte & 0x80:
            byte = self._data[at]
            at += 1
        if kind == _BY_NAME:
            return (kind, self._data[at : at + _SHA1]), at + _SHA1
        back = 0
        if kind == _BY_OFFSET:
            byte = self._data[at]
            back = byte & 0x7F
            at += 1
            while byte & 0x80:
                byte = self._data[at]
                back = (back + 1) << 7 | byte & 0x7F
                at += 1
        return (kind, back), at

    def _content_at(self, at: int) -> bytes:
        deltas: list[bytes] = []
        while True:
            (kind, base), start = self._head(at)
            plain, _ = _inflated(self._data, start)
            if kind == _BY_OFFSET and isinstance(base, int):
                deltas.append(plain)
                at -= base
            elif kind == _BY_NAME and isinstance(base, bytes):
                deltas.append(plain)
                if base not in self._offsets:
                    plain = self._loose(base)
                    break
                at = self._offsets[base]
            else:
                break
        for delta in reversed(deltas):
            plain = _patched(plain, delta)
        return plain

    def _loose(self, name: bytes) -> bytes:
        path = self._objects / name.hex()[:2] / name.hex()[2:]
        if not path.is_file():
            raise RefusedError(f"{_WRONG}: an object depends on one that is missing")
        return _inflated(path.read_bytes(), 0)[0].partition(b"\0")[2]


def _inflated(data: bytes, start: int) -> tuple[bytes, int]:
    """Return a stream of zlib, and where it ends."""
    stream = zlib.decompressobj()
    plain, at = bytearray(), start
    while not stream.eof and at < len(data) and len(plain) <= _MOST_BYTES:
        try:
            # in steps: what is behind the stream is copied
            plain += stream.decompress(data[at : at + _STEP])
        except zlib.error as error:
            raise RefusedError(f"{_WRONG}: {error}") from error
        at += _STEP
    if not stream.eof:
        raise RefusedError(f"{_WRONG}: an object is cut short, or larger than 256 MB")
    return bytes(plain), min(at, len(data)) - len(stream.unused_data)


def _offsets(path: Path) -> dict[bytes, int]:
    """Return where the objects of a pack lie, by their names; nothing for an index that is not known."""
    data = path.read_bytes() if path.is_file() else b""
    if not data.startswith(_INDEX + b"\0\0\0\2"):
        return {}
    number: int = unpack_from(">I", data, 8 + 255 * 4)[0]
    names = 8 + 256 * 4
    places = names + number * (_SHA1 + 4)
    far = places + number * 4
    found: dict[bytes, int] = {}
    for one in range(number):
        (place,) = unpack_from(">I", data, places + one * 4)
        if place & 0x80000000:
            (place,) = unpack_from(">Q", data, far + (place & 0x7FFFFFFF) * 8)
        found[data[names + one * _SHA1 : names + (one + 1) * _SHA1]] = place
    return found


def _patched(base: bytes, delta: bytes) -> bytes:
    """Return what a delta makes of its base."""
    at = 0
    for _ in range(2):  # the sizes before and after
        while delta[at] & 0x80:
            at += 1
        at += 1
    out = bytearray()
    while at < len(delta):
        code = delta[at]
        at += 1
        if not code & 0x80:
            out += delta[at : at + code]
            at += code
            continue
        numbers = [0, 0]
        for bit in range(7):
            if code & 1 << bit:
                numbers[bit >= 4] |= delta[at] << 8 * (bit % 4)  # noqa: PLR2004 - four bytes of the offset, three of the size
                at += 1
        start, size = numbers[0], numbers[1] or 0x10000
        out += base[start : start + size]
    return bytes(out)


# What an erasure within some projects leaves out, place by place: the certificate says so.

_TOGETHER = "it belongs to all projects together"
# said on every certificate
NEVER = (
    "working folders of projects, backups, and what was sent to a model, are searched by no erasure, nor is what is"
    " packed within base64; text in UTF-16 is searched for names and phrases as they were written, not for patterns"
)


def note_left_out(chosen: Sequence[Project], eraser: Eraser) -> None:
    """Note what is not searched when only some projects are.

    Databases with sessions of theirs are searched, and refused when they hold a subject.
    """
    theirs = sorted({(s.files.paths[0], p.key) for p in chosen for s in p.sessions if s.in_database})
    for path, project in theirs:
        try:
            found = found_in_database(path, eraser.what)
            is_held = bool(found.places or found.refused or bytes_hold(path, eraser.what))
        except (SlowwaveError, OSError) as error:
            eraser.refuse(project, str(path), str(error))
            continue
        if is_held:
            reason = "holds a subject beside sessions of the project, and is written as a whole or not at all"
            eraser.refuse(project, str(path), f"{reason}: run this without --project")
    for place, what in _places(eraser):
        eraser.report.count("not_searched")
        eraser.report.items.append(Item(place, NOT_SEARCHED, f"{what}: {_TOGETHER}; run this without --project"))


def _places(eraser: Eraser) -> Iterator[tuple[str, str]]:
    """Yield the places that are there, each with what it holds."""
    environ = eraser.environ
    yield "all other projects", "their sessions and memories"
    for home in homes(eraser.settings.store.roots, environ):
        yield os.fspath(home), "what its client keeps beside sessions: prompts, tasks, copies, databases, snapshots"
    for folder, what in (
        (trash_folder(environ), "sessions that were removed"),
        (archive_folder(environ), "sessions that were archived"),
        (data_folder(environ), "memories of other projects, holds, certificates"),
        (state_folder(environ), "reports, logs, notes of compactions, questions to models"),
        (scheduler_folder(environ), "the scheduler's database"),
        (config_folder(environ), "settings"),
    ):
        if folder.is_dir():
            yield os.fspath(folder), what
    if (log := eraser.settings.telemetry.log_file) not in ("", "-"):
        yield log, "the log"
