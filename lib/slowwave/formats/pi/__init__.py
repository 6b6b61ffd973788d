"""pi: ``~/.pi/agent/sessions/--<working folder>--/<time>_<id>.jsonl``, a form that OpenClaw has, too."""

import os
import re
from collections.abc import Container, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from slowwave.formats.client import Client, CompactionRules, DeliveryRules, Guess, Home, is_folder
from slowwave.formats.sessions import (
    Header,
    Place,
    StoredSession,
    StoreProblem,
    known_folder,
    session_id,
    sessions_naming,
)

_FOLDER = re.compile(r"--.*--\Z", re.DOTALL)
_SESSIONS = "sessions"
_DASHES = str.maketrans("/\\:", "---")


class TreeFiles(Client):
    """What holds for files of pi's form, whoever wrote them: a header, and entries that name their parents."""

    refers = "file"
    # UTF-16 units of what the transcript shows to one counted token, from the first answer to the last one: three
    # sessions of pi's authors, all between 3.01 and 3.02
    guess = Guess(measured=3.0)

    def claimed_by(self, session: StoredSession, home: Path, now: datetime) -> str | None:  # noqa: ARG002
        """Return which process holds the lock beside a transcript, or None."""
        from slowwave.formats.locks import TRANSCRIPT_LOCK, holder  # noqa: PLC0415 - a listing asks for no lock

        who = "" if session.in_database else holder(session.files.paths[0], TRANSCRIPT_LOCK, now.timestamp())
        return f"being written by {who}" if who else None

    def lock(self, first: Path, session: str) -> AbstractContextManager[object]:  # noqa: ARG002
        """Return the lock beside a transcript."""
        from slowwave.formats.locks import held_lock  # noqa: PLC0415 - as above

        return held_lock(first)

    def forks(self, session: StoredSession) -> Iterator[Path]:
        """Yield forks, which would show a tree that ends in nothing (clients.md 5.2)."""
        first = session.files.paths[0]
        if not session.in_database and not session.source:
            for path in sessions_naming(session_id(first.name), self._near(first), "session", _source):
                if path != first:
                    yield path

    def check_compaction(self, session: str, path: Path) -> None:  # noqa: ARG002
        """Read what a compaction is put behind, as the client would."""
        from slowwave.formats.pi.write import on_disk  # noqa: PLC0415 - only before a compaction

        on_disk(path)

    def _near(self, first: Path) -> list[Path]:
        """Return the folders in which forks of a session may lie."""
        return [first.parent]


class Pi(TreeFiles):
    """pi, whose agent folder, or the ``sessions`` folder in it, is a root."""

    name = "pi"
    shows = "pi (a session header)"
    home = Home(".pi/agent", "PI_CODING_AGENT_DIR")
    reader = "pi.dialect:PI"
    writer = "pi.write:PiWriter"
    is_flat = True
    resume = ("pi", "--session", "PATH")
    tested = "3"
    compacting = CompactionRules(
        is_written=True,
        introduced=107,
        has_branches=True,
        sections=("reserveTokens", "keepRecentTokens"),
        reading="entries",
        no_clearing="no entry of pi changes an earlier one",
    )
    delivery = DeliveryRules(reads_agents=True, or_claude=True, reads_above=True, command="prompts/NAME.md")

    def marks(self, record: dict[str, object]) -> bool:
        """Say whether a record is pi's: its header, or an entry of its tree where the header is lost.

        Version 1 has no tree, so only its header tells.
        """
        kind, own = record.get("type"), record.get("id")
        if not isinstance(kind, str) or not isinstance(own, str):
            return False
        return kind == "session" or ("parentId" in record and "payload" not in record and "sessionId" not in record)

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:  # noqa: ARG002
        """Return a place for each working folder."""
        for folder in (root / _SESSIONS, root / "agent" / _SESSIONS, root):
            if folder.is_dir() and (found := _pi_folders(folder, problems)):
                return [Place(self.name, path) for path in found]
        return None

    def new_folder(self, home: Path, cwd: Path) -> Path:
        """Return the folder of a working folder."""
        return (home if home.name == _SESSIONS else home / _SESSIONS) / _name_of(cwd)

    def settings_files(self, transcript: Path, cwd: Path | None) -> list[Path]:
        """Return the settings of the home and of the project, which go over them."""
        home = next((parent.parent for parent in transcript.parents if parent.name == _SESSIONS), None)
        return [*([home / "settings.json"] if home else []), *([cwd / ".pi" / "settings.json"] if cwd else [])]

    def quoting(self, path: Path) -> Iterable[Path]:
        """Return the store of Clawdbot, which may list files of pi's."""
        return [path.with_name("sessions.json")]

    def _near(self, first: Path) -> list[Path]:
        # forks may work in another folder, each of which has one of its own beside this one
        if not first.parent.name.startswith("--"):
            return [first.parent]
        around = first.parent.parent
        return sorted(around / name for name, _ in known_folder(os.fspath(around)).entries)


def _pi_folders(folder: Path, problems: list[StoreProblem]) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.path for entry in entries if _FOLDER.match(entry.name) and is_folder(entry, problems))


def _name_of(cwd: Path) -> str:
    """Return the name of pi's folder: the working folder without its first slash, every separator a dash."""
    text = os.fspath(cwd)
    bare = text[1:] if text[:1] in "/\\" else text
    return f"--{bare.translate(_DASHES)}--"


def _source(header: Header) -> str:
    from slowwave.formats.pi.dialect import parent_of  # noqa: PLC0415 - only of sessions that go

    return parent_of(header)


CLIENT = Pi()
