"""A memory folder as one thing: its lock, how another takes its place, the files that count, and its topic files."""

import errno
import hashlib
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, NamedTuple, TypeVar

import msgspec

from slowwave.errors import LockHeldError, RefusedError, SettingsError, UnreadableError
from slowwave.files import (
    at_fault_point,
    atomic_write,
    data_folder,
    file_bytes,
    fsync_folder,
    private_folder,
    require_file,
    write_all,
)
from slowwave.formats import Problem
from slowwave.formats.lines import read_records
from slowwave.memory import Category
from slowwave.memory.dates import has_date
from slowwave.settings import Settings

# The short kernel lock under which anything inside a memory folder is written or swapped.
#
# It is held for milliseconds, is freed by the kernel when its holder dies, and is not the consolidation lock: that one
# lasts as long as a dream and is honoured by other programs (:mod:`slowwave.consolidation.lock`). When a transaction
# replaces the folder, the lock's file goes along as a hard link, so everybody waits at the same file.

OWN_FOLDER = ".slowwave"
WAIT_S = 60.0
_LOCK = "guard.lock"


@contextmanager
def guarded(memory: Path) -> Generator[None]:
    """Hold the write lock of a memory folder; the folder is made when it is missing.

    Raises LockHeldError: another process held it for a minute.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - whoever only reads never waits for its import

    if not memory.exists():
        for kind, _, path in siblings(memory):
            if kind == "aside":
                put_back(memory, path)
    own = memory / OWN_FOLDER
    private_folder(own)
    if (own / _LOCK).exists():
        require_file(own / _LOCK, (own / _LOCK).stat())
    lock = FileLock(own / _LOCK, timeout=WAIT_S, mode=0o600, fallback_to_soft=False)
    try:
        with lock:
            yield
    except Timeout as error:
        raise LockHeldError(f"{memory}: another process has been writing here for {WAIT_S:.0f} s; try again") from error


def is_bare(memory: Path) -> bool:
    """Say whether a memory folder holds nothing but the lock that was made with it."""
    own = memory / OWN_FOLDER
    return [path.name for path in memory.iterdir()] == [OWN_FOLDER] and {path.name for path in own.iterdir()} <= {_LOCK}


def remove_bare(memory: Path) -> None:
    """Remove a memory folder that holds nothing but its lock; the caller holds the guard, and made the folder.

    Raises OSError: something came into it meanwhile, or it may not be removed.
    """
    (memory / OWN_FOLDER / _LOCK).unlink(missing_ok=True)
    (memory / OWN_FOLDER).rmdir()
    memory.rmdir()


# Where a memory folder's siblings lie while it is exchanged: they share its parent, so that a rename reaches them.

Kind = Literal["stage", "aside", "trash"]
_PREFIX = ".slowwave-"
KINDS: tuple[Kind, ...] = ("aside", "stage", "trash")


def sibling(memory: Path, kind: Kind, transaction: str) -> Path:
    """Return the path of a sibling: ``stage`` is being built, ``aside`` is the old folder, ``trash`` can go."""
    return memory.with_name(f"{_PREFIX}{kind}-{_tag(memory)}-{transaction}")


def siblings(memory: Path) -> list[tuple[Kind, str, Path]]:
    """Return what lies beside a memory folder: kind, id of the transaction, path."""
    found: list[tuple[Kind, str, Path]] = []
    for kind in KINDS:
        start = f"{_PREFIX}{kind}-{_tag(memory)}-"
        for path in sorted(memory.parent.glob(f"{start}*")):
            found.append((kind, path.name.removeprefix(start), path))  # noqa: PERF401 - keeps the literal type
    return found


def _tag(memory: Path) -> str:
    """Tell the memory folders of one parent apart, whatever their names hold."""
    return hashlib.sha256(memory.name.encode("utf-8", "surrogateescape")).hexdigest()[:8]


# Exchanging two folders in one step, so that a reader sees the one or the other and nothing in between.

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # Linux, renameat2
_RENAME_SWAP = 2  # macOS, renamex_np
# the system call is unknown, or the file system cannot do it (NFS and some FUSE file systems)
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchange(one: Path, other: Path, *, aside: Path) -> None:
    """Exchange two folders of the same parent.

    Where system or file system cannot exchange in one step, ``one`` is renamed to ``aside`` first: for the moment
    between two renames ``one`` does not exist. A kill in this moment is repaired by :func:`put_back`, which everything
    that writes into a memory folder calls first. Raises OSError: the folders cannot be renamed; both are as before.
    """
    at_fault_point("swap", one)
    native = _native()
    code = native(os.fsencode(one), os.fsencode(other)) if native else errno.ENOSYS
    if code in _CANNOT:
        _in_three_steps(one, other, aside)
    elif code:
        raise OSError(code, os.strerror(code), os.fspath(one))
    fsync_folder(one.parent)


def put_back(one: Path, aside: Path) -> bool:
    """Undo a half-done exchange: rename ``aside`` back when ``one`` is missing; return whether that was needed."""
    if one.exists() or not aside.exists():
        return False
    at_fault_point("rename", one)
    try:
        aside.rename(one)
    except FileNotFoundError:
        return False  # another process was faster
    fsync_folder(one.parent)
    return True


def _in_three_steps(one: Path, other: Path, aside: Path) -> None:
    at_fault_point("rename", aside)
    one.rename(aside)
    try:
        at_fault_point("rename", one)
        other.rename(one)
    except BaseException:
        aside.rename(one)
        raise
    at_fault_point("rename", other)
    aside.rename(other)


def _native() -> Callable[[bytes, bytes], int] | None:
    """Return a function that exchanges two paths and returns an errno, or None when this system has none."""
    import ctypes  # noqa: PLC0415 - only a change of memories needs it

    def errno_of(failed: int) -> int:
        return ctypes.get_errno() if failed else 0

    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "renameat2"):
        return lambda one, other: errno_of(libc.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE))
    if hasattr(libc, "renamex_np"):
        return lambda one, other: errno_of(libc.renamex_np(one, other, _RENAME_SWAP))
    return None


# Reading a memory folder, and the hashes that a commit depends on.

STATE_FILE = ".consolidation_state.json"
LOCK_FILE = ".consolidation_lock"


@dataclass(frozen=True, slots=True)
class MemoryFolder:
    """A memory folder, the project it belongs to, and where that project's transcripts are, archived ones, too."""

    project: str
    path: Path
    transcripts: tuple[Path, ...]
    is_global: bool = False


