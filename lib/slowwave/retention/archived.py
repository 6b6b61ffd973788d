"""Subjects in archived sessions: packs that hold them are written anew with the same files, overwritten in place."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from slowwave.errors import SlowwaveError
from slowwave.places import archive_folder
from slowwave.records.sources.compressed import SUFFIX
from slowwave.retention.eraser import Eraser
from slowwave.retention.masking import Place
from slowwave.retention.transcripts import Ranges, record_hashes
from slowwave.retention.zipped import overwritten
from slowwave.stores.archive.changing import change_pack
from slowwave.stores.archive.reading import Pack
from slowwave.stores.archive.shelf import Shelf


def erase_from_packs(eraser: Eraser, recorded: Ranges, held: Collection[Path] = ()) -> dict[str, str]:
    """Overwrite what must go in all packs but the held ones.

    Returns:
        The old and new hashes of records and ranges in them.
    """
    hashes: dict[str, str] = {}
    for path in Shelf(archive_folder(eraser.environ)).packs():
        if path in held:
            continue
        try:
            hashes |= _one(path, eraser, recorded)
        except SlowwaveError as error:
            eraser.refuse("", str(path), str(error))
    return hashes


def _one(path: Path, eraser: Eraser, recorded: Ranges) -> dict[str, str]:
    hashes: dict[str, str] = {}
    places: list[Place] = []

    def change(name: str, data: bytes) -> bytes:
        new, found = overwritten(data, eraser.what, packed=name.endswith(SUFFIX))
        if found:
            places.extend(found)
            if not name.endswith(SUFFIX):
                hashes.update(record_hashes(data, new, recorded.get(Path(name), ())))
        return new

    def change_row(row: dict[str, Any]) -> dict[str, Any]:
        data = json.dumps(row).encode()
        new, found = overwritten(data, eraser.what)
        places.extend(found)
        return json.loads(new) if found else row

    with Pack(path) as pack:
        for session in pack.table.sessions:
            for file in session.files:
                if file.kind == "file":
                    change(file.path, pack.read(file))
            for row in (session.row, *session.inside):
                change_row(row)
    if places and not eraser.dry_run:
        before, found = path.read_bytes(), list(places)
        places.clear()
        change_pack(path, change, change_row)
        places[:] = found
        eraser.wrote(path, before, path.read_bytes())
    eraser.found("", str(path), places)
    return hashes
