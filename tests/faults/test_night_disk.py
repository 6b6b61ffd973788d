"""A disk that is full at any moment of a night: nothing is half-written, it is told, and the next night is complete."""

import errno
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowwave.cli.status import of_nights
from slowwave.errors import UnwritableError
from slowwave.jobs.status import lately
from slowwave.memory.book import read_book
from slowwave.memory.candidates import read_entries
from slowwave.observability.progress import read_notes
from slowwave.service.checks import runs
from tests.faults.calls import GROWS, Fault, counted, in_child, refused
from tests.faults.night_town import Town
from tests.unit.consolidation.dreams import no_fsync

DRILLS = os.environ.get("DRILLS", "")
FULL = "No space left on device"
SAID, UNSAID = 0, 1

pytestmark = pytest.mark.drill


@pytest.fixture
def town(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Town:
    monkeypatch.setattr(os, "fsync", no_fsync)
    return Town(own_home)


def full_from(point: int) -> Fault:
    """Return a disk without room from the ``point``-th call on; what is there already can be opened and cut."""
    left = point

    def fill(call: str, path: str) -> None:
        nonlocal left
        left -= 1
        if left <= 0 and call in GROWS - {"ftruncate"} and not (call == "open" and Path(path).exists()):
            refused(errno.ENOSPC)(call, path)

    return fill


def night(town: Town) -> int:
    """Run a night, and return whether its report, or its refusal to begin, says that the disk is full."""
    try:
        report = town.direct("full")
    except UnwritableError as error:
        return SAID if FULL in str(error) else UNSAID
    return SAID if any(FULL in line for line in (*report.failures, *report.warnings)) else UNSAID


def nothing_is_half_written(town: Town) -> None:
    assert town.nights() == town.nights()
    assert read_notes(town.environ)[1] == []
    for memory in (town.root / ".claude" / "projects").glob("*/memory"):
        read_book(memory)
        assert read_entries(memory)[1] == []


def what_status_says(town: Town) -> str:
    return "\n".join(of_nights(lately(town.settings().model, town.environ, town.clock.now())))


def the_next_night_is_complete(town: Town, expected: dict[str, bytes]) -> None:
    report = town.direct("next")
    assert report.failures == []
    assert town.memories() == expected
    assert town.note() is None
    assert town.nights()[-1].run_id == "next"


def test_a_disk_that_fills_up_at_any_change_of_a_night_costs_this_night_only(town: Town) -> None:
    expected = town.of_one_night()
    number = counted(town.root, town.direct)
    town.forget()
    sample = {"": 5, "full": 20, "all": number}[DRILLS]
    noted = 0
    for point in sorted(random.Random(number).sample(range(1, number), sample)):
        assert in_child(town.root, full_from(point), lambda: night(town)) == SAID, point
        nothing_is_half_written(town)
        if town.note():
            noted += 1
            # no line of history could be written; the note that has its room already says why
            assert "it ended as " in what_status_says(town)
            assert FULL in what_status_says(town)
            assert not runs(town.settings(), town.environ, town.clock.now()).ok
        the_next_night_is_complete(town, expected)
        town.forget()
    assert noted > sample // 3


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of a few megabytes, where this user may."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "slowwave-drill", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"this user may not mount a small disk: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.skipif(not DRILLS, reason="DRILLS=full: a real disk that is really full")
@pytest.mark.skipif(not shutil.which("mount"), reason="no mount here")
@pytest.mark.parametrize("room", [4 << 10, 32 << 10, 96 << 10, 256 << 10])
def test_a_real_disk_that_is_full_costs_this_night_only(small_disk: Path, room: int) -> None:
    town = Town(small_disk)
    expected = town.of_one_night()
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - room))
    report = in_child(town.root / "nowhere", full_from(1), lambda: night(town))  # nothing is refused but by the disk
    nothing_is_half_written(town)
    is_whole = town.memories() == expected
    assert report == SAID or is_whole
    if town.note():
        assert FULL in what_status_says(town)
    filler.unlink()
    the_next_night_is_complete(town, expected)
