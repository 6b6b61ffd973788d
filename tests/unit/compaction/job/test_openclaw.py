"""Clawdbot's memory file of the day and the counters in its list of sessions."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from slowwave.compaction.job.openclaw import note_compaction, note_flush, save_memories
from slowwave.compaction.job.story import compact_sessions
from slowwave.report import Item, Report
from slowwave.stores.model import Project, StoredSession
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
