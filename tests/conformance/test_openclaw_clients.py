"""Contexts of Clawdbot's files and of OpenClaw's database equal what was sent; every real file reads whole."""

import base64
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from slowwave.formats import SessionFiles
from slowwave.formats.messages import normal_form
from slowwave.formats.openclaw.dialect import OPENCLAW
from slowwave.formats.registry import detect

SHARED = Path(__file__).parents[2].parent / "shared"
CLIENTS = SHARED / "clients" / "corpus"
SENT = [
    (case.parent / row["file"], row["context"])
    for case in sorted(CLIENTS.glob("clawdbot/*/context.json"))
    for row in json.loads(case.read_text(encoding="utf-8"))
    if row["rc"] == 0
]
DATABASES = sorted(CLIENTS.glob("openclaw/*/transcript_events.rows.json"))
FILES = sorted((SHARED / "corpus" / "openclaw").glob("*/*.jsonl"))
# What OpenClaw adds to a prompt from its surroundings when it sends it.
_AROUND = re.compile(r"\A\[[A-Z][a-z]{2} [0-9-]{10} [0-9:]{5} [A-Z]+\] |\n\nRuntime: agent=.*\Z", re.DOTALL)


def comparable(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for made in (c for m in messages for c in m.get("calls", []) if isinstance(c["args"], str)):
        made["args"] = json.loads(made["args"])
    return [{k: v for k, v in m.items() if k != "thinking"} for m in messages]


@pytest.mark.real
@pytest.mark.skipif(not SENT, reason="the clients' own sessions are not beside the checkout")
@pytest.mark.parametrize(("path", "context"), SENT, ids=lambda v: v.stem if isinstance(v, Path) else "")
def test_context_equals_what_clawdbot_sent(path: Path, context: list[dict[str, Any]]) -> None:
    dialect = detect(path)
    found = dialect.read(SessionFiles(path.stem, (path,)))
    assert dialect.name == "openclaw"
    assert comparable(normal_form(dialect.context(found))) == comparable(context)
    assert found.problems == []


def database(case: Path, folder: Path) -> Path:
    """Put the rows of a case into a database as its client has them."""
    path = folder / "openclaw-agent.sqlite"
    with closing(sqlite3.connect(path)) as rows:
        for file in sorted(case.parent.glob("*.rows.json")):
            found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
            names = list(found[0])
            table = file.name.partition(".")[0]
            rows.execute(f"CREATE TABLE {table} ({', '.join(names)})")
            marks = ", ".join("?" * len(names))
            values = [[blob(name, row[name]) for name in names] for row in found]
            rows.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
        rows.commit()
    return path


def blob(name: str, value: object) -> object:
    """Return a column as the database has it: the tables were exported with bytes as text."""
    if name != "event_zstd" or not isinstance(value, str):
        return value
    return bytes.fromhex(value) if re.fullmatch(r"[0-9a-f]+", value) else base64.b64decode(value)


def requests(case: Path) -> list[list[dict[str, Any]]]:
    """Return the messages of every request, without what the client adds from its surroundings."""
    sent: list[list[dict[str, Any]]] = []
    for request in json.loads(case.with_name("wire.json").read_text(encoding="utf-8")):
        messages = request["body"]["messages"]
        sent.append([form for m in messages if (form := plain(m)) is not None])
    return sent


def plain(message: dict[str, Any]) -> dict[str, Any] | None:
    content = message["content"]
    if message["role"] == "system" or isinstance(content, list):
        return None  # the system prompt, and the running sub-agents
    if message["role"] == "tool":
        return {"role": "tool", "results": [{"id": message["tool_call_id"], "text": content}]}
    calls = [
        {"id": c["id"], "name": c["function"]["name"], "args": json.loads(c["function"]["arguments"])}
        for c in message.get("tool_calls", [])
    ]
    form = {"role": message["role"], "text": _AROUND.sub("", content)}
    return form | ({"calls": calls} if calls else {})


@pytest.mark.real
@pytest.mark.skipif(not DATABASES, reason="the clients' own sessions are not beside the checkout")
@pytest.mark.parametrize("case", DATABASES, ids=lambda p: p.parts[-2])
def test_context_of_a_database_equals_what_openclaw_sent_with_its_last_prompt(case: Path, tmp_path: Path) -> None:
    path = database(case, tmp_path)
    found = OPENCLAW.read(SessionFiles("", (path,)))
    context = normal_form(OPENCLAW.context(found))
    events = json.loads(case.read_text(encoding="utf-8"))
    assert (detect(path).name, found.records, found.problems, found.unknown_types) == ("openclaw", len(events), [], {})
    assert found.header["version"] == 4
    assert context[:-1] == requests(case)[-1]
    assert context[-1]["role"] == "assistant"


@pytest.mark.real
@pytest.mark.skipif(not FILES, reason="the public transcripts are not beside the checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem[-40:])
def test_every_record_of_a_real_file_is_read(path: Path) -> None:
    lines = [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]
    found = OPENCLAW.read(SessionFiles(path.stem, (path,)))
    said = [line["message"] for line in lines if line["type"] == "message"]
    texts = [
        "\n".join(p["text"] for p in m["content"] if p["type"] == "text") for m in said if m["role"] != "toolResult"
    ]
    assert detect(path).name in ("openclaw", "pi")
    assert (found.records, found.problems, found.unknown_types) == (len(lines), [], {})
    assert [m.text for m in found.messages if m.role != "tool" and m.origin != "injected"] == texts