def digest(data: bytes | None) -> str | None:
    """Return the sha256 of a file's content; None stands for a file that is not there."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def read_or_none(path: Path) -> bytes | None:
    """Return the content of a file, or None when there is none.

    Raises UnreadableError: it is there and cannot be read, for example because it is a folder.
    """
    try:
        return file_bytes(path)
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise UnreadableError(path.parent, "is a file where a memory folder is expected", "move it away") from error
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read", "let this user read it") from error


def read_texts(memory: Path) -> dict[str, bytes]:
    """Return the Markdown files right inside a memory folder, by name.

    Raises UnreadableError: the folder or a file in it cannot be read.
    """
    try:
        names = sorted(p.name for p in memory.iterdir() if p.suffix == ".md" and _counts(p))
    except FileNotFoundError:
        return {}
    except NotADirectoryError as error:
        raise UnreadableError(memory, "is a file where a memory folder is expected") from error
    except OSError as error:
        raise UnreadableError(memory, error.strerror or "cannot be read") from error
    files = {name: read_or_none(memory / name) for name in names}
    return {name: data for name, data in files.items() if data is not None}


def _counts(path: Path) -> bool:
    """Say whether a page is read: what is none is refused there, but for folders that a person named like one."""
    return path.exists() and (path.name == INDEX or not path.is_dir())


def hashes_of(memory: Path, names: Iterable[str]) -> dict[str, str | None]:
    """Return the present hash of each file, None for those that are not there."""
    return {name: digest(read_or_none(memory / name)) for name in names}


def moved_since(memory: Path, seen: Mapping[str, str | None], *, texts: bool) -> str:
    """Return which file is not as it was when it was read, or "".

    ``memory``: the memory folder. ``seen``: hashes at the time of reading. ``texts``: also say so when a Markdown file
    appeared that is not in ``seen``.
    """
    now = hashes_of(memory, seen)
    changed = [name for name, was in seen.items() if now[name] != was]
    if texts:
        changed += [name for name in read_texts(memory) if name not in seen]
    return changed[0] if changed else ""


def visible_files(memory: Path) -> dict[str, bytes]:
    """Return every file of a memory folder that is not slowwave's own bookkeeping, by relative path."""
    found: dict[str, bytes] = {}
    for path in sorted(memory.rglob("*")) if memory.is_dir() else []:
        name = path.relative_to(memory).as_posix()
        if path.is_file() and not name.startswith(f"{OWN_FOLDER}/") and name != LOCK_FILE:
            found[name] = file_bytes(path)
    return found


