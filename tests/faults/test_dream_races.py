"""Dreams that meet each other, other programs and people in the middle of their work."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slowwave.consolidation import job, plan
from slowwave.consolidation.plan import offline
from slowwave.errors import LockLostError, RefusedError
from slowwave.memory import folder, transaction
from slowwave.memory.book import read_book
from slowwave.memory.folder import LOCK_FILE, siblings, visible_files
from tests.unit.consolidation.dreams import House, no_fsync

FULL = os.environ.get("DRILLS") == "full"
SESSIONS = ("a", "b", "c", "d", "e")


@pytest.fixture(autouse=True)
def _without_disk(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Nothing here depends on what survives a power cut."""
    monkeypatch.setattr(os, "fsync", no_fsync)


def _together(house: House, number: int) -> list[str]:
    """Start dreams in several processes that wait for one another; return the outcome of each."""
    go_read, go_write = os.pipe()
    children: list[tuple[int, int]] = []
    for _ in range(number):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            outcome = "failed"
            try:
                os.close(go_write)
                os.read(go_read, 1)
                report = house.dream(force=False)
                outcome = "dreamt" if report.dream_ids else report.gates[-1].gate
            finally:
                os.write(write, outcome.encode())
                os._exit(0)
        os.close(write)
        children.append((pid, read))
    os.close(go_read)
    os.close(go_write)  # end of file wakes all of them at once
    outcomes: list[str] = []
    for pid, read in children:
        with os.fdopen(read, "rb") as pipe:
            outcomes.append(pipe.read().decode())
        os.waitpid(pid, 0)
    return outcomes


@pytest.mark.parametrize("rounds", [100 if FULL else 10])
def test_of_two_dreams_started_together_exactly_one_runs(tmp_path: Path, rounds: int) -> None:
    for number in range(rounds):
        house = House(tmp_path / str(number))
        house.extract(*(house.candidate(f"Fact of session {s}", session=s, category="project") for s in SESSIONS))
        outcomes = _together(house, 2)
        assert outcomes.count("dreamt") == 1, outcomes
        assert set(outcomes) - {"dreamt"} <= {"lock", "time"}, outcomes
        assert len(read_book(house.memory).dreams) == 1
        assert not (house.memory / LOCK_FILE).exists()


def _house(tmp_path: Path) -> House:
    house = House(tmp_path)
    house.extract(house.candidate("Use npm for installs", session="a"))
    house.dream()
    (house.memory / "notes.md").write_text("untouched by any dream\n")
    house.clock.advance(days=1)
    house.extract(house.candidate("Never push on a Friday", session="b"))
    return house


def _before_exchange(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object], *, times: int = 1) -> None:
    """Let something happen at the last moment before the folders are exchanged."""
    real = transaction.exchange
    left = [times]

    def meddled(*args: Any, **kwargs: Any) -> None:
        if left[0]:
            left[0] -= 1
            do()
        real(*args, **kwargs)

    monkeypatch.setattr(transaction, "exchange", meddled)


