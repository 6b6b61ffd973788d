"""Documents in the product's own search index: each is a session in which a person typed it."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from slowwave.stores.search import search
from slowwave.stores.search.index import SearchIndex
from slowwave.stores.search.words import terms_of
from slowwave.stores.summary import SessionRow


class Ranks(Protocol):
    """Finds documents by a question."""

    def ranked(self, question: str, limit: int) -> list[str]:
        """Return the names of the best documents, the best first."""
        ...


class Indexed:
    """The product's index over some documents."""

    def __init__(self, index: SearchIndex, rows: list[SessionRow]) -> None:
        self._index = index
        self._among = index.numbers(rows)

    def ranked(self, question: str, limit: int) -> list[str]:
        """Return the names of the best documents, the best first."""
        return [hit.row.id for hit in search(self._index, terms_of(question)[0], self._among, limit=limit)]


@contextmanager
def indexed(documents: Mapping[str, str]) -> Generator[Indexed]:
    """Write documents as sessions and index them.

    Raises:
        RuntimeError: not all of them were indexed.
    """
    with TemporaryDirectory() as folder:
        rows = [_row(Path(folder), number, name, text) for number, (name, text) in enumerate(documents.items())]
        with SearchIndex(Path(folder) / "index.db") as index:
            done = index.refresh(rows)
            if done.read != len(rows):
                raise RuntimeError(f"{done.read} of {len(rows)} documents were indexed: {index.warnings[:3]}")
            yield Indexed(index, rows)


def _row(folder: Path, number: int, name: str, text: str) -> SessionRow:
    path = folder / f"d{number}.jsonl"
    message = {"role": "user", "content": text}
    record = {"type": "user", "uuid": f"u{number}", "parentUuid": None, "sessionId": name, "message": message}
    record |= {"timestamp": "2026-11-02T09:00:00.000Z", "cwd": "/p", "isSidechain": False, "userType": "external"}
    path.write_text(json.dumps(record | {"version": "2.1.0"}) + "\n")
    size = path.stat().st_size
    return SessionRow(
        "claude", name, str(path), 1, "p", "", "", 1, 1, 0, size, None, "2026-11-02T09:00:00Z", "main", 0, "/p"
    )
