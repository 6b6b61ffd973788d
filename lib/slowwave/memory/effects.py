"""Whether memories helped: what later sessions, to which they were delivered, made of them.

Noted by session in ``.slowwave/effects.jsonl``, without a word of any transcript. A memory is *followed* or *broken*
where a session shows so, and *had no occasion* where it could have shown and did not. What is told to an agent and
shows in no command and no edit is noted as told alone; it is broken where the person had to correct the same again.
Of what rules note as told alone, a model that reads the session for its facts may say more, in a row of its own.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from slowwave.formats import Problem
from slowwave.memory.folder import Notes
from slowwave.memory.ledger import Sighting
from slowwave.reading import Item

FILE = "effects.jsonl"


class Breach(msgspec.Struct, frozen=True, omit_defaults=True):
    """A memory that was not kept, and the record that shows it."""

    memory: str
    record: str = ""


class Watched(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A session, and what it made of the memories that were delivered to it."""

    dialect: str  # of the session
    session: str  # its id, as :mod:`slowwave.memory` spells it
    began: str  # when it began, ISO
    followed: tuple[str, ...] = ()  # memories that it kept
    broken: tuple[Breach, ...] = ()  # memories that it did not keep
    idle: tuple[str, ...] = ()  # memories that would show, and had no occasion
    silent: tuple[str, ...] = ()  # memories that only a breach would show, and none did
    told: tuple[str, ...] = ()  # memories that show in no command and no edit
    by: str = ""  # the model that judged, "" where the rules did: it only counts for what these note as told

    @property
    def name(self) -> tuple[str, str]:
        """Which session it is."""
        return self.dialect, self.session

    def after(self, earlier: "Watched | None") -> "Watched":
        """Return what a whole session made of memories, where an earlier row tells of what came before this one.

        A breach outweighs what was kept; nothing was asked for where neither part had an occasion.
        """
        if earlier is None:
            return self
        broken = {breach.memory: breach for breach in (*self.broken, *earlier.broken)}
        followed = {*self.followed, *earlier.followed} - broken.keys()
        idle = {*self.idle} & {*earlier.idle}
        rest = {*self.told, *earlier.told, *self.idle, *earlier.idle} - broken.keys() - followed - idle
        return msgspec.structs.replace(
            self,
            broken=tuple(broken[name] for name in sorted(broken)),
            followed=tuple(sorted(followed)),
            idle=tuple(sorted(idle)),
            told=tuple(sorted(rest)),
        )


class Asked(Protocol):
    """What a session was told and rules say nothing of, for the model that reads it."""

    @property
    def texts(self) -> Mapping[str, str]:
        """The memories that it is asked about: their words at the time, by id."""
        ...

    @property
    def schema(self) -> Mapping[str, object]:
        """The form of what it says of them."""
        ...

    def asked(self, names: Mapping[str, str], marked: Container[str]) -> str:
        """Return what it is told, given the names of memories and which of them it sees marked."""
        ...

    def hear(self, data: object, passages: Sequence[tuple[str, Item]]) -> None:
        """Note what it says, as far as its words stand in what it was shown."""
        ...

    def judged(self, by: str, earlier: Watched | None, *, is_whole: bool) -> Watched | None:
        """Return what it says of the session, None where it says nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Case:
    """A session that kept a memory or broke it."""

    session: Watched  # the session
    record: str = ""  # what shows it, "" where the session as a whole does
    is_said_again: bool = False  # a person had to correct it once more
    by: str = ""  # the model that says so, "" where the rules do


@dataclass(frozen=True, slots=True)
class Effect:
    """What became of one memory since it was delivered."""

    sessions: int  # to how many it was delivered
    followed: tuple[Case, ...]  # those that kept it, oldest first
    broken: tuple[Case, ...]  # those that did not
    idle: int  # how many in a row had no occasion, up to the latest
    since: str  # the begin of the first of these, ISO, or ""
    is_silent: bool = False  # whether only a breach would show it
    idle_by_model: int = 0  # of the ``idle`` sessions those of which only a model says so

    @property
    def verdict(self) -> str:
        """Say in a word or two what became of it."""
        if self.broken:
            return "broken"
        return "followed" if self.followed else "no occasion" if self.idle or self.is_silent else "told"


EFFECTS = Notes(Watched, FILE)


class _Shown(Protocol):
    """What of a memory counts here."""

    @property
    def id(self) -> str: ...
    @property
    def sightings(self) -> Sequence[Sighting]: ...


def read_effects(memory: Path) -> tuple[list[Watched], list[Problem]]:
    """Return what is noted of each session, oldest session first, and what could not be read.

    Raises UnreadableError: the file exists and cannot be opened.
    """
    rows, problems = EFFECTS.read(memory)
    return with_rows((), rows), problems


def with_rows(known: Iterable[Watched], new: Iterable[Watched]) -> list[Watched]:
    """Return what is known of sessions, oldest session first; of one that went on, what was seen last."""
    found = {(row.name, bool(row.by)): row for row in (*known, *new)}
    return sorted(found.values(), key=lambda row: (row.began, row.name, row.by))


def effects_of(memories: Iterable[_Shown], rows: Sequence[Watched]) -> Mapping[str, Effect]:
    """Return what became of each memory that was delivered to a session.

    ``memories``: the memories, whose sightings show what a person had to say again. ``rows``: what is noted of
    sessions, oldest first.
    """
    by_model = {row.name: dict(_kinds(row)) for row in rows if row.by}
    given: dict[str, list[tuple[str, Case]]] = {}
    for row in rows:
        for name, (kind, case) in _kinds(row) if not row.by else ():
            more = by_model.get(row.name, {}).get(name) if kind == "told" else None
            given.setdefault(name, []).append(more or (kind, case))
    corrected = {
        m.id: {(s.dialect, s.session): s for s in m.sightings if s.origin == "user_correction"} for m in memories
    }
    return {name: _effect(cases, corrected.get(name, {})) for name, cases in given.items() if name in corrected}


def _kinds(row: Watched) -> Iterator[tuple[str, tuple[str, Case]]]:
    """Yield what a row says of each memory."""
    for breach in row.broken:
        yield breach.memory, ("broken", Case(row, breach.record, by=row.by))
    of = {"followed": row.followed, "idle": row.idle, "silent": row.silent, "told": row.told}
    yield from ((name, (kind, Case(row, by=row.by))) for kind, names in of.items() for name in names)


def _effect(cases: Sequence[tuple[str, Case]], corrected: Mapping[tuple[str, str], Sighting]) -> Effect:
    followed: list[Case] = []
    broken: list[Case] = []
    idle: list[Case] = []
    for kind, case in cases:
        again = corrected.get(case.session.name)
        if again is not None and again.observed_at > case.session.began:
            broken.append(Case(case.session, case.record, is_said_again=True))
        elif kind == "broken":
            broken.append(case)
        elif kind == "followed":
            followed.append(case)
        if kind == "idle" and again is None:
            idle.append(case)
        else:
            idle = []
    since = idle[0].session.began if idle else ""
    return Effect(
        len(cases),
        tuple(followed),
        tuple(broken),
        len(idle),
        since,
        any(kind == "silent" for kind, _ in cases),
        sum(bool(case.by) for case in idle),
    )
