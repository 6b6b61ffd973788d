"""Taking secrets and subjects out of what slowwave itself wrote, and keeping its hashes true.

Of subjects, whole memories and candidates go first (:mod:`slowwave.retention.forgetting`). Memory files, candidates,
ledger and undo copies get marks in the place of secrets, and stars in that of subjects; every hash of a line, a file or
a record that changed is replaced by the new one wherever it is recorded, so that lines stay known as slowwave's own,
dreams can be undone and evidence re-reads. What can be rebuilt, the search index and the catalogue, is removed.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from slowwave.errors import MovedError, RefusedError
from slowwave.files import at_fault_point, atomic_write, file_bytes, fsync_folder
from slowwave.memory.folder import digest
from slowwave.memory.ledger import PATH as LEDGER
from slowwave.memory.ledger import Event, encode_events, line_hash
from slowwave.memory.stage import Change
from slowwave.memory.transaction import commit
from slowwave.retention.forgetting import Gone
from slowwave.retention.forgotten import without
from slowwave.retention.masking import STUCK, Masked, Place, marked
from slowwave.retention.what import What
from slowwave.retention.zipped import overwritten

_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_DATABASES = (".sqlite", ".sqlite-wal", ".sqlite-shm", ".sqlite-journal", ".db", ".db-wal", ".db-shm")
_MOST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file of slowwave's own that has to change.

    Attributes:
        path: the file.
        old: what it was.
        new: what it is to be; None when it goes as a whole.
        places: what is taken out of it.
        refused: what stays in it, and why.
    """

    path: Path
    old: bytes
    new: bytes | None
    places: tuple[Place, ...] = ()
    refused: tuple[str, ...] = ()


def plan_own(
    folder: Path,
    what: What,
    hashes: dict[str, str],
    *,
    same_length: bool = False,
    gone: Gone | None = None,
    but: Collection[Path] = (),
) -> list[OwnFile]:
    """Return which files below a folder change; ``hashes`` gets the old and new hashes of lines and files.

    Files of hashes come last: by then every new hash is known. Transcripts in the trash keep their length.

    Raises:
        CorruptStateError: the ledger is damaged.
    """
    changed: dict[Path, OwnFile] = {}
    for path in _files(folder, but):
        if path.stat().st_size > _MOST_BYTES:
            changed[path] = OwnFile(path, b"", b"", refused=("is larger than 256 MB, and was not looked into",))
            continue
        old = file_bytes(path)
        left = without(gone, folder, path, old) if gone is not None else old
        if left is None:
            changed[path] = OwnFile(path, old, None)
            continue
        held = _held_lines(left, what, gone)
        try:
            bare = _with_lines(left, {at: b" " * len(line) for at, line in held.items()})
            found = _overwritten(path, bare, what, same_length=same_length or what.keeps_length)
        except RefusedError as error:
            changed[path] = OwnFile(path, old, left, refused=(str(error),))
            continue
        stays = tuple(f"{place.mark} {STUCK}" for place in found.stuck)
        if held:
            found = found._replace(data=_with_lines(found.data, held))
            stays = (*stays, f"held: {len(held)} lines rest on sessions that are held")
        changed[path] = OwnFile(path, old, found.data, tuple(found.places), stays)
        if found.data != old:
            hashes[sha256(old).hexdigest()] = sha256(found.data).hexdigest()
            lines = zip(left.split(b"\n"), found.data.split(b"\n"), strict=False)
            hashes.update({line_hash(a): line_hash(b) for a, b in lines if a != b})
    for path, one in changed.items():
        if path.suffix in {".jsonl", ".json"} and one.new is not None:
            changed[path] = replace(one, new=with_hashes(one.new, hashes))
    return [one for one in changed.values() if one.new != one.old or one.refused]


def _overwritten(path: Path, data: bytes, what: What, *, same_length: bool) -> Masked:
    if same_length:
        return overwritten(data, what)
    if path.suffix != ".jsonl":
        return marked(data, what)
    lines = [marked(line, what) for line in data.splitlines(keepends=True)]
    return Masked(
        b"".join(line.data for line in lines),
        [place for line in lines for place in line.places],
        [place for line in lines for place in line.stuck],
    )


