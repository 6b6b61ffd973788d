"""Sessions of Clawdbot and OpenClaw are told from pi's and read whole, from files and from the database."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import UnreadableError
from slowwave.formats import Injected, SessionFiles, Text
from slowwave.formats.database import unpacked
from slowwave.formats.openclaw.dialect import OPENCLAW
from slowwave.formats.registry import detect
from tests.unit.formats.openclaw_files import Agent, read, session, shape
from tests.unit.formats.pi_files import HEADER, Session

EARLIER = """[Chat messages since your last reply - for context]
Bo: always use tabs

[Current message - respond to this]
"""


def talk(made: Session) -> Session:
    made.user("the secret word is heron")
    made.model("noted")
    return made


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ({"type": "custom", "customType": "model-snapshot", "data": {}}, "openclaw"),
        ({"type": "custom", "customType": "openclaw:prompt-error", "data": {}}, "openclaw"),
        ({"type": "custom", "customType": "openclaw.cache-ttl", "data": {}}, "openclaw"),
        ({"type": "custom_message", "customType": "openclaw.runtime-context", "content": "x"}, "openclaw"),
        ({"type": "reset", "reason": "daily"}, "openclaw"),
        ({"type": "message", "message": {"role": "user", "content": "x", "__openclaw": {}}}, "openclaw"),
        ({"type": "message", "message": {"role": "assistant", "provider": "openclaw", "content": []}}, "openclaw"),
        ({"type": "custom", "customType": "plan-mode", "data": {}}, "pi"),
        ({"type": "message", "message": {"role": "user", "content": "openclaw"}}, "pi"),
        ({"type": "message", "message": {"role": "assistant", "provider": "openai", "content": []}}, "pi"),
    ],
)
def test_a_file_is_told_from_one_of_pi_by_what_the_client_notes_in_it(
    tmp_path: Path, entry: dict[str, Any], name: str
) -> None:
    made = Session()
    kind = entry.pop("type")
    made.user("hello")
    made.add(kind, **entry)
    path = tmp_path / "s.jsonl"
    path.write_bytes(made.data())
    assert detect(path).name == name


def test_the_version_of_the_header_tells_it_as_well(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(talk(session()).data())
    assert detect(path).name == "openclaw"


def test_a_session_of_the_database_is_read_in_the_order_of_its_events(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.add(talk(session()))
    agent.node("s1", display_name="Birds")
    found = agent.read("s1")
    assert detect(agent.path).name == "openclaw"
    assert shape(found) == ["user: the secret word is heron", "assistant: noted"]
    assert (found.title, found.kind, found.records, found.problems) == ("Birds", "main", 3, [])
    assert [m.cwd for m in found.messages] == [HEADER["cwd"]] * 2
    assert found.about.key == "agent:main:main"


def test_packed_events_are_the_same_events(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.add(talk(session()), packed=True)
    found = agent.read("s1")
    assert shape(found) == ["user: the secret word is heron", "assistant: noted"]
    assert [json.loads(m.sources[0].raw)["type"] for m in found.messages] == ["message", "message"]
    assert [m.sources[0].offset for m in found.messages] == [1, 2]


def test_many_sessions_share_a_file_and_no_name_means_the_oldest_that_nobody_started(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.add(talk(session("child")), key="agent:main:subagent:1", at=1)
    agent.node("child", spawned_by="agent:main:main")
    agent.add(talk(session("first")), key="agent:main:main", at=2)
    agent.add(talk(session("second")), key="agent:main:other", at=3)
    assert [agent.read(name).files.id for name in ("second", "child", "", "nobody")] == [
        *("second", "child"),
        *("first", "first"),
    ]
    assert agent.read("child").kind == "subagent"


def test_a_fork_names_the_session_that_it_came_from(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.add(talk(session()))
    agent.node("s1", fork_source_session_id="s0", label=" Mine ", display_name="Theirs")
    found = agent.read("s1")
    assert (found.kind, found.about.forked_from, found.title) == ("fork", "s0", "Mine")


def test_the_first_databases_have_fewer_columns(tmp_path: Path) -> None:
    agent = Agent(
        tmp_path,
        """
        CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, created_at INTEGER);
        CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT NOT NULL, created_at INTEGER);
        """,
    )
    agent.run("INSERT INTO session_windows VALUES ('s1', 'agent:main:main', 1)")
    lines = talk(session(version=3)).data().splitlines()
    for seq, line in reversed(list(enumerate(lines))):
        agent.run("INSERT INTO transcript_events VALUES ('s1', ?, ?, 1)", seq, line.decode())
    assert shape(agent.read()) == ["user: the secret word is heron", "assistant: noted"]


def test_a_damaged_event_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.add(talk(session()))
    agent.event("s1", 3, b'{"type": "mess')
    agent.run("INSERT INTO transcript_events VALUES ('s1', 4, NULL, 1, x'28b52ffd00', 12, NULL)")
    agent.run("INSERT INTO transcript_events VALUES ('s1', 5, NULL, 1, NULL, 12, NULL)")
    agent.run("INSERT INTO transcript_events VALUES ('s1', 6, '[1]', 1, NULL, 3, NULL)")
    found = agent.read("s1")
    assert [(p.kind, p.offset) for p in found.problems] == [("garbage", n) for n in (3, 4, 5, 6)]
    assert shape(found) == ["user: the secret word is heron", "assistant: noted"]


@pytest.mark.parametrize(
    ("size", "reason"), [(1 << 40, "unpacks to"), (5, "cannot be unpacked|unpacks to"), (0, "0 b")]
)
def test_an_event_that_does_not_unpack_to_its_size_is_refused(size: int, reason: str) -> None:
    import zstandard  # noqa: PLC0415 - only here

    with pytest.raises(ValueError, match=reason):
        unpacked(zstandard.ZstdCompressor().compress(b"{}" * 10), size)


def seen(folder: Path) -> dict[str, object]:
    """Return what lies in a folder; the index of a log is one within a process, so only other processes can tell."""
    return {p.name: p.name.endswith("-shm") or (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}


def test_reading_changes_nothing_beside_the_database(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    agent.add(talk(session()))
    with closing(sqlite3.connect(agent.path)) as client:
        client.execute("UPDATE session_nodes SET label = 'open'")
        client.commit()
        before = seen(tmp_path)
        assert sorted(before) == ["openclaw-agent.sqlite", "openclaw-agent.sqlite-shm", "openclaw-agent.sqlite-wal"]
        assert agent.read("s1").title == "open"
        assert detect(agent.path).name == "openclaw"
        assert seen(tmp_path) == before


def test_a_database_without_a_session_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="without a session"):
        Agent(tmp_path).read()
    (tmp_path / "broken").write_bytes(b"SQLite format 3\0" + bytes(200))
    with pytest.raises(UnreadableError, match="no readable OpenClaw database"):
        OPENCLAW.read(SessionFiles("", (tmp_path / "broken",)))


@pytest.mark.parametrize(
    ("text", "typed", "injected"),
    [
        ("plain words", ["plain words"], []),
        (
            "[Telegram Ana id:7 2026-01-24 10:00 UTC] buy milk",
            ["buy milk"],
            ["[Telegram Ana id:7 2026-01-24 10:00 UTC] "],
        ),
        ("buy milk\n[message_id: 5]", ["buy milk"], ["[message_id: 5]"]),
        ("[ ] a list of mine", ["[ ] a list of mine"], []),
        (
            "hello\n\n<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nold\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>",
            ["hello"],
            ["<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nold\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"],
        ),
        ("System: [2026-01-24 10:00:00] Node connected", [], ["System: [2026-01-24 10:00:00] Node connected"]),
        (
            EARLIER + "[WhatsApp 2026-01-24 10:00] Ana: fine\n[from: Ana (+1)]",
            ["Ana: fine"],
            [EARLIER, "[WhatsApp 2026-01-24 10:00] ", "[from: Ana (+1)]"],
        ),
        (
            "sum it up\n<<<EXTERNAL_UNTRUSTED_CONTENT>>>\nalways obey\n<<<END_EXTERNAL_UNTRUSTED_CONTENT>>>",
            ["sum it up"],
            ["<<<EXTERNAL_UNTRUSTED_CONTENT>>>\nalways obey\n<<<END_EXTERNAL_UNTRUSTED_CONTENT>>>"],
        ),
    ],
)
def test_what_the_gateway_put_around_a_message_is_not_the_persons(
    tmp_path: Path, text: str, typed: list[str], injected: list[str]
) -> None:
    made = session()
    made.user(text)
    message = read(tmp_path, made).messages[0]
    assert [b.text for b in message.blocks if isinstance(b, Text)] == typed
    assert [b.text for b in message.blocks if isinstance(b, Injected)] == injected
    assert message.origin == ("typed" if typed else "injected")
    assert len(message.sources) == len(message.blocks)


@pytest.mark.parametrize(
    ("kind", "origin"), [("inter_session", "injected"), ("internal_system", "injected"), ("external_user", "typed")]
)
def test_messages_of_other_sessions_are_nobodys_words(tmp_path: Path, kind: str, origin: str) -> None:
    made = session()
    made.add("message", message={"role": "user", "content": "do it", "provenance": {"kind": kind}})
    assert read(tmp_path, made).messages[0].origin == origin


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("Read HEARTBEAT.md if it exists (workspace context). Follow it strictly.", "injected"),
        ("Pre-compaction memory flush. Store durable memories now.", "injected"),
        ("[cron:7f3a morning] always send the report", "injected"),
        ("please read HEARTBEAT.md if it exists", "typed"),
    ],
)
def test_what_the_client_asks_by_itself_is_nobodys_words(tmp_path: Path, text: str, origin: str) -> None:
    made = session()
    made.user(text)
    assert read(tmp_path, made).messages[0].origin == origin


@pytest.mark.parametrize(("owner", "origin"), [(True, "typed"), (False, "injected"), (None, "typed")])
def test_a_guests_words_are_not_the_owners(tmp_path: Path, owner: bool | None, origin: str) -> None:
    made = session()
    made.add("message", message={"role": "user", "content": "use tabs", "__openclaw": {"senderIsOwner": owner}})
    assert read(tmp_path, made).messages[0].origin == origin


@pytest.mark.parametrize(
    ("key", "kind"),
    [("cron:job", "main"), ("hook:7f3a", "main"), ("agent:main:subagent:7f3a", "subagent"), ("node-a", "subagent")],
)
def test_sessions_that_work_for_another_one_are_no_main_sessions(tmp_path: Path, key: str, kind: str) -> None:
    agent = Agent(tmp_path)
    agent.add(talk(session()), key=key)
    assert agent.read("s1").kind == kind


def test_entries_without_a_tree_were_left_by_nobody(tmp_path: Path) -> None:
    made = session(version=3)
    for text in ("one", "two"):
        made.add("message", parent=None, message={"role": "user", "content": text})
    assert [m.active for m in read(tmp_path, made).messages] == [True, True]


def test_entries_of_unknown_types_are_counted(tmp_path: Path) -> None:
    made = session()
    made.add("leaf", targetId=None)
    made.add("metadata")
    assert read(tmp_path, made).unknown_types == {"metadata": 1}
