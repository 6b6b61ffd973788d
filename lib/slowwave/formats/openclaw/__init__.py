"""Clawdbot and OpenClaw: ``agents/<agent>/sessions/`` with ``sessions.json``, and the database of each agent."""

import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slowwave.files import home_folder
from slowwave.formats import object_in, text_in
from slowwave.formats.client import Belongings, CompactionRules, DeliveryRules, is_folder
from slowwave.formats.pi import TreeFiles
from slowwave.formats.sessions import (
    SUFFIX,
    FoundFile,
    FoundSession,
    K,
    Place,
    StoredSession,
    StoreProblem,
    Walk,
    key_in_database,
    listed,
    names_in,
)

if TYPE_CHECKING:
    from slowwave.formats.notes import Note
    from slowwave.formats.openclaw.store import SessionEntry


_OWN_VERSION = 4
OWN_TYPES = frozenset({"leaf", "reset"})
_OWN_CUSTOM = frozenset({"model-snapshot", "bootstrap-context"})
_NAMES = ("openclaw", "clawdbot", "moltbot")


def _names_client(name: str) -> bool:
    return name.partition(":")[0].partition(".")[0].partition("-")[0] in _NAMES


_HOMES = (".openclaw", ".clawdbot", ".moltbot")
_OVERRIDES = ("OPENCLAW_STATE_DIR", "MOLTBOT_STATE_DIR", "CLAWDBOT_STATE_DIR")
_AGENTS = "agents"
_STORE = "sessions.json"
_DATABASE = "agent/openclaw-agent.sqlite"


