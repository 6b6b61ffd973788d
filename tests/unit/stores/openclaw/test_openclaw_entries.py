"""Stores keep every byte that nobody changed; keys and names of files are read as the client makes them."""

import json
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import UsageError
from slowwave.formats.openclaw.sessions import artifact_of, transcript_name, transcript_path
from slowwave.formats.openclaw.store import (
    Origin,
    SessionEntry,
    SessionKey,
    SessionStore,
    entry_of,
    merged,
    parse_key,
    read_store,
    update_store,
)
from slowwave.formats.sessions import StoreProblem

CASES = Path(__file__).parents[4].parent / "shared" / "clients" / "corpus" / "clawdbot"
STORES = sorted(CASES.glob("*/home/.clawdbot/agents/*/sessions/sessions.json"))
# Fields of a newer client with values that a careless reader changes: numbers, order, escapes, white space.
ODD = b"""{
  "agent:main:main": {
    "sessionId": "s1",
    "updatedAt": 1769428798123,
    "newField": {
      "z": 1.0,
      "a": 12345678901234567890123,
      "text": "\\u00e9\\/ \\ud83d"
    },
    "label":   "Mine"
  },
  "agent:main:other": {"sessionId":"s2","updatedAt":2,   "x":[1 , 2]},
  "broken": null
}"""


def store(folder: Path, raw: bytes) -> Path:
    path = folder / "sessions.json"
    path.write_bytes(raw)
    return path


def set_field(path: Path, key: str, **fields: Any) -> None:
    update_store(path, lambda found: found.put(key, found[key].patched(fields)))


def test_what_nobody_changed_stays_byte_for_byte(tmp_path: Path) -> None:
    path = store(tmp_path, ODD)
    set_field(path, "agent:main:main", compactionCount=3)
    expected = ODD.replace(b'"label":   "Mine"', b'"label": "Mine",\n    "compactionCount": 3')
    assert path.read_bytes() == expected
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["sessions.json"]


def test_nothing_is_written_when_nothing_changed(tmp_path: Path) -> None:
    path = store(tmp_path, ODD)
    before = path.stat()
    update_store(path, lambda _: None)
    set_field(path, "agent:main:main")
    assert path.stat() == before


def test_an_entry_is_taken_out_with_its_line(tmp_path: Path) -> None:
    path = store(tmp_path, ODD)
    update_store(path, lambda found: found.remove("agent:main:other"))
    line = b'  "agent:main:other": {"sessionId":"s2","updatedAt":2,   "x":[1 , 2]},\n'
    assert path.read_bytes() == ODD.replace(line, b"")
    update_store(path, lambda found: found.remove("agent:main:main"))
    assert json.loads(path.read_bytes()) == {"broken": None}


def test_a_value_that_is_no_entry_is_seen_as_odd_and_kept(tmp_path: Path) -> None:
    found = read_store(store(tmp_path, ODD))
    assert (sorted(found), found.odd) == (["agent:main:main", "agent:main:other"], ["broken"])


def test_json5_is_read_as_people_write_it_and_written_as_json(tmp_path: Path) -> None:
    path = store(tmp_path, b"{ // by hand\n 'agent:main:main': {sessionId: 's1', deep: {a: [1, 2,],},}, }")
    assert read_store(path)["agent:main:main"].text("sessionId") == "s1"
    set_field(path, "agent:main:main", label="x", origin={"label": "l"})
    expected = {"agent:main:main": {"sessionId": "s1", "deep": {"a": [1, 2]}, "label": "x", "origin": {"label": "l"}}}
    assert path.read_text(encoding="utf-8") == json.dumps(expected, indent=2)


@pytest.mark.real
@pytest.mark.skipif(not STORES, reason="the clients' own sessions are not beside the checkout")
@pytest.mark.parametrize("real", STORES, ids=lambda p: p.parts[-7])
def test_a_real_store_is_written_back_as_its_client_wrote_it(real: Path, tmp_path: Path) -> None:
    path = store(tmp_path, real.read_bytes())
    (key,) = read_store(path)
    entry = read_store(path)[key]
    assert entry.text("sessionId") == next(f.stem for f in real.parent.glob("*.jsonl") if f.stem != "other-session")
    assert isinstance(entry.get("skillsSnapshot"), dict)
    set_field(path, key, memoryFlushAt=5)
    assert path.read_bytes() != real.read_bytes()
    set_field(path, key, memoryFlushAt=None)
    assert path.read_bytes() == real.read_bytes()


