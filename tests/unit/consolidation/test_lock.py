"""The lock of a dream: exclusive, alive, taken over only from the dead, honoured by and honouring others."""

import os
import socket
import threading
import time
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from slowwave.consolidation import lock as lock_module
from slowwave.consolidation.lock import CLAUDE_LOCK, held, refusal
from slowwave.errors import LockHeldError, LockLostError
from slowwave.locks import Owner, is_provably_dead, parse_owner, this_process
from slowwave.memory.folder import LOCK_FILE

HOUR = timedelta(hours=1)
NOW = 1_795_145_400.0


def _wall() -> float:
    return NOW


def _lock(memory: Path, body: str, *, age: float = 0.0) -> Path:
    memory.mkdir(exist_ok=True)
    path = memory / LOCK_FILE
    path.write_text(body)
    os.utime(path, (NOW - age, NOW - age))
    return path


def test_the_lock_names_its_time_and_owner_and_is_gone_afterwards(tmp_path: Path) -> None:
    with held(tmp_path / "m", HOUR) as lock:
        lock.check()
        stamp, owner, since_start = (tmp_path / "m" / LOCK_FILE).read_bytes().splitlines()
        assert len(stamp) == len(since_start) == 10
        assert stamp.isdigit()
        assert since_start.isdigit()
        found = parse_owner(owner)
        assert found
        assert (found.host, found.pid) == (socket.gethostname(), os.getpid())
    assert not (tmp_path / "m" / LOCK_FILE).exists()


def test_two_cannot_hold_it(tmp_path: Path) -> None:
    with held(tmp_path, HOUR), pytest.raises(LockHeldError, match=f"process {os.getpid()} on"), held(tmp_path, HOUR):
        pytest.fail("held twice")
    with held(tmp_path, HOUR):
        pass


@pytest.mark.parametrize(("age", "is_free"), [(0, False), (3600, False), (3601, True)])
def test_a_lock_of_cersei_is_honoured_for_an_hour(tmp_path: Path, age: int, is_free: bool) -> None:
    _lock(tmp_path, str(int(NOW - age)), age=age)
    assert (refusal(tmp_path, HOUR, _wall) == "") == is_free


def test_the_older_of_body_and_modification_time_counts(tmp_path: Path) -> None:
    _lock(tmp_path, str(int(NOW - 4000)), age=10)
    assert refusal(tmp_path, HOUR, _wall) == ""
    _lock(tmp_path, str(int(NOW - 10)), age=4000)
    assert refusal(tmp_path, HOUR, _wall) == ""
    _lock(tmp_path, "", age=10)
    assert "Cersei" in refusal(tmp_path, HOUR, _wall)
    _lock(tmp_path, str(int(NOW) + 500), age=-500)
    assert "in the future" in refusal(tmp_path, HOUR, _wall)


def test_cersei_judges_our_lock_by_its_modification_time_and_finds_it_alive(tmp_path: Path) -> None:
    with held(tmp_path, HOUR, wall=_wall) as lock:
        path = tmp_path / LOCK_FILE
        os.utime(path, (1, 1))
        assert lock.beat()
        assert path.stat().st_mtime > 1_000_000
        assert path.read_bytes().startswith(b"1795145400\n")


@pytest.mark.parametrize("hours", [2, -2])
def test_a_clock_that_is_set_makes_nobody_take_a_living_owner_for_dead(tmp_path: Path, hours: int) -> None:
    with held(tmp_path, HOUR, beat_s=3600):
        assert f"held by process {os.getpid()}" in refusal(tmp_path, HOUR, lambda: time.time() + hours * 3600)


def test_an_owner_that_has_been_suspended_for_too_long_counts_as_dead_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(tmp_path, HOUR, beat_s=3600) as lock:
        now = lock_module.steady()
        monkeypatch.setattr(lock_module, "steady", lambda: now + 3601)
        assert refusal(tmp_path, HOUR, lambda: time.time() - 7200) == ""
        assert lock.beat()
        assert "held by process" in refusal(tmp_path, HOUR)


def test_the_heartbeat_runs_while_the_lock_is_held(tmp_path: Path) -> None:
    beats = 0
    enough = threading.Event()

    def wall() -> float:
        nonlocal beats
        beats += 1
        if beats > 4:
            enough.set()
        return NOW + beats

    with held(tmp_path, HOUR, wall=wall, beat_s=0.001):
        assert enough.wait(20)


def test_the_lock_of_a_dead_process_is_taken_over_at_once(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        with held(tmp_path, HOUR):
            os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)
    assert (tmp_path / LOCK_FILE).exists()
    with held(tmp_path, HOUR) as lock:
        lock.check()
    assert not (tmp_path / LOCK_FILE).exists()


def test_a_link_to_nowhere_does_not_lock_for_ever(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).symlink_to(tmp_path / "nowhere")
    with held(tmp_path, HOUR) as lock:
        lock.check()
    assert not (tmp_path / LOCK_FILE).is_symlink()


def test_only_a_provably_dead_owner_counts_as_dead() -> None:
    here = this_process("t")
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # a zombie now
    gone = Owner(here.host, here.boot, here.pid_namespace, pid, "", "t")
    assert is_provably_dead(gone)
    os.waitpid(pid, 0)
    assert is_provably_dead(gone)
    assert not is_provably_dead(here)
    assert is_provably_dead(Owner(here.host, here.boot, here.pid_namespace, here.pid, "1", "t"))
    for elsewhere in ({"host": "x"}, {"boot": "x"}, {"pid_namespace": "x"}):
        assert not is_provably_dead(msgspec.structs.replace(gone, **elsewhere))


def test_a_lock_that_was_taken_over_fails_the_check_and_is_not_released(tmp_path: Path) -> None:
    path = tmp_path / LOCK_FILE
    with held(tmp_path, HOUR) as lock:
        path.write_text("1795145400")
        assert not lock.beat()
        with pytest.raises(LockLostError, match="taken over"):
            lock.check()
    assert path.read_text() == "1795145400"


def test_a_lock_that_somebody_removed_is_lost(tmp_path: Path) -> None:
    with held(tmp_path, HOUR) as lock:
        (tmp_path / LOCK_FILE).unlink()
        with pytest.raises(LockLostError):
            lock.check()


@pytest.mark.parametrize(
    ("pid", "age", "is_free"),
    [
        (str(os.getpid()), 10, False),
        (str(os.getpid()), 3601, True),
        (str(2**22 + 1), 10, True),
        ("9" * 5000, 10, True),
        ("", 10, True),
    ],
    ids=["own", "own and old", "of nobody", "no number of a process", "empty"],
)
def test_the_lock_of_claude_code_is_honoured_while_its_process_lives(
    tmp_path: Path,
    pid: str,
    age: int,
    is_free: bool,
) -> None:
    path = tmp_path / CLAUDE_LOCK
    path.write_text(pid)
    os.utime(path, (NOW - age, NOW - age))
    assert (refusal(tmp_path, HOUR, _wall) == "") == is_free
