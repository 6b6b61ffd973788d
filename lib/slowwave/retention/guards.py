"""What must stay whatever the rules say: asked about every session that would go, and again right before it does."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from math import inf
from pathlib import Path

import msgspec

from slowwave.clock import Clock
from slowwave.dialects.times import parse_time
from slowwave.errors import SlowwaveError, told
from slowwave.extraction.pending import Pending
from slowwave.memory.book import read_book
from slowwave.memory.names import name_from_json
from slowwave.places import home_folder
from slowwave.records.lines import read_records
from slowwave.records.model import Problem
from slowwave.records.sources.compressed import open_plain
from slowwave.records.tail import lines_backward
from slowwave.retention.holds import Facts, Hold, held_by
from slowwave.retention.job.fleet import Fleet, Member, owner_of, paths_of
from slowwave.retention.policy import Subject
from slowwave.settings import Settings
from slowwave.stores.belongings import belongings_of
from slowwave.stores.live import live_reason
from slowwave.stores.model import Project
from slowwave.stores.referring import reason_to_stay
from slowwave.stores.writing.registry import READ_ONLY

# so many records at each end of a file tell when something happened in it
_LOOKED_AT = 60
_BLOCK = 16 << 20


class _Line(msgspec.Struct, gc=False):
    timestamp: object = None
    created_at: object = None


_decoder = msgspec.json.Decoder(_Line)


class Guards:
    """The guards of one run; what they read of memories is read once."""

    def __init__(
        self,
        fleet: Fleet,
        settings: Settings,
        environ: Mapping[str, str],
        clock: Clock,
        holds: Sequence[Hold],
        restored: Mapping[str, float],
    ) -> None:
        self.holds = holds
        self._restored = restored
        self._fleet = fleet
        self._settings = settings
        self._home = home_folder(environ)
        self._clock = clock
        self._pending: dict[Path, Pending] = {}

    def __call__(self, subject: Subject) -> str:
        """Return which guard keeps a session, and why: ``live: changed 0:03:00 ago``; "" when none does.

        What cannot be found out keeps it, too.
        """
        member = self._fleet.members[subject.id]
        try:
            return self.standing(member) or self.at_hand(member)
        except SlowwaveError as error:
            return f"unreadable: {error}"
        except OSError as error:
            return f"unreadable: {told(error, subject.id)}"

    def at_hand(self, member: Member) -> str:
        """Return what may change between plan and removal: somebody opens the session, or sets a hold."""
        idle = self._settings.extraction.idle
        for session in member.sessions:
            if live := live_reason(session, self._clock.now(), idle, self._home):
                return f"live: {live}"
        held = held_by(self.holds, facts_of(member, self._home))
        return f"held: {held}" if held else ""

    def standing(self, member: Member) -> str:
        """Return what holds for the whole run."""
        session = member.session
        if session.in_database or session.dialect in READ_ONLY:
            return "database: only its client writes there; remove it in its client"
        # of a sub-agent that its session left behind the session was brought back
        names = (session.id, owner_of(session)) if session.kind == "subagent" else (session.id,)
        restored = max(self._restored.get(name, -inf) for name in names)
        if restored >= self._settings.retention.grace.start(self._clock.now()):
            return "restored: somebody brought it back within retention.grace"
        if forks := self._fleet.referring_to(session):
            more = f" and {len(forks) - 1} more" if len(forks) > 1 else ""
            return f"referred to: {forks[0].id}{more} came from it, and goes before it"
        # of the others the fleet knows it without opening a file
        if session.dialect == "crabtalk" and (need := reason_to_stay(session)):
            return f"needed: {need}"
        return self._unsaved(member)

    def _unsaved(self, member: Member) -> str:
        if self._settings.retention.require_extracted and (left := self._left(member)):
            return f"not extracted: {left}"
        if not self._settings.retention.require_archive and (memory := self._cited_by(member)):
            return f"cited: memory {memory} rests on it, and no archive is kept"
        return ""

    def cited_among(self, paths: Iterable[str]) -> str:
        """Return the id of a memory that rests on one of the files, or ""."""
        return next((memory for path in paths if (memory := self._cited.get(path))), "")

    def _left(self, member: Member) -> str:
        memory = member.project.memory
        if memory not in self._pending:
            self._pending[memory] = Pending(memory, self._settings.extraction, self._clock.now())
        return next((left for session in member.sessions if (left := self._pending[memory].left(session))), "")

    def _cited_by(self, member: Member) -> str:
        return self.cited_among(os.fspath(path) for path in paths_of(member))

    @cached_property
    def _cited(self) -> dict[str, str]:
        folders = {member.project.memory for member in self._fleet.members.values()}
        books = (read_book(folder) for folder in sorted(folders) if folder.is_dir())
        memories = (memory for book in books for memory in book.memories.values())
        return {name_from_json(e.path): memory.id for memory in memories for e in memory.evidence}


def facts_of(member: Member, home: Path) -> Facts:
    """Return what a hold is asked about a session that lies in its place, with all that goes where it goes."""
    places = places_of(member.project, paths_of(member))
    ids = {session.id for session in member.sessions}
    return Facts(ids, places, lambda: _times(member), lambda: _texts(member, home))


def places_of(project: Project, paths: Iterable[Path]) -> list[str]:
    """Return by what a hold may name the project of a session."""
    return [project.key, project.root, *dict.fromkeys(os.fspath(path.parent) for path in paths)]


def texts_in(paths: Iterable[Path]) -> Iterator[bytes]:
    """Yield the names of files and their plain bytes, in blocks of whole lines."""
    for path in paths:
        yield os.fsencode(path)
        with open_plain(path) as file:
            while block := file.read(_BLOCK):
                yield block + file.readline()


def times_of(paths: Iterable[Path]) -> tuple[float, float] | None:
    """Return the earliest and latest time that the first and last records of files tell, None when none does."""
    found: list[float] = []
    for path in paths:
        problems: list[Problem] = []
        first = (raw for _, raw in islice(read_records(path, _decoder, problems), _LOOKED_AT))
        found += _seconds(first)
        found += _seconds(line for line in map(_decoded, islice(lines_backward(path), _LOOKED_AT)) if line)
    return (min(found), max(found)) if found else None


def _times(member: Member) -> tuple[float, float] | None:
    newest = max(session.mtime_ns for session in member.sessions) / 1e9
    told_by = times_of(paths_of(member))
    return (told_by[0], max(told_by[1], newest)) if told_by else None


def _texts(member: Member, home: Path) -> Iterator[bytes]:
    paths, notes = belongings_of(member.session, home)
    yield "\n".join((member.session.id, *(note.text for note in notes))).encode("utf-8", "surrogateescape")
    yield from texts_in(dict.fromkeys((*paths_of(member), *files_below(paths))))


def files_below(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files among some paths, and those in their folders; no link is followed."""
    for path in paths:
        if path.is_symlink():
            continue
        if path.is_dir():
            yield from files_below(sorted(path.iterdir()))
        elif path.is_file():
            yield path


def _decoded(line: tuple[int, bytes]) -> _Line | None:
    try:
        return _decoder.decode(line[1].strip(b" \t\r\n\0"))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _seconds(lines: Iterable[_Line]) -> list[float]:
    texts = (text for line in lines for text in (line.timestamp, line.created_at) if isinstance(text, str))
    return [at.timestamp() for at in map(parse_time, texts) if at is not None]
