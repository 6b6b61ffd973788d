"""A listing from the catalogue equals one without it, whatever happened to the store in between."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from slowwave.formats.sessions import Walk
from slowwave.stores.catalogue import Catalogue
from slowwave.stores.discovery import Listing, list_sessions
from tests.unit.stores.store_builder import add, cersei, claude, settings_for, write

Step = Callable[[random.Random, Path], None]


def listed(root: Path, state: Path) -> Listing:
    """Return a listing."""
    with Catalogue(state) as catalogue:
        listing = list_sessions(settings_for(root), {"HOME": str(root)}, catalogue)
        assert not catalogue.warnings
    return listing


def told(listing: Listing) -> tuple[list[bytes], list[str]]:
    """Return what a listing tells, in an order of its own: that of equals is left to chance."""
    return sorted(map(msgspec.json.encode, listing.rows)), sorted(map(str, listing.problems))


def session_in(chance: random.Random, root: Path) -> Path | None:
    """Return some transcript."""
    found = sorted(path for path in root.rglob("*.jsonl") if path.is_file() and path.parent.name != "kept")
    return chance.choice(found) if found else None


def project_in(chance: random.Random, root: Path) -> Path:
    """Return the folder of some project, which may be new."""
    return root / "projects" / f"-home-ann-{chance.choice('abc')}"


def create(chance: random.Random, root: Path) -> None:
    """Begin a session, or one of a sub-agent, or write a further part."""
    name = f"s{chance.randrange(6)}"
    folder = project_in(chance, root)
    match chance.randrange(4):
        case 0:
            write(folder / name / "subagents" / "agent-1.jsonl", claude("user", "go", isSidechain=True, cwd="/home/b"))
        case 1:
            write(folder / f"{name}_part{chance.choice((2, 3))}.jsonl", cersei("user", "part", 3))
        case _:
            write(folder / f"{name}.jsonl", claude("user", f"hi {chance.random()}", chance.randrange(9), uuid=name))


def append(chance: random.Random, root: Path) -> None:
    """Let a session go on."""
    path = session_in(chance, root)
    if path:
        add(path, claude("assistant", "more", chance.randrange(50)))


def remove(chance: random.Random, root: Path) -> None:
    """Remove a session or a whole project."""
    path = session_in(chance, root)
    if chance.random() < 0.1:
        shutil.rmtree(project_in(chance, root), ignore_errors=True)
    elif path:
        path.unlink()


def rename(chance: random.Random, root: Path) -> None:
    """Move a session to another project or name."""
    path = session_in(chance, root)
    if path:
        folder = project_in(chance, root)
        folder.mkdir(parents=True, exist_ok=True)
        path.rename(folder / f"moved{chance.randrange(3)}.jsonl")


def replace(chance: random.Random, root: Path) -> None:
    """Put another file of the same size and time in the place of a session: only the inode tells."""
    path = session_in(chance, root)
    if path:
        at = path.stat()
        other = path.with_name(".other")
        other.write_bytes(path.read_bytes().replace(b"hi", b"ho"))
        os.utime(other, ns=(at.st_atime_ns, at.st_mtime_ns))
        other.rename(path)


def link(chance: random.Random, root: Path) -> None:
    """Show a session under a second name, in whichever project."""
    path = session_in(chance, root)
    if path:
        to = project_in(chance, root) / f"link{chance.randrange(2)}.jsonl"
        to.parent.mkdir(parents=True, exist_ok=True)
        if not to.exists() and not to.is_symlink():
            chance.choice((to.symlink_to, to.hardlink_to))(path)


def clutter(chance: random.Random, root: Path) -> None:
    """Lay something beside the sessions."""
    folder = project_in(chance, root)
    (folder / chance.choice(("memory", "s1", "x"))).mkdir(parents=True, exist_ok=True)
    (folder / chance.choice(("notes.md", "odd", ".hidden", "empty.jsonl"))).touch()
    if chance.random() < 0.2:
        write(folder / "x" / "stray.jsonl")


STEPS: tuple[Step, ...] = (create, create, create, append, append, remove, rename, replace, link, clutter)


@pytest.mark.parametrize("block", range(4))
def test_the_catalogue_changes_nothing_but_time(block: int, tmp_path: Path) -> None:
    for seed in range(block * 6, block * 6 + 6):
        chance = random.Random(seed)
        root, state = tmp_path / f"home{seed}", tmp_path / f"{seed}.sqlite"
        write(root / "projects" / "kept" / "k.jsonl", claude("user", "hello"))  # so that it always is a store
        for number in range(10):
            for _ in range(chance.choice((0, 1, 1, 3))):
                chance.choice(STEPS)(chance, root)
            fresh = tmp_path / f"{seed}-{number}.sqlite"
            assert told(listed(root, state)) == told(listed(root, fresh)), (seed, number)
            assert told(listed(root, state)) == told(listed(root, fresh)), (seed, number)


def looked_up(root: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return in how many folders files were looked up one by one."""
    count = 0
    grouped = Walk._grouped  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType, reportUnknownMemberType]

    def spying(*args: object) -> object:
        nonlocal count
        count += 1
        return grouped(*args)  # pyright: ignore[reportUnknownVariableType, reportCallIssue, reportArgumentType]

    with monkeypatch.context() as patch:
        patch.setattr(Walk, "_grouped", spying)
        listed(root, state)
    return count


def test_only_folders_in_which_something_changed_are_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, state = tmp_path / "home", tmp_path / "c.sqlite"
    for name in "abc":
        write(root / "projects" / name / "s.jsonl", claude("user", "hi"))
    assert looked_up(root, state, monkeypatch) == 3
    assert looked_up(root, state, monkeypatch) == 0
    add(root / "projects" / "a" / "s.jsonl", claude("user", "more"))
    assert looked_up(root, state, monkeypatch) == 1
    (root / "projects" / "b" / "notes.md").touch()
    assert looked_up(root, state, monkeypatch) == 1
    assert looked_up(root, state, monkeypatch) == 0
