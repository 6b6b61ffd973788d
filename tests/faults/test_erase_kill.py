"""An erasure that is killed at any write, fsync or rename is completed by the next one, as if nothing had happened."""

import os
import shutil
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.memory.book import read_book
from slowwave.memory.evidence import totals, verify
from tests.faults.killed import killed_at
from tests.unit.consolidation.dreams import no_fsync
from tests.unit.retention import planted
from tests.unit.retention.planted import OLD, aged, contents, left_in
from tests.unit.retention.test_erasure import home_with_secrets

STRIDE = 1 if os.environ.get("DRILLS") == "full" else 6
MOST_POINTS = 1_000
GATES = ["--set", "extraction.min_messages=0", "--set", "consolidation.min_sessions=0", "--force"]
ERASE = ["run", "erase", "--secrets", "--direct", "--apply", "--json"]


def _without_events(found: dict[str, bytes]) -> dict[str, bytes]:
    """Leave out what says when and how often it was run, and the caches."""
    ours = {name: data for name, data in found.items() if ".local/state" not in name and not name.endswith(".lock")}
    return {
        name: b"\n".join(line for line in data.split(b"\n") if b'"event":"erase"' not in line)
        for name, data in ours.items()
    }


def test_a_killed_erasure_is_completed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "fsync", no_fsync)
    home, kept = home_with_secrets(tmp_path, monkeypatch), tmp_path / "kept"
    (transcript,) = (home / ".claude" / "projects").rglob("*.jsonl")
    os.utime(transcript, (OLD, OLD))
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    aged(planted.codex(home))
    shutil.copytree(home, kept)
    memory = transcript.parent / "memory"
    assert main(ERASE) == 0
    whole = _without_events(contents(home))
    assert left_in(home) == []
    for point in range(1, MOST_POINTS, STRIDE):
        shutil.rmtree(home)
        shutil.copytree(kept, home)
        was_killed = killed_at(point, lambda: main(ERASE))
        assert main(ERASE) == 0
        assert left_in(home) == [], point
        found = _without_events(contents(home))
        assert found == whole, (point, {name for name in found | whole if found.get(name) != whole.get(name)})
        if not was_killed:
            break
    else:
        pytest.fail("more changes than there should be")
    checked = totals(verify(read_book(memory).memories.values(), [transcript.parent]))
    assert checked["changed"] == checked["lost"] == 0 < checked["ok"]
    capsys.readouterr()
    assert point > STRIDE * 3
