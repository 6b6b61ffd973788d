"""Why a session may not go although nobody has it open: a fork leads to it, or its number would be given again.

Codex and pi forks name the session that they came from. Codex refuses to open a fork whose source is gone, pi shows a
tree that ends in nothing (clients.md 5.2). crabtalk takes the next number by looking at names: without the session of
the highest one it would give that number, and with it the id, to another session.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from slowwave.formats.append import session_id
from slowwave.formats.codex.home import ARCHIVED, SESSIONS, home_of
from slowwave.formats.codex.records import is_of_sub_agent
from slowwave.formats.codex.records import parent_of as codex_parent
from slowwave.formats.crabtalk import meta_line_of, place_of
from slowwave.formats.lines import open_plain
from slowwave.formats.pi.dialect import parent_of as pi_parent
from slowwave.formats.salvage import whole
from slowwave.stores.known_folder import known_folder
from slowwave.stores.model import StoredSession
from slowwave.stores.walk import SUFFIXES

# A header stands in front; damage, or a note of the client, may stand before it.
_HEADER_WITHIN = 8
_LONGEST_HEADER = 4 << 20
_MOST_KNOWN = 200_000

Header = dict[str, Any]
# Whom a header names, by folder, name and inode: it never changes. One that is not there yet is looked for again.
_named: dict[tuple[str, str, int], str] = {}


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
    folders = [first.parent] if home is None else [home / ARCHIVED, *_days(home)]
    for path in _naming(session.id, folders, "session_meta", _codex_source):
        if path not in session.files.paths:
            yield path


def _days(home: Path) -> Iterator[Path]:
    """Yield the folders of rollouts, ``sessions/YYYY/MM/DD``."""
    level = [home / SESSIONS]
    for _ in range(3):
        level = [one / name for one in level if one.is_dir() for name, _ in known_folder(os.fspath(one)).entries]
    yield from sorted(level)


def _codex_source(header: Header) -> str:
    meta = header.get("payload")
    meta = cast("Header", meta) if isinstance(meta, dict) else {}
    return "" if is_of_sub_agent(meta) else codex_parent(meta)


def _pi_forks(first: Path, dialect: str) -> Iterator[Path]:
    # forks of pi may work in another folder, each of which has one of its own beside this one
    folders = [first.parent]
    if dialect == "pi" and first.parent.name.startswith("--"):
        around = first.parent.parent
        folders = sorted(around / name for name, _ in known_folder(os.fspath(around)).entries)
    for path in _naming(session_id(first.name), folders, "session", pi_parent):
        if path != first:
            yield path


def _naming(own: str, folders: Iterable[Path], kind: str, source: Callable[[Header], str]) -> Iterator[Path]:
    """Yield the sessions in some folders whose header names another one as the one that they came from."""
    for folder in folders:
        if folder.is_dir():
            for name in _forks_in(os.fspath(folder), kind, source).get(own, ()):
                yield folder / name


def _forks_in(folder: str, kind: str, source: Callable[[Header], str]) -> Mapping[str, Sequence[str]]:
    """Return the names of the forks in a folder by what they came from; only new headers are read."""
    known = known_folder(folder)
    if kind in known.derived:
        return known.derived[kind]
    found: dict[str, list[str]] = defaultdict(list)
    is_whole = True
    for name, inode in sorted(known.entries):
        if not name.endswith(SUFFIXES) or name[0] == ".":
            continue
        key = folder, name, inode
        if key not in _named:
            if len(_named) >= _MOST_KNOWN:
                _named.clear()
            header = _header(Path(folder, name), kind)
            if not header:
                is_whole = False
                continue
            _named[key] = source(header)
        if _named[key]:
            found[_named[key]].append(name)
    if is_whole:
        known.derived[kind] = found
    return found


def _header(path: Path, kind: str) -> Header:
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
    highest = _highest(os.fspath(first.parent), line.meta.agent).get(own.sender, ())
    if any(seq >= own.seq for seq, name in highest if name != first.name):
        return ""
    return f"{own.seq} is the last number of its agent and sender, and crabtalk would give it to another session"


def _highest(folder: str, agent: str) -> Mapping[str, Sequence[tuple[int, str]]]:
    """Return the two highest numbers of each sender to an agent, with the names of their files."""
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