class Openclaw(TreeFiles):
    """Clawdbot and OpenClaw; the state folder, one agent's folder in it, or a folder with a store in it is a root.

    Clawdbot notes the model in a ``custom`` entry of its own before the first prompt; OpenClaw names itself in entries
    and messages, and counts its headers from 4. A session without any of these is told by the place that it lies in.
    """

    name = "openclaw"
    shows = "Clawdbot or OpenClaw (a session header, or their database)"
    reader = "openclaw.dialect:OPENCLAW"
    form_of = "pi"
    has_databases = True
    writer = "pi.write:OpenclawWriter"
    compacting = CompactionRules(
        is_written=True,
        introduced=107,
        has_branches=True,
        sections=("reserveTokens", "keepRecentTokens"),
        has_floor=True,
        has_counters=True,
        reading="entries",
        no_clearing="Clawdbot prunes what it sends and keeps no note of it",
    )
    delivery = DeliveryRules(
        reads_agents=True, most_bytes=20_000, command="skills/NAME/SKILL.md", invoked="`User input:`"
    )

    def marks(self, record: dict[str, object]) -> bool:
        """Say whether a record that looks like pi's shows that Clawdbot or OpenClaw wrote it."""
        kind, custom = record.get("type"), record.get("customType")
        if kind == "session":
            version = record.get("version")
            return isinstance(version, int) and version >= _OWN_VERSION
        if isinstance(custom, str) and (custom in _OWN_CUSTOM or _names_client(custom)):
            return True
        if isinstance(kind, str) and kind in OWN_TYPES:
            return True
        message = object_in(record, "message")
        return "__openclaw" in record or "__openclaw" in message or _names_client(text_in(message, "provider"))

    def marks_tables(self, tables: frozenset[str]) -> bool:
        """Say whether a database with these tables is one that OpenClaw keeps an agent's sessions in."""
        return "transcript_events" in tables and ("session_windows" in tables or "session_nodes" in tables)

    def homes(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the state folder that a variable names, else ``~/.openclaw`` and what it was called before."""
        named = next((value for name in _OVERRIDES if (value := environ.get(name, "").strip())), "")
        if named:
            return [Path(named).expanduser()]
        home = Path(environ.get("OPENCLAW_HOME", "").strip() or home_folder(environ)).expanduser()
        profile = environ.get("OPENCLAW_PROFILE", "").strip()
        own = f".openclaw-{profile}" if profile and profile.lower() != "default" and "/" not in profile else _HOMES[0]
        folders = [home / name for name in (own, *_HOMES[1:])]
        # the client leaves a link under the old name when it moves its folder
        return list({folder.resolve(): folder for folder in reversed(folders)}.values())[::-1]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:
        """Return a place for each agent's folder of sessions and each database."""
        if _AGENTS in names and (root / _AGENTS).is_dir():
            found = [
                place
                for agent in _openclaw_folders(root / _AGENTS, problems)
                for place in self._of_agent(agent, problems)
            ]
            if found or root.name in _HOMES:
                return found
        if _STORE in names:
            return [Place(self.name, os.fspath(root))]
        return self._of_agent(root, problems) or ([] if root.name in _HOMES else None)

    def _of_agent(self, agent: Path, problems: list[StoreProblem]) -> list[Place]:
        found: list[Place] = []
        sessions = agent / "sessions"
        if sessions.is_dir() and _holds_transcripts(sessions):
            found.append(Place(self.name, os.fspath(sessions)))
        if (agent / _DATABASE).is_file():
            found.append(Place(self.name, os.fspath(agent / _DATABASE)))
        elif os.path.lexists(agent / _DATABASE):
            problems.append(StoreProblem("unreadable", os.fspath(agent / _DATABASE), "is not a file"))
        return found

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a place, of a folder also those that were reset, deleted or kept as a backup."""
        if place.path.endswith(f"/{_DATABASE}"):
            return self._of_database(place, walk)
        return self._of_folder(place, walk)

    def _of_folder(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        from slowwave.formats.openclaw.sessions import artifact_of, facts_beside  # noqa: PLC0415

        names = listed(place.path, walk.problems)
        if not names:
            return
        facts = facts_beside(place.path)
        walk.problems.extend(facts.problems)
        kinds = Counter[str]()
        for name in names:
            found = artifact_of(name)
            kinds[found.kind] += 1
            if found.kind != "transcript":
                continue
            stem = f"{found.session}-topic-{found.topic}" if found.topic else found.session
            about = facts.by_stem.get(stem)
            told = about.told if about is not None else ""
            file = walk.look(place.path, name, told)
            if file is not None:
                side = about is not None and about.is_side
                own = name.removesuffix(".zst").replace(".jsonl", "", 1)
                session = FoundSession(place.path, own, [file], side=side, dialect=self.name, source=found.source)
                session.told = told
                session.kind = "subagent" if side else ""
                if about is not None:
                    session.parent, session.origin = about.parent, about.origin
                yield session
        if kinds["trajectory"]:
            detail = f"{kinds['trajectory']} trajectories, which record the runs of sessions once more"
            walk.problems.append(StoreProblem("ignored", place.path, detail))

    def _of_database(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        import sqlite3  # noqa: PLC0415 - few stores are databases

        from slowwave.formats.database import opened_read_only  # noqa: PLC0415 - as above
        from slowwave.formats.openclaw.sessions import AgentSessions  # noqa: PLC0415 - as above

        folder, _, name = place.path.rpartition("/")
        changed: list[FoundSession] = []
        try:
            at = os.stat(place.path)  # noqa: PTH116 - once a database
            with opened_read_only(Path(place.path)) as rows:
                sessions = AgentSessions(rows)
                for listed in sessions.listed():
                    old = walk.known.get(key_in_database(place.path, listed.id))
                    if old is not None and (old.mtime_ns, old.dev, old.ino) == (listed.mtime_ns, at.st_dev, at.st_ino):
                        walk.kept.append(old)
                        continue
                    file = FoundFile(name, sessions.size(listed.id), listed.mtime_ns, at.st_dev, at.st_ino)
                    kind = "subagent" if listed.is_side else "fork" if listed.is_fork else "main"
                    found = FoundSession(folder, listed.id, [file], listed.is_side, dialect=self.name, kind=kind)
                    found.cwd, found.in_database, found.origin = sessions.cwd(listed.id), True, listed.origin
                    changed.append(found)
        except (sqlite3.Error, OSError) as error:
            walk.problems.append(StoreProblem("unreadable", place.path, f"no readable OpenClaw database: {error}"))
            return
        yield from changed

    def titles(self, place: Place) -> Mapping[str, str]:
        """Return what people and the client call the sessions of a place."""
        if not place.path.endswith(f"/{_DATABASE}"):
            from slowwave.formats.openclaw.sessions import facts_beside  # noqa: PLC0415 - as above

            by_stem = facts_beside(place.path).by_stem
            return {stem: about.title for stem, about in by_stem.items() if about.title}
        import sqlite3  # noqa: PLC0415 - few stores are databases

        from slowwave.formats.openclaw.sessions import titles_in  # noqa: PLC0415 - as above

        try:
            return titles_in(Path(place.path))
        except (sqlite3.Error, OSError):
            return {}  # reported where its sessions are listed

    def facts_at(self, path: str) -> str:
        """Return the folder of a store, or the database."""
        return os.path.dirname(path) if path.endswith(SUFFIX) else path  # noqa: PTH120 - once a row of a listing

    def facts(self, place: Path) -> Mapping[str, Mapping[str, Any]]:
        """Return what the entries of an agent tell: conversation keys, counters, and where it talks."""
        return _of_store(place) if place.is_dir() else _of_agent(place)

    def settings_files(self, transcript: Path, cwd: Path | None) -> list[Path]:
        """Return pi's settings in the folder of the agent, and those of the project."""
        agent = transcript.parent.parent / "agent" / "settings.json"
        return [agent, *([cwd / ".pi" / "settings.json"] if cwd else [])]

    def own_settings(self, transcript: Path) -> list[Path]:
        """Return the client's configuration, in which more is set about compaction."""
        from slowwave.formats.openclaw.store import config_file  # noqa: PLC0415 - as above

        found = config_file(transcript)
        return [found] if found is not None else []

    def quoting(self, path: Path) -> Iterable[Path]:
        """Return the store."""
        return [path.with_name(_STORE)]

    def belongings(self, session: StoredSession) -> Belongings:
        """Return a transcript, other records of its runs, and the entries that lead to it."""
        from slowwave.formats.openclaw.sessions import artifact_of  # noqa: PLC0415 - as above

        files = tuple(reversed(session.files.paths))
        first = files[-1]
        own = artifact_of(first.name)
        if own.source:
            return Belongings(files)  # it was put aside: the entry leads elsewhere, and so do the runs
        store = first.with_name(_STORE)
        notes: tuple[Note, ...] = ()
        if store.is_file():
            at = store.stat()
            notes = _notes_of(store, at.st_size, at.st_mtime_ns, at.st_ino).get(first, ())
        others = [(name, artifact_of(name)) for name in names_in(first.parent) if name.startswith(own.session)]
        shared = any(o.kind == "transcript" and o.session == own.session and n != first.name for n, o in others)
        runs = [first.with_name(n) for n, o in others if o.kind == "trajectory" and o.session == own.session]
        return Belongings((*(() if shared else runs), *files), notes)


def _openclaw_folders(parent: Path, problems: list[StoreProblem]) -> list[Path]:
    with os.scandir(parent) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.name[0] != "." and is_folder(entry, problems))


