"""Codex's behaviours as formats.md §11.6 lists them, one test each.

Its memory pipeline (leases, retries, watermarks) is no part of a rollout and is not tried here.
"""

import json
from pathlib import Path

from slowwave.formats.codex import find_rollout, thread_name
from slowwave.formats.codex.dialect import CODEX
from slowwave.formats.codex.records import SUMMARY_PREFIX
from slowwave.formats.sessions import session_id
from tests.unit.formats.codex_files import (
    THREAD,
    compacted,
    compressed,
    event,
    message,
    meta,
    read,
    rollout,
    said,
    spoken,
    turn,
)

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


def test_a_fork_by_reference_has_its_parent_s_turns_wherever_that_went(tmp_path: Path) -> None:
    parent = rollout(tmp_path / "archived_sessions", meta(PARENT), *turn("one", "1"), thread=PARENT)
    end = parent.stat().st_size
    base = {"thread_id": PARENT, "end_ordinal_exclusive": 4, "end_byte_offset": end}
    fork = meta(forked_from_id=PARENT, history_base=base)
    path = rollout(tmp_path / "sessions" / "2026" / "11" / "21", fork, said("user", "other"))
    assert spoken(path) == ["u:one", "a:1", "u:other"]
    compressed(parent)
    parent.unlink()
    assert (spoken(path), read(path).kind) == (["u:one", "a:1", "u:other"], "fork")


def test_a_sub_agent_has_a_rollout_of_its_own_that_is_named_by_its_thread(tmp_path: Path) -> None:
    own = meta(PARENT, session_id=THREAD, parent_thread_id=THREAD, thread_source="subagent", agent_nickname="Ada")
    path = rollout(tmp_path, own, *turn("Search it", "Found"), thread=PARENT)
    transcript = read(path)
    assert (transcript.kind, [m.origin for m in transcript.messages]) == ("subagent", ["injected", "model"])
    assert session_id(path.name) == PARENT


def test_a_line_that_was_torn_and_written_again_costs_nothing_and_ordinals_count_on(tmp_path: Path) -> None:
    """The client resumes after a torn line with the ordinal of that line, and writes some without any."""
    rows = [{**row, "ordinal": n} for n, row in enumerate([meta(), *turn("one", "1")])]
    again = {**said("user", "two"), "ordinal": 3}
    path = rollout(tmp_path, *rows, json.dumps(again).encode()[:40], again, said("assistant", "2"))
    transcript = read(path)
    assert spoken(path) == ["u:one", "a:1", "u:two", "a:2"]
    assert [line.ordinal for line in transcript.lines] == [0, 1, 2, 3, 4, 5]
    assert [p.lines for p in transcript.problems] == [1]
