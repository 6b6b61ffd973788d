"""OpenClaw's own session maintenance as a pure function: what goes, by which of its steps, in its order.

Stale entries are pruned, then the number of entries is capped, then the folder is brought under its budget: first what
no entry leads to, then sessions, those that nobody typed into before the others and the oldest of each first. Main,
group, channel and thread sessions, pinned and archived ones, and those at work never go.

Departures: what is removed leaves the folder (the client renames it and counts it on), and synthetic sessions go first
under the cap, too. Source: ``config/sessions/{store-maintenance,disk-budget}.ts`` of OpenClaw, mid-2026.
"""

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from slowwave.errors import UnreadableError
from slowwave.formats.openclaw.sessions import artifact_of, transcript_of
from slowwave.formats.openclaw.store import NAME, Origin, SessionEntry, read_store
from slowwave.quantities import parse_duration

Step = Literal["pruneAfter", "maxEntries", "resetArchiveRetention", "maxDiskBytes"]
_SYNTHETIC = re.compile(r"(?:subagent|acp|cron|hook|node|acp-bridge):|node-|(?:.*:)?heartbeat(?::|\Z)", re.DOTALL)
_ROOM = re.compile(r"[^:]+:(?:group|channel):.", re.DOTALL)
_INSIDE = re.compile(r".+:(?:thread|topic):[^:]+\Z", re.DOTALL)
_ROOMS = frozenset({"group", "channel", "thread"})


class Kept(NamedTuple):
    """An entry of the store, as far as maintenance asks."""

    key: str  # its session key
    updated_ms: float | None  # when it was updated last, None when it does not say
    names: tuple[str, ...] = ()  # files of it: the transcript and other records of its runs
    refers: tuple[str, ...] = ()  # further files that it names, such as checkpoints
    chat_type: str = ""  # direct, group, channel or thread, as far as it says
    is_kept: bool = False  # somebody pinned or archived it, or locked its model


class Beside(NamedTuple):
    """A file in the folder of the store."""

    name: str
    size: int
    mtime_ms: float


class Goes(NamedTuple):
    """What goes."""

    step: Step  # by which step
    key: str  # the session key, "" of a file that no entry leads to
    names: tuple[str, ...]  # the files that go; those that another entry needs stay
    size: int  # bytes that become free


class UpkeepRules(NamedTuple):
    """What goes, None where a step is off."""

    enforces: bool = True  # whether anything goes at all; with ``mode: warn`` it is only told
    prune_after_ms: float | None = None  # entries that were not updated for longer than this go
    max_entries: int | None = None  # so many entries stay
    archive_ms: float | None = None  # what was reset or deleted longer ago than this goes; by default it stays
    max_bytes: int | None = None  # above this the folder is brought down to ``high_water``
    high_water: int | None = None  # bytes at which that ends
    main_key: str = "main"  # the key of direct chats, behind the agent
    problems: tuple[str, ...] = ()  # values that are none, each with the step that they disable


def upkeep(
    entries: Sequence[Kept], files: Iterable[Beside], rules: UpkeepRules, now_ms: float, active: Collection[str] = ()
) -> list[Goes]:
    """Return what goes, in order.

    ``entries``: the entries of the store. ``files``: everything in its folder. ``rules``: what goes; ``enforces`` is
    for the caller to ask. ``now_ms``: the current time in milliseconds since 1970. ``active``: keys of sessions at
    work.
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


# The settings of OpenClaw's session maintenance (``session.maintenance``), read as its JSON store reads them.
#
# A value that is none disables the step that it is for: what somebody meant as a limit must not remove by another one.
# The client itself falls back to its defaults there, which lost people their sessions (formats.md 7.11, issue 107712).
# Source: ``config/sessions/store-maintenance.ts`` of OpenClaw, mid-2026.

PRUNE_AFTER = "30d"
MAX_ENTRIES = 500
HIGH_WATER = 0.8
# up to here a cap acts at once, above it with slack, so that not every write removes one entry
STRICT_UP_TO = 49
_LEAST_SLACK = 25
_SLACK = 0.1
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(b|kb?|mb?|gb?|tb?)?", re.IGNORECASE)
_DAY_MS = 86_400_000


def upkeep_rules(session: Mapping[str, object]) -> UpkeepRules:
    """Return the rules that the ``session`` part of the client's settings gives."""
    found = session.get("maintenance")
    given = cast("Mapping[str, object]", found) if isinstance(found, Mapping) else dict[str, object]()
    problems: list[str] = []
    if found is not None and not isinstance(found, Mapping):
        problems.append(f"session.maintenance: {found!r} is not an object; nothing is removed")
        return UpkeepRules(enforces=False, problems=tuple(problems))

    def value(name: str, read: Callable[[object], float], default: object = None) -> float | None:
        raw = given.get(name, default)
        if raw is None or raw is False:
            return None
        try:
            return read(raw)
        except ValueError:
            problems.append(f"session.maintenance.{name}: {raw!r} is none; that step is off")
            return None

    mode = given.get("mode", "enforce")
    if mode not in ("enforce", "warn"):
        problems.append(f"session.maintenance.mode: {mode!r} is neither enforce nor warn; nothing goes")
    entries = value("maxEntries", _count, MAX_ENTRIES)
    most = value("maxDiskBytes", byte_size)
    water = value("highWaterBytes", byte_size, math.floor(most * HIGH_WATER)) if most is not None else None
    main = session.get("mainKey")
    return UpkeepRules(
        mode == "enforce",
        value("pruneAfter", _duration_ms, PRUNE_AFTER),
        None if entries is None else int(entries),
        value("resetArchiveRetention", _duration_ms),
        None if most is None or water is None else int(most),
        None if most is None or water is None else int(max(1, min(water, most))),
        main.strip().lower() if isinstance(main, str) and main.strip() else "main",
        tuple(problems),
    )


