"""A session in a database is listed from one pass over its rows with the same numbers as when all of it is read."""

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.formats.opencode import dialect
from slowwave.formats.sessions import FoundFile, FoundSession
from slowwave.stores.summary import Summary, summary_of_rows, summary_of_whole
from tests.unit.formats import openclaw_files, opencode_files, pi_files
from tests.unit.formats.opencode_files import Fields, words
from tests.unit.formats.pi_files import call

SEEDS = st.integers(0, 2**32)
# Rows that a crash, another program or a later version may leave.
ODD = (
    "",
    "{",
    "[]",
    "null",
    "{}",
    "7",
    '"text"',
    '{"role":',
    '{"role":"user","time":5}',
    '{"type":["text"]}',
    "\0",
    "\ud83d",
)
TEXTS = ("fix the login", "  \n ", "", "x" * 2000, "my key is sk-ant-api03-" + "a1B2" * 22, "ä\n\nß", "and\tthen")
INDEXES = (
    "CREATE INDEX p ON part (message_id, id)",
    "CREATE INDEX s ON part (session_id)",
    "CREATE UNIQUE INDEX m ON message (id)",
)


def compared(path: Path, dialect: str, name: str) -> Summary:
    """Return the summary of one pass, after comparing every field of it with that of the whole."""
    file = FoundFile(path.name, 1, 1, 1, 1)
    found = FoundSession(str(path.parent), name, [file], side=False, dialect=dialect, in_database=True)
    passed, whole = summary_of_rows(found, dialect), summary_of_whole(found, dialect)
    assert msgspec.to_builtins(passed) == msgspec.to_builtins(whole)
    return passed


def a_tool(rng: random.Random) -> Fields:
    status = rng.choice(["completed", "error", "running", "pending", None, 3])
    state: Fields = {"status": status, "input": {"command": "ls"}, "output": rng.choice(TEXTS)}
    if rng.random() < 0.3:
        state["time"] = {"start": 1, "compacted": 5}
    return {"type": "tool", "callID": "c", "tool": "bash", "state": rng.choice([state, state, None, []])}


def a_part(rng: random.Random) -> Fields:
    text = rng.choice(TEXTS)
    kinds: list[Fields] = [
        words(text),
        words(text, synthetic=True),
        words(text, ignored=True),
        {"type": "reasoning", "text": text},
        {"type": "file", "mime": "image/png", "url": "data:,"},
        {"type": "compaction", "auto": True},
        {"type": "subtask", "prompt": text},
        {"type": "step-start"},
        {"type": "later"},
        {"type": "text", "text": 5},
    ]
    return a_tool(rng) if rng.random() < 0.4 else rng.choice(kinds)


def opencode_session(rng: random.Random, name: str, others: list[str]) -> opencode_files.Session:
    title = rng.choice(["Fix it", "Fix it (fork #2)", ""])
    made = opencode_files.Session(name, title=title, directory=rng.choice(["/w", ""]))
    if others and rng.random() < 0.4:
        made.info["parentID"] = rng.choice(others)
    for _ in range(rng.randrange(12)):
        info: Fields = {
            "time": {"created": rng.choice([1, opencode_files.START, opencode_files.START + rng.randrange(9)])}
        }
        if rng.random() < 0.3:
            info["path"] = {"cwd": rng.choice(["/w/sub", "", 3])}
        role = rng.choice(["user", "assistant", "assistant", "system"])
        made.add(role, *(a_part(rng) for _ in range(rng.randrange(6))), **info)
        if rng.random() < 0.1:
            made.compact("so far", rng.choice(["", made.messages[0]["info"]["id"]]))
    if made.messages and rng.random() < 0.3:
        made.info["revert"] = json.dumps({"messageID": rng.choice(made.messages)["info"]["id"]})
    return made


def damaged(db: sqlite3.Connection, rng: random.Random) -> None:
    """Damage rows, take some away, and put some where they do not belong."""
    for table in ("message", "part"):
        for (row,) in db.execute(f"SELECT rowid FROM {table}").fetchall():
            if rng.random() < 0.08:
                data = rng.choice(ODD).encode("utf-8", "surrogatepass")
                db.execute(f"UPDATE {table} SET data = CAST(? AS TEXT) WHERE rowid = ?", (data, row))
            elif rng.random() < 0.04:
                db.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
            elif rng.random() < 0.04:
                db.execute(f"UPDATE {table} SET session_id = 'ses_1' WHERE rowid = ?", (row,))
            elif table == "part" and rng.random() < 0.04:
                db.execute("UPDATE part SET message_id = ? WHERE rowid = ?", (rng.choice(["msg_gone", "", None]), row))
    db.commit()


