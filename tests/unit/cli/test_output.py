"""What a machine can refuse to any command: a full disk, a closed output, a folder that may not be written."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.errors import DONE, UNREADABLE
from slowwave.samples import build

LIB = Path(__file__).parents[3] / "lib"


def slowwave(home: Path, redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(LIB)}
    command = ["sh", "-c", f'"$@" {redirection}', "sh", sys.executable, "-m", "slowwave", *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_behind_the_output_is_one_line(tmp_path: Path) -> None:
    store = build(tmp_path / "home", datetime.now(UTC)).store
    ended = slowwave(tmp_path, ">/dev/full", "sessions", "list", "--store", str(store))
    assert ended.returncode == UNREADABLE
    assert ended.stderr.splitlines()[-1].endswith("No space left on device; make room and run it again")
    assert "Traceback" not in ended.stderr


def test_a_closed_output_is_no_failure(tmp_path: Path) -> None:
    store = build(tmp_path / "home", datetime.now(UTC)).store
    ended = slowwave(tmp_path, ">&-", "sessions", "list", "--store", str(store))
    assert (ended.returncode, ended.stderr) == (DONE, "")


def test_a_folder_that_may_not_be_written_is_one_line_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = build(tmp_path / "home", datetime.now(UTC)).store
    session = next(path for path in sorted(store.rglob("*.jsonl")) if "agent-" not in path.name)

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert main(["sessions", "rm", session.stem, "--store", str(store)]) == UNREADABLE
    said = capsys.readouterr().err
    assert "Permission denied; let this user write there" in said
    assert len(said.splitlines()) == 1
    assert session.exists()
