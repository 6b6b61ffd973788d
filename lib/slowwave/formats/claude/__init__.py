"""Claude Code: its home ``~/.claude/projects/<project>/*.jsonl``, what it keeps of a session there, and where it runs.

Cersei shares the folders, and a plain folder of transcripts, or a folder of such folders, may hold those of every
client: their content tells.
"""

import os
import re
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from shutil import which
from typing import Any

from slowwave.files import home_folder
from slowwave.formats import parse_time, whole
from slowwave.formats.client import Belongings, Client, CompactionRules, DeliveryRules, Guess, Home, Hook, is_folder
from slowwave.formats.sessions import (
    MEMORY,
    SIDE_FOLDER,
    SIDE_PREFIX,
    SUFFIX,
    SUFFIXES,
    Place,
    StoredSession,
    StoreProblem,
    names_in,
)

# A record with a type that carries one of these is Claude Code's, also where a `session_id` stands beside it.
ENVELOPE = frozenset({"sessionId", "leafUuid", "parentUuid", "isSidechain", "isSnapshotUpdate", "snapshotMessageId"})


PROJECTS = "projects"
# Places of this kind belong to one project each, which is named after the folder.
FOLDER_OF_PROJECT = "claude"
# What people typed, over all projects. Copies of their own files (``file-history``) are no transcripts.
PROMPTS = "history.jsonl"
_TEXTS = frozenset({".jsonl", ".json", ".txt", ".md", ".log"})


class ProjectFolder(Client):
    """What holds for everything in a project's folder, also for a file that is empty or damaged: the place tells."""

    own_fields: frozenset[str] = frozenset()  # one of them stands beside the type of a record of its own
    others: frozenset[str] = frozenset()  # and none of these, which are another's

    def marks(self, record: dict[str, object]) -> bool:
        """Say whether a record is of this client: by its type and its fields."""
        is_own = isinstance(record.get("type"), str) and not self.own_fields.isdisjoint(record)
        return is_own and self.others.isdisjoint(record)

    def belongings(self, session: StoredSession) -> Belongings:
        """Return what Claude Code keeps of a session, where it does, and the session's files."""
        return Belongings((*_beside(session), *reversed(session.files.paths)))

    def claimed_by(self, session: StoredSession, home: Path, now: datetime) -> str | None:  # noqa: ARG002
        """Return which running Claude Code says that it has this session open, or None.

        It writes ``sessions/<pid>.json`` into its home and leaves it behind after a kill -9, so the process must be
        alive and, where the file tells its start time, be the same process.
        """
        ids = {session.id}
        if session.kind == "subagent":
            # a sub-agent is live as long as the session is that it works for
            ids |= {folder.name for folder in session.files.paths[0].parents if session.folder in folder.parents}
        for claims in {home / ".claude" / "sessions", session.folder.parent.parent / "sessions"}:
            for pid, claim in _claims(claims):
                if claim.get("sessionId") in ids and is_same_process(pid, claim.get("procStart")):
                    return f"open in a running client (process {pid})"
        return None

    def beside(self, session: StoredSession, path: Path) -> Iterator[Path]:  # noqa: ARG002
        """Yield what lies in the folder of a session: long results of tools, notes on its sub-agents.

        The sub-agents themselves are sessions of their own, which may be live although this one is not.
        """
        folder = path.with_name(path.name.removesuffix(SUFFIX))
        if folder == path or not folder.is_dir() or folder.is_symlink():
            return
        for one in sorted(folder.rglob("*")):
            is_session = one.suffix == SUFFIX and SIDE_FOLDER in one.relative_to(folder).parts
            if one.suffix in _TEXTS and not is_session and one.is_file() and not one.is_symlink():
                yield one

    def quoting(self, path: Path) -> Iterable[Path]:
        """Return the file with what people typed, over all projects."""
        return (folder.parent / PROMPTS for folder in path.parents if folder.name == PROJECTS)


