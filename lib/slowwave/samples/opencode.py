"""Scripts as opencode would have left them: all of its sessions are rows of one SQLite database."""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from slowwave.samples.identity import Identity, Watch
from slowwave.samples.opencode_session import MODEL, PROVIDER, Session, as_json
from slowwave.samples.opencode_tables import TABLES
from slowwave.samples.sample_file import SampleFile
from slowwave.samples.script import Script

PATH = ".local/share/opencode/opencode.db"
VERSION = "1.18.33"


@dataclass(frozen=True, slots=True)
class Begun:
    """A script, when its session began and where it worked."""

    script: Script
    at: datetime
    cwd: str


def write_opencode(begun: Iterable[Begun]) -> SampleFile | None:
    """Return the database that holds a session for each script, None when there is no script."""
    ended: list[datetime] = []
    with closing(sqlite3.connect(":memory:")) as rows:
        rows.executescript(TABLES)
        for one in begun:
            ids = Identity(one.script.name)
            session = Session(ids.sorted_id("ses", one.at, newest_first=True), one.cwd, ids, Watch(one.at, ids))
            session.play(one.script.steps)
            _store(rows, one, session)
            ended.append(session.watch.at)
        rows.commit()
        return SampleFile(PATH, rows.serialize(), max(ended)) if ended else None


def _store(rows: sqlite3.Connection, one: Begun, session: Session) -> None:
    created = int(one.at.timestamp() * 1000)
    # a repository is known by its first commit
    project = Identity(one.cwd).token("", 40)
    _insert(
        rows,
        "project",
        {"id": project, "worktree": one.cwd, "vcs": "git", "sandboxes": "[]"}
        | {"time_created": created, "time_updated": session.now},
    )
    _insert(
        rows,
        "session",
        {
            "id": session.id,
            "project_id": project,
            "slug": "quiet-lantern",
            "directory": one.cwd,
            "path": str(PurePosixPath(one.cwd).relative_to("/")),
            "title": one.script.title,
            "version": VERSION,
            "summary_additions": 0,
            "summary_deletions": 0,
            "summary_files": 0,
            "tokens_input": session.tokens,
            "agent": "build",
            "model": as_json({"id": MODEL, "providerID": PROVIDER, "variant": "default"}),
            "time_created": created,
            "time_updated": session.now,
        },
    )
    rows.executemany("INSERT INTO message VALUES (?, ?, ?, ?, ?)", session.messages)
    rows.executemany("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", session.parts)


def _insert(rows: sqlite3.Connection, table: str, values: Mapping[str, object]) -> None:
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    # two sessions may be of one repository
    rows.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))  # noqa: S608 - names of our own
