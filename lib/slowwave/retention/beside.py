"""Where else the text of a session lies: in a folder of its own, beside it, and in the home of its client.

Copies of the person's own files (``file-history`` of Claude Code) are no transcripts: what is in them is in the files
themselves, and a rewind must give them back as they were.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from slowwave.files import TEMP_PREFIX
from slowwave.formats.codex.home import INDEX, home_of, sibling
from slowwave.formats.opencode.storage import Tree
from slowwave.formats.ulid.metadata import METADATA
from slowwave.processes import is_running
from slowwave.stores.model import StoredSession
from slowwave.stores.openclaw.store import NAME as ENTRIES
from slowwave.stores.walk import SIDE_FOLDER

_TEXTS = frozenset({".jsonl", ".json", ".txt", ".md", ".log"})
# what people typed, over all projects (Claude Code and Codex)
_PROMPTS = "history.jsonl"
# from a transcript up to the home of its client: Codex has a folder for each day
_MOST_ABOVE = 5
# between a session and its sub-agent in the name of a list of tasks
_OF_AGENT = "-agent-"


def session_files(session: StoredSession) -> Iterator[Path]:
    """Yield the files of a session, and those that its client keeps beside it for this session alone."""
    for path in session.files.paths:
        yield path
        if session.dialect == "codex" and sibling(path).is_file():
            yield sibling(path)  # the packed form of a rollout that was woken up
        elif session.dialect == "ulid" and path.with_name(METADATA).is_file():
            yield path.with_name(METADATA)
        elif session.dialect == "opencode" and not session.in_database:
            yield from Tree(path, []).paths[1:]
        yield from _inside(path.with_name(path.name.removesuffix(".jsonl")), path)


def _inside(folder: Path, path: Path) -> Iterator[Path]:
    """Yield what lies in the folder of a session (Claude Code): long results of tools, notes on its sub-agents.

    The sub-agents themselves are sessions of their own, which may be live although this one is not.
    """
    if folder == path or not folder.is_dir() or folder.is_symlink():
        return
    for one in sorted(folder.rglob("*")):
        is_session = one.suffix == ".jsonl" and SIDE_FOLDER in one.relative_to(folder).parts
        if one.suffix in _TEXTS and not is_session and one.is_file() and not one.is_symlink():
            yield one


def named_after(session: StoredSession, home: Path) -> Iterator[Path]:
    """Yield the files and folders near a session that are named after it, whatever its client keeps in them.

    Looked at are the folders above its transcript and those in them, below the user's home: lists of tasks, notes of
    errors, differences, messages each have a folder of their own in the home of their client.
    """
    first = session.files.paths[0]
    for folder in first.parents[:_MOST_ABOVE]:
        if folder in (home, folder.parent):
            break
        for one in (folder, *_folders_in(folder)):
            yield from (one / name for name in _by_token(one).get(session.id, ()))


def _folders_in(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))


def _by_token(folder: Path) -> Mapping[str, tuple[str, ...]]:
    """Return what lies in a folder by what its name begins with."""
    at = folder.stat()
    return _listed(os.fspath(folder), at.st_mtime_ns, at.st_ino)


@lru_cache(maxsize=4096)
def _listed(folder: str, mtime_ns: int, ino: int) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG001 - the key
    found: dict[str, list[str]] = {}
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 - names only
        token = name.partition(".")[0]
        for one in dict.fromkeys((name, token, token.partition(_OF_AGENT)[0])):
            found.setdefault(one, []).append(name)
    return {token: tuple(names) for token, names in found.items()}


def home_files(sessions: Iterable[StoredSession]) -> list[Path]:
    """Return the files in the homes of clients that quote sessions of any project: prompts, names, indexes."""
    found: set[Path] = set()
    for session in sessions:
        first = session.files.paths[0]
        match session.dialect:
            case "claude" | "cersei" | "cersei-bare":
                found |= {folder.parent / _PROMPTS for folder in first.parents if folder.name == "projects"}
            case "codex":
                home = home_of(first)
                found |= {home / name for name in (_PROMPTS, INDEX)} if home else set()
            case "pi" | "openclaw":
                found.add(first.with_name(ENTRIES))
            case _:
                pass
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def remove_leftovers(folder: Path, *, below: bool = False) -> None:
    """Remove temporary files of slowwave whose process was killed: they hold copies of transcripts.

    Args:
        folder: where they lie.
        below: look into its folders, too.

    Raises:
        OSError: the folder cannot be written.
    """
    for path in sorted((folder.rglob if below else folder.glob)(f"{TEMP_PREFIX}*")):
        pid = path.name.removeprefix(TEMP_PREFIX).partition("-")[0]
        if path.is_file() and pid.isdigit() and not is_running(int(pid)):
            path.unlink(missing_ok=True)
