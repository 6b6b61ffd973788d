"""Sessions that a client has open are refused: Codex's writer lock, the lock of Clawdbot, Claude Code's notes."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slowwave.dialects.times import millisecond_time
from slowwave.errors import RefusedError
from slowwave.stores.sessions import Sessions
from slowwave.stores.writing import codex_lock, pi_lock
from slowwave.stores.writing.base import Compaction
from tests.unit.dialects.codex_files import THREAD, meta, rollout, turn
from tests.unit.dialects.pi_files import Session
from tests.unit.stores.writing.written import NOW, records, sessions_in, unchanged

NOBODY = 2**22 + 1  # above the largest id that Linux gives


_HOLD = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def codex(tmp_path: Path) -> tuple[Sessions, Path, Path]:
    home = tmp_path / ".codex"
    path = rollout(home / "sessions" / "2026" / "11" / "21", meta(), *turn("one", "1"))
    (home / codex_lock.FOLDER).mkdir()
    return sessions_in(path.parent, home=tmp_path), path, home / codex_lock.FOLDER / f"{THREAD}.lock"


def test_a_thread_that_a_running_codex_holds_is_not_written_to(tmp_path: Path):
    sessions, path, lock = codex(tmp_path)
    command = [sys.executable, "-c", _HOLD, str(lock)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    assert codex_lock.is_held(path)
    writes: list[Callable[[], object]] = [
        lambda: sessions.write_user_message(THREAD, "two"),
        lambda: sessions.compact(THREAD, Compaction("so far")),
        lambda: sessions.name(THREAD, "x"),
    ]
    for attempt in writes:
        with pytest.raises(RefusedError, match="open in a running Codex"):
            unchanged(path, attempt)
    holder.communicate()
    assert not codex_lock.is_held(path)
    sessions.write_user_message(THREAD, "two")


def test_a_lock_file_that_was_left_behind_means_nothing(tmp_path: Path):
    sessions, path, lock = codex(tmp_path)
    lock.touch()
    assert not codex_lock.is_held(path)
    sessions.write_user_message(THREAD, "two")
    assert len(records(path)) == 5


def test_codex_is_kept_out_while_a_rollout_is_written_to(tmp_path: Path):
    _, path, lock = codex(tmp_path)
    with codex_lock.writer_lock(path, THREAD):
        with lock.open("rb") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with (lock.parent / ".coordination.lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert [p.name for p in lock.parent.iterdir()] == [".coordination.lock"]


def test_homes_without_locks_get_none(tmp_path: Path):
    path = rollout(tmp_path / ".codex" / "sessions" / "2026" / "11" / "21", meta(), *turn("one", "1"))
    sessions_in(path.parent, home=tmp_path).write_user_message(THREAD, "two")
    assert {p.name for p in (tmp_path / ".codex").iterdir()} == {"sessions"}


def clawdbot(tmp_path: Path) -> tuple[Sessions, Path]:
    made = Session()
    made.user("one")
    made.model("1")
    path = tmp_path / "other-session.jsonl"
    path.write_bytes(made.data())
    (tmp_path / pi_lock.STORE).write_text('{"agent:main:main":{"sessionId":"other-session","updatedAt":1}}')
    return sessions_in(tmp_path), path


def lock_of(path: Path, pid: int | None, created: datetime = NOW) -> Path:
    lock = pi_lock.lock_path(path)
    lock.write_text(json.dumps({"pid": pid, "createdAt": millisecond_time(created)}))
    return lock


def test_a_transcript_that_clawdbot_is_writing_is_not_written_to(tmp_path: Path):
    sessions, path = clawdbot(tmp_path)
    lock = lock_of(path, os.getpid())
    with pytest.raises(RefusedError, match=f"process {os.getpid()}"):
        unchanged(path, lambda: sessions.write_user_message("other-session", "two"))
    assert json.loads(lock.read_bytes())["pid"] == os.getpid()


@pytest.mark.parametrize(
    ("pid", "age"), [(NOBODY, timedelta(seconds=1)), (os.getpid(), timedelta(minutes=31)), (None, timedelta(hours=1))]
)
def test_a_lock_of_a_dead_process_or_an_old_one_is_stale(tmp_path: Path, pid: int | None, age: timedelta):
    sessions, path = clawdbot(tmp_path)
    lock = lock_of(path, pid, NOW - age)
    assert pi_lock.holder(path, NOW) is None
    sessions.write_user_message("other-session", "two")
    assert len(records(path)) == 4
    assert not lock.exists()


def test_a_lock_that_is_being_made_is_empty_for_a_moment_and_counts(tmp_path: Path):
    sessions, path = clawdbot(tmp_path)
    lock = pi_lock.lock_path(path)
    lock.touch()
    os.utime(lock, (NOW.timestamp(), NOW.timestamp()))
    with pytest.raises(RefusedError, match="does not say which"):
        unchanged(path, lambda: sessions.write_user_message("other-session", "two"))
    assert lock.exists()


def test_clawdbot_is_kept_out_meanwhile_and_finds_no_lock_afterwards(tmp_path: Path):
    _, path = clawdbot(tmp_path)
    with pi_lock.transcript_lock(path, "other-session", NOW):
        held = json.loads(pi_lock.lock_path(path).read_bytes())
        assert held == {"pid": os.getpid(), "createdAt": millisecond_time(NOW)}
        with pytest.raises(RefusedError), pi_lock.transcript_lock(path, "other-session", NOW):
            pytest.fail("two writers at once")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other-session.jsonl", "sessions.json"]


def test_a_lock_that_somebody_took_over_is_not_removed(tmp_path: Path):
    _, path = clawdbot(tmp_path)
    lock = pi_lock.lock_path(path)
    with pi_lock.transcript_lock(path, "other-session", NOW):
        lock.unlink()
        lock_of(path, NOBODY)
    assert json.loads(lock.read_bytes())["pid"] == NOBODY


def test_pis_own_folders_get_no_lock(tmp_path: Path):
    _, path = clawdbot(tmp_path)
    (tmp_path / pi_lock.STORE).unlink()
    with pi_lock.transcript_lock(path, "other-session", NOW):
        assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert datetime.now(UTC) > NOW