def test_a_field_of_another_type_counts_as_missing(tmp_path: Path) -> None:
    raw = b"""{"a": {"sessionId": 5, "updatedAt": 7, "inputTokens": "odd", "origin": {"chatType": "group", "from": "x"},
        "label": "cut \\ud83d"}, "b": {"origin": "odd"}}"""
    entries = read_store(store(tmp_path, raw))
    entry, origin = entries["a"], entries["a"].get("origin")
    assert (entry.text("sessionId"), entry.number("updatedAt"), entry.number("inputTokens")) == ("", 7, None)
    assert isinstance(origin, Origin)
    assert origin.chat_type == "group"
    assert entries["b"].get("origin") is None
    assert entry.text("label") == "cut \ufffd"


def test_old_names_give_way_only_where_the_new_ones_are_missing() -> None:
    def names(value: dict[str, Any]) -> dict[str, object]:
        entry = entry_of(SessionEntry({}).patched(value).fields)
        return {name: entry.get(name) for name in entry.fields}

    assert names({"provider": "a", "channel": "b"}) == {"provider": "a", "channel": "b"}
    assert names({"provider": "a", "channel": 5}) == {"channel": "a"}
    assert names({"room": "r", "groupChannel": "g"}) == {"groupChannel": "g"}
    assert names({"provider": 5}) == {"provider": 5}


def test_merging_takes_the_newest_time_and_keeps_the_id() -> None:
    old = SessionEntry({}).patched({"sessionId": "old", "updatedAt": 500, "label": "x"})
    laid = merged(old, {"updatedAt": 300, "label": None, "model": "m"}, 400, "new")
    assert (laid.text("sessionId"), laid.number("updatedAt"), sorted(laid.fields)) == (
        "old",
        500,
        ["model", "sessionId", "updatedAt"],
    )
    assert merged(None, {}, 400, "new").text("sessionId") == "new"
    assert merged(old, {"sessionId": "told"}, 900, "new").number("updatedAt") == 900


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("agent:main:main", SessionKey("main", "main", "main")),
        ("agent:work:primary", SessionKey("main", "work", "primary")),
        ("main", SessionKey("main", "", "main")),
        ("agent:main:dm:+1555", SessionKey("dm", "main", "+1555")),
        ("agent:main:telegram:dm:7", SessionKey("dm", "main", "7", "telegram")),
        ("agent:main:telegram:bot2:dm:7", SessionKey("dm", "main", "7", "telegram", "bot2")),
        ("agent:main:whatsapp:group:1-2@g.us", SessionKey("group", "main", "1-2@g.us", "whatsapp")),
        ("agent:main:slack:channel:c1:thread:9.1", SessionKey("channel", "main", "c1", "slack", thread="9.1")),
        ("agent:main:discord:room:r", SessionKey("room", "main", "r", "discord")),
        ("agent:main:telegram:group:5:topic:8", SessionKey("group", "main", "5", "telegram", topic="8")),
        ("group:5", SessionKey("group", "", "5")),
        ("cron:job-1", SessionKey("cron", "", "job-1")),
        ("agent:main:cron:job-1:run:u", SessionKey("cron", "main", "job-1:run:u")),
        ("hook:7f3a", SessionKey("hook", "", "7f3a")),
        ("node-kitchen", SessionKey("node", "", "kitchen")),
        ("agent:main:subagent:7f3a", SessionKey("subagent", "main", "7f3a")),
        ("agent:main:acp:7f3a", SessionKey("acp", "main", "7f3a")),
        ("global", SessionKey("global", "", "global")),
        ("agent:", SessionKey("unknown", "", "agent:")),
        ("agent:main", SessionKey("unknown", "", "agent:main")),
        ("unknown", SessionKey("unknown", "", "unknown")),
        ("", SessionKey("unknown")),
    ],
)
def test_keys_are_taken_apart(key: str, parts: SessionKey) -> None:
    assert parse_key(key) == parts


