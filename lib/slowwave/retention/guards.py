"""What must stay whatever the rules say: asked about every session that would go, and again right before it does."""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import inf
from pathlib import Path

from slowwave.clock import Clock
from slowwave.errors import SlowwaveError, told
from slowwave.extraction.pending import Pending
from slowwave.memory.book import read_book
from slowwave.memory.names import name_from_json
from slowwave.places import home_folder
from slowwave.retention.facts import facts_of
from slowwave.retention.holds import Hold, held_by
from slowwave.retention.job.fleet import Fleet, Member, owner_of, paths_of
from slowwave.retention.policy import Subject
from slowwave.settings import Settings
from slowwave.stores.live import live_reason
from slowwave.stores.referring import reason_to_stay
from slowwave.stores.writing.registry import READ_ONLY


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
            self._pending[memory] = Pending(memory)
        return next((left for session in member.sessions if (left := self._pending[memory].left(session))), "")

    def _cited_by(self, member: Member) -> str:
        return self.cited_among(os.fspath(path) for path in paths_of(member))

    @cached_property
    def _cited(self) -> dict[str, str]:
        folders = {member.project.memory for member in self._fleet.members.values()}
        books = (read_book(folder) for folder in sorted(folders) if folder.is_dir())
        memories = (memory for book in books for memory in book.memories.values())
        return {name_from_json(e.path): memory.id for memory in memories for e in memory.evidence}
