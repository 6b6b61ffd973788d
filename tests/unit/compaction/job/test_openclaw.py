"""Clawdbot's memory file of the day and the counters in its list of sessions."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slowwave.compaction.book import flush_refusal, note_compaction, note_flush, save_memories, soft_tokens
from slowwave.compaction.story import compact_sessions
from slowwave.formats import SessionFiles
from slowwave.formats.sessions import StoredSession
from slowwave.report import Item, Report
from slowwave.stores.projects import Project
from tests.unit.compaction.job import talks
from tests.unit.compaction.job.talks import NOW, Talk, job

DAY = f"{NOW.astimezone():%Y-%m-%d}.md"


def test_facts_are_added_to_the_file_of_the_day_once(tmp_path: Path):
    assert save_memories(str(tmp_path), ["Use uv", "the port\nis 8080"], NOW) == tmp_path / "memory" / DAY
    assert save_memories(str(tmp_path), ["Use uv"], NOW) is None
    save_memories(str(tmp_path), ["Use uv", "Never push"], NOW)
    text = (tmp_path / "memory" / DAY).read_text(encoding="utf-8")
    assert text == "- Use uv\n- the port is 8080\n- Never push\n"


def test_what_a_person_wrote_there_stays(tmp_path: Path):
    (tmp_path / "memory").mkdir()
    file = tmp_path / "memory" / DAY
    file.write_text("# Monday\nno newline at the end", encoding="utf-8")
    save_memories(str(tmp_path), ["Use uv"], NOW)
    assert file.read_text(encoding="utf-8") == "# Monday\nno newline at the end\n- Use uv\n"


def test_no_workspace_is_made(tmp_path: Path):
    assert save_memories(str(tmp_path / "gone"), ["Use uv"], NOW) is None
    assert save_memories("", ["Use uv"], NOW) is None
    assert not (tmp_path / "gone").exists()


def test_a_flush_and_a_compaction_are_noted_and_nothing_else_changes(tmp_path: Path):
    store = tmp_path / "sessions.json"
    mine = {"sessionId": "s1", "updatedAt": 5, "compactionCount": 2, "tomorrow": {"a": 1}}
    store.write_text(json.dumps({"agent:main:main": mine, "other": {"sessionId": "s2", "updatedAt": 6}}))
    note_flush(tmp_path / "s1.jsonl", "s1", NOW)
    found = json.loads(store.read_text())
    noted = {"memoryFlushAt": int(NOW.timestamp() * 1000), "memoryFlushCompactionCount": 2}
    assert found == {"agent:main:main": mine | noted, "other": {"sessionId": "s2", "updatedAt": 6}}
    note_compaction(tmp_path / "s1.jsonl", "s1")
    assert json.loads(store.read_text())["agent:main:main"] == mine | noted | {"compactionCount": 3}


def test_a_session_that_the_client_does_not_list_is_no_trouble(tmp_path: Path):
    note_compaction(tmp_path / "s1.jsonl", "s1")
    store = tmp_path / "sessions.json"
    store.write_text("{}")
    note_compaction(tmp_path / "s1.jsonl", "s1")
    assert store.read_text() == "{}"


def test_a_compaction_of_clawdbots_saves_the_day_and_counts_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    workspace = tmp_path / "clawd"
    workspace.mkdir()
    monkeypatch.setattr(talks, "CWD", str(workspace))
    talk = Talk(tmp_path / "store", "pi").grow(6)
    store = talk.folder / "sessions.json"
    store.write_text(json.dumps({"agent:main:main": {"sessionId": talk.id, "updatedAt": 5, "compactionCount": 1}}))

    def flush(_session: StoredSession) -> Report:
        return Report("extract", items=[Item("c1", "candidate", "said", "shop", "Use uv")])

    session = replace(talk.stored(), dialect="openclaw")
    project = Project("shop", "", (), tmp_path, (session,))
    report = compact_sessions(project, [session], job(tmp_path, flush=flush))

    assert (report.counts["compacted"], report.failures, report.warnings) == (1, [], [])
    assert (workspace / "memory" / DAY).read_text(encoding="utf-8") == "- Use uv\n"
    noted = json.loads(store.read_text())["agent:main:main"]
    assert (noted["memoryFlushCompactionCount"], noted["compactionCount"], noted["updatedAt"]) == (1, 2, 5)


def home_of(folder: Path, config: str, entry: dict[str, Any]) -> Path:
    """Make the client's state folder, and return where the transcript of session s1 would lie."""
    sessions = folder / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "sessions.json").write_text(json.dumps({"agent:main:main": {"sessionId": "s1", **entry}}))
    (folder / "openclaw.json").write_text(config)
    return sessions / "s1.jsonl"


