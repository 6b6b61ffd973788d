"""A backfill that is killed, at any change and at any time, and resumed: the bytes of one that was not, nothing twice.

So is its rollback: whatever was reached, the next one leaves the bytes from before.
"""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from slowwave import files
from slowwave.jobs.backfill import plan, run_backfill
from slowwave.jobs.backfill.folder import Folder, backfills_folder
from slowwave.jobs.parameters import BackfillParameters
from slowwave.memory.candidates import candidates_path, read_candidates
from slowwave.observability.progress import LeftBy, watched_by
from slowwave.report import Report
from tests.faults.backfilled import NOW as LATER
from tests.faults.backfilled import fill
from tests.unit.consolidation.dreams import no_fsync
from tests.unit.jobs.backfill.rig import NOW, World, filled

DRILL = os.environ.get("DRILLS", "")
FULL = DRILL in ("full", "all")
STRIDE = 1 if FULL else 11
ROUNDS = 20 if FULL else 4
MOST_CHANGES = 600

pytestmark = pytest.mark.drill


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Pieces and shards of few sessions, so that there are many; and no disk to wait for."""
    monkeypatch.setattr(plan.cut, "__kwdefaults__", {"most_sessions": 2, "enough_bytes": 1 << 30})
    monkeypatch.setattr(plan.sharded, "__kwdefaults__", {"most_sessions": 5, "enough_bytes": 1 << 30})
    monkeypatch.setattr(os, "fsync", no_fsync)


def run_or_resume(world: World) -> Report:
    """Go on with the run, or start it where no plan of it is there."""
    folder = Folder(backfills_folder(world.environ) / "b1")
    if (folder.path / "plan.json").exists():
        return world.backfill(action="resume", backfill="b1")
    return world.backfill()


def take_back(world: World) -> Report:
    return world.backfill(action="rollback", backfill="b1")


def child(work: Callable[[], object], ready: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            ready()
            work()
            os._exit(0)
        finally:
            os._exit(70)
    return pid


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Run work in a child that is killed right before its ``step``-th change; say whether it came so far."""

    def ready() -> None:
        seen = count(1)

        def stop(_event: str, _path: str) -> None:
            if next(seen) == step:
                os.kill(os.getpid(), signal.SIGKILL)

        files.fault_hook = stop

    status = os.waitstatus_to_exitcode(os.waitpid(child(work, ready), 0)[1])
    assert status in (0, -signal.SIGKILL)
    return status != 0


class Events:
    """What the leading process of a run does: every change of a file, and every piece and shard that is done."""

    def __init__(self) -> None:
        self.number = 0

    def happened(self) -> None:
        self.number += 1

    def plan(self, step: str, total: int, left: LeftBy | None = None) -> None:
        """Planning is no event."""

    def done(self, step: str, what: str) -> None:
        del step, what
        self.happened()

    def changes(self, event: str, path: str) -> None:
        del event, path
        self.happened()

    @contextmanager
    def counted(self) -> Generator[None]:
        """Count what happens inside."""
        quiet, files.fault_hook = files.fault_hook, self.changes
        try:
            with watched_by(self):
                yield
        finally:
            files.fault_hook = quiet


class Deadly(Events):
    """Kills this process a moment after its n-th event, wherever it is by then."""

    def __init__(self, at: int, moment: float) -> None:
        super().__init__()
        self._at, self._moment = at, moment

    def happened(self) -> None:
        self.number += 1
        if self.number == self._at:
            # without a handler the kernel ends the process at once, as SIGKILL does
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, self._moment)


def killed_by(deadly: Deadly, work: Callable[[], object]) -> bool:
    """Run work in a child; say whether it was killed before its end."""

    def followed() -> None:
        with deadly.counted():
            work()

    status = os.waitstatus_to_exitcode(os.waitpid(child(followed, lambda: None), 0)[1])
    assert status in (0, -signal.SIGALRM)
    return status != 0


