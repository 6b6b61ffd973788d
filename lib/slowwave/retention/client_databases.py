"""Databases of clients in an erasure: written only while no client has them open, and as a whole or not at all.

A session in one is no file of its own. When one of them is live or held, the database stays as it is. Rows keep their
length and their names; evidence in them gets the new hashes through a journal, as that in files does.
"""

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path

from slowwave.errors import SlowwaveError
from slowwave.formats.rows import row_in
from slowwave.retention.databases import bytes_hold, clean_database, files_of, found_in_database
from slowwave.retention.eraser import Eraser
from slowwave.retention.erasure import recorded_rows
from slowwave.retention.journal import has_journal, hashes_of_rows, write_parts_journal


def erase_from_databases(eraser: Eraser, others: Iterable[Path], memories: Iterable[Path]) -> None:
    """Take what must go out of all databases of clients.

    Args:
        eraser: the run, which knows those with sessions in them.
        others: databases that clients keep beside their sessions.
        memories: memory folders, with evidence that may lie in rows.

    Raises:
        CorruptStateError: the ledger of a memory folder is damaged.
    """
    rows: dict[Path, set[str]] = {}
    for memory in memories:
        for path, records in recorded_rows(memory).items():
            rows.setdefault(path, set()).update(records)
    for path in sorted({*eraser.across.databases, *others}):
        try:
            _one(path, eraser, rows.get(path, ()))
        except (SlowwaveError, OSError) as error:
            eraser.refuse("", str(path), str(error))


def _one(path: Path, eraser: Eraser, records: Collection[str]) -> None:
    found = found_in_database(path, eraser.what)
    is_left = has_journal(eraser.journals, path) or bytes_hold(path, eraser.what)
    if not (found.places or found.refused or is_left):
        return
    if reason := eraser.across.databases.get(path, "") or _held(path, eraser):
        eraser.refuse("", str(path), reason)
        return
    if not eraser.dry_run:
        known = hashes_of_rows(path, records)
        with eraser.rewriting(path):
            found = clean_database(path, eraser.what, alone=True, before=partial(_note, path, eraser, known))
    eraser.found("", str(path), found.places)
    for wrong in found.refused:
        eraser.refuse("", str(path), wrong)


def _held(path: Path, eraser: Eraser) -> str:
    """Return which hold on a person a database falls under that has no sessions, or ""."""
    if path in eraser.across.databases or not eraser.holds:
        return ""
    return next((held for one in files_of(path) if (held := eraser.held_text(one.read_bytes(), path))), "")


def _note(path: Path, eraser: Eraser, known: Mapping[str, str], database: sqlite3.Connection) -> None:
    """Write the new hashes of the rows that memories rest on down, before the rows have them."""
    now = {record: row_in(database, record) for record in known}
    rows = {record: sha256(data).hexdigest() for record, data in now.items() if data is not None}
    hashes = {known[record]: new for record, new in rows.items() if known[record] != new}
    # also without any: the journal says that the database is still to be written anew
    write_parts_journal(eraser.journals, path, rows, hashes)
