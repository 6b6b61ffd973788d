"""An erasure beside every job that writes, begun at random moments: afterwards, and after a night, the name is nowhere.

Without a lock between them a job that had read a session wrote the name again behind the erasure, and both ended well.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.errors import REFUSED, LockHeldError
from slowwave.files import state_folder
from slowwave.locks import GATE, beside_jobs, erasing
from tests.unit.extraction.talk import CWD, Talk
from tests.unit.retention.test_subjects_erased import GATES, NAME, aged, home_of, left_in

STARTS = 50 if os.environ.get("DRILLS") else 1
ERASE = ("run", "erase", "--person", NAME, "--apply", "--json")
NIGHT = ("run", "nightly", "--direct", *GATES)
RETAIN = ("run", "retain", "--direct", "--apply", "--set", "retention.confirm=unlimited")
# the job -> what is run before it
JOBS: dict[tuple[str, ...], tuple[tuple[str, ...], ...]] = {
    ("run", "extract", "--direct", *GATES): (),
    NIGHT: (),
    ("run", "consolidate", "--direct", *GATES): (("run", "extract", "--direct", *GATES),),
    ("run", "backfill", "--direct", "--since", "2000-01-01", *GATES): (),
    ("run", "compact", "--direct", *GATES, "--set", "compaction.context_window=20000"): (),
    (*RETAIN, "--set", "retention.max_age=1d"): (NIGHT,),
    ("run", "erase", "--secrets", "--direct", "--apply"): (),
    ("sessions", "restore", "--all"): (
        (*RETAIN, "--set", "retention.max_age=1d", "--set", "retention.require_extracted=false"),
    ),
}


class Command:
    """A command at work in a process of its own, which is a fork: it has nothing to import any more."""

    def __init__(self, out: Path, *words: str) -> None:
        self._words, self._out = words, out
        sys.stdout.flush()
        self._child = os.fork()
        if self._child == 0:
            try:
                with out.open("w") as file:
                    for standard in (1, 2):
                        os.dup2(file.fileno(), standard)
                    with redirect_stdout(file), redirect_stderr(file):
                        code = main(words)
                os._exit(code)
            finally:
                os._exit(70)

    def ended(self) -> None:
        """Wait for its end, which is a good one."""
        code = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])
        assert code == 0, (self._words, code, self._out.read_text())


def lived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home with some sessions about somebody: enough that a job is at work for a while."""
    home = home_of(tmp_path, monkeypatch)
    for number in range(12):
        talk = Talk(f"{number:08x}-2222-4222-8333-444444444444")
        talk.person(f"we keep feature flags in a table of {NAME} for part {number}").assistant("ok")
        for part in range(12):
            talk.bash("make test", "ok").person(f"never tell {NAME} of part {part}").assistant("Done.")
        talk.write(home / ".claude" / "projects" / f"{CWD.replace('/', '-')}-{number % 4}")
    aged(home / ".claude")
    return home


@pytest.mark.drill
@pytest.mark.parametrize("job", JOBS, ids=lambda job: " ".join(job[:2]))
def test_after_an_erasure_beside_a_job_and_a_night_the_name_is_nowhere(
    job: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # what forks need is imported, in another home: else most of a start would be spent on that
    (tmp_path / "warm").mkdir()
    lived(tmp_path / "warm", monkeypatch)
    for words in (*JOBS[job], job, NIGHT, ERASE):
        assert main(words) == 0
    capsys.readouterr()
    home, kept = lived(tmp_path, monkeypatch), tmp_path / "kept"
    one, two = tmp_path / "one.out", tmp_path / "two.out"
    for words in JOBS[job]:
        Command(one, *words).ended()
    aged(home)
    shutil.copytree(home, kept, symlinks=True)
    start = time.monotonic()
    Command(one, *job).ended()
    takes, chance = time.monotonic() - start, random.Random(repr(job))
    for number in range(STARTS):
        shutil.rmtree(home)
        shutil.copytree(kept, home, symlinks=True)
        # on either side of the other: the job begins first, or the erasure does
        delay = chance.uniform(-0.3, 1) * takes
        first, second = (job, ERASE) if delay > 0 else (ERASE, job)
        began = Command(one, *first)
        time.sleep(abs(delay))
        followed = Command(two, *second)
        began.ended()
        followed.ended()
        assert left_in(home) == [], (number, delay)
        Command(one, *NIGHT).ended()
        assert left_in(home) == [], (number, delay, "after a night")


def test_an_erasure_waits_for_the_jobs_at_work_and_is_refused_when_they_do_not_end(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {"HOME": str(own_home)}
    refused = pytest.raises(LockHeldError, match="another job is still at work")
    with beside_jobs(environ), beside_jobs(environ), refused, erasing(environ, wait_s=0):
        pytest.fail("held")
    with erasing(environ):
        for other in (beside_jobs, erasing):
            with pytest.raises(LockHeldError, match="still at work"), other(environ, wait_s=0):
                pytest.fail("held")
    capsys.readouterr()
    assert (state_folder(environ) / GATE).stat().st_mode & 0o777 == 0o600


HOLD = """
import os, sys
from slowwave import locks
with getattr(locks, sys.argv[1])(os.environ):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize(("dead", "after"), [("beside_jobs", erasing), ("erasing", beside_jobs), ("erasing", erasing)])
def test_a_holder_that_was_killed_keeps_nobody_out(
    dead: str, after: Callable[..., AbstractContextManager[None]], own_home: Path
) -> None:
    environ = {**os.environ, "HOME": str(own_home)}
    command = [sys.executable, "-c", HOLD, dead]
    with subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with after(environ, wait_s=0):
            pass


@pytest.mark.parametrize(
    "words",
    [
        *(job for job in JOBS if job[:2] != ("run", "erase")),
        ("run", "erase", "--secrets", "--direct", "--apply"),
        ("memory", "undo", "x"),
        ("memory", "review", "accept", "x"),
        ("sessions", "tombstone", "x", "y"),
        ("sessions", "fork", "x"),
        ("sessions", "rm", "x"),
        ("sessions", "compact", "x"),
        ("sessions", "search", "x"),
        ("sessions", "new"),
        ("sessions", "export", "x", "--into", "y"),
        ("retain", "hold", "--session", "x", "--reason", "y"),
        ("retain", "release", "x"),
        ("status", "--html"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_whatever_writes_waits_for_an_erasure(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home_of(tmp_path, monkeypatch)
    monkeypatch.setattr("slowwave.locks.WAIT_S", 0.0)
    with erasing(os.environ):
        assert main(words) == REFUSED
    assert "an erasure is still at work" in capsys.readouterr().err
