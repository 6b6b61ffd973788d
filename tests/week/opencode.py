"""Scripts as opencode would have left them: all of its sessions are rows of one SQLite database."""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath

import orjson

from tests.week.script import (
    Answer,
    Call,
    Delegation,
    Identity,
    SampleFile,
    Say,
    Script,
    Step,
    Watch,
    edit_texts,
    file_text,
    turns,
)

CLIENT = "opencode"

# The tables of opencode's database (client 1.18) that sessions lie in; those for accounts and events are left out.

TABLES = """
CREATE TABLE project (
  id text PRIMARY KEY, worktree text NOT NULL, vcs text, name text, icon_url text, icon_url_override text,
  icon_color text, time_created integer NOT NULL, time_updated integer NOT NULL, time_initialized integer,
  sandboxes text NOT NULL, commands text
);
CREATE TABLE session (
  id text PRIMARY KEY, project_id text NOT NULL REFERENCES project(id) ON DELETE CASCADE, workspace_id text,
  parent_id text, slug text NOT NULL, directory text NOT NULL, path text, title text NOT NULL, version text NOT NULL,
  share_url text, summary_additions integer, summary_deletions integer, summary_files integer, summary_diffs text,
  metadata text, cost real DEFAULT 0 NOT NULL, tokens_input integer DEFAULT 0 NOT NULL,
  tokens_output integer DEFAULT 0 NOT NULL, tokens_reasoning integer DEFAULT 0 NOT NULL,
  tokens_cache_read integer DEFAULT 0 NOT NULL, tokens_cache_write integer DEFAULT 0 NOT NULL, revert text,
  permission text, agent text, model text, time_created integer NOT NULL, time_updated integer NOT NULL,
  time_compacting integer, time_archived integer
);
CREATE INDEX session_project_idx ON session (project_id);
CREATE INDEX session_parent_idx ON session (parent_id);
CREATE TABLE message (
  id text PRIMARY KEY, session_id text NOT NULL REFERENCES session(id) ON DELETE CASCADE,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL
);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE TABLE part (
  id text PRIMARY KEY, message_id text NOT NULL REFERENCES message(id) ON DELETE CASCADE, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL
);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
"""


# Tool calls of a script as opencode keeps them: arguments, output and what the screen shows, all in one.

Json = dict[str, object]


def state_of(call: Call, cwd: str) -> Json:
    """Return the state of a call that has ended, also with an exit code that tells of a failure."""
    path = f"{cwd}/{call.argument}"
    body = "\n".join(call.body)
    match call.tool:
        case "Bash":
            output = f"{body}\n" if body else ""
            metadata: Json = {"output": output, "exit": int(call.failed), "truncated": False}
            return _completed({"command": call.argument}, output, metadata, call.argument)
        case "Read":
            lines = "\n".join(f"{number}: {line}" for number, line in enumerate(call.body, start=1))
            end = f"(End of file - total {len(call.body)} lines)"
            output = f"<path>{path}</path>\n<type>file</type>\n<content>\n{lines}\n\n{end}\n</content>"
            return _completed({"filePath": path}, output, {"preview": body, "truncated": False}, path[1:])
        case "Edit":
            old, new = edit_texts(call)
            given: Json = {"filePath": path, "oldString": old, "newString": new}
            return _completed(given, "Edit applied successfully.", {"diagnostics": {}, "truncated": False}, path[1:])
        case "Write":
            given = {"filePath": path, "content": file_text(call)}
            metadata = {"diagnostics": {}, "filepath": path, "exists": False, "truncated": False}
            return _completed(given, "Wrote file successfully.", metadata, path[1:])
        case "Grep":
            metadata = {"matches": len(call.body), "truncated": False}
            return _completed({"pattern": call.argument}, body, metadata, call.argument)


def _completed(given: Json, output: str, metadata: Json, title: str) -> Json:
    return {"status": "completed", "input": given, "output": output, "metadata": metadata, "title": title}