def test_nobody_types_into_runs_of_jobs_and_sub_agents() -> None:
    assert all(parse_key(k).is_agents for k in ("node-c", "agent:main:subagent:d", "agent:x:acp:e"))
    assert not any(
        parse_key(k).is_agents
        for k in ("cron:a", "hook:b", "global", "agent:main:main", "agent:main:telegram:group:1", "x:y")
    )


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("s1.jsonl", ("transcript", "s1", "", "")),
        ("s1-topic-12.jsonl", ("transcript", "s1", "12", "")),
        ("s1.jsonl.reset.2026-01-24T10-00-00.000Z", ("transcript", "s1", "", "reset")),
        ("s1.jsonl.deleted.2026-01-24T10-00-00.000Z.zst", ("transcript", "s1", "", "deleted")),
        ("s1.jsonl.bak-4711-1769428798123", ("transcript", "s1", "", "backup")),
        ("s1.jsonl.bak.2026-01-24T10-00-00Z", ("transcript", "s1", "", "backup")),
        ("s1.checkpoint.1c648be0-52be-437c-89f7-ec59c7be57d4.jsonl", ("transcript", "s1", "", "backup")),
        ("my.checkpoint.jsonl", ("transcript", "my.checkpoint", "", "")),
        ("s1.trajectory.jsonl", ("trajectory", "s1", "", "")),
        ("s1.trajectory-path.json", ("trajectory", "s1", "", "")),
        ("s1.trajectory.jsonl.deleted.2026-01-24T10-00-00.000Z", ("trajectory", "s1", "", "")),
        ("s1.jsonl.lock", ("lock", "", "", "")),
        ("sessions.json", ("store", "", "", "")),
        ("sessions.json.bak.1769428798123", ("store", "", "", "")),
        ("sessions.json.4711.uuid.tmp", ("other", "", "", "")),
        (".slowwave-tmp-1-2", ("other", "", "", "")),
        ("notes.md", ("other", "", "", "")),
    ],
)
def test_names_of_files_say_what_they_are(name: str, found: tuple[str, str, str, str]) -> None:
    assert artifact_of(name) == found


@pytest.mark.parametrize("session", ["", "../x", "a/b", ".hidden", "-dash", "x" * 129, "a\0b", "_x"])
def test_no_id_leads_out_of_its_folder(session: str) -> None:
    with pytest.raises(UsageError, match="session id"):
        transcript_name(session)


def test_a_topic_that_makes_the_name_too_long_is_refused() -> None:
    with pytest.raises(UsageError, match="255 bytes"):
        transcript_name("s1", "ü" * 50)


def located(folder: Path, **fields: Any) -> tuple[Path | None, list[StoreProblem]]:
    problems: list[StoreProblem] = []
    return transcript_path(folder, SessionEntry({}).patched(fields), problems), problems


def test_the_named_file_of_an_entry_goes_before_its_id(tmp_path: Path) -> None:
    assert located(tmp_path, sessionId="s1") == (tmp_path / "s1.jsonl", [])
    assert located(tmp_path, sessionId="s1", sessionFile="other.jsonl") == (tmp_path / "other.jsonl", [])
    assert located(tmp_path, sessionId="s1", sessionFile=str(tmp_path / "x.jsonl")) == (tmp_path / "x.jsonl", [])
    assert located(tmp_path, sessionId="s1", sessionFile="sqlite:main/s1") == (None, [])
    assert located(tmp_path) == (None, [])


@pytest.mark.parametrize("named", ["../secret.jsonl", "/etc/passwd", "link/x.jsonl", ".", "a\0b"])
def test_a_named_file_outside_of_the_folder_is_reported_and_not_followed(tmp_path: Path, named: str) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    path, problems = located(folder, sessionId="s1", sessionFile=named)
    assert path == folder / "s1.jsonl"
    assert [p.kind for p in problems] == ["ignored"]


def test_a_store_that_was_moved_finds_its_files(tmp_path: Path) -> None:
    old = "/home/ana/.clawdbot/agents/main/sessions/s9.jsonl"
    assert located(tmp_path, sessionId="s1", sessionFile=old)[0] == tmp_path / "s1.jsonl"
    (tmp_path / "s9.jsonl").touch()
    assert located(tmp_path, sessionId="s1", sessionFile=old) == (tmp_path / "s9.jsonl", [])


def test_an_id_that_is_no_name_is_reported(tmp_path: Path) -> None:
    path, problems = located(tmp_path, sessionId="../../x")
    assert path is None
    assert [p.kind for p in problems] == ["ignored"]


def test_a_store_is_a_mapping_of_its_entries(tmp_path: Path) -> None:
    found: SessionStore = read_store(store(tmp_path, ODD))
    assert (len(found), "broken" in found, found.get("missing"), found.is_changed) == (2, False, None, False)
