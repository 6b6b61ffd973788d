"""Codex: its home, the locks that it holds there, and finding rollouts and names in it.

A home holds ``sessions/YYYY/MM/DD/rollout-<local time>-<thread id>.jsonl``, ``archived_sessions/`` (flat) and
``session_index.jsonl``. A rollout is known by its id alone; dates in names are local time and never parsed. Cold
rollouts are compressed (``.jsonl.zst``); where a plain one lies beside, it is the one that counts (client).
"""

import fcntl
import os
import re
from collections.abc import Container, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from slowwave.errors import LockHeldError, RefusedError, UnreadableError, UsageError
from slowwave.formats import SessionFiles, Transcript, fields_of, object_in, text_in, whole
from slowwave.formats.client import Belongings, Client, CompactionRules, DeliveryRules, Guess, Home, Hook, is_folder
from slowwave.formats.lines import PACKED, is_compressed
from slowwave.formats.sessions import (
    SUFFIXES,
    FoundSession,
    Header,
    K,
    Place,
    StoredSession,
    StoreProblem,
    Walk,
    known_folder,
    sessions_naming,
)

SESSIONS, ARCHIVED, INDEX = "sessions", "archived_sessions", "session_index.jsonl"
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,127}")
_NAMED = re.compile(
    r"rollout-.*?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})(?:_[-0-9a-fA-F]{36})?\.jsonl(?:\.zst)?"
)
_ORDERED = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-7")
_PROMPTS = "history.jsonl"
# Line types of every era (formats.md §8.2); all but the first three carry nothing that the model sees.
KNOWN_TYPES = frozenset(
    {
        *("session_meta", "response_item", "compacted", "turn_context", "event_msg", "world_state"),
        *("inter_agent_communication", "inter_agent_communication_metadata", "token_usage_record", "session_state"),
    }
)
_PARTS = frozenset({"input_text", "output_text"})


def _first_part(content: object) -> str:
    parts = cast("list[object]", content) if isinstance(content, list) else []
    return text_in(fields_of(parts[0] if parts else None), "type")


# Years, months and days.
_LEVELS = (re.compile(r"[0-9]{4}"), re.compile(r"[0-9]{2}"), re.compile(r"[0-9]{2}"))


