"""A town for drills of whole nights: several projects, a night that may be killed, and the bytes that it leaves.

Two nights over the same sessions leave the same bytes, whatever became of the first, but for the id of the run and what
a file system decides. So what a drill left is compared with what one undisturbed night leaves, in the same folder.
"""

import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.context import Clock, Run
from slowwave.jobs.story import run_job
from slowwave.observability.night import Night, read_nights
from slowwave.observability.progress import AtWork, read_notes
from slowwave.report import Report
from slowwave.settings import Settings, load_settings
from tests.faults.test_silent_failures import Village

PROJECTS = 3
# what differs from run to run over the same sessions
_OF_A_RUN = re.compile(rb'"run":"[^"]*"|"inodes": \{[^}]*\}')
# a dead process's lock stays until the next dream, which takes it over
_NO_MEMORY = ("guard.lock", ".consolidation_lock")


class Town(Village):
    """A home in which people work on several projects by day."""

    def __init__(self, root: Path, projects: int = PROJECTS, sessions: int = 5) -> None:
        super().__init__(root)
        self.folder.rmdir()
        self.keys = [f"-home-ann-shop{number}" for number in range(projects)]
        for number, key in enumerate(self.keys):
            self.folder = root / ".claude" / "projects" / key
            self.folder.mkdir()
            self.cwd = f"/home/ann/shop{number}"
            self.work(sessions)

    def settings(self, *overrides: str) -> Settings:
        return load_settings(self.environ, overrides=[*self.overrides, *overrides], cwd=self.root)

    def direct(self, run_id: str = "r1", *overrides: str, clock: Clock | None = None) -> Report:
        """Run a night in this process."""
        return run_job("nightly", Run(run_id, self.settings(*overrides), clock or self.clock, self.environ))

    def memories(self) -> dict[str, bytes]:
        """Return the bytes of everything that nights keep of the projects, but for what is of a run alone."""
        found = {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted((self.root / ".claude" / "projects").glob("*/memory/**/*"))
            if path.is_file() and path.name not in _NO_MEMORY
        }
        return {name: _OF_A_RUN.sub(b"", data) for name, data in found.items()}

    def of_one_night(self, *overrides: str) -> dict[str, bytes]:
        """Return what one undisturbed night leaves, and forget that it ever was."""
        self.direct("undisturbed", *overrides)
        expected = self.memories()
        assert sum(name.endswith("memory/MEMORY.md") for name in expected) == len(self.keys)
        self.forget()
        return expected

    def forget(self) -> None:
        """Remove everything that nights left."""
        for memory in (self.root / ".claude" / "projects").glob("*/memory"):
            shutil.rmtree(memory)
        for name in ("state", "data"):
            shutil.rmtree(self.root / name, ignore_errors=True)

    def nights(self) -> list[Night]:
        nights, problems = read_nights(self.environ)
        assert problems == []
        return nights

    def note(self) -> AtWork | None:
        """Return how far the run is that is at work, or that was stopped last."""
        notes, _ = read_notes(self.environ)
        return notes[-1] if notes else None


def in_child(work: Callable[[], object]) -> int:
    """Begin something in a child and return its process id."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - a child of a fork must never return into the test run
            os._exit(70)
        os._exit(0)
    return child


def killed_when(ready: Callable[[], bool], child: int) -> bool:
    """Kill a child as soon as something is true; say whether it was still at work then."""
    while not ready():
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def said(capsys: pytest.CaptureFixture[str], *command: str) -> tuple[int, str]:
    """Run a command of slowwave in the home of this test; return its exit code and what it printed."""
    capsys.readouterr()
    code = main(list(command))
    return code, capsys.readouterr().out
