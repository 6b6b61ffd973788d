"""Which sessions count as live: written to a short while ago, or open in a client that really runs."""

import fcntl
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from slowwave.formats import SessionFiles
from slowwave.formats.claude import is_same_process
from slowwave.formats.sessions import StoredSession
from slowwave.stores.discovery import active_reason, live_reason
from tests.unit.stores.store_builder import claude, write

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def session_at(path: Path, age: timedelta, kind: str = "main") -> StoredSession:
    write(path, claude("user", "hi"))
    stamp = int((NOW - age).timestamp() * 1e9)
    os.utime(path, ns=(stamp, stamp))
    project = path.parents[2] if kind == "subagent" else path.parent
    files = SessionFiles(path.stem, (path,))
    return StoredSession("claude", files, kind, project, path.stat().st_size, stamp)  # type: ignore[arg-type]


def claim(home: Path, pid: int, session: str, **fields: object) -> None:
    folder = home / ".claude" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{pid}.json").write_text(json.dumps({"sessionId": session, **fields}))


@pytest.fixture
def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_session_that_rests_is_not_live(tmp_path: Path):
    assert live_reason(session_at(tmp_path / "s.jsonl", 2 * HOUR), NOW, HOUR, tmp_path) is None


def test_a_session_that_just_changed_is_live_until_the_idle_time_is_over(tmp_path: Path):
    assert "must rest" in (
        live_reason(session_at(tmp_path / "a.jsonl", HOUR - timedelta(seconds=1)), NOW, HOUR, tmp_path) or ""
    )
    assert live_reason(session_at(tmp_path / "b.jsonl", HOUR), NOW, HOUR, tmp_path) is None


def test_the_files_are_looked_at_again(tmp_path: Path):
    session = session_at(tmp_path / "s.jsonl", 2 * HOUR)
    stamp = NOW.timestamp() - 5
    os.utime(tmp_path / "s.jsonl", (stamp, stamp))
    assert live_reason(session, NOW, HOUR, tmp_path)


def test_a_date_in_the_future_is_named(tmp_path: Path):
    assert "future" in (live_reason(session_at(tmp_path / "s.jsonl", -HOUR), NOW, HOUR, tmp_path) or "")


def test_a_running_client_claims_its_session(tmp_path: Path):
    session = session_at(tmp_path / "s.jsonl", 2 * HOUR)
    claim(tmp_path, os.getpid(), "s")
    assert f"process {os.getpid()}" in (live_reason(session, NOW, HOUR, tmp_path) or "")


def test_the_claims_beside_the_store_count_too(tmp_path: Path):
    session = session_at(tmp_path / "far" / ".claude" / "projects" / "-p" / "s.jsonl", 2 * HOUR)
    claim(tmp_path / "far", os.getpid(), "s")
    assert live_reason(session, NOW, HOUR, tmp_path)


def test_other_sessions_broken_claims_and_dead_processes_claim_nothing(tmp_path: Path, dead_pid: int):
    session = session_at(tmp_path / "s.jsonl", 2 * HOUR)
    claim(tmp_path, os.getpid(), "other")
    claim(tmp_path, dead_pid, "s")
    (tmp_path / ".claude" / "sessions" / "1.json").write_text("{")
    (tmp_path / ".claude" / "sessions" / "notes.json").write_text("{}")
    assert live_reason(session, NOW, HOUR, tmp_path) is None


def test_a_sub_agent_is_live_as_long_as_its_session(tmp_path: Path):
    session = session_at(tmp_path / "s" / "subagents" / "agent-1.jsonl", 2 * HOUR, "subagent")
    assert live_reason(session, NOW, HOUR, tmp_path) is None
    claim(tmp_path, os.getpid(), "s")
    assert live_reason(session, NOW, HOUR, tmp_path)


def test_a_reused_process_number_is_another_process():
    created = psutil.Process().create_time()
    pid = os.getpid()
    same = [created, int(created * 1000), datetime.fromtimestamp(created, UTC).isoformat(), str(int(created))]
    other = [created - 100, int((created - 100) * 1000), "2020-01-01T00:00:00Z"]
    assert [is_same_process(pid, started) for started in same] == [True] * len(same)
    assert [is_same_process(pid, started) for started in other] == [False] * len(other)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="start times in clock ticks are Linux's")
def test_start_times_in_clock_ticks_are_compared():
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    assert is_same_process(os.getpid(), ticks)
    assert is_same_process(os.getpid(), str(ticks))
    assert not is_same_process(os.getpid(), ticks + 1)