class ClaudeCode(ProjectFolder):
    """Claude Code, whose home or ``projects`` folder is a root."""

    name = FOLDER_OF_PROJECT
    shows = "Claude Code (sessionId)"
    own_fields = ENVELOPE
    home = Home(".claude", "CLAUDE_CONFIG_DIR")
    reader = "claude.dialect:CLAUDE"
    writer = "claude.write:ClaudeWriter"
    is_flat = True
    is_folded = True
    names_folder = True
    has_pieces = True
    has_agent_notes = True
    owner_in_records = True
    resume = ("claude", "--resume", "ID")
    tested = "2.1.330"
    compacting = CompactionRules(
        is_written=True,
        introduced=162,
        has_variables=True,
        reading="chain",
        no_clearing="Claude Code takes no later record for the output of an earlier one",
    )
    # UTF-16 units of what the transcript shows to one counted token: the median of 48 sessions, by the growth of the
    # provider's counters from answer to answer (half of them between 2.3 and 2.8)
    guess = Guess(per_token=2.6)
    delivery = DeliveryRules(
        reads_above=True,
        command="commands/NAME.md",
        # it keeps the model from calling the command; who does not know it leaves it out
        head="disable-model-invocation: true",
        hook=Hook("settings.json", "Bash|Edit|MultiEdit|NotebookEdit|Write", "2.1.9"),
    )

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:
        """Return every project folder; each counts, as one without a transcript may still have sub-agents."""
        if root.name == PROJECTS:
            return _folders(root, problems)
        return _folders(root / PROJECTS, problems) if PROJECTS in names and (root / PROJECTS).is_dir() else None

    def installed(self, environ: Mapping[str, str]) -> str:
        """Return the version that is installed, by its own installer or by npm; nothing is started."""
        home = home_folder(environ)
        # the two places of its installers first: a service has a short PATH
        beside = [home / ".local" / "bin" / "claude", home / ".claude" / "local" / "node_modules" / ".bin" / "claude"]
        for path in (*beside, *map(Path, filter(None, [which("claude", path=environ.get("PATH", ""))]))):
            if path.exists() and (version := _version_at(path.resolve())):
                return version
        return ""

    def settings_files(self, transcript: Path, cwd: Path | None) -> list[Path]:
        """Return the files of settings, the strongest last.

        Raises OSError: the folder of the machine's policy cannot be listed.
        """
        home = next((parent.parent for parent in transcript.parents if parent.name == PROJECTS), None)
        if home is None:
            return []
        return [home.parent / ".claude.json", home / ".claude.json", *persons_files(home, cwd), *policy_files()]


# the installer of 2.1 names the program after its version; npm keeps it beside a description
_RELEASE = re.compile(r"\d+\.\d+\.\d+")
_PACKAGE = "@anthropic-ai/claude-code"


def _version_at(program: Path) -> str:
    if _RELEASE.fullmatch(program.name):
        return program.name
    for folder in [*program.parents][:2]:
        try:
            package = whole((folder / "package.json").read_bytes())
        except OSError:
            continue
        if package.get("name") == _PACKAGE and isinstance(version := package.get("version"), str):
            return version
    return ""


def _folders(root: Path, problems: list[StoreProblem]) -> list[Place]:
    with os.scandir(root) as found:
        entries = sorted(((entry.name, entry) for entry in found if entry.name[0] != "."), key=lambda item: item[0])
    places: list[Place] = []
    for name, entry in entries:
        if is_folder(entry, problems):
            places.append(Place(FOLDER_OF_PROJECT, entry.path))
        elif name.endswith(SUFFIXES):
            problems.append(StoreProblem("ignored", entry.path, "lies beside the project folders, not in one"))
    return places


class Transcripts(ProjectFolder):
    """A folder of transcripts, or a folder of such folders: no client's home, and the last that is tried."""

    name = FOLDER_OF_PROJECT

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:  # noqa: ARG002
        """Return the folder itself when a transcript lies in it, else its sub-folders with transcripts or memories."""
        with os.scandir(root) as entries:
            if any(entry.name.endswith(SUFFIXES) and entry.name[0] != "." for entry in entries):
                return [Place(self.name, os.fspath(root))]
        found = _folders(root, problems)
        return [place for place in found if _holds_sessions(place.path, problems)] or None


def _holds_sessions(folder: str, problems: list[StoreProblem]) -> bool:
    try:
        # the first transcript decides, so the rest of a large folder is listed only once, by the walk
        with os.scandir(folder) as inside:
            return any(entry.name.endswith(SUFFIXES) or entry.name == MEMORY for entry in inside)
    except OSError as error:
        problems.append(StoreProblem("unreadable", folder, error.strerror or "cannot be listed"))
        return False


# Where Claude Code keeps its settings, in the order in which it lays one file over another (read in 2.1.330).
#
# An administrator's policy lies in one folder of the machine and goes over everything that a person sets.

# a folder of the machine, not of a home; the client takes no other one
CLAUDE_POLICY = Path("/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code")


def persons_files(home: Path, cwd: Path | None) -> list[Path]:
    """Return the files that people write, the strongest last; they may not exist.

    ``home``: the client's home, usually ``~/.claude``. ``cwd``: the folder that a session works in.
    """
    own = [cwd / ".claude" / name for name in ("settings.json", "settings.local.json")] if cwd is not None else []
    return [home / "settings.json", *own]


def policy_files() -> list[Path]:
    """Return the files of the machine's policy, the strongest last; the first may not exist.

    Raises OSError: there is a folder with more of them, which cannot be listed.
    """
    folder = CLAUDE_POLICY / "managed-settings.d"
    try:
        more = sorted(path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != ".")
    except (FileNotFoundError, NotADirectoryError):
        more = []
    return [CLAUDE_POLICY / "managed-settings.json", *more]


# What goes together with a session: results of tools, checkpoints of files, lists of tasks. What is left behind of one
# that went would be found by nobody and told by its client for ever.

