"""A session of opencode is continued through a file that its own import adds."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from slowwave.formats import SessionFiles
from slowwave.formats.opencode.dialect import OPENCODE
from tests.unit.stores.store_builder import cersei, write

Capture = pytest.CaptureFixture[str]


def database(folder: Path) -> Path:
    """Write a database with the columns that the export reads, as client 1.18 has them."""
    folder.mkdir()
    path = folder / "opencode.db"
    columns = "id, project_id, parent_id, slug, directory, title, version, permission, summary_additions"
    columns += ", summary_deletions, summary_files, time_created, time_updated, revert"
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"CREATE TABLE session ({columns})")
        db.execute("CREATE TABLE message (id, session_id, time_created, data)")
        db.execute("CREATE TABLE part (id, message_id, session_id, data)")
        row = ("ses_1", "p", None, "slug", "/home/ana/shop", "the outbox", "1.18.33", "[]", 1, 2, 3, 1000, 2000, None)
        db.execute(f"INSERT INTO session VALUES ({', '.join('?' * 14)})", row)
        model = {"providerID": "fake", "modelID": "fake-1"}
        user: dict[str, Any] = {"role": "user", "time": {"created": 1000}, "agent": "build", "model": model}
        answer: dict[str, Any] = {
            "role": "assistant",
            "parentID": "msg_1",
            "time": {"created": 1001},
            "mode": "build",
            **model,
        }
        for own, info, text in (("msg_1", user, "hello"), ("msg_2", answer, "hi")):
            row = (own, info["time"]["created"], json.dumps(info))
            db.execute("INSERT INTO message VALUES (?, 'ses_1', ?, ?)", row)
            part = json.dumps({"type": "text", "text": text})
            db.execute("INSERT INTO part VALUES (?, ?, 'ses_1', ?)", (f"prt_{own}", own, part))
        db.commit()
    return path


def test_what_is_said_next_stands_behind_what_was_said(tmp_path: Path, capsys: Capture):
    path = database(tmp_path / "opencode")
    before = path.read_bytes()
    into = tmp_path / "more.json"
    args = (
        "--into",
        str(into),
        "--say",
        "and now the tests",
        "--answer",
        "on it",
        "--json",
        "--store",
        str(path.parent),
    )
    assert main(["sessions", "export", "ses_1", *args]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["command"] == f"cd /home/ana/shop && opencode import {into}"
    assert path.read_bytes() == before
    made: dict[str, Any] = json.loads(into.read_text())
    assert made["info"]["projectID"] == "p"
    assert made["info"]["summary"] == {"additions": 1, "deletions": 2, "files": 3}
    infos = [message["info"] for message in made["messages"]]
    assert [info["id"] for info in infos[:2]] == ["msg_1", "msg_2"]
    assert infos[3]["parentID"] == infos[2]["id"]
    assert infos[2]["model"] == infos[0]["model"]
    assert infos[1]["id"] < infos[2]["id"] < infos[3]["id"]
    # it is an export as the client writes them
    read = OPENCODE.read(SessionFiles("ses_1", (into,)))
    assert [m.text for m in OPENCODE.context(read)] == ["hello", "hi", "and now the tests", "on it"]


def test_what_is_no_session_of_its_database_is_refused(tmp_path: Path, capsys: Capture):
    path = write(tmp_path / "-p" / "s.jsonl", cersei("user", "one", 0))
    assert main(["sessions", "export", str(path), "--into", str(tmp_path / "x.json")]) == 2
    assert "sessions append" in capsys.readouterr().err
    database(tmp_path / "opencode")
    alone = ("--into", str(tmp_path / "x.json"), "--answer", "on it", "--store", str(tmp_path / "opencode"))
    assert main(["sessions", "export", "ses_1", *alone]) == 2
    assert not (tmp_path / "x.json").exists()
