"""Taking secrets out of what slowwave itself wrote, and keeping its hashes true.

Memory files, candidates, ledger and undo copies get marks in the place of secrets; every hash of a line, a file or a
record that changed is replaced by the new one wherever it is recorded, so that lines stay known as slowwave's own,
dreams can be undone and evidence re-reads. What can be rebuilt, the search index and the catalogue, is removed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from slowwave.files import atomic_write
from slowwave.memory.guard import OWN_FOLDER, guarded
from slowwave.memory.ledger import PATH as LEDGER
from slowwave.memory.ledger import Event, encode_events, line_hash
from slowwave.memory.transaction import recover, replace_file
from slowwave.retention.masking import BrokenError, Place, masked, plain_of
from slowwave.secrets.finder import find_secrets
from slowwave.secrets.redactor import Redactor

_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_DATABASES = (".sqlite", ".sqlite-wal", ".sqlite-shm", ".sqlite-journal", ".db", ".db-wal", ".db-shm")
_MOST_BYTES = 256 << 20
# the scheduler's own files lie below the state folder
_OTHERS = "prefect"


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file of slowwave's own that has to change."""

    path: Path
    old: bytes
    new: bytes
    places: tuple[Place, ...]


def plan_own(folder: Path, redact: Redactor, hashes: dict[str, str], *, same_length: bool = False) -> list[OwnFile]:
    """Return which files below a folder change; ``hashes`` gets the old and new hashes of lines and files.

    Files of hashes come last: by then every new hash is known. Transcripts in the trash keep their length.
    """
    changed: list[OwnFile] = []
    files = [(path, path.read_bytes()) for path in _files(folder)]
    for path, old in files:
        new, places = _overwritten(old, redact) if same_length else _redacted(old, redact)
        if places:
            changed.append(OwnFile(path, old, new, tuple(places)))
            hashes[sha256(old).hexdigest()] = sha256(new).hexdigest()
            lines = zip(old.split(b"\n"), new.split(b"\n"), strict=False)
            hashes.update({line_hash(a): line_hash(b) for a, b in lines if a != b})
    by_path = {one.path: one for one in changed}
    for path, old in files:
        if path.suffix in {".jsonl", ".json"}:
            known = by_path.get(path)
            new = with_hashes(known.new if known else old, hashes)
            if new != (known.new if known else old):
                by_path[path] = OwnFile(path, old, new, known.places if known else ())
    return list(by_path.values())


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
        old = path.read_bytes()
        known = OwnFile(path, old, old, ())
    new = known.new if not known.new or known.new.endswith(b"\n") else known.new + b"\n"
    own = OwnFile(path, known.old, new + encode_events([event]), known.places)
    return [*(one for one in changed if one.path != path), own]


def apply_own(folder: Path, changed: list[OwnFile], *, is_memory: bool) -> list[str]:
    """Write the files, those with hashes first: a line is never there before the ledger knows it.

    Returns:
        The files that somebody changed meanwhile; they are left for the next run.
    """
    moved: list[str] = []
    if is_memory:
        recover(folder)
        with guarded(folder):
            for one in _in_order(changed):
                moved += _write(folder, one)
    else:
        for one in _in_order(changed):
            moved += _write(folder, one)
    return moved


def _in_order(changed: list[OwnFile]) -> list[OwnFile]:
    return sorted(changed, key=lambda one: (one.path.suffix not in {".jsonl", ".json"}, str(one.path)))


def _write(folder: Path, one: OwnFile) -> list[str]:
    if one.path.read_bytes() != one.old:
        return [str(one.path)]
    if one.path.parent == folder and (folder / OWN_FOLDER).is_dir():
        replace_file(folder, one.path.name, one.new)
    else:
        atomic_write(one.path, one.new)
    return []


def caches(folder: Path) -> list[Path]:
    """Return the databases and other rebuildable files of the state folder that may hold text of transcripts."""
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.iterdir() if p.is_file() and p.name.endswith(_DATABASES))


def _files(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    for path in sorted(folder.rglob("*")):
        if (
            _OTHERS in path.relative_to(folder).parts
            or path.is_symlink()
            or not path.is_file()
            or path.name.endswith((*_DATABASES, ".lock", ".key"))
        ):
            continue
        if path.stat().st_size <= _MOST_BYTES:
            yield path


def _overwritten(data: bytes, redact: Redactor) -> tuple[bytes, list[Place]]:
    """Return data with its secrets overwritten line by line; a line that would break stays as it is."""
    lines: list[bytes] = []
    places: list[Place] = []
    for line in data.splitlines(keepends=True):
        try:
            new, found = masked(line, redact)
        except BrokenError:
            new, found = line, []
        lines.append(new)
        places += found
    return b"".join(lines), places


def _redacted(data: bytes, redact: Redactor) -> tuple[bytes, list[Place]]:
    text = data.decode("latin-1")
    out: list[str] = []
    places: list[Place] = []
    at = 0
    for one in find_secrets(text):
        mark = redact.mark(one.family, plain_of(one))
        out += [text[at : one.start], mark]
        places.append(Place(one.start, one.stop - one.start, one.family, mark))
        at = one.stop
    return ("".join([*out, text[at:]]).encode("latin-1"), places) if places else (data, places)
