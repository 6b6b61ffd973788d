"""Which processes run and when they started, and that nobody pays for the question who does not ask it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slowwave.locks import created_at, is_running, start_ticks
from slowwave.memory.folder import OWN_FOLDER, sibling
from slowwave.memory.transaction import recover

LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")


def ended() -> subprocess.Popen[bytes]:
    """A child that has ended and was not waited for yet."""
    child = subprocess.Popen([sys.executable, "-S", "-c", ""], stdout=subprocess.PIPE)
    assert child.stdout
    child.stdout.read()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    return child


def test_a_process_runs_until_it_ends():
    assert is_running(os.getpid())
    child = ended()
    assert not is_running(child.pid)
    child.communicate()
    assert not is_running(child.pid)


@pytest.mark.parametrize("number", [-1, 2**31, 10**15, 10**30])
def test_a_number_that_no_process_can_have_names_none(number: int):
    assert not is_running(number)
    assert created_at(number) is None
    assert start_ticks(number) is None


@LINUX
def test_a_name_with_brackets_does_not_shift_the_start():
    odd = "import ctypes, os; ctypes.CDLL(None).prctl(15, b'a) 1 2', 0, 0, 0); print('x', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", odd], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        before = start_ticks(child.pid)
        child.stdout.read(1)
        assert b"a) 1 2" in Path(f"/proc/{child.pid}/stat").read_bytes()
        assert start_ticks(child.pid) == before
        child.stdin.write(b"\n")


def test_psutil_is_loaded_when_it_is_asked_only():
    code = (
        "import sys, slowwave.stores.projects, slowwave.consolidation.lock, slowwave.memory.transaction;"
        "sys.exit('psutil' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_temporary_file_with_the_number_of_no_process_is_taken_away(tmp_path: Path):
    memory = tmp_path / "memory"
    left = memory / OWN_FOLDER / ".slowwave-tmp-1234567890123456-ab"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"x")
    # what a killed dream leaves makes the next one look around
    sibling(memory, "trash", "1").mkdir()
    recover(memory)
    assert not left.exists()
