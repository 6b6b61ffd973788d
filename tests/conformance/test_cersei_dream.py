"""Cersei's own tests of its auto-dream, by name, and the cases that it leaves untested.

Where its code is defective (state written at the end, corrupt state read as never, parts counted as sessions) ours
differs on purpose; those cases have tests of their own.
"""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slowwave.consolidation.gates import changed_since, read_state, render_state, session_gate, time_gate
from slowwave.consolidation.lock import held, refusal
from slowwave.formats import SessionFiles, SessionKind
from slowwave.formats.sessions import StoredSession
from slowwave.memory.folder import LOCK_FILE, STATE_FILE

NOW = datetime(2026, 11, 21, 3, 30, tzinfo=UTC)
SECONDS = int(NOW.timestamp())


def _session(name: str, mtime: float, kind: SessionKind = "main", parts: int = 1) -> StoredSession:
    paths = tuple(Path(f"{name}_part{n}.jsonl" if n else f"{name}.jsonl") for n in range(parts))
    return StoredSession("cersei", SessionFiles(name, paths), kind, Path(), 1, int(mtime * 1e9))


def _sessions_pass(sessions: list[StoredSession], last: int | None = None) -> bool:
    return session_gate("p", changed_since(sessions, last, lambda _s: ""), 5).passed


@pytest.mark.parametrize(
    ("name", "seconds_ago", "passes"),
    [
        ("test_time_gate_never_consolidated", None, True),
        ("test_time_gate_recent", 3600, False),
        ("test_time_gate_old", 90_000, True),
        ("exactly 24 h", 86_400, True),
        ("a second less", 86_399, False),
    ],
)
def test_time_gate(name: str, seconds_ago: int | None, passes: bool) -> None:
    last = None if seconds_ago is None else SECONDS - seconds_ago
    assert time_gate("p", last, NOW, 24.0).passed == passes, name


def test_session_gate_no_sessions() -> None:
    assert not _sessions_pass([])


def test_session_gate_enough_sessions() -> None:
    assert _sessions_pass([_session(f"s{n}", SECONDS) for n in range(6)])


def test_session_gate_four_are_too_few_and_five_are_enough() -> None:
    assert not _sessions_pass([_session(f"s{n}", SECONDS) for n in range(4)])
    assert _sessions_pass([_session(f"s{n}", SECONDS) for n in range(5)])


def test_session_gate_compares_whole_seconds_strictly() -> None:
    assert not _sessions_pass([_session(f"s{n}", SECONDS + 0.9) for n in range(5)], last=SECONDS)
    assert _sessions_pass([_session(f"s{n}", SECONDS + 1) for n in range(5)], last=SECONDS)


def test_session_gate_counts_neither_parts_nor_sub_agents_nor_live_sessions() -> None:
    assert not _sessions_pass([_session("big", SECONDS, parts=9)])
    assert not _sessions_pass([_session(f"s{n}", SECONDS, "subagent") for n in range(9)])
    changed = changed_since(
        [_session(f"s{n}", SECONDS) for n in range(6)], None, lambda s: "open" if s.id < "s2" else ""
    )
    gate = session_gate("p", changed, 5)
    assert not gate.passed
    assert "2 in use do not count" in gate.reason


def test_lock_gate_no_lock(tmp_path: Path) -> None:
    assert refusal(tmp_path, timedelta(hours=1)) == ""


def test_lock_gate_active_lock(tmp_path: Path) -> None:
    path = tmp_path / LOCK_FILE
    path.write_text(str(int(path.parent.stat().st_mtime)))
    assert refusal(tmp_path, timedelta(hours=1))


def test_lock_acquire_release(tmp_path: Path) -> None:
    with held(tmp_path, timedelta(hours=1)):
        # what Cersei looks at: the file is there and young
        assert os.stat(tmp_path / LOCK_FILE).st_mtime > 0  # noqa: PTH116
    assert not (tmp_path / LOCK_FILE).exists()


def test_state_persistence(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None
    (tmp_path / STATE_FILE).write_bytes(render_state(SECONDS))
    assert read_state(tmp_path) == SECONDS
    # the very bytes of serde's pretty printer
    assert (tmp_path / STATE_FILE).read_text() == f'{{\n  "last_consolidated_at": {SECONDS},\n  "lock_etag": null\n}}'
    (tmp_path / STATE_FILE).write_text(json.dumps({"last_consolidated_at": None, "lock_etag": None}))
    assert read_state(tmp_path) is None
