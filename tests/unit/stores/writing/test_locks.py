"""Sessions that a client has open are refused: Codex's writer lock, the lock of Clawdbot, Claude Code's notes."""

import errno
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slowwave.errors import LockHeldError, RefusedError
from slowwave.formats import codex as client
from slowwave.formats import locks as openclaw_lock
from slowwave.formats import millisecond_time
from slowwave.formats.locks import held_lock, holder, lock_path
from slowwave.formats.openclaw import store
from slowwave.formats.writing import Compaction
from slowwave.library import Sessions
from slowwave.locks import created_at
from tests.unit.formats.codex_files import THREAD, meta, rollout, turn
from tests.unit.formats.pi_files import Session
from tests.unit.stores.writing.written import records, sessions_in, unchanged

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
    (home / client.CODEX_LOCKS).mkdir()
    return sessions_in(path.parent, home=tmp_path), path, home / client.CODEX_LOCKS / f"{THREAD}.lock"


def test_a_thread_that_a_running_codex_holds_is_not_written_to(tmp_path: Path):
    sessions, path, lock = codex(tmp_path)
    command = [sys.executable, "-c", _HOLD, str(lock)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    assert client.is_held(path)
    writes: list[Callable[[], object]] = [
        lambda: sessions.write_user_message(THREAD, "two"),
        lambda: sessions.compact(THREAD, Compaction("so far")),
        lambda: sessions.name(THREAD, "x"),
    ]
    for attempt in writes:
        with pytest.raises(RefusedError, match="open in a running Codex"):
            unchanged(path, attempt)
    holder.communicate()
    assert not client.is_held(path)
    sessions.write_user_message(THREAD, "two")


def test_a_lock_file_that_was_left_behind_means_nothing(tmp_path: Path):
    sessions, path, lock = codex(tmp_path)
    lock.touch()
    assert not client.is_held(path)
    sessions.write_user_message(THREAD, "two")
    assert len(records(path)) == 5


def test_codex_is_kept_out_while_a_rollout_is_written_to(tmp_path: Path):
    _, path, lock = codex(tmp_path)
    with client.writer_lock(path, THREAD):
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
    (tmp_path / store.NAME).write_text('{"agent:main:main":{"sessionId":"other-session","updatedAt":1}}')
    return sessions_in(tmp_path), path


def lock_of(path: Path, pid: int | None, age: timedelta = timedelta(0)) -> Path:
    lock = lock_path(path)
    at = datetime.now(UTC) - age
    lock.write_text(json.dumps({"pid": pid, "createdAt": millisecond_time(at)}))
    os.utime(lock, (at.timestamp(), at.timestamp()))
    return lock


def test_a_transcript_that_clawdbot_is_writing_is_not_written_to(tmp_path: Path):
    sessions, path = clawdbot(tmp_path)
    lock = lock_of(path, os.getpid())
    with pytest.raises(LockHeldError, match=f"process {os.getpid()}"):
        unchanged(path, lambda: sessions.write_user_message("other-session", "two"))
    assert json.loads(lock.read_bytes())["pid"] == os.getpid()


@pytest.mark.parametrize(
    ("pid", "age"),
    [(NOBODY, timedelta(minutes=31)), (os.getpid(), timedelta(days=3650)), (None, timedelta(hours=1))],
    ids=["of nobody", "own", "without a process"],
)
def test_an_old_lock_of_no_process_that_runs_is_stale(tmp_path: Path, pid: int | None, age: timedelta):
    sessions, path = clawdbot(tmp_path)
    lock = lock_of(path, pid, age)
    sessions.write_user_message("other-session", "two")
    assert len(records(path)) == 4
    assert not lock.exists()


def test_a_lock_of_a_process_that_may_be_one_of_another_container_counts_until_it_is_old(tmp_path: Path):
    sessions, path = clawdbot(tmp_path)
    lock = lock_of(path, NOBODY)
    with pytest.raises(LockHeldError, match="does not run here"):
        unchanged(path, lambda: sessions.write_user_message("other-session", "two"))
    assert lock.exists()


def test_a_lock_that_is_being_made_is_empty_for_a_moment_and_counts(tmp_path: Path):
    sessions, path = clawdbot(tmp_path)
    lock_path(path).touch()
    with pytest.raises(LockHeldError, match="not named yet"):
        unchanged(path, lambda: sessions.write_user_message("other-session", "two"))
    assert lock_path(path).exists()


def test_a_lock_of_ours_is_not_taken_for_one_of_a_dead_process_because_the_clock_was_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "sessions.json"
    with held_lock(path):
        # a process starts at the time of boot and so much, and the time of boot follows the clock
        started = (created_at(os.getpid()) or 0.0) + 7200

        def moved(_pid: int) -> float:
            return started

        monkeypatch.setattr(openclaw_lock, "created_at", moved)
        monkeypatch.setattr(openclaw_lock.time, "time", lambda: datetime.now(UTC).timestamp() + 7200)
        assert holder(path) == f"process {os.getpid()}"
        told = json.loads(lock_path(path).read_bytes())
        lock_path(path).write_text(json.dumps({**told, "ticks": told["ticks"] - 1}))
        assert holder(path) == ""


def test_clawdbot_is_kept_out_while_a_transcript_is_written_to(tmp_path: Path):
    sessions, path = clawdbot(tmp_path)
    writer, target = sessions.writers.known(sessions.find("other-session"))
    with writer.alone(target):
        held = json.loads(lock_path(path).read_bytes())
        assert held["pid"] == os.getpid()
        assert "createdAt" in held
        with ThreadPoolExecutor(1) as other, pytest.raises(LockHeldError):
            other.submit(sessions_in(tmp_path).write_user_message, "other-session", "two").result()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other-session.jsonl", "sessions.json"]


def test_pis_own_folders_get_no_lock_but_one_that_is_there_counts(tmp_path: Path):
    sessions, path = clawdbot(tmp_path)
    (tmp_path / store.NAME).unlink()
    writer, target = sessions.writers.known(sessions.find("other-session"))
    with writer.alone(target):
        assert [p.name for p in tmp_path.iterdir()] == [path.name]
    lock_of(path, os.getpid())
    with pytest.raises(LockHeldError, match="close the session there first"):
        unchanged(path, lambda: sessions.write_user_message("other-session", "two"))


def _refusing(flags_refused: int, number: int) -> Callable[..., int]:
    """Return an ``open`` that knows no such flags."""
    opened = os.open

    def refuse(path: object, flags: int, *more: int, **others: int) -> int:
        if flags & flags_refused == flags_refused:
            raise OSError(number, os.strerror(number), str(path))
        return opened(path, flags, *more, **others)  # pyright: ignore[reportArgumentType, reportCallIssue]

    return refuse


@pytest.mark.parametrize("system", ["Linux", "a file system without nameless files", "another"])
def test_a_lock_appears_whole_and_leaves_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
):
    path = tmp_path / "s.jsonl"
    if system == "another":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif system != "Linux":
        monkeypatch.setattr(os, "open", _refusing(os.O_TMPFILE, errno.EOPNOTSUPP))
    with held_lock(path):
        (lock,) = tmp_path.iterdir()
        assert lock == lock_path(path)
        assert json.loads(lock.read_bytes())["pid"] == os.getpid()
        assert lock.stat().st_mode & 0o777 == 0o600
        with ThreadPoolExecutor(1) as pool, pytest.raises(LockHeldError):
            pool.submit(lambda: held_lock(path, timeout_s=0).__enter__()).result()
        assert list(tmp_path.iterdir()) == [lock]
    assert list(tmp_path.iterdir()) == []
