"""Builders of opencode sessions for tests, in each form in which the client keeps or exports them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from slowwave.formats import SessionFiles
from slowwave.formats.messages import normal_form
from slowwave.formats.opencode.dialect import OPENCODE, OpencodeTranscript

SESSION = "ses_e00185dc0ffe670hyGe5ACUaHB"
START = 1795294733095

Fields = dict[str, Any]


class Session:
    """A session in the making."""

    def __init__(self, identity: str = SESSION, **info: Any) -> None:
        self.info: Fields = {"id": identity, "projectID": "global", "directory": "/w", "title": "Fix it"} | info
        self.info.setdefault("time", {"created": START})
        self.messages: list[Fields] = []

    def add(self, role: str, *parts: Fields, **info: Any) -> str:
        """Add a message and return its id."""
        number = len(self.messages)
        identity = f"msg_{self.info['id'][-4:]}{number:03}"
        own: Fields = {"id": identity, "sessionID": self.info["id"], "role": role, "time": {"created": START + number}}
        rows = [{"id": f"prt_{identity[4:]}{n:02}", "messageID": identity, **part} for n, part in enumerate(parts)]
        self.messages.append({"info": own | info, "parts": rows})
        return identity

    def user(self, text: str, **fields: Any) -> str:
        """Add a prompt."""
        return self.add("user", words(text, **fields))

    def answer(self, *parts: Fields, **info: Any) -> str:
        """Add an answer that is one step."""
        return self.add("assistant", {"type": "step-start"}, *parts, {"type": "step-finish"}, **info)

    def compact(self, words_of_summary: str, tail: str = "", **info: Any) -> None:
        """Add a compaction and its summary."""
        asked = self.add("user", {"type": "compaction", "auto": False} | ({"tail_start_id": tail} if tail else {}))
        self.answer(words(words_of_summary), **({"summary": True, "parentID": asked, "finish": "stop"} | info))

    def export(self, folder: Path, *, indent: int | None = 2) -> Path:
        """Write the session as an export."""
        path = folder / f"export-{self.info['id']}.json"
        path.write_text(json.dumps({"info": self.info, "messages": self.messages}, indent=indent), encoding="utf-8")
        return path

    def tree(self, root: Path) -> Path:
        """Write the session into the storage of later versions."""
        for message in self.messages:
            identity = message["info"]["id"]
            _write(root / "storage" / "message" / self.info["id"] / f"{identity}.json", message["info"])
            for part in message["parts"]:
                _write(root / "storage" / "part" / identity / f"{part['id']}.json", part)
        return _write(root / "storage" / "session" / "global" / f"{self.info['id']}.json", self.info)

    def old_tree(self, root: Path) -> Path:
        """Write the session into the storage of the first versions."""
        base = root / "project" / "w" / "storage" / "session"
        for message in self.messages:
            identity = message["info"]["id"]
            _write(base / "message" / self.info["id"] / f"{identity}.json", message["info"])
            for part in message["parts"]:
                _write(base / "part" / self.info["id"] / identity / f"{part['id']}.json", part)
        return _write(base / "info" / f"{self.info['id']}.json", self.info)

    def rows(self, db: sqlite3.Connection) -> None:
        """Write the session into a database."""
        created = self.info["time"]["created"]
        values = (
            self.info["id"],
            self.info.get("parentID"),
            "/w",
            self.info["title"],
            created,
            self.info.get("revert"),
        )
        db.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", values)
        for message in self.messages:
            info = dict(message["info"])
            identity, made = info.pop("id"), info["time"]["created"]
            db.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (identity, self.info["id"], made, json.dumps(info)))
            for part in message["parts"]:
                data = {k: v for k, v in part.items() if k not in ("id", "messageID")}
                db.execute(
                    "INSERT INTO part VALUES (?, ?, ?, ?)", (part["id"], identity, self.info["id"], json.dumps(data))
                )
        db.commit()


def _write(path: Path, value: Fields) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
    return path


def tables(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE session (id text, parent_id text, directory text, title text, time_created int, revert)")
    db.execute("CREATE TABLE message (id text, session_id text, time_created int, data text)")
    db.execute("CREATE TABLE part (id text, message_id text, session_id text, data text)")


def database(folder: Path, *sessions: Session) -> Path:
    """Write a database that nobody has open."""
    path = folder / "opencode.db"
    with closing(sqlite3.connect(path)) as db:
        tables(db)
        for session in sessions:
            session.rows(db)
    return path


def words(text: str, **fields: Any) -> Fields:
    return {"type": "text", "text": text, **fields}


def tool(call: str = "c1", name: str = "bash", **state: Any) -> Fields:
    return {"type": "tool", "callID": call, "tool": name, "state": {"input": {"command": "ls"}} | state}


def done(text: str, call: str = "c1", **state: Any) -> Fields:
    return tool(call, status="completed", output=text, **state)


def read(path: Path, name: str = "") -> OpencodeTranscript:
    return OPENCODE.read(SessionFiles(name or path.stem, (path,)))


def context(path: Path, name: str = "") -> list[dict[str, object]]:
    return normal_form(OPENCODE.context(read(path, name)))


def spoken(path: Path, name: str = "") -> list[str]:
    """Return the context in one short string a message: its role's first letter, its text or its result."""
    found: list[str] = []
    for message in OPENCODE.context(read(path, name)):
        form = normal_form([message])
        text = str(form[0].get("text", "")) if form else ""
        found.append(f"{message.role[0]}:{text or ''.join(r.text for r in message.results)}")
    return found
