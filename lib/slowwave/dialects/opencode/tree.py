"""Sessions in opencode's JSON storage: one file for the session, each message and each part (formats.md §9.1).

* to mid-2025: ``project/<id>/storage/session/{info/<ses>.json, message/<ses>/<msg>.json, part/<ses>/<msg>/<prt>.json}``
* later: ``storage/{session/<project>/<ses>.json, message/<ses>/<msg>.json, part/<msg>/<prt>.json}``
"""

import re
from collections.abc import Callable
from pathlib import Path

from slowwave.dialects.opencode.export import file_bytes
from slowwave.dialects.opencode.records import Record, Session, Stored, object_in, record_of, session_of
from slowwave.errors import UnreadableError
from slowwave.records.model import Problem, Span

# Ids become names of folders; anything else could lead out of the storage.
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,200}")


class Tree:
    """A session read from its storage tree; ``paths`` are the files in the order of the spans' part numbers."""

    def __init__(self, path: Path, problems: list[Problem]) -> None:
        self.paths: list[Path] = []
        self._problems = problems
        info = self._record(path)
        self.session = session_of(info.fields) if info else Session()
        self.stored: list[Stored] = []
        if info and _SAFE.fullmatch(self.session.id):
            self._read(*_layout(path, self.session.id))
        elif info:
            problems.append(Problem("garbage", path, 1, 0, len(info.span.raw), f"no session id: {self.session.id!r}"))

    def _read(self, messages: Path, parts_of: Callable[[str], Path]) -> None:
        for record in self._records(messages):
            parts = self._records(parts_of(record.id)) if _SAFE.fullmatch(record.id) else []
            self.stored.append(Stored(record, sorted(parts, key=lambda part: part.id)))
        self.stored.sort(key=_order)

    def _records(self, folder: Path) -> list[Record]:
        try:
            paths = sorted(path for path in folder.iterdir() if path.suffix == ".json")
        except FileNotFoundError:
            return []
        except OSError as error:
            self._problems.append(Problem("unreadable", folder, 0, 0, 0, error.strerror or "cannot be listed"))
            return []
        return [record for path in paths if (record := self._record(path)) is not None]

    def _record(self, path: Path) -> Record | None:
        self.paths.append(path)
        try:
            data = file_bytes(path)
        except UnreadableError as error:
            self._problems.append(Problem("unreadable", path, 0, 0, 0, error.reason))
            return None
        raw = data.strip()
        at = data.find(raw)
        record = record_of(Span(len(self.paths) - 1, 1 + data.count(b"\n", 0, at), at, raw))
        if not record.fields:
            self._problems.append(Problem("torn", path, 1, 0, len(data), "not one whole JSON object"))
            return None
        # The client takes the id from the name where the content has none.
        record.id = record.id or path.stem
        return record


def _layout(path: Path, session: str) -> tuple[Path, Callable[[str], Path]]:
    """Return the folder of a session's messages, and for a message the folder of its parts."""
    if path.parent.name == "info":
        base = path.parents[1]
        return base / "message" / session, lambda message: base / "part" / session / message
    storage = path.parents[2]
    return storage / "message" / session, lambda message: storage / "part" / message


def _order(message: Stored) -> tuple[float, str]:
    created = object_in(message.info.fields, "time").get("created")
    return (created if isinstance(created, int | float) else 0, message.info.id)
