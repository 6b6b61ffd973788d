"""What Claude Code deletes by itself, and when: whatever was not changed for ``cleanupPeriodDays`` (clients.md 6).

It goes by the time of each file alone. A session that is resumed for months keeps its transcript and loses its old
sub-agents, results of tools and checkpoints one by one.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from slowwave.errors import UnreadableError
from slowwave.files import file_bytes
from slowwave.places import home_folder
from slowwave.report import Report
from slowwave.retention.job.fleet import Member, paths_of
from slowwave.stores.belongings import belongings_of, sessions_in_home
from slowwave.stores.claude_settings import persons_files, policy_files
from slowwave.stores.kinds.claude import PROJECTS, ClaudeHome

CLEANUP_DAYS = 30.0


class Kept(NamedTuple):
    """A file as it lies in its place."""

    path: str
    size: int
    mtime_ns: int


class Belonging:
    """The files of sessions in one home, of transcripts and of all that goes with them; each folder is listed once.

    Args:
        home: the home of Claude Code.
        user: the home folder of the person whose sessions they are.
    """

    def __init__(self, home: Path, user: Path) -> None:
        self._user = user
        self._in_home = sessions_in_home(home)
        self._beside: dict[Path, set[str]] = {}

    def files(self, member: Member) -> Iterator[Kept]:
        """Yield the files of a session that are there.

        Raises:
            OSError: a folder of it cannot be listed.
        """
        found = [kept for path in paths_of(member) if (kept := _kept(os.fspath(path))) is not None]
        yield from found
        if found and self._has_more(member):
            for path in belongings_of(member.session, self._user).paths:
                yield from _below(os.fspath(path))

    def may_be_due(self, member: Member, last: float) -> bool:
        """Say whether a file of a session may be as old as ``last``, seconds since 1970; for most it costs no call.

        Raises:
            OSError: a folder of it cannot be listed.
        """
        for session in member.sessions:
            if session.mtime_ns / 1e9 <= last or len(session.files.paths) > 1:
                return True
        return self._has_more(member)

    def _has_more(self, member: Member) -> bool:
        """Say whether something lies beside the transcripts; most sessions have nothing, and cost no call."""
        session, folder = member.session, member.session.files.paths[0].parent
        if folder not in self._beside:
            with os.scandir(folder) as entries:
                self._beside[folder] = {entry.name for entry in entries if entry.is_dir()}
        return session.kind == "subagent" or session.id in self._in_home or session.id in self._beside[folder]


def files_of(member: Member, user: Path) -> Iterator[Kept]:
    """Yield the files of a session of any client that are there.

    Raises:
        OSError: a folder of it cannot be listed.
    """
    paths = dict.fromkeys((*paths_of(member), *belongings_of(member.session, user).paths))
    for path in paths:
        yield from _below(os.fspath(path))


def cleanup_days(home: Path, roots: Iterable[str], report: Report) -> float:
    """Return after how many days without a change the client of a home deletes, at the earliest.

    The policy of the machine decides; without one the client cleans up by the settings of the folder that it is started
    in, and nobody knows which one that will be.

    Args:
        home: the home of Claude Code.
        roots: the working folders of the projects whose sessions lie there.
        report: gets a warning for each file that cannot be read.
    """
    try:
        policy = policy_files()
    except OSError as error:
        report.warnings.append(f"rescue: {error.filename}: {error.strerror}, so nobody knows what it says")
        policy = []
    told = [days for path in policy if (days := _days_in(path, report)) is not None]
    if told:
        return told[-1]
    user = _days_in(persons_files(home, None)[0], report)
    found = [CLEANUP_DAYS if user is None else user]
    for root in roots:
        own = [days for path in persons_files(home, Path(root))[1:] if (days := _days_in(path, report)) is not None]
        found += own[-1:]
    return min(found)


def _days_in(path: Path, report: Report) -> float | None:
    """Return what a file of settings says, None when it says nothing about it."""
    try:
        value: object = msgspec.json.decode(file_bytes(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnreadableError, msgspec.DecodeError, UnicodeDecodeError):
        report.warnings.append(f"rescue: {path}: cannot be read, so what it says of cleanupPeriodDays does not count")
        return None
    days = cast("dict[str, object]", value).get("cleanupPeriodDays") if isinstance(value, dict) else None
    return max(1.0, float(days)) if isinstance(days, int | float) and not isinstance(days, bool) else None


def claude_home(transcript: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the home of Claude Code whose clean-up reaches a transcript, None where no client cleans up."""
    project = next((folder for folder in transcript.parents if folder.parent.name == PROJECTS), None)
    if project is None:
        return None
    home = project.parent.parent
    usual = (*ClaudeHome().usual(environ), home_folder(environ) / ".claude")
    is_one = home in usual or home.name == ".claude" or (home / ".last-cleanup").exists()
    return home if is_one else None


def _below(path: str) -> Iterator[Kept]:
    kept = _kept(path)
    if kept is not None:
        yield kept
    elif os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114 - a name of any bytes
        with os.scandir(path) as entries:
            below = [entry.path for entry in entries]
        for one in below:
            yield from _below(one)


def _kept(path: str) -> Kept | None:
    """Return a file; None for one that is gone since it was listed, and for what is none."""
    try:
        at = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - as above
    except FileNotFoundError:
        return None
    return Kept(path, at.st_size, at.st_mtime_ns) if stat.S_ISREG(at.st_mode) else None
