"""Changing files so that a reader sees the old or the new content and nothing else."""

import os
from pathlib import Path

import pytest

from slowwave import files
from slowwave.files import atomic_write, is_leftover, replacement


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "f"
    atomic_write(path, b"one")
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    atomic_write(path, [b"two", memoryview(b" and three")])
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"two and three", 0o644)
    atomic_write(path, b"", mode=0o640)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_a_file_stays_its_owners_when_root_rewrites_it(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x")
    os.chown(path, 1234, 4321)
    atomic_write(path, b"y")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


@pytest.mark.parametrize("event", ["write", "fsync", "rename"])
def test_a_failure_before_the_rename_leaves_the_old_content_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def fail(now: str, _path: str) -> None:
        if now == event:
            raise KeyboardInterrupt

    monkeypatch.setattr(files, "fault_hook", fail)
    with pytest.raises(KeyboardInterrupt):
        atomic_write(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_every_step_is_announced_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(files, "fault_hook", lambda event, _path: seen.append(event))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    atomic_write(tmp_path / "f", b"x")
    assert seen == ["write", "fsync", "rename", "fsync"]


def test_a_refused_check_keeps_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def refuse() -> None:
        raise ValueError("moved")

    with pytest.raises(ValueError, match="moved"), replacement(path, check=refuse) as fd:
        os.write(fd, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_very_long_name_leaves_room_for_the_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / ("\u00e9" * 127)
    atomic_write(path, b"x")
    assert path.read_bytes() == b"x"


def test_a_temporary_file_is_known_as_one_and_no_transcript(tmp_path: Path) -> None:
    names: list[str] = []
    with replacement(tmp_path / "session.jsonl"):
        names += [entry.name for entry in tmp_path.iterdir()]
    assert [is_leftover(name) for name in names] == [True]
    assert not names[0].endswith(".jsonl")
    assert not is_leftover("session.jsonl")
