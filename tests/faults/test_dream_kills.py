"""A dream that is killed at any moment: whoever reads the folder afterwards sees it as before or as after."""

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from slowwave import files
from slowwave.memory.book import read_book
from slowwave.memory.candidates import read_candidates
from slowwave.memory.folder import LOCK_FILE, siblings, visible_files
from slowwave.memory.undo import undo
from tests.unit.consolidation.dreams import House, no_fsync

FULL = os.environ.get("DRILLS") == "full"


def _house(root: Path) -> House:
    """A folder with one dream, a person's notes, and candidates for a second dream that adds, merges and supersedes."""
    house = House(root)
    house.extract(
        house.candidate("Use npm for installs", session="a", key="pref:pm", value="npm", at="2026-11-01T10:00:00Z"),
        house.candidate("Never commit to main", session="b", category="constraint"),
    )
    house.dream()
    house.clock.advance(days=1)
    (house.memory / "notes.md").write_bytes(b"a person's own notes\r\nwithout a last newline")
    with (house.memory / "MEMORY.md").open("ab") as index:
        index.write(b"- [Notes](notes.md)\n")
    house.extract(
        house.candidate("Use pnpm for installs", session="c", key="pref:pm", value="pnpm"),
        house.candidate("Never commit to main", session="d", category="constraint"),
        house.candidate("Deploy with make ship", session="e", category="decision"),
    )
    return house


def _killed(child: Callable[[], object]) -> bool:
    """Run something in a child process; return whether a signal ended it."""
    pid = os.fork()
    if pid == 0:
        try:
            child()
        except BaseException:  # noqa: BLE001 - a child of a fork must never return into the test run
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child failed instead of being killed"
    return os.WIFSIGNALED(status)


def _dies_at(point: int) -> None:
    seen = 0

    def hook(_event: str, _path: str) -> None:
        nonlocal seen
        seen += 1
        if seen == point:
            os.kill(os.getpid(), signal.SIGKILL)

    files.fault_hook = hook


def _dies_after(seconds: float) -> None:
    # without a handler the kernel ends the process at once, as SIGKILL does
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


@pytest.fixture(autouse=True)
def _without_disk(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """A killed process loses nothing that the kernel has: waiting for the disk would only make the drill slow."""
    monkeypatch.setattr(os, "fsync", no_fsync)


def _rooted(template: Path, root: Path) -> House:
    """Return a copy of a prepared house; evidence points into the template, which stays as it is."""
    shutil.copytree(template, root, symlinks=True)
    return House(root)


def _assert_whole(house: House, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    found = visible_files(house.memory)
    assert found in (before, after), {n for n in found if found[n] not in (before.get(n), after.get(n))}
    house.dream()
    assert visible_files(house.memory) == after
    assert not (house.memory / LOCK_FILE).exists()
    assert not siblings(house.memory)
    book = read_book(house.memory)
    candidates = read_candidates(house.memory)[0]
    assert set(book.done) == {c.id for c in candidates}
    taken = [c for m in book.memories.values() for c in m.candidates]
    assert sorted(taken) == sorted(c.id for c in candidates)
    assert len(book.dreams) == 2


def _prepared(tmp_path: Path) -> tuple[Path, dict[str, bytes], dict[str, bytes]]:
    house = _house(tmp_path / "template")
    before = visible_files(house.memory)
    shutil.copytree(tmp_path / "template", tmp_path / "done")
    done = House(tmp_path / "done")
    done.clock.at = house.clock.at
    done.dream()
    return tmp_path / "template", before, visible_files(done.memory)


def test_a_dream_killed_at_any_fault_point_leaves_the_folder_as_before_or_as_after(tmp_path: Path) -> None:
    template, before, after = _prepared(tmp_path)
    assert before != after
    outcomes: list[bool] = []
    for point in range(1, 1000):
        house = _rooted(template, tmp_path / str(point))
        house.clock.advance(days=1)
        if not _killed(lambda point=point, house=house: (_dies_at(point), house.dream())):
            break
        outcomes.append(visible_files(house.memory) == after)
        _assert_whole(house, before, after)
        shutil.rmtree(house.root)
    assert len(outcomes) > 30
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {False, True}


@pytest.mark.parametrize("rounds", [200 if FULL else 20])
def test_a_dream_killed_at_a_random_moment_leaves_the_folder_as_before_or_as_after(tmp_path: Path, rounds: int) -> None:
    template, before, after = _prepared(tmp_path)
    chance = random.Random(rounds)
    killed, longest = 0, 0.04
    # how long a dream takes depends on the machine and its load: the moments follow it, and rounds are added until
    # enough of them were in time
    for number in range(10 * rounds):
        if number >= rounds and killed > rounds // 4:
            break
        house = _rooted(template, tmp_path / str(number))
        house.clock.advance(days=1)
        delay = chance.uniform(0.0005, longest)
        hit = _killed(lambda delay=delay, house=house: (_dies_after(delay), house.dream()))
        killed += hit
        longest *= 1.25 if hit else 0.8
        _assert_whole(house, before, after)
        shutil.rmtree(house.root)
    assert killed > rounds // 4


def test_an_undo_killed_at_any_fault_point_leaves_the_folder_as_before_or_as_after(tmp_path: Path) -> None:
    house = _house(tmp_path / "house")
    before = visible_files(house.memory)
    dream = house.dream().dream_ids[0]
    after = visible_files(house.memory)
    shutil.copytree(tmp_path / "house", tmp_path / "template")
    outcomes: list[bool] = []
    for point in range(1, 1000):
        copy = _rooted(tmp_path / "template", tmp_path / str(point))
        if not _killed(lambda point=point, copy=copy: (_dies_at(point), undo(copy.memory, dream, copy.clock.now()))):
            break
        found = visible_files(copy.memory)
        assert found in (before, after)
        outcomes.append(found == before)
        if found == after:
            undo(copy.memory, dream, copy.clock.now())
        assert visible_files(copy.memory) == before
        copy.dream()
        assert visible_files(copy.memory) == before
        assert not siblings(copy.memory)
    assert set(outcomes) == {False, True}
