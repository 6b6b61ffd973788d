"""opencode on a simulated machine: sessions that are rows of a database, and some of its storage of before.

Only the client writes there, so retention refuses all of it, and what must hold is that no row and no file changes.
"""

import os
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.unit.formats import opencode_files
from tests.unit.retention.homes import DAY, Home


class Opencode:
    """The client, and what it wrote."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._folder = home.root / "data" / "opencode"
        self._made: list[opencode_files.Session] = []
        self._written = self.content()

    def begin(self, number: int, days: float, *texts: str, as_files: bool = False) -> None:
        """Begin a session that was last changed so many days ago, in the database or as its older files."""
        at = int((self._home.clock.at.timestamp() - days * DAY) * 1000)
        # its times are what the database tells of a session; files have their own
        made = opencode_files.Session(f"ses_{number:08d}", directory="/w", time={"created": at, "updated": at})
        for text in texts:
            made.user(text, time={"created": at})
        made.answer(opencode_files.words("well"), time={"created": at})
        self._made.append(made)
        if as_files:
            made.tree(self._folder)
            for path in (path for path in self._files() if made.info["id"] in os.fspath(path)):
                self._home.touch(path, days)
        else:
            with self._opened() as db:
                made.rows(db)
        self._written = self.content()

    def resume(self, number: int) -> bool:
        """Let a message be added to one of the sessions in the database; say whether there is one."""
        if not (self._folder / "opencode.db").exists():
            return False
        with self._opened() as db:
            names = [row[0] for row in db.execute("SELECT id FROM session ORDER BY id")]
            if not names:
                return False
            at, name = int(self._home.clock.at.timestamp() * 1000), names[number % len(names)]
            db.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (f"msg_{at}", name, at, '{"role": "user"}'))
            db.commit()
        self._written = self.content()
        return True

    def check(self) -> None:
        """Say that everything lies there as its client wrote it."""
        assert self.content() == self._written

    def content(self) -> dict[str, Any]:
        """Return every row and every file."""
        found: dict[str, Any] = {os.fspath(path): path.read_bytes() for path in self._files()}
        if (path := self._folder / "opencode.db").exists():
            with closing(sqlite3.connect(path)) as db:
                for table in ("session", "message", "part"):
                    found[table] = db.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
        return found

    def _files(self) -> Iterator[Path]:
        return (path for path in self._folder.rglob("*.json") if path.is_file())

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / "opencode.db"
        is_new = not path.exists()
        with closing(sqlite3.connect(path)) as db:
            if is_new:
                opencode_files.tables(db)
            yield db