# What Claude Code keeps of a session in its home, each a folder of the session's name (clients.md 6)
_FOLDERS_IN_HOME = ("tasks", "session-env", "file-history")
_META = ".meta.json"
_FIRST_LINE = 1 << 20


def _beside(session: StoredSession) -> Iterator[Path]:
    """Yield what Claude Code keeps of a session, where it does: in its home, then sub-agents and results of tools."""
    first = session.files.paths[0]
    if session.kind == "subagent":
        meta = first.with_name(first.name.removesuffix(SUFFIX) + _META)
        yield from (path for path in (meta,) if path.is_file())
        return
    if first.parent.parent.name == PROJECTS:
        own = _in_home(first.parent.parent.parent, session.id)
        # most sessions have nothing there, and for them no other project need be looked at
        if own and not _elsewhere(first):
            yield from own
    yield from agents_beside(first.parent).get(session.id, ())
    folder = first.with_name(session.id)
    if folder.is_dir() and not folder.is_symlink():
        yield folder


def _in_home(home: Path, session: str) -> list[Path]:
    todos = [home / "todos" / name for name in names_in(home / "todos") if _is_todo(name, session)]
    return todos + [path for name in _FOLDERS_IN_HOME if (path := home / name / session).is_dir()]


def sessions_in_home(home: Path) -> set[str]:
    """Return the ids of all sessions of which a home of Claude Code keeps something beside its transcripts."""
    found = {name for folder in _FOLDERS_IN_HOME for name in names_in(home / folder)}
    return found | {name.removesuffix(".json").partition("-agent-")[0] for name in names_in(home / "todos")}


def _is_todo(name: str, session: str) -> bool:
    return name == f"{session}.json" or name.startswith(f"{session}-agent-")


def _elsewhere(transcript: Path) -> bool:
    """Say whether another project has a transcript of the same session, which then needs what is in the home."""
    projects = transcript.parent.parent
    with os.scandir(projects) as entries:
        others = [entry.path for entry in entries if entry.is_dir() and entry.name != transcript.parent.name]
    return any(os.path.lexists(f"{other}/{transcript.name}") for other in others)


def agents_beside(folder: Path) -> Mapping[str, tuple[Path, ...]]:
    """Return the transcripts of sub-agents that lie beside those of sessions (client 2.0), by the session's id."""
    at = folder.stat()
    return _agents_beside(folder, at.st_mtime_ns, at.st_ino)


@lru_cache(maxsize=256)
def _agents_beside(folder: Path, mtime_ns: int, ino: int) -> Mapping[str, tuple[Path, ...]]:  # noqa: ARG001 - the key
    found: dict[str, list[Path]] = {}
    for name in names_in(folder):
        if name.startswith(SIDE_PREFIX) and name.endswith(SUFFIX):
            with (folder / name).open("rb") as file:
                owner = whole(file.readline(_FIRST_LINE)).get("sessionId")
            if isinstance(owner, str):
                found.setdefault(owner, []).append(folder / name)
    return {owner: tuple(paths) for owner, paths in found.items()}


# Start times are rounded differently by clients and systems.
_START_TOLERANCE_S = 2.0
_SECONDS = range(10**9, 10**10)
_MILLISECONDS = range(10**12, 10**13)


def is_same_process(pid: int, started: object) -> bool:
    """Say whether process ``pid`` is alive and may be the one that started at ``started``.

    An unknown form of ``started`` proves nothing: the process then counts as the same one.
    """
    from slowwave.locks import created_at, is_running  # noqa: PLC0415 - a listing asks for no process

    if not is_running(pid):
        return False
    created = created_at(pid)
    return created is None or _may_be_start(started, created, pid)


def _may_be_start(started: object, created: float, pid: int) -> bool:
    if isinstance(started, str) and not started.isdigit():
        at = parse_time(started)
        return at is None or abs(at.timestamp() - created) <= _START_TOLERANCE_S
    if isinstance(started, (str, int, float)) and not isinstance(started, bool):
        number = float(started)
        if int(number) in _SECONDS:
            return abs(number - created) <= _START_TOLERANCE_S
        if int(number) in _MILLISECONDS:
            return abs(number / 1000 - created) <= _START_TOLERANCE_S
        from slowwave.locks import start_ticks  # noqa: PLC0415 - as above

        ticks = start_ticks(pid)
        return ticks is None or ticks == int(number)
    return True


def _claims(folder: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - names only
    except OSError:
        return
    for name in names:
        pid = name.removesuffix(".json")
        if not name.endswith(".json") or not pid.isdigit():
            continue
        try:
            claim = whole((folder / name).read_bytes())
        except OSError:
            continue  # gone again
        if claim:  # else it is being written
            yield int(pid), claim


CLIENT = ClaudeCode()
# what is no client's home: transcripts that somebody put together
PLAIN = Transcripts()
# a file of which nobody knows what it is
UNKNOWN = ProjectFolder()
