"""Builds sessions of every client that slowwave compacts, and runs the job over one of them."""

import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from slowwave.compaction.book import Compacting
from slowwave.compaction.story import compact_sessions
from slowwave.compaction.summary import Summarise, by_ledger
from slowwave.context import FixedClock
from slowwave.formats import Message, SessionFiles, Text, ToolCall
from slowwave.formats.registry import by_name, read_for_context
from slowwave.formats.sessions import StoredSession
from slowwave.library import Sessions
from slowwave.report import Report
from slowwave.settings import load_settings
from slowwave.stores.projects import Project
from tests.unit.formats import codex_files
from tests.unit.stores.writing.written import numbered

NOW = datetime(2026, 11, 22, 3, 30, tzinfo=UTC)
WRITTEN = NOW - timedelta(days=1)
CWD = "/home/ann/shop"
IDS = {
    "claude": "4f0c2b9e-0d5b-4d3c-9a54-0d8a7f3f2c11",
    "cersei": "s1",
    "pi": "4f0c2b9e-0d5b-4d3c-9a54-0d8a7f3f2c12",
    "crabtalk": "bot_ann_1",
    "ulid": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "codex": codex_files.THREAD,
}
KEEPING = ("claude", "cersei", "pi", "ulid", "codex")


class Talk:
    """A session that grows turn by turn: a question, two calls at once, their results, an answer."""

    def __init__(self, folder: Path, dialect: str, size: int = 600) -> None:
        self.folder, self.dialect, self.size = folder, dialect, size
        self.id = IDS[dialect]
        self.turns = 0
        self._rows = [codex_files.meta()]
        ids = numbered()
        self._clock = FixedClock(WRITTEN - timedelta(hours=5))
        self._make = lambda: next(ids)
        folder.mkdir(parents=True, exist_ok=True)

    def grow(self, turns: int = 1) -> "Talk":
        """Add turns as the client would."""
        for _ in range(turns):
            self.turns += 1
            (self._codex if self.dialect == "codex" else self._other)(self.turns)
        self.rest()
        return self

    def rest(self) -> None:
        """Give the file the time of yesterday."""
        for path in self.paths:
            os.utime(path, (WRITTEN.timestamp(), WRITTEN.timestamp()))

    @property
    def paths(self) -> list[Path]:
        found = (p for p in self.folder.rglob("*.jsonl") if not p.is_relative_to(self.folder / "home"))
        return sorted(p for p in found if ".slowwave" not in p.parts)

    @property
    def path(self) -> Path:
        return self.paths[0]

    def stored(self) -> StoredSession:
        """Return the session as discovery finds it."""
        stats = [path.stat() for path in self.paths]
        files = SessionFiles(self.id, tuple(self.paths))
        size, newest = sum(s.st_size for s in stats), max(s.st_mtime_ns for s in stats)
        return StoredSession(self.dialect, files, "main", self.folder, size, newest)

    def context(self) -> Sequence[Message]:
        """Return what the client would send."""
        dialect = by_name(self.dialect)
        return dialect.context(read_for_context(dialect, self.stored().files))

    def _other(self, number: int) -> None:
        sessions = Sessions(
            self.folder, self.dialect, clock=self._clock, ids=self._make, home=self.folder / "home", cwd=CWD
        )
        self._clock.advance(minutes=1)
        words = f"please do step {number} " + "w" * self.size
        sessions.write_user_message(self.id, words)
        calls = [
            ToolCall(f"c{number}a", "write", {"path": f"src/step{number}.py", "content": "x" * self.size}),
            ToolCall(f"c{number}b", "read", {"path": f"docs/step{number}.md"}),
        ]
        sessions.write_assistant_message(self.id, [Text(f"step {number} begins"), *calls])
        for call in calls:
            sessions.write_tool_result(self.id, call.id, "r" * self.size, tool=call.name)
        sessions.write_assistant_message(self.id, [Text(f"step {number} is done")])

    def _codex(self, number: int) -> None:
        names = count()

        def item(kind: str, **fields: Any) -> dict[str, Any]:
            return codex_files.item(kind, id=f"{kind}_{number}_{next(names)}", **fields)

        def said(role: str, text: str) -> dict[str, Any]:
            kind = "output_text" if role == "assistant" else "input_text"
            return item("message", role=role, content=[{"type": kind, "text": text}])

        rows = [said("user", f"please do step {number} " + "w" * self.size), said("assistant", f"step {number} begins")]
        for letter in "ab":
            arguments = f'{{"path":"src/step{number}{letter}.py","content":"{"x" * self.size}"}}'
            rows.append(item("function_call", name="write", arguments=arguments, call_id=f"c{number}{letter}"))
        rows += [item("function_call_output", call_id=f"c{number}{a}", output="r" * self.size) for a in "ab"]
        rows.append(said("assistant", f"step {number} is done"))
        if self.turns == 1:
            codex_files.rollout(self.folder, *self._rows, *rows)
        else:
            with self.path.open("ab") as file:
                for row in rows:
                    file.write(json.dumps(row).encode() + b"\n")


def job(
    folder: Path,
    *overrides: str,
    summarise: Summarise = by_ledger,
    flush: Callable[[StoredSession], Report] = lambda _session: Report("extract"),
    now: datetime = NOW,
    small: bool = True,
    **fields: Any,
) -> Compacting:
    """Return what a run over sessions is done with, by default over those of a small window."""
    environ = {"HOME": str(folder / "home"), "XDG_STATE_HOME": str(folder / "state")}
    tight = ["compaction.context_window=3000", "compaction.reserve_tokens=500", "compaction.keep_recent_tokens=1200"]
    settings = load_settings(environ, overrides=[*(tight if small else ()), *overrides], cwd=folder)
    return Compacting("shop", settings, FixedClock(now), environ, summarise, flush, "r1", **fields)


def compacted(talk: Talk, run: Compacting) -> Report:
    """Run the job over one session."""
    project = Project("shop", CWD, (talk.folder,), talk.folder / "memory", (talk.stored(),))
    return compact_sessions(project, project.sessions, run)