def _holds_transcripts(folder: Path) -> bool:
    from slowwave.formats.openclaw.sessions import artifact_of  # noqa: PLC0415 - only where this client is

    with os.scandir(folder) as entries:
        return any(entry.name == _STORE or artifact_of(entry.name).kind == "transcript" for entry in entries)


@lru_cache(maxsize=16)
def _notes_of(store: Path, size: int, mtime_ns: int, ino: int) -> Mapping[Path, "tuple[Note, ...]"]:  # noqa: ARG001 - as above
    """Return the entries that lead to each transcript beside a store; it is read once as long as it stays the same."""
    from slowwave.formats.notes import entry_note  # noqa: PLC0415 - as above
    from slowwave.formats.openclaw.sessions import transcript_of  # noqa: PLC0415 - as above
    from slowwave.formats.openclaw.store import read_store  # noqa: PLC0415 - as above

    found: dict[Path, list[Note]] = {}
    for key, entry in read_store(store).items():
        path = transcript_of(store.parent, key, entry)
        if path is not None:
            found.setdefault(path, []).append(entry_note(store, key, entry))
    return {path: tuple(notes) for path, notes in found.items()}


# fields of OpenClaw's entries, and what they are called here
_TEXTS = {
    "sessionId": "session_id",
    "chatType": "chat_type",
    "channel": "channel",
    "subject": "subject",
    "groupChannel": "group_channel",
    "space": "space",
    "displayName": "display_name",
    "model": "model",
}
_NUMBERS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "contextTokens": "context_tokens",
    "compactionCount": "compaction_count",
    "memoryFlushAt": "memory_flush_at",
}


def _of_store(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    from slowwave.formats.openclaw.sessions import stems_beside  # noqa: PLC0415 - as above
    from slowwave.formats.openclaw.store import read_store  # noqa: PLC0415 - as above

    store = read_store(folder / _STORE)
    stems = stems_beside(store)
    return {stem: _of_entry(key, store[key]) for key, stem in stems.items() if stem}


def _of_agent(database: Path) -> Mapping[str, Mapping[str, Any]]:
    from slowwave.formats.database import opened_read_only, text_of  # noqa: PLC0415 - as above
    from slowwave.formats.openclaw.store import entry_of, values_of  # noqa: PLC0415 - as above

    query = "SELECT session_key, current_session_id, entry_json FROM session_nodes"
    with opened_read_only(database) as rows:
        found = list(rows.execute(query))
    entries = ((text_of(key), text_of(own), values_of(text_of(entry).encode()) or {}) for key, own, entry in found)
    return {own: _of_entry(key, entry_of(fields)) for key, own, fields in entries}


def _of_entry(key: str, entry: "SessionEntry") -> Mapping[str, Any]:
    told: dict[str, Any] = {"key": key}
    told |= {own: text for name, own in _TEXTS.items() if (text := entry.text(name))}
    return told | {own: number for name, own in _NUMBERS.items() if (number := entry.number(name)) is not None}


CLIENT = Openclaw()
