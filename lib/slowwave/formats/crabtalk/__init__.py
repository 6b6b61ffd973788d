"""crabtalk: ``~/.crabtalk/sessions/{agent}_{sender}_{seq}[_{title}].jsonl``, early versions in a folder for each day.

A session is known by agent, sender and number: a title renames its file. Where the agent ends in a name says the first
line of the file, which is read for new and changed files only.
"""

import os
import re
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path

from slowwave.errors import UnreadableError
from slowwave.formats.client import Client, CompactionRules, Guess, Home, is_folder
from slowwave.formats.sessions import (
    SUFFIX,
    FoundSession,
    K,
    Place,
    StoredSession,
    StoreProblem,
    Walk,
    known_folder,
    listed,
)

CRABTALK_HOME = ".crabtalk"
CRABTALK_SESSIONS = "sessions"
# Slugs hold no underscore; the sender's may be empty.
_NAME = re.compile(r"[^.].*?_[^_]*_[0-9]+(_[^_]*)*\.jsonl\Z", re.DOTALL)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
# One damaged file must not hide what the folder is; past this many it is no folder of crabtalk's.
_MOST_LOOKS = 8


class Crabtalk(Client):
    """crabtalk, whose home, its ``sessions`` folder, or a folder of such files is a root."""

    name = "crabtalk"
    shows = "crabtalk (agent, created_by)"
    home = Home(CRABTALK_HOME)
    reader = "crabtalk.dialect:CRABTALK"
    writer = "crabtalk.write:CrabtalkWriter"
    is_numbered = True
    is_unnamed = True
    guess = Guess(of_bytes=True, rounds="down")
    compacting = CompactionRules(
        is_written=True,
        trigger="threshold",
        telling="prose",
        keeps=False,
        counts=True,
        record=b'"compact"',
        no_clearing="crabtalk knows messages and compact markers only",
    )

    def marks(self, record: dict[str, object]) -> bool:
        """Say whether a record is the first line of a session of crabtalk; its messages look like anybody's."""
        return "type" not in record and all(
            isinstance(record.get(k), str) for k in ("agent", "created_by", "created_at")
        )

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:
        """Return the folder of sessions, and those of single days in it."""
        for folder in (root / CRABTALK_SESSIONS, root) if CRABTALK_SESSIONS in names else (root,):
            if folder.is_dir() and (found := _crabtalk_folders(folder, problems, is_home=root.name == CRABTALK_HOME)):
                return [Place(self.name, path) for path in found]
        return [] if root.name == CRABTALK_HOME else None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a folder; files that are none of crabtalk's keep their names as their ids."""
        from slowwave.formats.crabtalk.dialect import id_of, meta_line_of  # noqa: PLC0415

        for name in filter(is_transcript, listed(place.path, walk.problems)):
            file = walk.look(place.path, name)
            if file is None:
                continue
            path = Path(place.path, name)
            try:
                line = meta_line_of(path)
            except UnreadableError as error:
                walk.problems.append(StoreProblem("unreadable", f"{place.path}/{name}", error.reason))
                continue
            meta = None if line is None else line.meta
            dialect = "" if meta is None else self.name
            yield FoundSession(place.path, id_of(name, meta), [file], side=False, dialect=dialect)

    def new_folder(self, home: Path, cwd: Path) -> Path:  # noqa: ARG002
        """Return the folder of sessions."""
        return home if home.name == CRABTALK_SESSIONS else home / CRABTALK_SESSIONS

    def need(self, session: StoredSession) -> str:
        """Return why the session of the highest number stays.

        crabtalk takes the next number by looking at names: without that session it would give its number, and with it
        the id, to another one.
        """
        from slowwave.formats.crabtalk.dialect import meta_line_of, place_of  # noqa: PLC0415 - only of what goes

        first = session.files.paths[0]
        line = meta_line_of(first)
        own = place_of(first.name, line.meta.agent) if line is not None else None
        if line is None or own is None:
            return ""
        highest = _highest(os.fspath(first.parent), line.meta.agent).get(own.sender, ())
        if any(seq >= own.seq for seq, name in highest if name != first.name):
            return ""
        return f"{own.seq} is the last number of its agent and sender, and crabtalk would give it to another session"


def _crabtalk_folders(folder: Path, problems: list[StoreProblem], *, is_home: bool) -> list[str]:
    with os.scandir(folder) as entries:
        days = [entry.path for entry in entries if _DAY.match(entry.name) and is_folder(entry, problems)]
    return [path for path in (os.fspath(folder), *sorted(days)) if _is_one(path, is_home=is_home)]


def _is_one(folder: str, *, is_home: bool) -> bool:
    """Say whether crabtalk keeps sessions in a folder: all names are of its form, and some file begins as its do.

    In its own home every folder with transcripts counts, so that damaged ones are reported, not passed over.
    """
    names = list(filter(is_transcript, os.listdir(folder)))  # noqa: PTH208 - names only
    if is_home:
        return bool(names)
    if not all(_NAME.match(name) for name in names):
        return False
    return any(_is_session(Path(folder, name)) for name in names[:_MOST_LOOKS])


def _is_session(path: Path) -> bool:
    from slowwave.formats.crabtalk.dialect import meta_line_of  # noqa: PLC0415 - only where this client is

    try:
        return meta_line_of(path) is not None
    except UnreadableError:
        return False  # reported when the folder is read, if another file shows what it is


def is_transcript(name: str) -> bool:
    """Say whether a file of this name can be a session."""
    return name.endswith(SUFFIX) and name[0] != "."


def _highest(folder: str, agent: str) -> Mapping[str, Sequence[tuple[int, str]]]:
    """Return the two highest numbers of each sender to an agent, with the names of their files."""
    from slowwave.formats.crabtalk.dialect import place_of  # noqa: PLC0415 - as above

    known = known_folder(folder)
    key = f"numbers of {agent}"
    if key not in known.derived:
        found: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for name, _ in known.entries:
            place = place_of(name, agent)
            if place is not None:
                found[place.sender] = sorted([*found[place.sender], (place.seq, name)])[-2:]
        known.derived[key] = found
    return known.derived[key]


# Whether crabtalk runs: it answers on a socket in its home, which it makes when it starts.

CRABTALK_SOCKET = "run/crabtalk.sock"


def running_since(home: Path, session: Path) -> int | None:
    """Return when the crabtalk of this home started (in nanoseconds); None when it does not run or has not the file."""
    own = home / CRABTALK_HOME
    if own.resolve() not in session.resolve().parents or not _answers(own / CRABTALK_SOCKET):
        return None
    return (own / CRABTALK_SOCKET).stat().st_mtime_ns


def _answers(path: Path) -> bool:
    import socket  # noqa: PLC0415 - only before a title is written

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        try:
            client.connect(os.fspath(path))
        except OSError:
            return False  # no such socket, a leftover of one that ended, or a path longer than a socket's may be
    return True


CLIENT = Crabtalk()
