"""Codex's behaviours as formats.md §11.6 lists them, one test each.

Its memory pipeline (leases, retries, watermarks) is no part of a rollout and is not tried here.
"""

import json
from pathlib import Path

from slowwave.dialects.codex.dialect import CODEX
from slowwave.dialects.codex.home import find_rollout, thread_name
from slowwave.dialects.codex.injected import SUMMARY_PREFIX
from tests.unit.dialects.codex_files import THREAD, compacted, event, message, meta, read, rollout, said, spoken, turn

PARENT = "01a1ffe2-0000-7cb3-ab90-7e7c940d626d"


def test_the_first_session_meta_wins_with_copied_history(tmp_path: Path) -> None:
    own = meta(forked_from_id=PARENT, cwd="/own")
    path = rollout(tmp_path, own, meta(PARENT, cwd="/parent"), *turn("one", "1"), own, *turn("two", "2"))
    transcript = read(path)
    assert (transcript.kind, {m.cwd for m in transcript.messages}) == ("fork", {"/own"})
    assert spoken(path) == ["u:one", "a:1", "u:two", "a:2"]


def test_rollback_of_n_turns(tmp_path: Path) -> None:
    turns = [row for n in range(5) for row in turn(f"q{n}", f"a{n}")]
    path = rollout(tmp_path, meta(), *turns, event("thread_rolled_back", num_turns=3))
    assert spoken(path) == ["u:q0", "a:a0", "u:q1", "a:a1"]
    assert [m.text for m in read(path).messages if not m.active] == ["q2", "a2", "q3", "a3", "q4", "a4"]


def test_the_newest_replacement_history_is_the_base(tmp_path: Path) -> None:
    rows = [compacted(f"s{n}", message("user", f"kept {n}")) for n in range(3)]
    assert spoken(rollout(tmp_path, meta(), *turn("one", "1"), *rows, said("user", "on"))) == ["u:kept 2", "u:on"]


def test_legacy_compacted_keeps_user_messages_and_the_summary(tmp_path: Path) -> None:
    path = rollout(tmp_path, meta(), *turn("one", "1"), compacted("We did it"), said("user", "on"))
    assert spoken(path) == ["u:one", "u:We did it", "u:on"]
    assert not any(SUMMARY_PREFIX in m.text for m in CODEX.context(read(path)))


def test_the_last_line_of_an_id_wins_in_the_index_read_from_its_end(tmp_path: Path) -> None:
    rows = [{"id": THREAD, "thread_name": f"name {n}", "updated_at": "t"} for n in range(500)]
    data = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "session_index.jsonl").write_text(data + '{"id": "' + THREAD, encoding="utf-8")
    assert thread_name(tmp_path, THREAD) == "name 499"
    assert thread_name(tmp_path, PARENT) == ""
    assert thread_name(tmp_path / "nowhere", THREAD) == ""


def test_a_plain_rollout_is_preferred_to_a_compressed_one(tmp_path: Path) -> None:
    beside = rollout(tmp_path / "sessions" / "2026" / "11" / "21", meta())
    plain = rollout(tmp_path / "archived_sessions", meta(PARENT), thread=PARENT)
    packed = beside.parent / (plain.name + ".zst")
    packed.touch()
    assert find_rollout(beside, PARENT) == plain
    plain.unlink()
    assert find_rollout(beside, PARENT) == packed
