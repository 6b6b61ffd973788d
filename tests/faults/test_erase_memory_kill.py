"""A memory folder during an erasure of a person is as it was, or as it will be, wherever the erasure is killed."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.memory import transaction
from slowwave.memory.folder import siblings
from slowwave.memory.ledger import PATH as LEDGER
from tests.faults import calls
from tests.faults.killed import killed_at
from tests.unit.consolidation.dreams import no_fsync
from tests.unit.retention.test_subjects_erased import CWD, GATES, NAME, aged, home_of, left_in

STRIDE = 1 if os.environ.get("DRILLS") else 5
MOST_POINTS = 3_000
ERASE = ["run", "erase", "--person", NAME, "--apply", "--json"]


def state_of(memory: Path) -> dict[str, bytes]:
    """Return every file of a memory folder, without what says when it was erased, and what notes an exchange."""
    found: dict[str, bytes] = {}
    for path in sorted(memory.rglob("*")):
        is_note = path.parent.parent.name == "undo" and path.parent.name.startswith("e")
        if path.is_file() and path.name != "guard.lock" and not is_note:
            lines = path.read_bytes().split(b"\n")
            found[str(path.relative_to(memory))] = b"\n".join(one for one in lines if b'"event":"erase"' not in one)
    return found


@pytest.mark.parametrize("kind", ["at what is announced", "at any call of the system"])
def test_a_memory_folder_is_as_before_or_as_after_wherever_an_erasure_is_killed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "fsync", no_fsync)
    home, kept = home_of(tmp_path, monkeypatch), tmp_path / "kept"
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    aged(home)
    # a file whose name is no UTF-8 is kept like the others
    memory = home / ".claude" / "projects" / CWD.replace("/", "-") / "memory"
    (memory / os.fsdecode(b"odd-\xff.txt")).write_text(f"ask {NAME}\n")
    shutil.copytree(home, kept, symlinks=True)
    before = state_of(memory)
    assert main(ERASE) == 0
    after = state_of(memory)
    assert NAME.encode() not in b"".join(after.values())
    assert not list(memory.glob(".slowwave/undo/e*"))
    met = 0
    for point in range(1, MOST_POINTS, STRIDE):
        shutil.rmtree(home)
        shutil.copytree(kept, home, symlinks=True)

        def work() -> None:
            main(ERASE)

        was_killed = killed_at(point, work) if kind[3] == "w" else calls.killed_at(point, home, work)
        if not was_killed:
            break
        found = state_of(memory)
        assert found in (before, after), (point, {n for n in found | after if found.get(n) != after.get(n)})
        met += found == after
        assert main(ERASE) == 0
        assert left_in(home) == []
        assert state_of(memory) == after
        assert not list(memory.glob(".slowwave/undo/e*"))
    else:
        pytest.fail("more changes than there should be")
    assert 0 < met < point // STRIDE
    capsys.readouterr()


def test_what_is_taken_back_of_a_killed_erasure_is_not_certified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = home_of(tmp_path, monkeypatch)
    assert main(["run", "nightly", "--direct", *GATES]) == 0
    aged(home)
    memory = home / ".claude" / "projects" / CWD.replace("/", "-") / "memory"
    before = (memory / LEDGER).read_bytes()

    def kill(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def killed_behind_the_exchange() -> None:
        monkeypatch.setattr(transaction, "_settle", kill)
        main(ERASE)

    assert calls.in_child(home, lambda _call, _path: None, killed_behind_the_exchange) == -signal.SIGKILL
    assert (memory / LEDGER).read_bytes() != before
    ((_, _, old),) = siblings(memory)
    assert (old / LEDGER).read_bytes() == before
    # somebody wrote to it at the moment of the exchange, which is taken back for that
    with (old / "MEMORY.md").open("a") as file:
        file.write("- of my own\n")
    assert main(ERASE) == 0
    found = [json.loads(path.read_bytes()) for path in home.rglob("certificates/*.json")]
    (killed,) = (one["files"] for one in found if any("was killed" in failure for failure in one["failures"]))
    assert str(memory / LEDGER) not in {name for name, _, _ in killed}
    assert "- of my own" in (memory / "MEMORY.md").read_text()
    assert left_in(home) == []
    capsys.readouterr()