def named(folders: Sequence[MemoryFolder]) -> str:
    """Return where was looked, for a person: the path of the only folder, else how many there are."""
    return str(folders[0].path) if len(folders) == 1 else f"{len(folders) or 'no'} memory folders"


# The topic files of a memory folder: one for each category, with the front matter that clients scan.

INDEX = "MEMORY.md"


# the four kinds that Cersei and Claude Code know in front matter: user, feedback, project, reference
class Topic(NamedTuple):
    """A topic file: its name, and what its front matter says."""

    file: str
    title: str
    description: str
    type: str


TOPICS: dict[Category, Topic] = {
    "constraint": Topic("constraints.md", "Constraints", "what must or must never be done here", "feedback"),
    "preference": Topic("preferences.md", "Preferences", "how the user wants things done", "user"),
    "decision": Topic("decisions.md", "Decisions", "what was decided, and holds until something newer", "project"),
    "project": Topic("project.md", "Project", "facts about this project", "project"),
    "pattern": Topic("patterns.md", "Patterns", "commands and ways of working that proved themselves", "reference"),
}
# what was done, task by task: an agent's notes that nobody needs to load, and that somebody may look up
LOG = Topic("worklog.md", "Work log", "what was done when, task by task", "project")
PAGES: dict[str, Topic] = {topic.file: topic for topic in (*TOPICS.values(), LOG)}
# what an index entry refers to when it is a pointer to a file and not a memory
POINTER = "file:"
# and when it is one to a page that somebody else wrote
PAGE = "page:"
_BRACKETS = str.maketrans("[]", "()")


def new_topic_file(file: str) -> bytes:
    """Return the content of a topic file before its first memory."""
    topic = PAGES[file]
    return (f"---\nname: {topic.title}\ndescription: {topic.description}\ntype: {topic.type}\n---\n\n").encode()


def new_index_file() -> bytes:
    """Return the content of the index before its first line."""
    return b"# Memory\n\n"


def memory_line(text: str) -> str:
    """Return the bullet line of a memory: always one line, whatever the text holds."""
    return "- " + " ".join(text.split())


def fact_line(category: Category, text: str, since: str, *, is_dated: bool = False) -> str:
    """Return the bullet line of a fact: a decision says since when it holds, where that is known and not said yet.

    ``category``: of the fact. ``text``: its words. ``since``: ISO time, or "". ``is_dated``: whether it says so, too,
    though it is no decision.
    """
    day = since[:10]
    says_when = category == "decision" or is_dated
    is_said = day in text or has_date(text)
    return memory_line(f"{text} ({day})" if says_when and not is_said else text)


def page_line(file: str, front: Mapping[str, str]) -> str:
    """Return the line of the index that leads to a page which somebody else wrote."""
    title = " ".join(front.get("name", "").split()) or title_of_file(file)
    told = " ".join(front.get("description", "").split())
    return f"- [{title.translate(_BRACKETS)}]({file})" + (f": {told}" if told else "")


def title_of_file(file: str) -> str:
    """Return what a page without a title is called, by its name."""
    words = file.removesuffix(".md").replace("_", " ").replace("-", " ")
    return words[:1].upper() + words[1:]