def config_of(flush: str) -> str:
    return "{ // by a person\n agents: { defaults: { compaction: { memoryFlush: " + flush + " } } } }"


def test_what_a_person_turned_off_in_the_client_is_not_done_for_it(tmp_path: Path):
    assert "turned off" in flush_refusal(home_of(tmp_path / "off", config_of("{enabled: false}"), {}), "s1")
    assert flush_refusal(home_of(tmp_path / "on", config_of("{enabled: true}"), {}), "s1") == ""
    assert flush_refusal(home_of(tmp_path / "none", "{}", {}), "s1") == ""
    assert "neither JSON nor JSON5" in flush_refusal(home_of(tmp_path / "torn", "{ agents: ", {}), "s1")


def test_the_clients_own_flush_counts_for_its_cycle(tmp_path: Path):
    done = {"compactionCount": 2, "memoryFlushCompactionCount": 2}
    assert "since the last compaction" in flush_refusal(home_of(tmp_path / "done", "{}", done), "s1")
    assert flush_refusal(home_of(tmp_path / "next", "{}", done | {"compactionCount": 3}), "s1") == ""


@pytest.mark.parametrize(
    ("flush", "tokens"), [("{softThresholdTokens: 9000}", 9_000), ("{softThresholdTokens: 0}", 0), ("{}", 4_000)]
)
def test_the_soft_threshold_is_the_one_of_the_clients_settings(tmp_path: Path, flush: str, tokens: int):
    transcript = home_of(tmp_path, config_of(flush), {})
    session = StoredSession("openclaw", SessionFiles("s1", (transcript,)), "main", tmp_path, 1, 1)
    assert soft_tokens(session) == tokens
    assert soft_tokens(replace(session, dialect="pi")) == 4_000


def test_with_the_flush_turned_off_nothing_is_written_for_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    workspace = tmp_path / "clawd"
    workspace.mkdir()
    monkeypatch.setattr(talks, "CWD", str(workspace))
    transcript = home_of(tmp_path / "state", config_of("{enabled: false}"), {"compactionCount": 1})
    talk = Talk(transcript.parent, "pi").grow(6)
    listed = {"agent:main:main": {"sessionId": talk.id, "updatedAt": 5, "compactionCount": 1}}
    (talk.folder / "sessions.json").write_text(json.dumps(listed))

    def flush(_session: StoredSession) -> Report:
        return Report("extract", items=[Item("c1", "candidate", "said", "shop", "Use uv")])

    session = replace(talk.stored(), dialect="openclaw")
    report = compact_sessions(Project("shop", "", (), tmp_path, (session,)), [session], job(tmp_path, flush=flush))

    assert (report.counts["compacted"], report.failures, report.warnings) == (1, [], [])
    assert [item.reason for item in report.items if item.action == "skip"] == [
        "no memory file of the day: memoryFlush is turned off in the client's settings"
    ]
    assert not (workspace / "memory").exists()
    noted = json.loads((talk.folder / "sessions.json").read_text())["agent:main:main"]
    assert noted == {"sessionId": talk.id, "updatedAt": 5, "compactionCount": 2}
