"""Clawdbot and OpenClaw: ``agents/<agent>/sessions/`` with ``sessions.json``, and the database of each agent."""

import os
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from slowwave.places import home_folder
from slowwave.stores.kinds.base import Kind, Place, is_folder
from slowwave.stores.model import StoreProblem
from slowwave.stores.walk import FoundFile, FoundSession, K, Walk, key_in_database

_HOMES = (".openclaw", ".clawdbot", ".moltbot")
_OVERRIDES = ("OPENCLAW_STATE_DIR", "MOLTBOT_STATE_DIR", "CLAWDBOT_STATE_DIR")
_AGENTS = "agents"
_STORE = "sessions.json"
_DATABASE = "agent/openclaw-agent.sqlite"


class OpenclawHome(Kind):
    """The client's state folder, one agent's folder in it, or a folder with a store in it."""

    name = "openclaw"

    def usual(self, environ: Mapping[str, str]) -> list[Path]:
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
            found = [place for agent in _folders(root / _AGENTS, problems) for place in self._of_agent(agent, problems)]
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
            problems.append(StoreProblem("unreadable", os.fspath(agent / _DATABASE), "is no file"))
        return found

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a place, of a folder also those that were reset, deleted or kept as a backup."""
        if place.path.endswith(f"/{_DATABASE}"):
            return self._of_database(place, walk)
        return self._of_folder(place, walk)

    def _of_folder(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        from slowwave.stores.openclaw.facts import facts_beside  # noqa: PLC0415 - only where this client is
        from slowwave.stores.openclaw.transcripts import artifact_of  # noqa: PLC0415 - as above

        try:
            names = sorted(os.listdir(place.path))  # noqa: PTH208 - names only
        except OSError as error:
            walk.problems.append(StoreProblem("unreadable", place.path, error.strerror or "cannot be listed"))
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
        from slowwave.stores.openclaw.rows import AgentSessions  # noqa: PLC0415 - as above

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
            from slowwave.stores.openclaw.facts import facts_beside  # noqa: PLC0415 - as above

            by_stem = facts_beside(place.path).by_stem
            return {stem: about.title for stem, about in by_stem.items() if about.title}
        import sqlite3  # noqa: PLC0415 - few stores are databases

        from slowwave.stores.openclaw.rows import titles_in  # noqa: PLC0415 - as above

        try:
            return titles_in(Path(place.path))
        except (sqlite3.Error, OSError):
            return {}  # reported where its sessions are listed


def _folders(parent: Path, problems: list[StoreProblem]) -> list[Path]:
    with os.scandir(parent) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.name[0] != "." and is_folder(entry, problems))


def _holds_transcripts(folder: Path) -> bool:
    from slowwave.stores.openclaw.transcripts import artifact_of  # noqa: PLC0415 - only where this client is

    with os.scandir(folder) as entries:
        return any(entry.name == _STORE or artifact_of(entry.name).kind == "transcript" for entry in entries)
