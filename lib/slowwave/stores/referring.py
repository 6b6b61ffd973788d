"""Why a session may not go although nobody has it open: a fork leads to it, or its number would be given again.

Codex and pi forks name the session that they came from. Codex refuses to open a fork whose source is gone, pi shows a
tree that ends in nothing (clients.md 5.2). crabtalk takes the next number by looking at names: without the session of
the highest one it would give that number, and with it the id, to another session.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from slowwave.dialects.codex.head import is_of_sub_agent
from slowwave.dialects.codex.head import parent_of as codex_parent
from slowwave.dialects.codex.home import ARCHIVED, SESSIONS, home_of
from slowwave.dialects.crabtalk.meta import meta_line_of
from slowwave.dialects.crabtalk.names import place_of
from slowwave.dialects.pi.dialect import parent_of as pi_parent
from slowwave.records.lenient import whole
from slowwave.records.parts import session_id
from slowwave.records.sources.compressed import open_plain
from slowwave.stores.model import StoredSession
from slowwave.stores.walk import SUFFIXES

# A header stands in front; damage, or a note of the client, may stand before it.
_HEADER_WITHIN = 8
_LONGEST_HEADER = 4 << 20
_MOST_KNOWN = 100_000

# Header by folder, name and inode: a header never changes. One that is not there yet is looked for again.
_headers: dict[tuple[str, str, int], dict[str, Any]] = {}


def reason_to_stay(session: StoredSession) -> str:
    """Return why a session may not go: what its client would lose, or do wrong, without it; "" for nothing.

    Raises:
        OSError: a folder in which a fork may lie cannot be listed.
    """
    first = session.files.paths[0]
    match session.dialect:
        case "codex":
            fork = next(_codex_forks(session, first), None)
        case "pi" | "openclaw" if not session.in_database and not session.source:
            fork = next(_pi_forks(first, session.dialect), None)
        case "crabtalk":
            return _keeps_number(first)
        case _:
            return ""
    return f"{fork} was forked from it, and needs it; remove that one first" if fork is not None else ""


def _codex_forks(session: StoredSession, first: Path) -> Iterator[Path]:
    home = home_of(first)
    folders = [first.parent] if home is None else [home / ARCHIVED, *sorted((home / SESSIONS).glob("*/*/*"))]
    for path, header in _headers_in(folders, "session_meta"):
        meta = header.get("payload")
        meta = cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}
        if path not in session.files.paths and _is_fork(meta, session.id):
            yield path


def _is_fork(meta: dict[str, Any], thread: str) -> bool:
    return not is_of_sub_agent(meta) and codex_parent(meta) == thread


def _pi_forks(first: Path, dialect: str) -> Iterator[Path]:
    # forks of pi may work in another folder, each of which has one of its own beside this one
    around = first.parent.parent if dialect == "pi" and first.parent.name.startswith("--") else None
    folders = [first.parent] if around is None else [p for p in sorted(around.iterdir()) if p.is_dir()]
    own = session_id(first.name)
    for path, header in _headers_in(folders, "session"):
        if path != first and pi_parent(header) == own:
            yield path


def _headers_in(folders: list[Path], kind: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    for folder in folders:
        if not folder.is_dir():
            continue
        with os.scandir(folder) as entries:
            files = [(e.name, e.inode()) for e in entries if e.name.endswith(SUFFIXES) and e.name[0] != "."]
        for name, inode in sorted(files):
            key = (os.fspath(folder), name, inode)
            if key not in _headers:
                if len(_headers) >= _MOST_KNOWN:
                    _headers.clear()
                header = _header(folder / name, kind)
                if not header:
                    continue
                _headers[key] = header
            yield folder / name, _headers[key]


def _header(path: Path, kind: str) -> dict[str, Any]:
    try:
        with open_plain(path) as file:
            for _ in range(_HEADER_WITHIN):
                fields = whole(file.readline(_LONGEST_HEADER))
                if fields.get("type") == kind:
                    return fields
    except FileNotFoundError:
        pass  # removed since the folder was listed
    return {}


def _keeps_number(first: Path) -> str:
    line = meta_line_of(first)
    own = place_of(first.name, line.meta.agent) if line is not None else None
    if line is None or own is None:
        return ""
    with os.scandir(first.parent) as entries:
        places = [place_of(entry.name, line.meta.agent) for entry in entries if entry.name != first.name]
    if any(p is not None and p.sender == own.sender and p.seq >= own.seq for p in places):
        return ""
    return f"{own.seq} is the last number of its agent and sender, and crabtalk would give it to another session"
