"""OpenClaw's own session maintenance as a pure function: what goes, by which of its steps, in its order.

Stale entries are pruned, then the number of entries is capped, then the folder is brought under its budget: first what
no entry leads to, then sessions, those that nobody typed into before the others and the oldest of each first. Main,
group, channel and thread sessions, pinned and archived ones, and those at work never go.

Departures: what is removed leaves the folder (the client renames it and counts it on), and synthetic sessions go first
under the cap, too. Source: ``config/sessions/{store-maintenance,disk-budget}.ts`` of OpenClaw, mid-2026.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

from slowwave.stores.openclaw.transcripts import artifact_of
from slowwave.stores.openclaw.upkeep_rules import UpkeepRules, acts_from

Step = Literal["pruneAfter", "maxEntries", "resetArchiveRetention", "maxDiskBytes"]

_SYNTHETIC = re.compile(r"(?:subagent|acp|cron|hook|node|acp-bridge):|node-|(?:.*:)?heartbeat(?::|\Z)", re.DOTALL)
_ROOM = re.compile(r"[^:]+:(?:group|channel):.", re.DOTALL)
_INSIDE = re.compile(r".+:(?:thread|topic):[^:]+\Z", re.DOTALL)
_ROOMS = frozenset({"group", "channel", "thread"})


class Kept(NamedTuple):
    """An entry of the store, as far as maintenance asks.

    Attributes:
        key: its session key.
        updated_ms: when it was updated last, None when it does not say.
        names: files of it: the transcript and other records of its runs.
        refers: further files that it names, such as checkpoints.
        chat_type: direct, group, channel or thread, as far as it says.
        is_kept: somebody pinned or archived it, or locked its model.
    """

    key: str
    updated_ms: float | None
    names: tuple[str, ...] = ()
    refers: tuple[str, ...] = ()
    chat_type: str = ""
    is_kept: bool = False


class Beside(NamedTuple):
    """A file in the folder of the store."""

    name: str
    size: int
    mtime_ms: float


class Goes(NamedTuple):
    """What goes.

    Attributes:
        step: by which step.
        key: the session key, "" of a file that no entry leads to.
        names: the files that go; those that another entry needs stay.
        size: bytes that become free.
    """

    step: Step
    key: str
    names: tuple[str, ...]
    size: int


def upkeep(
    entries: Sequence[Kept], files: Iterable[Beside], rules: UpkeepRules, now_ms: float, active: Collection[str] = ()
) -> list[Goes]:
    """Return what goes, in order.

    Args:
        entries: the entries of the store.
        files: everything in its folder.
        rules: what goes; ``enforces`` is for the caller to ask.
        now_ms: the current time in milliseconds since 1970.
        active: keys of sessions at work.
    """
    return _Upkeep(entries, files, rules, now_ms, {key.lower() for key in active}).steps()


def is_synthetic(key: str) -> bool:
    """Say whether nobody types into a session: a job, a hook, a node, a heartbeat or another session runs it."""
    return bool(_SYNTHETIC.match(_behind_agent(key)))


def is_protected(entry: Kept, main_key: str = "main") -> bool:
    """Say whether an entry never goes, however old it is."""
    if entry.is_kept:
        return True
    if is_synthetic(entry.key):
        return False
    rest = _behind_agent(entry.key)
    is_main = rest in ("main", main_key) if rest != entry.key.lower() else rest == "global"
    return is_main or bool(_INSIDE.match(rest) or _ROOM.match(rest)) or entry.chat_type.lower() in _ROOMS


def _behind_agent(key: str) -> str:
    lowered = key.strip().lower()
    agent, _, rest = lowered.partition(":")
    return rest.partition(":")[2] or lowered if agent == "agent" else lowered


class _Upkeep:
    """The steps over one store; each sees what the ones before it left."""

    def __init__(
        self,
        entries: Sequence[Kept],
        files: Iterable[Beside],
        rules: UpkeepRules,
        now_ms: float,
        active: Collection[str],
    ) -> None:
        self._entries = {entry.key: entry for entry in entries}
        self._files = {file.name: file for file in files}
        self._rules = rules
        self._now = now_ms
        self._active = active
        self._refs = Counter(name for entry in entries for name in {*entry.names, *entry.refers})
        self._total = sum(file.size for file in self._files.values())
        self._goes: list[Goes] = []

    def steps(self) -> list[Goes]:
        self._prune()
        self._cap()
        self._drop_archives()
        self._fit()
        return self._goes

    def _prune(self) -> None:
        if self._rules.prune_after_ms is None:
            return
        since = self._now - self._rules.prune_after_ms
        for entry in list(self._entries.values()):
            if entry.updated_ms is not None and entry.updated_ms < since and self._may_go(entry):
                self._remove(entry, "pruneAfter")

    def _cap(self) -> None:
        most = self._rules.max_entries
        if most is None or len(self._entries) < acts_from(most):
            return
        for entry in self._in_order()[: len(self._entries) - most]:
            self._remove(entry, "maxEntries")

    def _drop_archives(self) -> None:
        if self._rules.archive_ms is None:
            return
        since = self._now - self._rules.archive_ms
        for file in list(self._files.values()):
            if artifact_of(file.name).source in ("reset", "deleted") and file.mtime_ms < since:
                self._drop(file, "resetArchiveRetention")

    def _fit(self) -> None:
        most, water = self._rules.max_bytes, self._rules.high_water
        if most is None or water is None or self._total <= most:
            return
        for file in sorted(self._files.values(), key=lambda file: (file.mtime_ms, file.name)):
            if self._total <= water:
                return
            if self._is_orphan(file):
                self._drop(file, "maxDiskBytes")
        for entry in self._in_order():
            if self._total <= water:
                return
            self._remove(entry, "maxDiskBytes")

    def _in_order(self) -> list[Kept]:
        """Return what may go, the least missed first; an entry that tells no time is the oldest."""
        return sorted(
            (entry for entry in self._entries.values() if self._may_go(entry)),
            key=lambda entry: (
                not is_synthetic(entry.key),
                -math.inf if entry.updated_ms is None else entry.updated_ms,
            ),
        )

    def _may_go(self, entry: Kept) -> bool:
        return entry.key.lower() not in self._active and not is_protected(entry, self._rules.main_key)

    def _is_orphan(self, file: Beside) -> bool:
        found = artifact_of(file.name)
        if found.kind not in ("transcript", "trajectory"):
            return False  # the store, locks, and what the client is writing
        return not self._refs[file.name]

    def _remove(self, entry: Kept, step: Step) -> None:
        del self._entries[entry.key]
        self._refs.subtract({*entry.names, *entry.refers})
        gone = [self._files.pop(name) for name in entry.names if name in self._files and not self._refs[name]]
        self._note(Goes(step, entry.key, tuple(f.name for f in gone), sum(f.size for f in gone)))

    def _drop(self, file: Beside, step: Step) -> None:
        del self._files[file.name]
        self._note(Goes(step, "", (file.name,), file.size))

    def _note(self, one: Goes) -> None:
        self._goes.append(one)
        self._total -= one.size
