"""``sessions.json`` and transcript names, after the tests of Clawdbot 2026.1.27.

The names are those of ``config/sessions.test.ts`` and ``config/sessions.cache.test.ts``. Two deviations: a store that
cannot be read is an error where the client takes it for empty and wipes it at the next write, and a list is taken for
an empty store only when it is empty.
"""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from slowwave.errors import UnreadableError
from slowwave.formats.openclaw import Openclaw
from slowwave.formats.openclaw.sessions import facts_beside, transcript_name
from slowwave.formats.openclaw.store import (
    SessionEntry,
    SessionStore,
    read_store,
    update_entry,
    update_store,
)

MAIN = "agent:main:main"


def written(folder: Path, value: object) -> Path:
    path = folder / "sessions.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2), encoding="utf-8")
    return path


def entry(session_id: str, updated_at: int) -> SessionEntry:
    return SessionEntry({}).patched({"sessionId": session_id, "updatedAt": updated_at})


def test_update_session_store_entry_preserves_existing_fields_when_patching(tmp_path: Path) -> None:
    path = written(tmp_path, {MAIN: {"sessionId": "sess-1", "updatedAt": 100, "reasoningLevel": "on"}})
    update_entry(path, MAIN, lambda _: {"updatedAt": 200}, now_ms=150)
    found = read_store(path)[MAIN]
    assert (found.number("updatedAt"), found.text("reasoningLevel")) == (200, "on")


def test_update_session_store_preserves_concurrent_additions(tmp_path: Path) -> None:
    path = written(tmp_path, {})

    def add(name: str) -> None:
        update_store(path, lambda store: store.put(f"agent:main:{name}", entry(f"sess-{name}", 1)))

    with ThreadPoolExecutor() as threads:
        list(threads.map(add, [str(n) for n in range(6)]))
    assert sorted(e.text("sessionId") for e in read_store(path).values()) == [f"sess-{n}" for n in range(6)]


def test_recovers_from_array_backed_session_stores(tmp_path: Path) -> None:
    path = written(tmp_path, [])
    update_store(path, lambda store: store.put(MAIN, entry("sess-1", 1)))
    assert read_store(path)[MAIN].text("sessionId") == "sess-1"
    assert path.read_bytes().startswith(b"{")


def test_update_session_store_keeps_deletions_when_concurrent_writes_happen(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {
            "agent:main:old": {"sessionId": "sess-old", "updatedAt": 1},
            "agent:main:keep": {"sessionId": "sess-keep", "updatedAt": 2},
        },
    )

    def remove(store: SessionStore) -> None:
        store.remove("agent:main:old")

    def add(store: SessionStore) -> None:
        store.put("agent:main:new", entry("sess-new", 3))

    with ThreadPoolExecutor() as threads:
        list(threads.map(partial(update_store, path), (remove, add)))
    assert sorted(read_store(path)) == ["agent:main:keep", "agent:main:new"]


def test_load_session_store_auto_migrates_legacy_provider_keys_to_channel_keys(tmp_path: Path) -> None:
    legacy = {"provider": "slack", "lastProvider": "telegram", "lastTo": "user:U123", "room": "#r"}
    found = read_store(written(tmp_path, {MAIN: {"sessionId": "sess-legacy", "updatedAt": 123} | legacy}))[MAIN]
    assert (found.text("channel"), found.text("lastChannel"), found.text("groupChannel")) == ("slack", "telegram", "#r")
    assert {"provider", "lastProvider", "room"}.isdisjoint(found.fields)


def test_derives_session_transcripts_dir_from_clawdbot_state_dir(tmp_path: Path) -> None:
    sessions = tmp_path / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    written(sessions, {})
    kind = Openclaw()
    (root,) = kind.homes({"CLAWDBOT_STATE_DIR": str(tmp_path), "HOME": "/home/ignored"})
    places = kind.places(root, os.listdir(root), [])  # noqa: PTH208 - as the callers do
    assert places is not None
    assert [place.path for place in places] == [str(sessions)]


def test_includes_topic_ids_in_session_transcript_filenames() -> None:
    assert transcript_name("sess-1", 123) == "sess-1-topic-123.jsonl"
    assert transcript_name("sess-1", "a/b ü") == "sess-1-topic-a%2Fb%20%C3%BC.jsonl"
    assert transcript_name("sess-1") == "sess-1.jsonl"


def test_update_session_store_entry_merges_concurrent_patches(tmp_path: Path) -> None:
    path = written(tmp_path, {MAIN: {"sessionId": "sess-1", "updatedAt": 123, "thinkingLevel": "low"}})

    def lay(patch: dict[str, str]) -> None:
        update_entry(path, MAIN, lambda _: patch, now_ms=200)

    with ThreadPoolExecutor() as threads:
        list(threads.map(lay, ({"modelOverride": "anthropic/claude-opus-4-5"}, {"thinkingLevel": "high"})))
    found = read_store(path)[MAIN]
    assert (found.text("modelOverride"), found.text("thinkingLevel")) == ("anthropic/claude-opus-4-5", "high")
    assert not path.with_name("sessions.json.lock").exists()


def test_cache_is_used_while_the_file_stays_as_it_is(tmp_path: Path) -> None:
    written(tmp_path, {MAIN: {"sessionId": "s1", "displayName": "Mine"}})
    assert facts_beside(str(tmp_path)) is facts_beside(str(tmp_path))


def test_mutations_of_a_loaded_store_do_not_leak(tmp_path: Path) -> None:
    path = written(tmp_path, {MAIN: {"sessionId": "s1", "displayName": "Mine"}})
    read_store(path).put(MAIN, entry("other", 1))
    assert read_store(path)[MAIN].text("sessionId") == "s1"


def test_cache_is_refreshed_when_the_file_changes_also_within_a_millisecond(tmp_path: Path) -> None:
    path = written(tmp_path, {MAIN: {"sessionId": "s1", "displayName": "Mine"}})
    at = path.stat().st_mtime_ns
    assert facts_beside(str(tmp_path)).by_stem["s1"].title == "Mine"
    update_store(path, lambda store: store.put(MAIN, store[MAIN].patched({"displayName": "Your"})))
    os.utime(path, ns=(at, at))
    assert facts_beside(str(tmp_path)).by_stem["s1"].title == "Your"


def test_a_missing_store_is_empty(tmp_path: Path) -> None:
    assert dict(read_store(tmp_path / "sessions.json")) == {}
    assert facts_beside(str(tmp_path)).problems == ()


@pytest.mark.parametrize("text", ["not json", "", '{"a": {', "[1]", "3"])
def test_invalid_json_tells_nothing_and_is_never_written_over(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    facts = facts_beside(str(tmp_path))
    assert facts.by_stem == {}
    assert [p.kind for p in facts.problems] == ["damaged"]

    def change(store: SessionStore) -> None:
        store.put(MAIN, entry("s1", 1))

    with pytest.raises(UnreadableError, match="nothing is written over it"):
        update_store(path, change)
    assert path.read_text(encoding="utf-8") == text
    assert [p.name for p in tmp_path.iterdir()] == ["sessions.json"]