def pointer_line(file: str, number: int, told: str = "") -> str:
    """Return the line of the index that leads to a topic file, with what is told of what stands there."""
    topic = PAGES[file]
    one, several = ("note", "notes") if topic is LOG else ("memory", "memories")
    noun = one if number == 1 else several
    return f"- [{topic.title}]({topic.file}): {topic.description}{told} ({number} {noun})"


# The folder of what holds in every project, and the line that lets agents read it.

NAME = "global"


def global_folder(settings: Settings, environ: Mapping[str, str]) -> Path:
    """Return the folder of what holds in every project; it may not exist yet.

    Raises SettingsError: its template is malformed.
    """
    template = settings.memory.global_folder
    try:
        path = template.format(data=data_folder(environ))
    except (KeyError, IndexError, ValueError) as error:
        raise SettingsError("memory.global_folder", template, "may hold {data} only") from error
    return Path(path).expanduser().absolute()


def import_line(folder: Path) -> str:
    """Return the line that imports the global memory into a file that agents read."""
    return f"@{folder / INDEX}"


def import_into(path: Path, folder: Path) -> bool:
    """Append the import line to a file unless it is there; return whether that was needed.

    Everything that stands in the file keeps its bytes; a link is followed. Raises RefusedError: the folder of the file
    does not exist; OSError: the file cannot be written.
    """
    target = path.expanduser().resolve()
    if not target.parent.is_dir():
        raise RefusedError(f"{target.parent}: does not exist, so the global memory is not imported there")
    old = read_or_none(target) or b""
    line = import_line(folder).encode("utf-8", "surrogateescape")
    if line in (found.strip() for found in old.split(b"\n")):
        return False
    end = b"\r\n" if b"\r\n" in old else b"\n"
    gap = b"" if not old or old.endswith(b"\n") else end
    atomic_write(target, old + gap + line + end)
    return True


# Files of notes beside the ledger.

T = TypeVar("T", bound=msgspec.Struct)
_encode = msgspec.json.Encoder().encode


class Notes(Generic[T]):
    """A file of notes beside the ledger: an object a line, only ever appended to, and nothing lost that is deleted.

    ``kind``: what a line holds. ``file``: its name.
    """

    def __init__(self, kind: type[T], file: str) -> None:
        self._decoder = msgspec.json.Decoder(kind)
        self._file = file

    def path(self, memory: Path) -> Path:
        """Return where the notes of a memory folder are."""
        return memory / OWN_FOLDER / self._file

    def read(self, memory: Path) -> tuple[list[T], list[Problem]]:
        """Return the notes, oldest first, and what could not be read.

        Raises UnreadableError: the file exists and cannot be opened.
        """
        path, problems = self.path(memory), list[Problem]()
        return [note for _, note in read_records(path, self._decoder, problems)] if path.exists() else [], problems

    def append(self, memory: Path, notes: Iterable[T], *, once: bool = False) -> None:
        """Add notes in one write.

        ``memory``: the memory folder. ``notes``: what to add. ``once``: leave out what is there already; notes are then
        hashable. Raises LockHeldError: another process kept the memory folder locked for too long; OSError: the file
        cannot be written.
        """
        wanted = list(dict.fromkeys(notes) if once else notes)
        if wanted:
            with guarded(memory):
                known = set(self.read(memory)[0]) if once else set[T]()
                lines = [_encode(note) for note in wanted if not once or note not in known]
                if lines:
                    append_lines(self.path(memory), lines)


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Append lines in one write, after ending a line that a kill or a full disk left torn; the caller holds the guard.

    Raises OSError: the disk is full or the file is not writable.
    """
    data = b"\n".join(lines) + b"\n"
    is_new = not path.exists()
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o600)
    try:
        require_file(path, os.fstat(fd))
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            data = b"\n" + data
        at_fault_point("write", path)
        try:
            write_all(fd, data)
        except OSError:
            # a full disk: half a line would be told as damage until the next one is written
            os.ftruncate(fd, size)
            raise
        at_fault_point("fsync", path)
        os.fsync(fd)
    finally:
        os.close(fd)
    if is_new:
        fsync_folder(path.parent)
