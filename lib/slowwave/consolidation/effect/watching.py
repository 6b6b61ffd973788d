"""Which memories a session was told when it began, and what it made of them.

Clients that load the memory folder were told what stood in the index: the ledger knows what did at any time, in which
words. The others were told what stood in the section of their file: the register of deliveries knows since when.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from slowwave.consolidation.effect.calls import Demand
from slowwave.consolidation.effect.demands import demand_of
from slowwave.consolidation.effect.judged import heard_in, verdicts
from slowwave.errors import SlowwaveError
from slowwave.formats.registry import by_name
from slowwave.memory.book import Book, Memory, replay
from slowwave.memory.delivery.register import Register, placed_of, told_as
from slowwave.memory.delivery.targets import loads_itself
from slowwave.memory.effects import Breach, Watched
from slowwave.memory.folder import INDEX
from slowwave.memory.ledger import Event, read_ledger
from slowwave.memory.model import iso, name_to_json
from slowwave.reading.session import read
from slowwave.shell.mentioned import Heard
from slowwave.stores.model import Project, StoredSession, latest_version, version_order

# began by nobody who types in it
_UNTYPED = ("cron", "hook", "question")


@dataclass(slots=True)
class Watch:
    """What sessions made of the memories of a project.

    Attributes:
        project: the project.
        register: what stands in the files of clients.
        problems: sessions that could not be read, one line each.
    """

    project: Project
    register: Register
    problems: list[str] = field(default_factory=list[str])
    _events: Sequence[Event] = ()
    _books: dict[int, Book] = field(default_factory=dict[int, Book])

    def over(self, sessions: Iterable[StoredSession]) -> list[Watched]:
        """Return what sessions made of what they were told; nothing of those that were told nothing.

        Raises:
            CorruptStateError: the ledger is damaged.
            UnreadableError: it cannot be opened.
        """
        self._events = read_ledger(self.project.memory)
        first = min((event.at for event in self._events if event.event in ("add", "adopt")), default="")
        found: list[Watched] = []
        for session in sessions if first else ():
            if session.kind != "main" or session.origin in _UNTYPED or session.source == "backup":
                continue
            if iso(datetime.fromtimestamp(session.mtime_ns / 1e9, UTC)) <= first:
                continue  # it was over before there was anything to tell
            try:
                row = self._row(session)
            except SlowwaveError as error:
                self.problems.append(str(error))
                continue
            found += [row] if row else []
        return found

    def _row(self, session: StoredSession) -> Watched | None:
        transcript = by_name(session.dialect).read(session.files)
        times = (message.timestamp for message in transcript.messages if message.timestamp)
        began = next(times, None)
        if began is None or transcript.kind == "subagent":
            return None
        told = self.told(session, iso(began))
        if not told:
            return None
        reading = read(transcript.messages, str)
        demands = demands_of(told, heard_in(reading))
        given = verdicts(reading, demands)
        quiet = {name for name in demands.keys() - given.keys() if demands[name].shows}
        return Watched(
            dialect=session.dialect,
            session=name_to_json(session.id),
            began=iso(began),
            followed=tuple(sorted(name for name, one in given.items() if one.is_kept)),
            broken=tuple(Breach(name, one.item.record) for name, one in sorted(given.items()) if not one.is_kept),
            idle=tuple(sorted(name for name in quiet if demands[name].can_be_followed)),
            silent=tuple(sorted(name for name in quiet if not demands[name].can_be_followed)),
            told=tuple(sorted({m.id for m in told} - given.keys() - quiet)),
        )

    def told(self, session: StoredSession, began: str) -> list[Memory]:
        """Return the memories that a session was told when it began, in the words of that time.

        Args:
            session: the session.
            began: when it began, ISO.
        """
        book = self._book(began)
        if self._loads_itself(session):
            return [memory for memory in book.active if memory.place == INDEX]
        since = self._delivered(session.dialect)
        return [m for m in book.own if (at := since.get(told_as(m.text))) and at <= began]

    def _loads_itself(self, session: StoredSession) -> bool:
        if session.dialect == "cersei":
            return True
        version = version_order(latest_version([session], "claude"))
        return session.dialect == "claude" and loads_itself(version, self.project)

    def _delivered(self, dialect: str) -> Mapping[str, str]:
        """Return since when each memory stands in a file that a client reads."""
        found: dict[str, str] = {}
        for placed in placed_of(self.project.memory, self.register).values():
            if dialect in placed.clients:
                found |= {name: min(at, found.get(name, at)) for name, at in placed.since.items()}
        return found

    def _book(self, at: str) -> Book:
        """Return what the ledger added up to at a time; what was undone later stood until then."""
        number = sum(event.at <= at for event in self._events)
        if number not in self._books:
            self._books[number] = replay(self._events[:number])
        return self._books[number]


def demands_of(memories: Iterable[Memory], heard: Heard = ()) -> dict[str, Demand]:
    """Return what memories demand, by their ids; nothing of those whose keeping shows nowhere.

    Args:
        memories: the memories.
        heard: what a session ran, by which more programs are known by name.
    """
    return {memory.id: demand for memory in memories if (demand := demand_of(memory, heard))}
