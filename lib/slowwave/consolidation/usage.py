"""What sessions did with memory files: which they used, and which lines in them agents wrote."""

import hashlib
import json
import mmap
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from slowwave.errors import SlowwaveError
from slowwave.formats import Injected, Message, RowSpan, Span, ToolCall, ToolResult
from slowwave.formats.lines import open_plain
from slowwave.formats.registry import by_name
from slowwave.formats.sessions import StoredSession
from slowwave.memory import Evidence, iso, name_to_json
from slowwave.memory.authors import Writes, Written, part_key, read_writes, write_writes
from slowwave.memory.book import read_book
from slowwave.memory.folder import PAGES, guarded, read_texts
from slowwave.memory.pages import statements
from slowwave.memory.provenance import ForeignLine, strange_files
from slowwave.reading.session import changes_of, command_in
from slowwave.stores.projects import Project

# Which sessions used which memory file: their transcript names it by its full path, as a tool call that reads it does.
#
# That is one search for a few strings in the bytes of the sessions that changed since the last dream, at memory speed,
# and only when a dream has something to do. What agents load by themselves (the index) shows in no transcript.


def uses_of(
    memory: Path, sessions: Iterable[StoredSession], known: Mapping[str, Iterable[str]]
) -> dict[str, tuple[str, ...]]:
    """Return the sessions that name each topic file, without those that are known.

    A file that cannot be read (packed, gone, a database) tells nothing: use only changes ranks.

    Args:
        memory: the memory folder.
        sessions: where to look.
        known: by file, the sessions that were counted before.
    """
    there = [file for file in PAGES if (memory / file).exists()]
    needles = {file: json.dumps(os.fspath(memory / file), ensure_ascii=False)[1:-1] for file in there}
    encoded = {file: text.encode("utf-8", "surrogateescape") for file, text in needles.items()}
    found: dict[str, set[str]] = {}
    for session in sessions if encoded else ():
        if session.in_database:
            continue
        for path in session.files.paths:
            for file in _named_in(path, encoded):
                found.setdefault(file, set()).add(session.id)
    new = {file: tuple(sorted(ids - set(known.get(file, ())))) for file, ids in sorted(found.items())}
    return {file: ids for file, ids in new.items() if ids}


def _named_in(path: Path, needles: Mapping[str, bytes]) -> list[str]:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return [name for name, needle in needles.items() if data.find(needle) >= 0]
    except (OSError, ValueError):  # an empty file cannot be mapped
        return []


# Which lines of memory files agents wrote: their calls that edit these files, and the readings that showed lines.
#
# A session is searched once, and again when it has changed; one that does not name the memory folder is not decoded.

# what stands before a line that a client shows: "   12→", "12: "
_NUMBERED = re.compile(r"^\s*\d+(?:\u2192|\t|: ?|\| ?)")
_CHUNK = 4 << 20


def look_at_writes(project: Project, home: Path) -> tuple[Writes, list[str]]:
    """Return what the sessions of a project tell about the lines of its memory folder; :func:`note_writes` notes it.

    Args:
        project: the project.
        home: the user's home folder, which paths name as ``~``.

    Returns:
        What was noted and what is new, and which sessions could not be read, and why.

    Raises:
        CorruptStateError: the notes are damaged.
    """
    memory = project.memory.resolve()
    before = read_writes(memory)
    if not _has_strange_lines(memory):
        return before, []
    there = {_name(session): session for session in project.sessions}
    # of a session that is gone only what it proves is left
    stamps = {name: stamp for name, stamp in before.sessions.items() if name in there}
    lines = {file: dict(of) for file, of in before.lines.items()}
    parts = {file: dict(of) for file, of in before.parts.items()}
    now = Writes(before.v, lines, parts, dict(before.shown), dict(before.whole), dict(before.latest), stamps)
    folders = tuple(dict.fromkeys(os.fspath(p.absolute()) for p in (project.memory, memory)))
    problems: list[str] = []
    for name, session in there.items():
        stamp = f"{session.size}:{session.mtime_ns}"
        if stamps.get(name) == stamp:
            continue
        try:
            if _names_folder(session, folders):
                _Search(now, session, folders, str(home)).read()
            stamps[name] = stamp
        except (SlowwaveError, OSError) as error:
            problems.append(f"session {session.id}: {error}")
    return now, problems


def note_writes(memory: Path, writes: Writes) -> None:
    """Note what sessions told, where it is news.

    Raises:
        LockHeldError: another process kept the memory folder locked for too long.
        OSError: the notes cannot be written.
    """
    if writes != read_writes(memory):
        with guarded(memory):
            write_writes(memory, writes)


def _has_strange_lines(memory: Path) -> bool:
    """Say whether something stands in the pages of which nobody knows yet who wrote it."""
    return bool(strange_files(read_texts(memory), read_book(memory)))