class Codex(Client):
    """Codex; its home, or one of the two folders of rollouts in it, is a root.

    All days are one place: a home has thousands of their folders, and a page of the catalogue for each would cost more
    than their listing. A rollout's header tells its working folder and whether it is a sub-agent's.
    """

    name = "codex"
    shows = "Codex (payload)"
    home = Home(".codex", "CODEX_HOME")
    reader = "codex.dialect:CODEX"
    writer = "codex.write:CodexWriter"
    refers = "id"
    store_names = (SESSIONS, ARCHIVED, INDEX)
    resume = ("codex", "resume", "ID")
    tested = "0.169.0"
    # UTF-8 bytes of the items of a rollout to one token: the median of 13 sessions, half of them between 3.5 and 3.8.
    # Taken from the first count to the last one since a compaction, without the tokens of reasoning, which are not sent
    # again.
    guess = Guess(of_bytes=True, measured=3.7)
    compacting = CompactionRules(
        is_written=True,
        trigger="automatic",
        introduced=400,
        keeps_asked=True,
        limit_key="model_auto_compact_token_limit",
        reading="rollout",
        record=b'"compacted"',
        no_clearing="",
    )
    delivery = DeliveryRules(
        reads_agents=True,
        instead="AGENTS.override.md",
        most_bytes=32_768,  # of all files together
        command="skills/NAME/SKILL.md",
        invoked="`$NAME`",
        hook=Hook(
            "hooks.json", "Bash|apply_patch", "0.169.0", "Codex starts it once you have trusted it there: /hooks"
        ),
    )

    def marks(self, record: dict[str, object]) -> bool:
        """Say whether a record is a line of a rollout: wrapped, or the header, a state or an item of a bare one."""
        kind = record.get("type")
        if isinstance(kind, str):
            if kind in KNOWN_TYPES:
                # Of a line that is cut short the payload is known to be there, and no more.
                return "payload" in record and isinstance(record["payload"], dict | None)
            return kind == "message" and "role" in record and _first_part(record.get("content")) in _PARTS
        if record.get("record_type") == "state":
            return True
        named = isinstance(record.get("id"), str) and isinstance(record.get("timestamp"), str)
        return named and kind is None and ("instructions" in record or "git" in record)

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:  # noqa: ARG002
        """Return the tree of days and the archive."""
        if root.name == ARCHIVED:
            return [self._place(root)]
        if root.name == SESSIONS and _has_years(root):
            return [self._place(root)]
        found = [root / SESSIONS] if SESSIONS in names and _has_years(root / SESSIONS) else []
        found += [root / ARCHIVED] if ARCHIVED in names and (root / ARCHIVED).is_dir() else []
        if found:
            return [self._place(folder) for folder in found]
        # A home in which nobody has talked yet, or of which everything was removed.
        return [] if INDEX in names or root.name == ".codex" else None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the rollouts of all days, or those of the archive."""
        if os.path.basename(place.path) == ARCHIVED:  # noqa: PTH119 - a name as it is on disk, any bytes
            for found in walk.sessions(place.path):
                found.source = "archived"
                yield found
            return
        for day in _below(place.path, 0, walk.problems):
            yield from walk.sessions(day)

    def titles(self, place: Place) -> Mapping[str, str]:
        """Return the names of threads that the index of the home keeps."""
        return thread_names(Path(place.path).parent)

    def read_own(self, files: SessionFiles) -> Transcript:
        """Read a session without the lines that a fork refers to: those of its ancestors are found where they are."""
        return cast("Any", self.dialect()).read_own(files)

    def store_of(self, path: Path) -> Path | None:
        """Return the home: a fork by reference may lie in another day than its parent."""
        return home_of(path)

    def settings_files(self, transcript: Path, cwd: Path | None) -> list[Path]:  # noqa: ARG002
        """Return the settings of the home."""
        home = home_of(transcript)
        return [home / "config.toml"] if home is not None else []

    def check_compaction(self, session: str, path: Path) -> None:
        """Refuse the first form, whose lines are wrapped in nothing. Raises UsageError: the session has it."""
        from slowwave.formats.writing import first_record  # noqa: PLC0415 - only before a compaction

        if "payload" not in first_record(path):
            raise UsageError(
                f"{session}: is of Codex's first form, which has no record for compactions: continue in a new session"
            )

    def claimed_by(self, session: StoredSession, home: Path, now: datetime) -> str | None:  # noqa: ARG002
        """Return that a running Codex holds the lock of the thread, or None."""
        return "open in a running Codex" if is_held(session.files.paths[0]) else None

    def lock(self, first: Path, session: str) -> AbstractContextManager[object]:
        """Return the client's own lock of a thread."""
        return writer_lock(first, session)

    def forks(self, session: StoredSession) -> Iterator[Path]:
        """Yield forks by reference: the client refuses to open one whose source is gone (clients.md 5.2)."""
        first = session.files.paths[0]
        home = home_of(first)
        folders = [first.parent] if home is None else [home / ARCHIVED, *_days(home)]
        for path in sessions_naming(session.id, folders, "session_meta", _source):
            if path not in session.files.paths:
                yield path

    def belongings(self, session: StoredSession) -> Belongings:
        """Return a rollout in both of its forms, and its name unless another rollout of the thread stays."""
        paths: list[Path] = []
        for path in reversed(session.files.paths):
            paths += [one for one in (sibling(path), path) if one.is_file()]
        first = session.files.paths[0]
        home, thread = home_of(first), thread_in_name(first)
        if home is None or not thread or any(path not in paths for path in rollouts_of(first, thread)):
            return Belongings(tuple(paths))
        from slowwave.formats.notes import thread_notes  # noqa: PLC0415 - only what removes a session needs it

        return Belongings(tuple(paths), thread_notes(home / INDEX, thread))

    def beside(self, session: StoredSession, path: Path) -> Iterator[Path]:  # noqa: ARG002
        """Yield the packed form of a rollout that was woken up."""
        if sibling(path).is_file():
            yield sibling(path)

    def quoting(self, path: Path) -> Iterable[Path]:
        """Return the file with what people typed, and the index of names."""
        home = home_of(path)
        return [home / name for name in (_PROMPTS, INDEX)] if home else []

    def _place(self, folder: Path) -> Place:
        return Place(self.name, os.fspath(folder))


