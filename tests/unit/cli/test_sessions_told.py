"""What OpenClaw and opencode note of a session beside its messages stands in the listing, and names the session."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli import main
from slowwave.formats.openclaw.dialect import is_silent
from slowwave.formats.openclaw.store import update_entry
from tests.unit.formats import opencode_files
from tests.unit.formats.pi_files import Session

Capture = pytest.CaptureFixture[str]
GROUP = "agent:main:telegram:group:-100"
ENTRIES: dict[str, Any] = {
    "agent:main:main": {
        "sessionId": "main-1",
        "updatedAt": 1795168900000,
        "chatType": "direct",
        "channel": "whatsapp",
        "inputTokens": 1200,
        "totalTokens": 48000,
        "contextTokens": 200000,
        "compactionCount": 2,
    },
    GROUP: {"sessionId": "44444444", "sessionFile": "custom-file.jsonl", "chatType": "group", "subject": "Friends"},
    "hook:55": {"sessionId": "hook-1", "updatedAt": 1795168900000},
    "agent:main:subagent:7": {"sessionId": "side-1", "spawnedBy": "agent:main:main"},
}


def home(tmp_path: Path) -> Path:
    folder = tmp_path / ".clawdbot" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    for name in ("main-1", "custom-file", "hook-1", "side-1"):
        session = Session()
        session.user(f"hello from {name}")
        session.model("NO_REPLY" if name == "hook-1" else "hi")
        (folder / f"{name}.jsonl").write_bytes(session.data())
    (folder / "sessions.json").write_text(json.dumps(ENTRIES, indent=2))
    return tmp_path / ".clawdbot"


def listed(capsys: Capture, *args: object) -> dict[str, dict[str, Any]]:
    assert main(["sessions", *map(str, args), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {row.get("id") or row["session"]: row for row in rows}


def test_the_conversation_and_the_token_counters_stand_in_the_listing(tmp_path: Path, capsys: Capture):
    rows = listed(capsys, "list", "--store", home(tmp_path))
    assert rows["main-1"]["client"] == {
        "key": "agent:main:main",
        "session_id": "main-1",
        "chat_type": "direct",
        "channel": "whatsapp",
        "input_tokens": 1200,
        "total_tokens": 48000,
        "context_tokens": 200000,
        "compaction_count": 2,
    }
    assert rows["custom-file"]["client"]["subject"] == "Friends"
    kinds = {name: (row["kind"], row["origin"]) for name, row in rows.items()}
    assert kinds["hook-1"] == ("main", "hook")
    assert kinds["side-1"] == ("subagent", "")


@pytest.mark.parametrize(
    ("name", "stem"),
    [("agent:main:main", "main-1"), (GROUP, "custom-file"), ("44444444", "custom-file"), ("hook:55", "hook-1")],
)
def test_a_session_is_found_by_its_key_and_by_the_id_that_its_client_uses(
    tmp_path: Path, capsys: Capture, name: str, stem: str
):
    (shown,) = listed(capsys, "show", name, "--store", home(tmp_path)).values()
    assert shown["session"] == stem
    assert name in (shown["client"]["key"], shown["client"]["session_id"])


def test_a_silent_turn_is_shown_as_not_delivered(tmp_path: Path, capsys: Capture):
    store = home(tmp_path)
    (shown,) = listed(capsys, "show", "hook-1", "--store", store).values()
    assert [message.get("delivered", True) for message in shown["messages"]] == [True, False]
    (other,) = listed(capsys, "show", "main-1", "--store", store).values()
    assert all("delivered" not in message for message in other["messages"])
    assert main(["sessions", "show", "hook-1", "--store", str(store)]) == 0
    assert "assistant (model) not delivered" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        ("NO_REPLY", True),
        ("\ufeff NO_REPLY: nothing to tell", True),
        ("NO_REPLYé", True),  # for the client only the letters of English go on with a word
        ("Both mails are read. **NO_REPLY**", True),
        ("NO_REPLYING", False),
        ("I was told to say NO_REPLY when nothing is new", False),
        ("DO_NO_REPLY", False),
        ("", False),
    ],
)
def test_an_answer_that_begins_or_ends_with_the_exact_token_is_silent(text: str, *, silent: bool):
    assert is_silent(text) == silent


def test_integers_of_the_store_stay_integers(tmp_path: Path):
    path = home(tmp_path) / "agents" / "main" / "sessions" / "sessions.json"
    update_entry(path, "agent:main:main", lambda _entry: {"compactionCount": 3}, 0)
    text = path.read_text()
    assert '"updatedAt": 1795168900000,' in text
    assert '"compactionCount": 3' in text


def test_the_statistics_and_permissions_of_opencode_are_shown(tmp_path: Path, capsys: Capture):
    made = opencode_files.Session()
    made.user("hello")
    (tmp_path / "opencode").mkdir()
    path = opencode_files.database(tmp_path / "opencode", made)
    with closing(sqlite3.connect(path)) as database:
        for column in ("summary_additions", "summary_deletions", "summary_files", "permission", "share_url"):
            database.execute(f"ALTER TABLE session ADD COLUMN {column}")
        rule = [{"permission": "plan_exit", "pattern": "*", "action": "deny"}]
        values = (12, 3, 2, json.dumps(rule), "https://example.org/s/1")
        database.execute(
            "UPDATE session SET summary_additions=?, summary_deletions=?, summary_files=?, permission=?, share_url=?",
            values,
        )
        database.commit()
    (row,) = listed(capsys, "list", "--store", tmp_path / "opencode").values()
    assert row["client"] == {
        "summary": {"additions": 12, "deletions": 3, "files": 2},
        "permission": rule,
        "share_url": "https://example.org/s/1",
    }