def _held_lines(data: bytes, what: What, gone: Gone | None) -> dict[int, bytes]:
    """Return the lines that must stay although something of them would go, by where they begin."""
    found: dict[int, bytes] = {}
    if gone is not None and gone.held:
        at = 0
        for line in data.split(b"\n"):
            if gone.holds(line) and what.hits(line):
                found[at] = line
            at += len(line) + 1
    return found


def _with_lines(data: bytes, lines: Mapping[int, bytes]) -> bytes:
    new = bytearray(data)
    for at, line in lines.items():
        new[at : at + len(line)] = line
    return bytes(new)


def with_hashes(data: bytes, hashes: Mapping[str, str]) -> bytes:
    """Return data with every old hash replaced by the new one."""
    if not hashes:
        return data
    return _HASH.sub(lambda m: hashes.get(m[0].decode(), m[0].decode()).encode(), data)


def with_event(memory: Path, changed: list[OwnFile], event: Event) -> list[OwnFile]:
    """Return the changes with an event at the end of the ledger, written together with the new hashes in it."""
    path = memory / LEDGER
    if not path.is_file():
        return changed
    known = next((one for one in changed if one.path == path), None)
    if known is None:
        old = file_bytes(path)
        known = OwnFile(path, old, old)
    new = known.new or b""
    new = new if not new or new.endswith(b"\n") else new + b"\n"
    own = replace(known, new=new + encode_events([event]))
    return [*(one for one in changed if one.path != path), own]


def apply_own(folder: Path, changed: list[OwnFile], *, is_memory: bool) -> list[str]:
    """Write the files: those of a memory folder all at once, others so that the next run completes a killed one.

    Args:
        folder: where they lie.
        changed: the files.
        is_memory: it is a memory folder, of which no reader sees a part that is changed and one that is not.

    Returns:
        The files that are left for the next run, since somebody changed them, or one of a memory folder, meanwhile.

    Raises:
        LockHeldError: another process kept the memory folder locked for too long.
        RefusedError: the memory folder is a mount point; nothing was changed.
    """
    changed = [one for one in changed if one.new != one.old]
    if not is_memory:
        # a line is never there before the files of hashes know it
        every = sorted(changed, key=lambda one: (one.path.suffix not in {".jsonl", ".json"}, one.path))
        return [str(one.path) for one in every if not _is_written(one)]
    names = {one.path.relative_to(folder).as_posix(): one for one in changed}
    files = {name: one.new for name, one in names.items()}
    seen = {name: digest(one.old) for name, one in names.items()}
    change = Change(f"e{os.urandom(8).hex()}", "", files, [], seen, only_seen=False, undoable=False)
    try:
        if changed:
            commit(folder, change)
    except MovedError:
        return [str(one.path) for one in changed]
    return []


def _is_written(one: OwnFile) -> bool:
    if file_bytes(one.path) != one.old:
        return False
    if one.new is None:
        at_fault_point("unlink", one.path)
        one.path.unlink()
        fsync_folder(one.path.parent)
    else:
        atomic_write(one.path, one.new)
    return True


def caches(folder: Path, but: Collection[Path] = ()) -> list[Path]:
    """Return the databases of the state folder, which can be rebuilt and may hold text of transcripts.

    Args:
        folder: the state folder.
        but: folders in it that are not looked into: a scheduler's own files may lie there.
    """
    return [path for path in _every(folder, but) if path.name.endswith(_DATABASES)]


def _files(folder: Path, but: Collection[Path]) -> Iterator[Path]:
    yield from (path for path in _every(folder, but) if not path.name.endswith((*_DATABASES, ".lock", ".key")))


def _every(folder: Path, but: Collection[Path]) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if not path.is_symlink() and path.is_file() and not any(path.is_relative_to(one) for one in but):
            yield path