def _name(session: StoredSession) -> str:
    parts = (session.dialect, name_to_json(session.id), name_to_json(session.files.paths[0]))
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def _names_folder(session: StoredSession, folders: Sequence[str]) -> bool:
    """Say whether a session may name the memory folder: the last two parts of its path stand in its bytes."""
    names = {"/".join(Path(folder).parts[-2:]) for folder in folders}
    needles = [json.dumps(name, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape") for name in names]
    most = max(map(len, needles))
    for path in session.files.paths:
        with open_plain(path) as file:
            rest = b""
            while chunk := file.read(_CHUNK):
                if any(needle in rest + chunk for needle in needles):
                    return True
                rest = chunk[-most:]
    return False


class _Search:
    """What one session tells, put into the notes."""

    def __init__(self, notes: Writes, session: StoredSession, folders: Sequence[str], home: str) -> None:
        self._notes = notes
        self._session = session
        self._folders = folders
        self._home = home
        self._calls: dict[str, tuple[ToolCall, Span, Message, str]] = {}
        # a session without times stands where its file does
        self._at = iso(datetime.fromtimestamp(session.mtime_ns / 1e9, UTC))

    def read(self) -> None:
        """Take in every call that came to an end, also those of branches that were left and of sub-agents."""
        transcript = by_name(self._session.dialect).read(self._session.files)
        for message in transcript.messages:
            at = iso(message.timestamp) if message.timestamp else self._at
            for block, span in message.placed():
                if isinstance(block, ToolCall):
                    self._calls[block.id] = block, span, message, at
                elif isinstance(block, ToolResult):
                    self._ended(block, at)
                elif isinstance(block, Injected) and any(folder in block.text for folder in self._folders):
                    self._show(block.text, at)

    def _ended(self, result: ToolResult, at: str) -> None:
        found = self._calls.pop(result.id, None)
        if found is None or result.is_error:
            return
        call, span, message, called = found
        given = call.args
        args = cast("Mapping[str, object]", given if isinstance(given, dict) else {"input": given})
        files = list(self._edits(call.name, args, message.cwd))
        for file, added, is_whole in files:
            self._wrote(file, added, called, self._evidence(span, message), is_whole=is_whole)
        if not files and any(folder in text for folder in self._folders for text in _strings(args)):
            self._show(result.text, at)

    def _edits(self, tool: str, args: Mapping[str, object], cwd: str) -> Iterator[tuple[str, str, bool]]:
        """Yield the memory files that a call edits, with what it put there, and whether that is all of the file."""
        line = command_in(tool, args)
        for change in changes_of(tool, args, line):
            if file := self._inside(change.path, cwd):
                yield file, change.added, change.is_whole

    def _inside(self, path: str, cwd: str) -> str:
        """Return the name of a Markdown file right inside the memory folder, "" for every other path."""
        for name in ("~", "$HOME", "${HOME}"):
            if path.startswith(f"{name}/"):
                path = self._home + path[len(name) :]
        folder, name = os.path.split(os.path.normpath(os.path.join(cwd or "/", path)))  # noqa: PTH118 - a transcript's
        return name if folder in self._folders and name.endswith(".md") else ""

    def _wrote(self, file: str, text: str, at: str, evidence: Evidence, *, is_whole: bool) -> None:
        notes, session = self._notes, self._session
        place = (session.dialect, name_to_json(session.id), name_to_json(session.files.paths[0]))
        known = notes.lines.setdefault(file, {})
        for one in statements(text.encode("utf-8", "surrogateescape")):
            key = ForeignLine(file, one.text).key
            if key not in known or at < known[key].at:
                known[key] = Written(at, *place, evidence)
        parts = notes.parts.setdefault(file, {})
        for key in _parts(text):
            parts[key] = min(at, parts.get(key, at))
        notes.latest[file] = max(at, notes.latest.get(file, ""))
        if is_whole and not notes.whole.get(file, "~") < at:
            notes.whole[file] = at

    def _show(self, text: str, at: str) -> None:
        plain = "\n".join(_NUMBERED.sub("", line) for line in text.split("\n"))
        for one in statements(plain.encode("utf-8", "surrogateescape")):
            key = ForeignLine("", one.text).key
            self._shown(key, at)
        for key in _parts(plain):
            self._shown(key, at)

    def _shown(self, key: str, at: str) -> None:
        if at < self._notes.shown.get(key, "~"):
            self._notes.shown[key] = at

    def _evidence(self, span: Span, message: Message) -> Evidence:
        digest = hashlib.sha256(span.raw).hexdigest()
        if isinstance(span, RowSpan):
            return Evidence(name_to_json(self._session.files.paths[0]), span.record, 0, len(span.raw), digest)
        path = name_to_json(self._session.files.paths[span.part])
        return Evidence(path, message.id or "", span.offset, len(span.raw), digest)


def _parts(text: str) -> list[str]:
    """Return by what the lines of a text are known."""
    return [part_key(line.encode("utf-8", "surrogateescape")) for line in text.split("\n") if line.strip()]


def _strings(args: Mapping[str, object]) -> Iterator[str]:
    yield from (value for value in args.values() if isinstance(value, str))