@settings(max_examples=60)
@given(SEEDS, st.sampled_from([1, 300, 1 << 20]))
def test_one_pass_over_opencodes_rows_tells_what_reading_all_of_them_does(seed: int, piece: int) -> None:
    rng = random.Random(seed)
    names = [f"ses_{n}" for n in range(rng.randrange(1, 4))]
    with TemporaryDirectory() as folder:
        path = opencode_files.database(
            Path(folder), *(opencode_session(rng, n, names[:i]) for i, n in enumerate(names))
        )
        with closing(sqlite3.connect(path)) as db:
            for index in INDEXES:
                if rng.random() < 0.5:
                    db.execute(index)
            if rng.random() < 0.6:
                damaged(db, rng)
        with patch.object(dialect, "PIECE_BYTES", piece):
            for name in (*names, "opencode"):
                compared(path, "opencode", name)


def an_entry(rng: random.Random, made: pi_files.Session) -> None:
    parent = rng.choice(["", "", "", "e1", "gone", None])
    text = rng.choice(TEXTS)
    kind = rng.randrange(9)
    if kind == 0:
        made.user([{"type": "text", "text": text}, {"type": "image"}], parent=parent)
    elif kind == 1:
        made.user(f"[WhatsApp +4912 2026-01-09 10:00] {text}", parent=parent)
    elif kind in (2, 3):
        calls = [call(f"c{n}") for n in range(rng.randrange(3))]
        made.model(text, *calls, parent=parent, stopReason=rng.choice(["stop", "error", "aborted"]))
    elif kind == 4:
        made.result("c0", text, parent=parent)
    elif kind == 5:
        made.compact(rng.choice([None, "e1", "gone"]))
    elif kind == 6:
        made.add("session_info", name=rng.choice(["A name", " ", 3]))
    elif kind == 7:
        made.add(rng.choice(["leaf", "reset", "custom", "later"]), targetId=rng.choice([None, "e1"]))
    else:
        made.add("message", message={"role": rng.choice(["hookMessage", "bashExecution", "strange"]), "content": text})


def openclaw_session(rng: random.Random, name: str) -> pi_files.Session:
    made = openclaw_files.session(name, version=rng.choice([1, 2, 3, 4, None]), cwd=rng.choice(["/work", "", 5]))
    if made.header is not None and rng.random() < 0.2:
        made.header["parentSession"] = "/x/2026_s0.jsonl"
    for _ in range(rng.randrange(14)):
        an_entry(rng, made)
    return made


def openclaw_agent(rng: random.Random, folder: Path, names: list[str]) -> Path:
    agent = openclaw_files.Agent(folder)
    for name in names:
        key = rng.choice(["agent:main:main", f"agent:main:subagent:{name}", f"cron:{name}", f"agent:main:x:{name}"])
        made = openclaw_session(rng, name)
        agent.add(made, key=key, packed=rng.random() < 0.4)
        columns = {"label": "Named", "spawned_by": "agent:main:main", "fork_source_session_id": "s0"}
        agent.node(name, **{column: value for column, value in columns.items() if rng.random() < 0.25})
        for seq in range(len(made.lines) + 1):
            if rng.random() < 0.06:
                event = rng.choice(ODD).encode("utf-8", "surrogatepass")
                agent.run(
                    "UPDATE transcript_events SET event_json = CAST(? AS TEXT) WHERE session_id = ? AND seq = ?",
                    event,
                    name,
                    seq,
                )
            elif rng.random() < 0.04:
                agent.run(
                    "UPDATE transcript_events SET event_json = NULL, event_zstd = ? WHERE seq = ?", b"damage", seq
                )
        if rng.random() < 0.3:
            agent.event(
                name, len(made.lines) + 5, json.dumps({"type": "session", "version": 3, "cwd": "/later"}).encode()
            )
    return agent.path


@settings(max_examples=40)
@given(SEEDS)
def test_one_pass_over_openclaws_rows_tells_what_reading_all_of_them_does(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"s{n}" for n in range(1, rng.randrange(2, 4))]
    with TemporaryDirectory() as folder:
        path = openclaw_agent(rng, Path(folder), names)
        for name in (*names, "another"):
            compared(path, "openclaw", name)


def test_an_answer_of_many_parts_counts_once_with_all_of_its_calls(tmp_path: Path) -> None:
    made = opencode_files.Session()
    made.user("go on")
    made.answer(*(opencode_files.done("x" * 900, call=f"c{n}") for n in range(95)))
    path = opencode_files.database(tmp_path, made)
    with patch.object(dialect, "PIECE_BYTES", 10_000):
        summary = compared(path, "opencode", str(made.info["id"]))
    assert (summary.messages, summary.tool_calls, summary.records) == (97, 95, 101)


@pytest.mark.parametrize("rows", [0, 40])
def test_damaged_rows_of_messages_that_are_gone_are_counted_each(rows: int, tmp_path: Path) -> None:
    made = opencode_files.Session()
    made.user("go on")
    path = opencode_files.database(tmp_path, made)
    with closing(sqlite3.connect(path)) as db:
        for n in range(rows):
            db.execute("INSERT INTO part VALUES (?, 'gone', ?, ?)", (f"p{n}", made.info["id"], "{"))
        db.commit()
    assert compared(path, "opencode", str(made.info["id"])).bad_lines == rows
