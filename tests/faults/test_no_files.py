"""A pipe, a device or a folder in the place of a file of slowwave's own: a clear error at once, and nothing waits."""

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave.cli import main
from slowwave.errors import BUG
from slowwave.samples import build

pytestmark = pytest.mark.timeout(60)

MEMORY = ".claude/projects/-home-ana-quill/memory"
STATE, DATA, CONFIG = "state/slowwave", "data/slowwave", "config/slowwave"
GATES = ("--direct", "--force", "--set", "consolidation.min_sessions=0")
NIGHT = ("run", "nightly", *GATES)
ERASE = ("run", "erase", "--topic", "on-call is paged", "--apply")
# the file -> a command that needs it
FILES = {
    f"{MEMORY}/MEMORY.md": NIGHT,
    f"{MEMORY}/extracted.md": NIGHT,
    f"{MEMORY}/.consolidation_state.json": NIGHT,
    f"{MEMORY}/.consolidation_lock": NIGHT,
    f"{MEMORY}/.slowwave/guard.lock": NIGHT,
    f"{MEMORY}/.slowwave/ledger.jsonl": ("memory", "list"),
    f"{MEMORY}/.slowwave/candidates.jsonl": NIGHT,
    f"{MEMORY}/.slowwave/shown.jsonl": NIGHT,
    f"{STATE}/nights.jsonl": NIGHT,
    f"{STATE}/retain.lock": ERASE,
    f"{DATA}/audit.jsonl": ("run", "retain", "--apply", "--direct", "--confirm=9", "--set", "retention.max_count=1"),
    f"{STATE}/audit.head": ("retain", "audit", "--verify"),
    f"{DATA}/erased.json": NIGHT,
    f"{DATA}/holds.json": ERASE,
    f"{CONFIG}/fingerprint.key": NIGHT,
}
KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
}


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home after a night, an erasure and a retention."""
    home = tmp_path_factory.mktemp("lived")
    build(home, datetime.now(UTC))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        for name in ("STATE", "DATA", "CONFIG"):
            patch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
        for words in (NIGHT, ERASE):
            assert main(words) == 0
    return home


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_is_told_by_name_and_stays(
    name: str, kind: str, lived: Path, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(lived, own_home, symlinks=True, dirs_exist_ok=True)
    path = own_home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    KINDS[kind](path)
    before = os.lstat(path)
    capsys.readouterr()
    code = main(FILES[name])
    told = capsys.readouterr()
    # a history that cannot be read costs a night nothing but the record
    assert code != BUG, told
    assert (code == 0) == (path.name == "nights.jsonl"), told
    assert path.name in told.out + told.err
    assert os.path.samestat(before, os.lstat(path))