def acts_from(max_entries: int) -> int:
    """Return at how many entries the cap acts: at the next one when it is small, else with slack."""
    if max_entries <= STRICT_UP_TO:
        return max_entries + 1
    return max_entries + max(_LEAST_SLACK, math.ceil(max_entries * _SLACK))


def byte_size(raw: object) -> float:
    """Return the bytes of a size such as ``500mb``; the client counts by 1024, and a bare number as bytes.

    Raises ValueError: it is none, or nothing.
    """
    match = None if isinstance(raw, bool) else _SIZE.fullmatch(str(raw).strip())
    if match is None:
        raise ValueError("no size")
    size = float(match[1]) * 1024 ** "bkmgt".index((match[2] or "b")[0].lower())
    if size < 1:
        raise ValueError("no size")
    return math.floor(size)


def _duration_ms(raw: object) -> float:
    text = str(raw).strip()
    if isinstance(raw, bool) or not text:
        raise ValueError("no duration")
    bare = re.fullmatch(r"\d+(\.\d+)?", text)
    return float(text) * _DAY_MS if bare else parse_duration(text).total_seconds() * 1000


def _count(raw: object) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int) or raw < 1:
        raise ValueError("no count")
    return raw


# What maintenance of a JSON store is decided about: its entries, the files beside them, and the client's settings.

# what the settings of the client are called, today and before
_SETTINGS = ("openclaw.json", "moltbot.json", "clawdbot.json")
_CHECKPOINTS = ("preCompaction", "postCompaction")


class Looked(NamedTuple):
    """A store as it is."""

    entries: list[Kept]
    files: list[Beside]


def look_at(folder: Path) -> Looked:
    """Return the entries and files of the store in a folder.

    Raises UnreadableError: the store cannot be read; OSError: the folder cannot be listed.
    """
    with os.scandir(folder) as found:
        files = [
            Beside(entry.name, at.st_size, at.st_mtime_ns / 1e6)
            for entry in found
            if entry.is_file(follow_symlinks=False) and (at := entry.stat())
        ]
    runs: dict[str, list[str]] = defaultdict(list)
    for file in files:
        if (own := artifact_of(file.name)).kind == "trajectory":
            runs[own.session].append(file.name)
    store = read_store(folder / NAME)
    return Looked([_kept(folder, key, entry, runs) for key, entry in store.items()], files)


def client_session_settings(folder: Path) -> Mapping[str, object]:
    """Return the part ``session`` of the client's settings, for its store in ``<state>/agents/<agent>/sessions``.

    Raises UnreadableError: they cannot be read; what the client would do is not known then.
    """
    for name in _SETTINGS:
        path = folder.parent.parent.parent / name
        if path.is_file():
            part = _settings(path).get("session")
            return cast("Mapping[str, object]", part) if isinstance(part, Mapping) else {}
    return {}


def _settings(path: Path) -> Mapping[str, object]:
    import pyjson5  # noqa: PLC0415 - only where this client is

    try:
        value: object = pyjson5.decode_utf8(path.read_bytes())
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    except (pyjson5.Json5Exception, ValueError, RecursionError) as error:
        raise UnreadableError(path, "is neither JSON nor JSON5", "repair the settings of the client") from error
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _kept(folder: Path, key: str, entry: SessionEntry, runs: Mapping[str, list[str]]) -> Kept:
    path = transcript_of(folder, key, entry)
    own = (path.name, *runs.get(artifact_of(path.name).session, ())) if path is not None else ()
    is_kept = "archivedAt" in entry.fields or "pinnedAt" in entry.fields or entry.get("modelSelectionLocked") is True
    origin = entry.get("origin")
    told = origin.chat_type if isinstance(origin, Origin) else None
    chat = entry.text("chatType") or told or ""
    return Kept(key, entry.number("updatedAt"), own, tuple(_checkpoints(entry)), chat, is_kept)


def _checkpoints(entry: SessionEntry) -> list[str]:
    """Return the names of the files that an entry's checkpoints lead to."""
    found: Any = entry.get("compactionCheckpoints")
    names: list[str] = []
    for one in cast("list[Any]", found) if isinstance(found, list) else ():
        for side in _CHECKPOINTS:
            part: Any = cast("dict[str, Any]", one).get(side) if isinstance(one, dict) else None
            named: Any = cast("dict[str, Any]", part).get("sessionFile") if isinstance(part, dict) else None
            if isinstance(named, str) and named.strip():
                names.append(Path(named.strip()).name)
    return names
