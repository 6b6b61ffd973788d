"""Subjects in archived sessions: packs that hold them are written anew with the same files, overwritten in place."""

import json
from collections.abc import Collection, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from slowwave.errors import RefusedError, SlowwaveError
from slowwave.formats.lines import SUFFIX
from slowwave.places import archive_folder
from slowwave.retention.eraser import Eraser
from slowwave.retention.journal import write_parts_journal
from slowwave.retention.masking import STUCK, Place
from slowwave.retention.transcripts import Ranges, record_hashes
from slowwave.retention.what import What
from slowwave.retention.zipped import overwritten
from slowwave.stores.archive.changing import change_pack
from slowwave.stores.archive.reading import Pack
from slowwave.stores.archive.shelf import Shelf


def erase_from_packs(eraser: Eraser, recorded: Ranges, held: Collection[Path] = ()) -> None:
    """Overwrite what must go in all packs but the held ones; journals say which hashes changed."""
    for path in Shelf(archive_folder(eraser.environ)).packs():
        if path in held:
            continue
        try:
            _one(path, eraser, recorded)
        except SlowwaveError as error:
            eraser.refuse("", str(path), str(error))


def _one(path: Path, eraser: Eraser, recorded: Ranges) -> None:
    seen = _Changes(eraser.what, recorded)
    with Pack(path) as pack:
        for session in pack.table.sessions:
            for file in session.files:
                if file.kind == "file":
                    seen.file(file.path, pack.read(file))
            for row in (session.row, *session.inside, *map(msgspec.to_builtins, session.notes)):
                seen.row(row)
            seen.names([session.id, session.project, session.root, *(file.path for file in session.files)])
    for name, reason in seen.stays:
        eraser.refuse("", f"{path}: {name}", reason)
    if seen.places and eraser.linked("", path):
        return
    if seen.places and not eraser.dry_run:
        done = _Changes(eraser.what, recorded)
        parts = {str(number): digest for number, digest in enumerate(seen.digests)}
        write_parts_journal(eraser.journals, path, parts, seen.hashes)
        with eraser.rewriting(path):
            change_pack(path, done.file, done.row)
    eraser.found("", str(path), seen.places)


class _Changes:
    """What changes in one pack: hashes of records, ranges and whole files, places, and what stays with its reason."""

    def __init__(self, what: What, recorded: Ranges) -> None:
        self._what = what
        self._recorded = recorded
        self.hashes: dict[str, str] = {}
        self.digests: list[str] = []
        self.places: list[Place] = []
        self.stays: list[tuple[str, str]] = []

    def file(self, name: str, data: bytes) -> bytes:
        """Return a file as it is to be."""
        new = self._file(name, data)
        self.digests.append(sha256(new).hexdigest())
        return new

    def _file(self, name: str, data: bytes) -> bytes:
        try:
            found = overwritten(data, self._what, packed=name.endswith(SUFFIX) or None)
        except RefusedError as error:
            self.stays.append((name, str(error)))
            return data
        self.stays += [(name, f"{place.mark} {STUCK}") for place in found.stuck]
        self.places += found.places
        if found.places and not name.endswith(SUFFIX):
            self.hashes |= record_hashes(data, found.data, self._recorded.get(Path(name), ()))
        return found.data

    def row(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return what is listed of a session as it is to be."""
        found = overwritten(json.dumps(row).encode(), self._what)
        self.places += found.places
        self.stays += [("what is listed of it", f"{place.mark} {STUCK}") for place in found.stuck]
        return json.loads(found.data)

    def names(self, names: Sequence[str]) -> None:
        """Look into names, by which a restore puts a session back: they stay."""
        if self._what.hits("\n".join(names).encode("utf-8", "surrogateescape")):
            self.stays.append((names[0], "its name, its folder or the name of a file in it holds a subject"))
