"""Reading a memory folder as one thing: the files that count, and the hashes that a commit depends on."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowwave.errors import UnreadableError
from slowwave.files import file_bytes
from slowwave.memory.guard import OWN_FOLDER
from slowwave.memory.topics import INDEX

STATE_FILE = ".consolidation_state.json"
LOCK_FILE = ".consolidation_lock"


@dataclass(frozen=True, slots=True)
class MemoryFolder:
    """A memory folder, the project it belongs to, and where that project's transcripts are, archived ones, too."""

    project: str
    path: Path
    transcripts: tuple[Path, ...]
    is_global: bool = False


def digest(data: bytes | None) -> str | None:
    """Return the sha256 of a file's content; None stands for a file that is not there."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def read_or_none(path: Path) -> bytes | None:
    """Return the content of a file, or None when there is none.

    Raises:
        UnreadableError: it is there and cannot be read, for example because it is a folder.
    """
    try:
        return file_bytes(path)
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise UnreadableError(path.parent, "is a file where a memory folder is expected", "move it away") from error
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read", "let this user read it") from error


def read_texts(memory: Path) -> dict[str, bytes]:
    """Return the Markdown files right inside a memory folder, by name.

    Raises:
        UnreadableError: the folder or a file in it cannot be read.
    """
    try:
        names = sorted(p.name for p in memory.iterdir() if p.suffix == ".md" and _counts(p))
    except FileNotFoundError:
        return {}
    except NotADirectoryError as error:
        raise UnreadableError(memory, "is a file where a memory folder is expected") from error
    except OSError as error:
        raise UnreadableError(memory, error.strerror or "cannot be read") from error
    files = {name: read_or_none(memory / name) for name in names}
    return {name: data for name, data in files.items() if data is not None}


def _counts(path: Path) -> bool:
    """Say whether a page is read: what is none is refused there, but for folders that a person named like one."""
    return path.exists() and (path.name == INDEX or not path.is_dir())


def hashes_of(memory: Path, names: Iterable[str]) -> dict[str, str | None]:
    """Return the present hash of each file, None for those that are not there."""
    return {name: digest(read_or_none(memory / name)) for name in names}


def moved_since(memory: Path, seen: Mapping[str, str | None], *, texts: bool) -> str:
    """Return which file is not as it was when it was read, or "".

    Args:
        memory: the memory folder.
        seen: hashes at the time of reading.
        texts: also say so when a Markdown file appeared that is not in ``seen``.
    """
    now = hashes_of(memory, seen)
    changed = [name for name, was in seen.items() if now[name] != was]
    if texts:
        changed += [name for name in read_texts(memory) if name not in seen]
    return changed[0] if changed else ""


def visible_files(memory: Path) -> dict[str, bytes]:
    """Return every file of a memory folder that is not slowwave's own bookkeeping, by relative path."""
    found: dict[str, bytes] = {}
    for path in sorted(memory.rglob("*")) if memory.is_dir() else []:
        name = path.relative_to(memory).as_posix()
        if path.is_file() and not name.startswith(f"{OWN_FOLDER}/") and name != LOCK_FILE:
            found[name] = file_bytes(path)
    return found


def named(folders: Sequence[MemoryFolder]) -> str:
    """Return where was looked, for a person: the path of the only folder, else how many there are."""
    return str(folders[0].path) if len(folders) == 1 else f"{len(folders) or 'no'} memory folders"
