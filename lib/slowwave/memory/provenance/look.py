"""A look at the lines of memory files that slowwave did not write: search the sessions for their words.

A session is searched once for each line, and again when it has changed; a memory folder without such lines costs
nothing. Sessions that extraction passes over count as well: sub-agents fetch pages, and a short session is enough to
plant a sentence. It changes its own notes only. A second look without news changes nothing.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from slowwave.errors import SlowwaveError, told
from slowwave.formats.registry import by_name
from slowwave.memory.book import read_book
from slowwave.memory.extracted import shown_before
from slowwave.memory.folder import read_texts
from slowwave.memory.foreign import (
    ForeignBook,
    ForeignLine,
    Provenance,
    Searched,
    foreign_lines,
    read_foreign,
    warning,
    write_foreign,
)
from slowwave.memory.guard import guarded
from slowwave.memory.model import iso
from slowwave.memory.names import name_to_json
from slowwave.memory.provenance.anchors import Anchors
from slowwave.memory.provenance.phrases import is_sought
from slowwave.memory.provenance.readback import MemoryPlaces
from slowwave.memory.provenance.texts import Texts
from slowwave.report import Item, Report
from slowwave.stores.model import Project, StoredSession

# of a line in a report; the file has all of it
_MOST_CHARS = 240


@dataclass(slots=True)
class Look:
    """What a look found.

    Attributes:
        book: the notes as they are now.
        news: lines that are known to come from a tool or an agent since this look, with what is known.
        lines: every foreign line.
        problems: sessions that could not be searched, and why.
        searched: how many sessions were decoded.
    """

    book: ForeignBook
    lines: Sequence[ForeignLine] = ()
    news: list[tuple[ForeignLine, Provenance]] = field(default_factory=list[tuple[ForeignLine, Provenance]])
    problems: list[str] = field(default_factory=list[str])
    searched: int = 0


def look_at_foreign(
    project: Project, sessions: Sequence[StoredSession], now: datetime, home: Path, noted: Path | None
) -> Look:
    """Search sessions of a project for the foreign lines of its memory folder, and note what was found.

    Args:
        project: the project.
        sessions: those of its sessions that this portion of a run is about.
        now: the time.
        home: the user's home folder, which shell lines name as ``~``.
        noted: the folder that the notes of earlier looks are in, and those of this one go to; None keeps none.

    Raises:
        CorruptStateError: the ledger or the notes are damaged.
        LockHeldError: another process kept the memory folder locked for too long.
        OSError: the notes cannot be written.
    """
    memory = project.memory.resolve()
    before = read_foreign(noted or memory)
    lines = foreign_lines(read_texts(memory), read_book(memory), shown_before(memory))
    by_key = {line.key: line for line in lines if is_sought(line)}
    if not by_key and not before.lines:
        return Look(before)
    book = _begun(before, by_key.keys(), project, now)
    look = Look(book, lines)
    search = _Search(look, by_key, MemoryPlaces(tuple(book.folders), str(home)))
    for session in sessions:
        search.session(session)
    told_before = {key: known.writer for key, known in before.lines.items()}
    look.news = [
        (line, known)
        for key, line in by_key.items()
        if (known := book.lines[key]).writer not in {"person", told_before.get(key, "person")}
    ]
    if noted and book != before:
        with guarded(noted):
            write_foreign(noted, book)
    return look


def _begun(before: ForeignBook, keys: Iterable[str], project: Project, now: datetime) -> ForeignBook:
    """Return the notes with the lines that are there now, and without sessions that are gone."""
    wanted = list(keys)
    is_new = any(key not in before.lines for key in wanted)
    number = before.round + is_new
    there = {_name(session) for session in project.sessions}
    here = {str(project.memory.absolute()), str(project.memory.resolve())}
    return ForeignBook(
        round=number,
        lines={key: before.lines.get(key) or Provenance(iso(now), number) for key in wanted},
        sessions={name: seen for name, seen in before.sessions.items() if name in there},
        folders=sorted({*before.folders, *here}),
    )


class _Search:
    """The search of one look, with the words that it looks for."""

    def __init__(self, look: Look, by_key: Mapping[str, ForeignLine], places: MemoryPlaces) -> None:
        self._look = look
        self._by_key = by_key
        self._places = places
        # by the look up to which a session was searched: mostly all sessions need the same
        self._wanted: dict[int, tuple[Sequence[ForeignLine], Anchors]] = {}

    def session(self, session: StoredSession) -> None:
        """Search a session for the lines that it was not searched for, and note it."""
        book, name, stamp = self._look.book, _name(session), f"{session.size}:{session.mtime_ns}"
        seen = book.sessions.get(name)
        lines, anchors = self._after(seen.round if seen and seen.stamp == stamp else -1)
        if not lines:
            return
        try:
            if session.is_stream or anchors.are_in(session.files.paths):
                self._read(session, lines)
        except SlowwaveError as error:
            self._look.problems.append(f"session {session.id}: {error}")
        except OSError as error:
            self._look.problems.append(f"session {session.id}: {told(error, session.files.paths[0])}")
        else:
            book.sessions[name] = Searched(stamp, book.round)

    def _after(self, number: int) -> tuple[Sequence[ForeignLine], Anchors]:
        if number not in self._wanted:
            known = self._look.book.lines
            lines = [line for key, line in self._by_key.items() if known[key].round > number]
            self._wanted[number] = lines, Anchors(lines)
        return self._wanted[number]

    def _read(self, session: StoredSession, lines: Sequence[ForeignLine]) -> None:
        transcript = by_name(session.dialect).read(session.files)
        self._look.searched += 1
        known = self._look.book.lines
        for line, kind, source in Texts(session, self._places).read(transcript).found(lines):
            known[line.key] = known[line.key].with_earlier(kind, source)


def _name(session: StoredSession) -> str:
    parts = (session.dialect, name_to_json(session.id), name_to_json(session.files.paths[0]))
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def tell(look: Look, project: str, report: Report, redact: Callable[[str], str]) -> None:
    """Put what a look found into a report: what came from a tool as a warning, what an agent wrote as a note."""
    for line, known in look.news:
        writer, source = known.first
        place = f"stood in {source.by}, session {source.session}, {source.at[:16]}" if source else ""
        report.items.append(Item(line.file, "foreign", f"{writer}: {place}", project, redact(line.text)[:_MOST_CHARS]))
        report.count(f"foreign_{writer}")
    tools = sum(known.writer == "tool" for _, known in look.news)
    if tools:
        report.warnings.append(f"{project}: {warning(tools)}")
    report.warnings += [f"{project}: {problem}" for problem in look.problems]
