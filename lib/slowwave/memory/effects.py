"""Whether memories helped: what later sessions, to which they were delivered, made of them.

Noted by session in ``.slowwave/effects.jsonl``, without a word of any transcript. A memory is *followed* or *broken*
where a session shows so, and *had no occasion* where it could have shown and did not. What is told to an agent and
shows in no command and no edit is noted as told alone; it is broken where the person had to correct the same again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from slowwave.formats.lines import read_records
from slowwave.formats.model import Problem
from slowwave.memory.candidates import append_lines
from slowwave.memory.guard import OWN_FOLDER, guarded
from slowwave.memory.ledger import Sighting

FILE = "effects.jsonl"


class Breach(msgspec.Struct, frozen=True, omit_defaults=True):
    """A memory that was not kept, and the record that shows it."""

    memory: str
    record: str = ""


class Watched(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A session, and what it made of the memories that were delivered to it.

    Attributes:
        dialect: of the session.
        session: its id, as :mod:`slowwave.memory.model` spells it.
        began: when it began, ISO.
        followed: memories that it kept.
        broken: memories that it did not keep.
        idle: memories that would show, and had no occasion.
        silent: memories that only a breach would show, and none did.
        told: memories that show in no command and no edit.
    """

    dialect: str
    session: str
    began: str
    followed: tuple[str, ...] = ()
    broken: tuple[Breach, ...] = ()
    idle: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    told: tuple[str, ...] = ()

    @property
    def name(self) -> tuple[str, str]:
        """Which session it is."""
        return self.dialect, self.session


@dataclass(frozen=True, slots=True)
class Case:
    """A session that kept a memory or broke it.

    Attributes:
        session: the session.
        record: what shows it, "" where the session as a whole does.
        is_said_again: a person had to correct it once more.
    """

    session: Watched
    record: str = ""
    is_said_again: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """What became of one memory since it was delivered.

    Attributes:
        sessions: to how many it was delivered.
        followed: those that kept it, oldest first.
        broken: those that did not.
        idle: how many in a row had no occasion, up to the latest.
        since: the begin of the first of these, ISO, or "".
        is_silent: whether only a breach would show it.
    """

    sessions: int
    followed: tuple[Case, ...]
    broken: tuple[Case, ...]
    idle: int
    since: str
    is_silent: bool = False

    @property
    def verdict(self) -> str:
        """Say in a word or two what became of it."""
        if self.broken:
            return "broken"
        return "followed" if self.followed else "no occasion" if self.idle or self.is_silent else "told"


class _Shown(Protocol):
    """What of a memory counts here."""

    @property
    def id(self) -> str: ...
    @property
    def sightings(self) -> Sequence[Sighting]: ...


def effects_path(memory: Path) -> Path:
    """Return where it is noted what sessions made of the memories of a folder."""
    return memory / OWN_FOLDER / FILE


def read_effects(memory: Path) -> tuple[list[Watched], list[Problem]]:
    """Return what is noted of each session, oldest session first, and what could not be read.

    Raises:
        UnreadableError: the file exists and cannot be opened.
    """
    path, problems = effects_path(memory), list[Problem]()
    if not path.exists():
        return [], problems
    rows = [row for _, row in read_records(path, msgspec.json.Decoder(Watched), problems)]
    return with_rows((), rows), problems


def with_rows(known: Iterable[Watched], new: Iterable[Watched]) -> list[Watched]:
    """Return what is known of sessions, oldest session first; of one that went on, what was seen last."""
    found = {row.name: row for row in (*known, *new)}
    return sorted(found.values(), key=lambda row: (row.began, row.name))


def append_effects(memory: Path, rows: Iterable[Watched]) -> None:
    """Note what sessions made of memories, in one write.

    Raises:
        LockHeldError: another process kept the memory folder locked for too long.
        OSError: the file cannot be written.
    """
    lines = [msgspec.json.encode(row) for row in rows]
    if lines:
        with guarded(memory):
            append_lines(effects_path(memory), lines)


def effects_of(memories: Iterable[_Shown], rows: Sequence[Watched]) -> Mapping[str, Effect]:
    """Return what became of each memory that was delivered to a session.

    Args:
        memories: the memories, whose sightings show what a person had to say again.
        rows: what is noted of sessions, oldest first.
    """
    given: dict[str, list[tuple[str, Case]]] = {}
    for row in rows:
        for name in row.followed:
            given.setdefault(name, []).append(("followed", Case(row)))
        for breach in row.broken:
            given.setdefault(breach.memory, []).append(("broken", Case(row, breach.record)))
        for kind, names in (("idle", row.idle), ("silent", row.silent), ("told", row.told)):
            for name in names:
                given.setdefault(name, []).append((kind, Case(row)))
    corrected = {
        m.id: {(s.dialect, s.session): s for s in m.sightings if s.origin == "user_correction"} for m in memories
    }
    return {name: _effect(cases, corrected.get(name, {})) for name, cases in given.items() if name in corrected}


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
        len(cases), tuple(followed), tuple(broken), len(idle), since, any(kind == "silent" for kind, _ in cases)
    )