def _has_years(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    with os.scandir(folder) as entries:
        return any(_LEVELS[0].fullmatch(entry.name) and is_folder(entry, []) for entry in entries)


def _below(folder: str, level: int, problems: list[StoreProblem]) -> Iterator[str]:
    """Yield the folders of all days in order; what lies beside them is reported."""
    try:
        with os.scandir(folder) as entries:
            # the kind of an entry comes with its name: no look at each of thousands of days
            found = sorted((entry.name, is_folder(entry, problems)) for entry in entries)
    except OSError as error:
        problems.append(StoreProblem("unreadable", folder, error.strerror or "cannot be listed"))
        return
    for name, listable in found:
        path = f"{folder}/{name}"
        if listable and _LEVELS[level].fullmatch(name):
            if level + 1 < len(_LEVELS):
                yield from _below(path, level + 1, problems)
            else:
                yield path
        elif name.endswith(SUFFIXES):
            problems.append(StoreProblem("ignored", path, "lies beside the folders of the days, not in one"))


def _days(home: Path) -> Iterator[Path]:
    """Yield the folders of rollouts, ``sessions/YYYY/MM/DD``."""
    level = [home / SESSIONS]
    for _ in range(3):
        level = [one / name for one in level if one.is_dir() for name, _ in known_folder(os.fspath(one)).entries]
    yield from sorted(level)


def _source(header: Header) -> str:
    from slowwave.formats.codex.records import is_of_sub_agent, parent_of  # noqa: PLC0415 - only of sessions that go

    meta = object_in(header, "payload")
    return "" if is_of_sub_agent(meta) else parent_of(meta)


# The lock under which Codex writes a rollout: ``thread-writer-locks/<thread>.lock`` in its home.
#
# An empty file that the running client holds an exclusive ``flock`` on; ``.coordination.lock`` beside it is locked for
# the moment in which that one is made and taken. It goes when the client ends; one that a kill left behind means
# nothing. Seen with client 0.169.0 (``/proc/locks`` and its system calls); older ones lock nothing.

CODEX_LOCKS = "thread-writer-locks"
_COORDINATION = ".coordination.lock"
_COORDINATION_S = 5.0


def lock_path(rollout: Path) -> Path | None:
    """Return where the lock of a rollout lies; None outside of a Codex home, or in one that has no locks."""
    home, thread = home_of(rollout), thread_in_name(rollout)
    if home is None or not thread or not (home / CODEX_LOCKS).is_dir():
        return None
    return home / CODEX_LOCKS / f"{thread}.lock"


def is_held(rollout: Path) -> bool:
    """Say whether a running Codex has the thread of a rollout open."""
    path = lock_path(rollout)
    if path is None:
        return False
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _lock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


@contextmanager
def writer_lock(rollout: Path, session_id: str) -> Generator[None]:
    """Hold the client's own lock while a rollout is written to, so that no Codex opens it meanwhile.

    Raises RefusedError: a running Codex has the thread open.
    """
    path = lock_path(rollout)
    if path is None:
        yield
        return
    with _coordinated(path):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        has_it = _lock(fd, fcntl.LOCK_EX)
    try:
        if not has_it:
            raise RefusedError(f"session {session_id} is open in a running Codex ({path}); close it there first")
        try:
            yield
        finally:
            with _coordinated(path):
                _remove(path, fd)
    finally:
        os.close(fd)


def _remove(path: Path, fd: int) -> None:
    """Remove our lock file, as the client does with its own, before it is let go."""
    if path.exists() and os.path.samestat(path.stat(), os.fstat(fd)):
        path.unlink()


@contextmanager
def _coordinated(path: Path) -> Generator[None]:
    from slowwave.locks import locked_file  # noqa: PLC0415 - a listing asks for no lock

    try:
        with locked_file(path.with_name(_COORDINATION), create=True, timeout_s=_COORDINATION_S):
            yield
    except LockHeldError as error:
        raise RefusedError(f"{path.parent}: Codex is opening a session; try again in a moment") from error


def _lock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# Rollouts of threads, and their names.


def thread_in_name(path: Path) -> str:
    """Return the thread id in a rollout's file name, or ""; after a revert, the id of the new part stands behind it."""
    match = _NAMED.fullmatch(path.name)
    return match[1] if match else ""


def home_of(path: Path) -> Path | None:
    """Return the Codex home that a rollout lies in, or None for a file that lies elsewhere."""
    for parent in path.absolute().parents:
        if parent.name in (SESSIONS, ARCHIVED):
            return parent.parent
    return None


def sibling(path: Path) -> Path:
    """Return the name of a rollout's other form: the compressed one of a plain one, and the other way round."""
    return path.with_name(path.name.removesuffix(PACKED) if is_compressed(path) else path.name + PACKED)


def present(path: Path) -> Path:
    """Return the file, or its other form when only that is there: the client may change it at any time."""
    return path if path.exists() or not sibling(path).exists() else sibling(path)


def find_rollout(beside: Path, thread: str) -> Path | None:
    """Return the rollout of a thread, looked for beside ``beside`` and then in its home; plain before compressed."""
    if not _ID.fullmatch(thread):
        return None
    packed: Path | None = None
    for folder in _folders(beside, thread):
        for path in sorted(folder.glob(f"rollout-*{thread}.jsonl*")):
            if path.name.endswith(f"-{thread}.jsonl") and path.is_file():
                return path
            if path.name.endswith(f"-{thread}.jsonl{PACKED}") and path.is_file():
                packed = packed or path
    return packed


def rollouts_of(beside: Path, thread: str) -> list[Path]:
    """Return every file of a thread: both forms, archived, and later parts; by an id that tells its day, near that."""
    home = home_of(beside)
    days = _days_of(thread) if home is not None else []
    folders = [beside.parent, *(home / SESSIONS / day for day in days), home / ARCHIVED] if home and days else None
    found = (path for folder in folders or _folders(beside, thread) for path in folder.glob("rollout-*.jsonl*"))
    return sorted({path for path in found if thread_in_name(path) == thread})


def _folders(beside: Path, thread: str) -> Iterator[Path]:
    """Yield the folders that a rollout may lie in, the likely ones first: a home may have thousands of days."""
    yield beside.parent
    home = home_of(beside)
    if home is not None:
        likely = [home / SESSIONS / day for day in _days_of(thread)] + [home / ARCHIVED]
        yield from likely
        yield from sorted(set((home / SESSIONS).glob("*/*/*")) - set(likely))


def _days_of(thread: str) -> list[str]:
    """Return the folders of the days around a thread's beginning, which its id tells (a UUID of version 7)."""
    if not _ORDERED.match(thread):
        return []
    try:
        begun = datetime.fromtimestamp(int(thread.replace("-", "")[:12], 16) / 1000, UTC)
        return [f"{begun + timedelta(days):%Y/%m/%d}" for days in (0, -1, 1)]
    except (ValueError, OverflowError, OSError):
        return []


def thread_name(home: Path, thread: str) -> str:
    """Return the name that a person gave to a thread, or ""; the last line of an id counts (client)."""
    return thread_names(home).get(thread, "")


def thread_names(home: Path) -> dict[str, str]:
    """Return the names of all threads by their ids, newest first."""
    path = home / INDEX
    try:
        at = path.stat()
        return _read_names(path, at.st_size, at.st_mtime_ns, at.st_ino)
    except (OSError, UnreadableError):
        # No index, or none that may be read: no thread has a name then, as for the client.
        return {}


@lru_cache(maxsize=4)
def _read_names(path: Path, size: int, mtime_ns: int, ino: int) -> dict[str, str]:  # noqa: ARG001 - parts of the key
    from slowwave.formats.tail import lines_backward  # noqa: PLC0415 - only where threads have names

    names: dict[str, str] = {}
    for _, line in lines_backward(path, end=size):
        fields = whole(line)
        thread = fields.get("id")
        if isinstance(thread, str):
            names.setdefault(thread, text_in(fields, "thread_name"))
    return names


CLIENT = Codex()
