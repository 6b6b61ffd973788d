"""The objects of a git store are searched whatever they lie in: alone, in packs, and as deltas."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from slowwave.errors import RefusedError
from slowwave.retention.erase.places import is_git_store, objects_in

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git makes the stores that are read here")


def git(store: Path, *arguments: str, **given: bytes) -> bytes:
    """Run git over a bare store, without anybody's settings."""
    environ = {**os.environ, "GIT_DIR": str(store), "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        ["git", *arguments], input=given.get("text", b""), capture_output=True, env=environ, check=True
    ).stdout


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store with objects that resemble each other, one large and one empty."""
    store = tmp_path / "snapshot"
    git(store, "init", "-q", "--bare", str(store))
    chance = random.Random(1)
    text = [f"line {number} {chance.random()}" for number in range(2_000)]
    for number in range(30):
        text[chance.randrange(len(text))] = f"changed {number}"
        git(store, "hash-object", "-w", "--stdin", text="\n".join(text).encode())
    git(store, "hash-object", "-w", "--stdin", text=chance.randbytes(300_000))
    git(store, "hash-object", "-w", "--stdin", text=b"")
    return store


def told_by_git(store: Path) -> set[bytes]:
    """Return what git itself says that the objects are."""
    names = git(store, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").decode().split()
    return {git(store, "cat-file", "blob", name) for name in names}


def test_loose_objects_are_read(store: Path) -> None:
    assert is_git_store([path.name for path in store.iterdir()], ["HEAD"])
    assert set(objects_in(store)) == told_by_git(store)


@pytest.mark.parametrize("by_name", [False, True], ids=["by offset", "by name"])
def test_objects_in_packs_are_read_with_what_they_are_made_of(store: Path, *, by_name: bool) -> None:
    names = git(store, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    offset = [] if by_name else ["--delta-base-offset"]
    git(store, "pack-objects", "-q", "--depth=20", *offset, str(store / "objects" / "pack" / "pack"), text=names)
    git(store, "prune-packed")
    (pack,) = (store / "objects" / "pack").glob("*.pack")
    assert pack.stat().st_size < 500_000  # as deltas: plain they are more
    assert set(objects_in(store)) == told_by_git(store)
    data = pack.read_bytes()
    pack.chmod(0o600)
    pack.write_bytes(data[: len(data) // 2])
    with pytest.raises(RefusedError, match="cannot be searched"):
        list(objects_in(store))


def test_what_git_does_not_read_is_never_passed_over(store: Path) -> None:
    (loose, *_) = sorted((store / "objects").glob("[0-9a-f][0-9a-f]/*"))
    unfinished = loose.with_name("tmp_obj_1")
    unfinished.write_bytes(b"half of it")
    with pytest.raises(RefusedError, match="tmp_obj_1"):
        list(objects_in(store))
    unfinished.unlink()
    loose.chmod(0o600)
    loose.write_bytes(b"no object")
    with pytest.raises(RefusedError, match="cannot be searched"):
        list(objects_in(store))
    loose.unlink()
    (store / "objects" / "pack").mkdir(exist_ok=True)
    (store / "objects" / "pack" / "pack-1.pack").write_bytes(b"PACK")
    with pytest.raises(RefusedError, match=r"pack-1\.pack"):
        list(objects_in(store))


def test_objects_of_other_stores_and_settings_of_this_one_do_not_count(store: Path, tmp_path: Path) -> None:
    known = told_by_git(store)
    other = tmp_path / "other"
    git(other, "init", "-q", "--bare", str(other))
    git(other, "hash-object", "-w", "--stdin", text=b"of the project")
    (store / "objects" / "info").mkdir(exist_ok=True)
    (store / "objects" / "info" / "alternates").write_text(f"{other / 'objects'}\n")
    (store / "config").write_text("[core]\n\trepositoryformatversion = 99\n")
    assert set(objects_in(store)) == known


def test_without_git_nobody_can_search_it(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(RefusedError, match="git cannot be started"):
        list(objects_in(store))