def test_an_unknown_start_time_proves_nothing():
    assert is_same_process(os.getpid(), None)
    assert is_same_process(os.getpid(), "on a Tuesday")
    assert is_same_process(os.getpid(), {"a": 1})


def session_written(path: Path, *, touched: timedelta, written: timedelta) -> StoredSession:
    """A session whose file is ``touched`` old and whose last record says that it is ``written`` old."""
    session = session_at(path, touched)
    stamp = (NOW - written).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    path.write_text(
        json.dumps({"type": "user", "sessionId": path.stem, "timestamp": stamp}) + "\n" + '{"type":"mode"}\n'
    )
    os.utime(path, ns=(session.mtime_ns, session.mtime_ns))
    return session


def test_a_copy_of_an_old_session_is_read_but_still_counts_as_live_for_changes(tmp_path: Path):
    session = session_written(tmp_path / "s.jsonl", touched=timedelta(seconds=5), written=48 * HOUR)
    assert active_reason(session, NOW, HOUR, tmp_path) is None
    assert live_reason(session, NOW, HOUR, tmp_path)


def test_a_session_with_young_records_is_not_read(tmp_path: Path):
    session = session_written(tmp_path / "s.jsonl", touched=timedelta(seconds=5), written=timedelta(seconds=9))
    assert "must rest" in (active_reason(session, NOW, HOUR, tmp_path) or "")


def test_without_any_time_in_the_records_the_file_decides(tmp_path: Path):
    session = session_at(tmp_path / "s.jsonl", timedelta(seconds=5))
    (tmp_path / "s.jsonl").write_text('{"role":"user","content":"hi"}\n')
    os.utime(tmp_path / "s.jsonl", ns=(session.mtime_ns, session.mtime_ns))
    assert active_reason(session, NOW, HOUR, tmp_path)


def test_an_old_session_that_a_client_has_open_is_not_read(tmp_path: Path):
    session = session_written(tmp_path / "s.jsonl", touched=48 * HOUR, written=48 * HOUR)
    claim(tmp_path, os.getpid(), "s")
    assert active_reason(session, NOW, HOUR, tmp_path)


def test_a_rollout_that_a_codex_holds_the_lock_of_is_live(tmp_path: Path):
    thread = "01a1ffe2-7c82-7661-a5bb-89867f4fded4"
    rollout = tmp_path / ".codex" / "sessions" / "2026" / "11" / "20" / f"rollout-2026-11-20T10-00-00-{thread}.jsonl"
    session = replace(session_at(rollout, 2 * HOUR), dialect="codex")
    lock = tmp_path / ".codex" / "thread-writer-locks" / f"{thread}.lock"
    lock.parent.mkdir()
    with lock.open("w") as file:
        assert live_reason(session, NOW, HOUR, tmp_path) is None
        fcntl.flock(file, fcntl.LOCK_EX)
        assert live_reason(session, NOW, HOUR, tmp_path) == "open in a running Codex"
    assert live_reason(session, NOW, HOUR, tmp_path) is None


def test_a_transcript_with_the_lock_of_a_running_clawdbot_is_live(tmp_path: Path, dead_pid: int):
    session = replace(session_at(tmp_path / "s.jsonl", 2 * HOUR), dialect="openclaw")
    lock = tmp_path / "s.jsonl.lock"
    made = NOW.isoformat()
    lock.write_text(json.dumps({"pid": os.getpid(), "createdAt": made}))
    assert "process" in (live_reason(session, NOW, HOUR, tmp_path) or "")
    lock.write_text(json.dumps({"pid": dead_pid, "createdAt": made}))
    old = NOW.timestamp() - 1801
    os.utime(lock, (old, old))
    assert live_reason(session, NOW, HOUR, tmp_path) is None


def test_a_session_in_a_database_rests_when_its_own_rows_do(tmp_path: Path):
    database = write(tmp_path / "opencode.db", b"written a moment ago by another session")
    files = SessionFiles("ses_1", (database,))
    for age, is_live in ((HOUR, False), (HOUR / 2, True)):
        at = int((NOW - age).timestamp() * 1e9)
        session = StoredSession("opencode", files, "main", database, 10, at, in_database=True)
        assert (live_reason(session, NOW, HOUR, tmp_path) is not None) is is_live
        assert active_reason(session, NOW, HOUR, tmp_path) == live_reason(session, NOW, HOUR, tmp_path)
