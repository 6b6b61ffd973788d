"""The folder of a dry run holds what was said: it is private, and does not outlive its run, however that ends."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from slowwave.jobs.run import rehearsing

_KILLED = """
import os, signal
from slowwave.jobs.run import rehearsing
with rehearsing(wanted=True) as folder:
    (folder / "said").write_text("what a person said")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_private_and_goes_with_the_run(temporary: Path) -> None:
    with rehearsing(wanted=True) as folder:
        assert folder is not None
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "notes").write_text("said")
    assert list(temporary.iterdir()) == []


def test_what_a_killed_run_left_goes_when_any_other_begins(temporary: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _KILLED], env={"TMPDIR": str(temporary)}, check=False, capture_output=True
    )
    assert ended.returncode == -9
    (left,) = temporary.iterdir()
    assert (left / "said").exists()
    with rehearsing(wanted=False):
        assert list(temporary.iterdir()) == []


def test_a_run_that_lives_keeps_its_folder_and_what_is_no_folder_stays(temporary: Path) -> None:
    (temporary / "elsewhere").mkdir()
    (temporary / "slowwave-dry-run-link").symlink_to("elsewhere")
    with rehearsing(wanted=True) as first, rehearsing(wanted=True) as second:
        assert first is not None
        assert second is not None
        assert first.is_dir()
        assert second.is_dir()
    assert (temporary / "elsewhere").is_dir()
    assert (temporary / "slowwave-dry-run-link").is_symlink()


def test_one_that_begins_while_another_takes_its_folder_away_disturbs_nothing(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = os.unlink

    def beside(path: str | Path, *, dir_fd: int | None = None) -> None:
        unlink(path, dir_fd=dir_fd)
        with monkeypatch.context() as patch:
            patch.setattr("os.unlink", unlink)
            with rehearsing(wanted=False):  # another run looks for what was abandoned
                pass

    with rehearsing(wanted=True) as folder:
        assert folder is not None
        (folder / "copy").mkdir()
        (folder / "copy" / "guard.lock").touch()
        monkeypatch.setattr("os.unlink", beside)
    assert list(temporary.iterdir()) == []
