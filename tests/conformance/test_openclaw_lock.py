"""Locks on transcripts and stores, after ``agents/session-write-lock.test.ts`` of Clawdbot 2026.1.27.

Deviations, each required by formats.md §13 (26 and 27): a lock appears whole, an empty one is not stolen, and release
goes by token. No signal handlers: a process that was killed leaves a lock, which is known to be its own and taken over.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slowwave.errors import LockHeldError, LockLostError, MovedError
from slowwave.formats.locks import STORE_LOCK, TRANSCRIPT_LOCK, held_lock, holder
from slowwave.formats.openclaw.store import SessionEntry, SessionStore, read_store, update_store

# A process that was started in the background ignores some signals, and so do its children.
HOLDER = """
import signal, sys
from pathlib import Path
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT):
    signal.signal(number, signal.SIG_DFL)
from slowwave.formats.locks import held_lock
with held_lock(Path("sessions.jsonl")):
    print("held", flush=True)
    sys.stdin.read()
"""


def lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def client_lock(path: Path, pid: int, age_s: float, *, body: str | None = None) -> Path:
    """Write a lock as the client does, some time ago."""
    lock = lock_of(path)
    at = time.time() - age_s
    text = json.dumps({"pid": pid, "startedAt": int(at * 1000)}) if body is None else body
    lock.write_text(text, encoding="utf-8")
    os.utime(lock, (at, at))
    return lock


def gone_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_reuses_locks_across_symlinked_session_paths(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    with held_lock(real / "s.jsonl") as first, held_lock(tmp_path / "link" / "s.jsonl") as second:
        assert first is second
    assert list(real.iterdir()) == []


def test_keeps_the_lock_file_until_the_last_release(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with held_lock(path):
        with held_lock(path):
            assert lock_of(path).exists()
        assert lock_of(path).exists()
    assert not lock_of(path).exists()


def test_reclaims_stale_lock_files(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    client_lock(path, gone_pid(), age_s=3600)
    with held_lock(path, timeout_s=0):
        assert json.loads(lock_of(path).read_bytes())["pid"] == os.getpid()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT, signal.SIGKILL])
def test_a_lock_of_a_process_that_a_signal_ended_is_free(tmp_path: Path, number: signal.Signals) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    path = tmp_path / "sessions.jsonl"
    with pytest.raises(LockHeldError, match=f"process {child.pid}"), held_lock(path, timeout_s=0):
        pass
    child.send_signal(number)
    assert child.wait(timeout=60) == -number
    with held_lock(path, timeout_s=0):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_whole_from_the_moment_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with held_lock(path):
        body = json.loads(lock_of(path).read_bytes())
        assert body["pid"] == os.getpid()
        assert isinstance(body["startedAt"], int)
        assert body["createdAt"].endswith("Z")
        assert lock_of(path).stat().st_mode & 0o777 == 0o600


def test_an_empty_lock_is_not_stolen(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lock = client_lock(path, 0, age_s=60, body="")
    with pytest.raises(LockHeldError, match="not named yet"), held_lock(path, timeout_s=0):
        pass
    assert lock.exists()
    client_lock(path, 0, age_s=TRANSCRIPT_LOCK.stale_s + 60, body="")
    assert holder(path) == ""


def test_a_lock_of_a_process_that_runs_is_kept_however_old_it_is(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    client_lock(path, os.getppid(), age_s=0)
    assert holder(path, STORE_LOCK, now=time.time() + 86400) == f"process {os.getppid()}"


def test_a_number_that_was_given_to_another_process_since_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    client_lock(path, os.getpid(), age_s=10 * 365 * 86400)
    assert holder(path, STORE_LOCK) == ""


def test_a_number_that_may_be_of_another_container_is_believed_until_the_lock_is_old(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    client_lock(path, gone_pid(), age_s=5)
    assert "does not run here" in holder(path, STORE_LOCK)
    client_lock(path, gone_pid(), age_s=STORE_LOCK.stale_s + 5)
    assert holder(path, STORE_LOCK) == ""


def test_release_leaves_the_lock_of_somebody_who_took_over(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with held_lock(path) as lock:
        client_lock(path, os.getppid(), age_s=0)
        with pytest.raises(LockLostError, match="taken over"):
            lock.check()
    assert json.loads(lock_of(path).read_bytes())["pid"] == os.getppid()


def test_a_store_is_not_written_by_who_lost_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    path.write_text("{}", encoding="utf-8")

    def change(store: SessionStore) -> None:
        store.put("agent:main:main", SessionEntry({}).patched({"sessionId": "mine"}))
        lock_of(path).unlink()
        client_lock(path, os.getppid(), age_s=0)

    with pytest.raises(LockLostError):
        update_store(path, change)
    assert path.read_bytes() == b"{}"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["sessions.json", "sessions.json.lock"]


def test_a_store_that_was_written_without_the_lock_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"

    def change(store: SessionStore) -> None:
        store.put("agent:main:main", SessionEntry({}).patched({"sessionId": "mine"}))
        path.write_text('{"agent:main:main": {"sessionId": "theirs"}}', encoding="utf-8")

    with pytest.raises(MovedError):
        update_store(path, change)
    assert read_store(path)["agent:main:main"].text("sessionId") == "theirs"
