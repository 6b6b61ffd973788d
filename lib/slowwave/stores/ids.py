"""Session ids: which ones may become a file name, and which session a person means by a few characters."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from slowwave.errors import NotFoundError, UsageError
from slowwave.settings import Settings
from slowwave.stores.head import read_head
from slowwave.stores.model import StoreProblem
from slowwave.stores.roots import sessions_of, store_roots
from slowwave.stores.walk import SUFFIX, FoundSession, Known, Walk

# Linux allows 255 bytes for a name; a part number and the suffix must still fit.
_MOST_BYTES = 200
_PART_LIKE = re.compile(r".*_part[0-9]+\Z", re.DOTALL)


def checked_id(session_id: str) -> str:
    """Return ``session_id`` when it can safely become a file name.

    Raises:
        UsageError: it holds a separator or a control character, begins with a dot, is empty or too long, or looks
            like a part file; nothing was touched.
    """
    reason = ""
    if not session_id or session_id.strip() != session_id:
        reason = "is empty or has white space at an end"
    elif any(c in "/\\:" or not c.isprintable() for c in session_id):
        reason = "holds a separator or a control character"
    elif session_id.startswith((".", "-")):
        reason = "begins with a dot or a dash"
    elif len(os.fsencode(session_id)) > _MOST_BYTES:
        reason = f"is longer than {_MOST_BYTES} bytes"
    elif _PART_LIKE.match(session_id):
        reason = "looks like a part file of another session"
    if reason:
        raise UsageError(f"session id {session_id!r} {reason}; use letters, digits, '-', '_' and '.' only")
    return session_id


def base_path(folder: Path, session_id: str) -> Path:
    """Return where the first file of a session lies, surely inside ``folder``.

    Raises:
        UsageError: the id is malformed, or the file is a link that leads out of the folder.
    """
    path = folder / (checked_id(session_id) + SUFFIX)
    if path.resolve().parent != folder.resolve():
        raise UsageError(f"{path}: is a link that leads out of its folder; name the real file")
    return path


def found_sessions(settings: Settings, environ: Mapping[str, str], problems: list[StoreProblem]) -> list[FoundSession]:
    """Return every session under the roots by its names alone; no content is read.

    Raises:
        UnreadableError: a root is missing, a file, or unreadable.
    """
    walk = Walk[Known](problems)
    roots = store_roots(settings, environ, problems)
    return [found for root in roots for place in root.places for found in sessions_of(place, walk)]


def meant_session(session_id: str, sessions: Iterable[FoundSession]) -> FoundSession:
    """Return the session with this id, or the only one whose id begins with it.

    Main sessions go before those of sub-agents, and of files with one id those with content before empty ones.

    Raises:
        NotFoundError: none or several fit; the message names some.
    """
    known = list(sessions)
    fitting = [s for s in known if s.id == session_id]
    if not fitting and session_id:
        fitting = [s for s in known if s.id.startswith(session_id)]
    fitting = [s for s in fitting if not s.side] or fitting
    fitting = _latest_of(session_id, fitting) or fitting
    if len({s.id for s in fitting}) == 1:
        fitting = [s for s in fitting if s.size] or fitting
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        among = f"{len(known)} session{'' if len(known) == 1 else 's'}"
        raise NotFoundError(f"no session {session_id!r} among {among}; `slowwave sessions list` shows them all")
    places = ", ".join(f"{s.id} in {s.folder}" for s in sorted(fitting, key=lambda s: s.path)[:4])
    raise NotFoundError(f"{session_id!r} fits {len(fitting)} sessions ({places}); write more of it, or the file's path")


def _latest_of(name: str, sessions: list[FoundSession]) -> list[FoundSession]:
    """Return the session with the highest number where ``name`` is an agent and a sender of crabtalk, else none."""
    numbers = {s.id: s.id.removeprefix(f"{name}_") for s in sessions if s.dialect == "crabtalk"}
    own = [s for s in sessions if (number := numbers.get(s.id, "")).isascii() and number.isdecimal()]
    most = max((int(numbers[s.id]) for s in own), default=0)
    return [s for s in own if int(numbers[s.id]) == most]


def newest_session(sessions: Iterable[FoundSession], cwd: str = "") -> FoundSession:
    """Return the main session that was written to last; what is of no known dialect is passed over.

    Args:
        sessions: all of them.
        cwd: only those that work in this folder.

    Raises:
        NotFoundError: there is none.
    """
    main = sorted((s for s in sessions if not s.side and s.size), key=lambda s: s.mtime_ns, reverse=True)
    for session in main:
        head = read_head(session)
        if not isinstance(head, StoreProblem) and cwd in ("", head.cwd):
            return session
    if cwd:
        raise NotFoundError(f"no session works in {cwd}; leave --here out, or name one")
    if main:
        raise NotFoundError(f"no session of a known dialect yet ({len(main)} other files seen); name one by its path")
    raise NotFoundError("no session yet; name a store with --store")


def session_of_file(path: Path) -> FoundSession:
    """Return the session that a file belongs to, with its other parts.

    Raises:
        NotFoundError: there is no such file, or it is no transcript by its name.
    """
    problems: list[StoreProblem] = []
    folder = os.fspath(path.parent)
    for found in Walk[Known](problems).sessions(folder):
        if found.folder == folder and any(file.name == path.name for file in found.files):
            return found
    raise NotFoundError(f"{path}: is not a transcript (its name does not end in {SUFFIX})")