def test_a_dream_that_another_one_overtook_before_its_lock_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(tmp_path)
    house.extract(*(house.candidate(f"Fact of session {s}", session=s, category="project") for s in SESSIONS))
    real = job.held

    def late(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(job, "held", real)
        assert house.dream(force=False).dream_ids
        house.clock.advance(hours=1)
        return real(*args, **kwargs)

    monkeypatch.setattr(job, "held", late)
    report = house.dream(force=False)
    assert not report.dream_ids
    assert [(g.gate, g.passed) for g in report.gates][-2:] == [("lock", True), ("time", False)]


def test_a_note_that_a_person_writes_while_a_dream_is_planned_is_seen(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(house.candidate("Use npm for installs", session="a"))

    def interrupted(*given: Any) -> Any:
        operations = offline(*given)
        (house.memory / "mine.md").write_text("- use npm for installs\n")
        return operations

    report = house.dream(planner=interrupted)
    assert report.counts == {"dropped": 1}
    assert "a person wrote it in mine.md already" in [i.reason for i in report.items]


def test_a_file_that_appears_at_the_moment_of_the_exchange_is_carried_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = _house(tmp_path)
    _before_exchange(monkeypatch, lambda: (house.memory / "new.txt").write_text("mine"))
    assert house.dream().dream_ids
    assert house.read("new.txt") == "mine"


def test_a_file_replaced_at_the_moment_of_the_exchange_is_carried_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = _house(tmp_path)

    def replace() -> None:
        (house.memory / "t").write_text("edited")
        (house.memory / "t").replace(house.memory / "notes.md")

    _before_exchange(monkeypatch, replace)
    assert house.dream().dream_ids
    assert house.read("notes.md") == "edited"


def test_a_file_deleted_at_the_moment_of_the_exchange_stays_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = _house(tmp_path)
    _before_exchange(monkeypatch, (house.memory / "notes.md").unlink)
    assert house.dream().dream_ids
    assert not (house.memory / "notes.md").exists()


def test_a_person_who_edits_what_a_dream_changes_wins_and_the_dream_is_planned_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = _house(tmp_path)

    def edit() -> None:
        with (house.memory / "MEMORY.md").open("a") as file:
            file.write("- A person was here\n")

    _before_exchange(monkeypatch, edit)
    report = house.dream()
    assert len(report.dream_ids) == 1
    assert "- A person was here\n" in house.read("MEMORY.md")
    assert "- Never push on a Friday\n" in house.read("MEMORY.md")
    assert not siblings(house.memory)


def test_a_folder_that_never_rests_makes_the_dream_give_up_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = _house(tmp_path)
    number = iter(range(100))

    def edit() -> None:
        (house.memory / "MEMORY.md").write_text(f"{next(number)}\n")

    # a taken back exchange is an exchange as well
    _before_exchange(monkeypatch, edit, times=10)
    report = house.dream()
    assert not report.dream_ids
    assert report.items[-1].action == "skip"
    assert "changed during each of 3 tries" in report.items[-1].reason


def test_a_dream_whose_lock_was_taken_over_commits_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = _house(tmp_path)
    before = visible_files(house.memory)
    real = transaction.build_stage

    def overtaken(*args: Any) -> None:
        real(*args)
        (house.memory / LOCK_FILE).write_text("1795145400")

    monkeypatch.setattr(transaction, "build_stage", overtaken)
    with pytest.raises(LockLostError, match="taken over"):
        house.dream()
    assert visible_files(house.memory) == before
    assert (house.memory / LOCK_FILE).read_text() == "1795145400"
    assert not siblings(house.memory)


def test_a_dream_that_is_cancelled_releases_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = _house(tmp_path)

    class Cancelled(BaseException):
        pass

    def cancel(*_args: Any, **_kwargs: Any) -> None:
        raise Cancelled

    monkeypatch.setattr(plan, "commit", cancel)
    with pytest.raises(Cancelled):
        house.dream()
    assert not (house.memory / LOCK_FILE).exists()


def test_a_mount_point_is_refused_in_plain_words_and_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = _house(tmp_path)
    before = visible_files(house.memory)

    def busy(_one: bytes, _other: bytes) -> int:
        return errno.EBUSY

    monkeypatch.setattr(folder, "_native", lambda: busy)
    with pytest.raises(RefusedError, match="mount point"):
        house.dream()
    assert visible_files(house.memory) == before
    assert not siblings(house.memory)


@pytest.mark.parametrize("at", range(6))
def test_a_full_disk_changes_nothing_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    house = _house(tmp_path)
    before = visible_files(house.memory)
    real = transaction.write_all
    left = [at]

    def full(fd: int, data: bytes) -> None:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= 1
        real(fd, data)

    monkeypatch.setattr(transaction, "write_all", full)
    with pytest.raises(OSError, match="No space left"):
        house.dream()
    assert visible_files(house.memory) == before
    assert not siblings(house.memory)
    assert not (house.memory / LOCK_FILE).exists()
    monkeypatch.undo()
    assert house.dream().dream_ids


def _no_exchange(_one: bytes, _other: bytes) -> int:
    return errno.EINVAL  # the file system cannot do it


def test_where_folders_cannot_be_exchanged_two_renames_do_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "_native", lambda: _no_exchange)
    house = _house(tmp_path)
    assert house.dream().dream_ids
    assert "Never push on a Friday" in house.read("MEMORY.md")
    assert not siblings(house.memory)


@pytest.mark.parametrize("renames", [1, 2])
def test_a_kill_between_the_renames_is_repaired_by_whoever_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    house = _house(tmp_path)
    expected = visible_files(house.memory)
    pid = os.fork()
    if pid == 0:
        monkeypatch.setattr(folder, "_native", lambda: _no_exchange)
        real = Path.rename
        left = [renames]

        def dying(path: Path, to: Path) -> Path:
            if not left[0]:
                os._exit(9)
            left[0] -= 1
            return real(path, to)

        monkeypatch.setattr(Path, "rename", dying)
        house.dream()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert house.memory.exists() == (renames == 2)
    report = house.dream()
    assert bool(report.dream_ids) == (renames == 1)
    assert house.read("notes.md").encode() == expected["notes.md"]
    assert "Never push on a Friday" in house.read("MEMORY.md")
    assert not siblings(house.memory)