def killed_often(rng: random.Random, events: int, work: Callable[[], object], moment: float) -> int:
    """Kill work in each of the rounds, after a random share of the events of a whole run; return how often it died."""
    most = max(1, 3 * events // (2 * ROUNDS))
    return sum(killed_by(Deadly(rng.randint(1, most), rng.uniform(1e-6, moment)), work) for _ in range(ROUNDS))


def as_of(world: World, *others: World) -> dict[str, bytes]:
    """Return the memories with the folders of the world, and of what it was copied from, taken out of them."""
    found = world.memories()
    for root in (world.root, *(other.root for other in others)):
        found = {name: data.replace(f"{root}/".encode(), b"/world/") for name, data in found.items()}
    return found


def ready_world(root: Path) -> World:
    """Return a world of which a night has read a part, so that there are memories before."""
    world = filled(root, sessions=14)
    world.extract(project="p1")
    world.add(90, "We use ruff as our linter and never flake8.", project="p1")
    return world


def test_killed_before_any_change_and_resumed_it_leaves_the_same_bytes(tmp_path: Path):
    whole = ready_world(tmp_path / "whole")
    whole.backfill()
    expected = as_of(whole)
    reached = 0
    for step in range(1, MOST_CHANGES, STRIDE):
        world = ready_world(tmp_path / str(step))
        was_killed = killed_at(step, lambda w=world: run_or_resume(w))
        report = run_or_resume(world)
        assert report.failures == []
        assert as_of(world) == expected, step
        shutil.rmtree(world.root)
        if not was_killed:
            break
        reached = step
    else:
        pytest.fail("more changes than there should be")
    assert reached > 50


def test_a_rollback_killed_before_any_change_and_repeated_leaves_the_bytes_from_before(tmp_path: Path):
    first = ready_world(tmp_path / "0")
    before = as_of(first)
    first.backfill()
    assert as_of(first) != before
    for step in range(1, MOST_CHANGES, STRIDE):
        root = tmp_path / str(step)
        shutil.copytree(first.root, root)
        world = moved(first, root)
        was_killed = killed_at(step, lambda w=world: take_back(w))
        assert take_back(world).failures == []
        assert as_of(world, first) == before, step
        shutil.rmtree(root)
        if not was_killed:
            return
    pytest.fail("more changes than there should be")


def moved(first: World, root: Path) -> World:
    """Return a copied world whose records name its own folders."""
    for path in [*root.glob("state/slowwave/backfills/b1/landed/*/record.json"), *root.glob("state/**/plan.json")]:
        path.write_bytes(path.read_bytes().replace(str(first.root).encode(), str(root).encode()))
    return World(root)


def test_killed_at_random_and_resumed_it_leaves_the_same_bytes(tmp_path: Path):
    sessions = 40 if FULL else 16
    whole = filled(tmp_path / "whole", sessions)
    with (events := Events()).counted():
        whole.backfill()
    expected = as_of(whole)
    world = filled(tmp_path / "killed", sessions)
    assert killed_often(random.Random(7), events.number, lambda: run_or_resume(world), 0.001) > ROUNDS // 2
    assert run_or_resume(world).failures == []
    assert as_of(world) == expected
    assert_nothing_twice(world, sessions)


# 10,000 sessions: about 15 minutes of processor time
@pytest.mark.skipif(DRILL != "all", reason="the longest form: make drills-all")
@pytest.mark.timeout(4 * 3600)
def test_ten_thousand_sessions_killed_twenty_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()  # pieces and shards of their usual size, and a real disk
    number = int(os.environ.get("SESSIONS", "10000"))
    whole, world = (World(tmp_path / name) for name in ("whole", "killed"))
    for one in (whole, world):
        fill(one.root, number)
    before = files_of(world)
    with (events := Events()).counted():
        report = run_backfill(long_given(whole), whole.environ)
    assert (report.failures, report.counts["sessions"]) == ([], report.counts["extracted"])
    kills = killed_often(random.Random(20), events.number, lambda: _resumed(world), 0.2)
    said(f"killed {kills} times; {events.number} events in a whole run")
    assert kills == ROUNDS
    resumed = _resumed(world)
    assert (resumed.failures, resumed.counts) == ([], report.counts)
    assert as_of(world) == as_of(whole)
    said(f"resumed to the same bytes: {resumed.counts}")
    assert_nothing_twice(world, report.counts["extracted"])
    assert run_backfill(long_given(world, action="rollback", backfill="b1"), world.environ).failures == []
    after = files_of(world)
    said(f"left by a rollback: {sorted(after.keys() - before.keys())}")
    assert {name: after.get(name) for name in before} == before
    assert {name for name in after.keys() - before.keys() if not BOOKS.fullmatch(name)} == set()


# what remembers that there was a run, and that it was taken back: no memory, no candidate, nothing of a session
BOOKS = re.compile(
    r"state/slowwave/(nights\.jsonl|nights\.lock|report\.html|catalogue\.sqlite.*|backfills/past\.json"
    r"|backfills/b1/(plan\.json|rolled-back|done|lead\.lock|landed/.*))"
)


def files_of(world: World) -> dict[str, str]:
    """Return a digest of every file below a world, wherever it is."""
    found = (path for path in sorted(world.root.rglob("*")) if path.is_file())
    return {str(path.relative_to(world.root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def assert_nothing_twice(world: World, sessions: int) -> None:
    ids = [c.id for p in world.store.glob("*/memory") for c in read_candidates(p)[0]]
    lines = [json.loads(x) for p in world.store.glob("*/memory") for x in candidates_path(p).read_text().splitlines()]
    ranges = [json.dumps(line) for line in lines if "extracted" in line]
    assert len(ids) == len(set(ids)) == sum("id" in line for line in lines)
    assert len(ranges) == len(set(ranges)) == sessions


def said(text: str) -> None:
    """Print what a drill of half an hour has reached, also where output is captured."""
    print(text, file=sys.__stderr__, flush=True)


def long_given(world: World, **more: object) -> BackfillParameters:
    return BackfillParameters.model_validate({"store": [world.store], "now": LATER, "run_id": "b1", **more})


def _resumed(world: World) -> Report:
    there = (backfills_folder(world.environ) / "b1" / "plan.json").exists()
    how = {"action": "resume", "backfill": "b1"} if there else {}
    return run_backfill(long_given(world, **how), world.environ)


assert NOW == LATER
