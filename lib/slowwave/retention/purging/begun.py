"""What a purge of a session set out to do, written down before its first file changes.

A purge rewrites several files, and the plan that is made after some of them knows nothing of what went before. So a run
that follows a killed one tells from here that the copy in the archive was made, and what the audit log must tell.
"""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import msgspec

from slowwave.files import at_fault_point, atomic_write, file_bytes, private_folder
from slowwave.memory.names import name_to_json
from slowwave.retention.audit import AuditLog, Entry
from slowwave.stores.model import StoredSession

_SUFFIX = ".begun"


class Begun(msgspec.Struct, frozen=True):
    """One purge.

    Attributes:
        run: id of the run that began it.
        session: id of the session.
        dialect: its dialect.
        records: how many hidden records were to go.
        size: bytes that were to go.
        times: time of the last change of each file, by its path, which a purge keeps; another one is its client's.
    """

    run: str
    session: str
    dialect: str
    records: int
    size: int
    times: dict[str, int]

    def is_of(self, session: StoredSession) -> bool:
        """Say whether nobody but the purge has changed the session since."""
        return self.times == times_of(session.files.paths)

    def less(self, records: int, size: int) -> "Begun":
        """Return it without what is still there."""
        return msgspec.structs.replace(self, records=max(self.records - records, 0), size=max(self.size - size, 0))


def times_of(paths: Iterable[Path]) -> dict[str, int]:
    """Return the time of the last change of each file by its path, as :mod:`slowwave.memory.names` spells it."""
    return {name_to_json(str(path)): path.stat().st_mtime_ns for path in paths}


def write_begun(folder: Path, session: StoredSession, begun: Begun) -> None:
    """Note a purge before its first file changes.

    Raises:
        OSError: the folder cannot be written.
    """
    private_folder(folder)
    atomic_write(_place(folder, name_to_json(str(session.files.paths[0]))), msgspec.json.encode(begun))


def read_begun(folder: Path) -> dict[Path, Begun]:
    """Return the purges that did not come to their end, by where they are noted."""
    paths = sorted(folder.glob(f"*{_SUFFIX}")) if folder.is_dir() else []
    return {path: msgspec.json.decode(file_bytes(path), type=Begun) for path in paths}


def place_of(folder: Path, session: StoredSession) -> Path:
    """Return where the purge of a session is noted."""
    return _place(folder, name_to_json(str(session.files.paths[0])))


def tell(log: AuditLog, begun: Begun, files: int) -> list[Entry]:
    """Return the line about a purge, none when the log has it already."""
    entry = Entry(
        action="purge",
        run=begun.run,
        session=begun.session,
        dialect=begun.dialect,
        rule="purge",
        files=files,
        size=begun.size,
    )
    own = entry.action, entry.run, entry.session
    is_known = any((line.action, line.run, line.session) == own for line in log.lines())
    return [] if is_known or not begun.size else [entry]


def forget(path: Path) -> None:
    """Remove a note; the purge has come to its end and is in the log."""
    at_fault_point("unlink", path)
    path.unlink(missing_ok=True)


def _place(folder: Path, name: str) -> Path:
    return folder / f"{sha256(name.encode()).hexdigest()[:32]}{_SUFFIX}"