# One session of opencode: a row for each message, and rows for what each message consists of.

Row = tuple[object, ...]
PROVIDER, MODEL = "anthropic", "claude-sonnet-4-5"


def as_json(value: Json) -> str:
    """Return a value as the text that a row holds."""
    return orjson.dumps(value).decode()


@dataclass
class Session:
    """The rows of one session, in the order of the columns of their tables."""

    id: str
    cwd: str
    ids: Identity
    watch: Watch
    messages: list[Row] = field(default_factory=list[Row])
    parts: list[Row] = field(default_factory=list[Row])
    asked: str = ""
    tokens: int = 3_700

    @property
    def now(self) -> int:
        """The time in milliseconds."""
        return int(self.watch.at.timestamp() * 1000)

    def play(self, steps: Iterable[Step]) -> None:
        """Add the messages of a script.

        Raises:
            ValueError: the client has no such step.
        """
        for turn in turns(steps):
            match turn:
                case Answer():
                    self._answer(turn)
                case Say(kind="user"):
                    self.watch.seconds(35, 190)
                    self._ask(turn.text)
                case Say(kind="pause"):
                    self.watch.minutes(int(turn.text))
                case _:
                    raise ValueError(f"opencode has no {turn.kind!r}")

    def _ask(self, text: str) -> None:
        model = {"providerID": PROVIDER, "modelID": MODEL}
        nothing: dict[str, list[object]] = {"diffs": []}
        data: Json = {"role": "user", "time": {"created": self.now}, "agent": "build", "model": model}
        self.asked = self.ids.sorted_id("msg", self.watch.at)
        self.messages.append((self.asked, self.id, self.now, self.now, as_json(data | {"summary": nothing})))
        self._part(self.asked, {"type": "text", "text": text})

    def _answer(self, answer: Answer) -> None:
        self.watch.seconds(3, 14)
        created, name = self.now, self.ids.sorted_id("msg", self.watch.at)
        self._part(name, {"type": "step-start"})
        for kind, text in (("reasoning", answer.thinking), ("text", answer.text)):
            if text:
                self._part(name, {"type": kind, "text": text, "time": {"start": self.now, "end": self.now}})
        for call in answer.calls:
            self._call(name, call)
        output = len(answer.text) // 4 + 40 * len(answer.calls) + 5
        self.tokens += output + 200 * len(answer.calls)
        tokens: Json = {"total": self.tokens + output, "input": self.tokens, "output": output, "reasoning": 0}
        tokens["cache"] = {"write": 0, "read": self.tokens}
        finish = "tool-calls" if answer.calls else "stop"
        self._part(name, {"reason": finish, "type": "step-finish", "tokens": tokens, "cost": 0})
        head: Json = {"parentID": self.asked, "role": "assistant", "mode": "build", "agent": "build"}
        head |= {"path": {"cwd": self.cwd, "root": self.cwd}, "cost": 0, "tokens": tokens}
        head |= {"modelID": MODEL, "providerID": PROVIDER, "time": {"created": created, "completed": self.now}}
        self.messages.append((name, self.id, created, self.now, as_json(head | {"finish": finish})))

    def _call(self, message: str, call: Call | Delegation) -> None:
        if not isinstance(call, Call):
            raise ValueError("sub-agents of opencode have sessions of their own")  # noqa: TRY004 - what a script says
        began = self.now
        self.watch.seconds(1, 9)
        state = state_of(call, self.cwd) | {"time": {"start": began, "end": self.now}}
        call_id = self.ids.token("toolu_", 24)
        self._part(message, {"type": "tool", "tool": call.tool.lower(), "callID": call_id, "state": state})

    def _part(self, message: str, data: Json) -> None:
        # the number keeps parts of one millisecond in their order
        name = self.ids.sorted_id("prt", self.watch.at, len(self.parts) + 1)
        self.parts.append((name, message, self.id, self.now, self.now, as_json(data)))


# The whole store.

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
    rows.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))
