"""A run of retention that is killed at any write, fsync, rename, link or unlink is completed by the next one.

Afterwards everything is as after a run that nobody killed: the same sessions went, the same lie in the archive and in
the trash, and the audit log tells of each of them once.
"""

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from slowwave import files
from slowwave.retention.audit import AuditLog
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.trash import restore, trash_folder, trash_items
from tests.faults.killed import killed_at
from tests.unit.consolidation.dreams import no_fsync
from tests.unit.retention.homes import DIALECTS, Home, Tree, tree

STRIDE = 1 if os.environ.get("DRILLS") == "full" else 4
MOST_POINTS = 2_000
Totals = dict[str, object]


def _prepared(root: Path) -> Home:
    """Return a home in which a run frees, archives and throws away, and keeps something."""
    home = Home(root)
    for number, dialect in enumerate(DIALECTS, 1):
        home.add(dialect, number, 50, side=dialect == "claude")
    home.run()
    home.clock.advance(days=8)
    for number, dialect in enumerate(DIALECTS, 11):
        home.add(dialect, number, 40, side=dialect == "claude")
        home.add(dialect, number + 10, 2)
    return home


def _rooted(kept: Path, root: Path, like: Home) -> Home:
    if root.exists():
        shutil.rmtree(root)
    shutil.copytree(kept, root, symlinks=True)
    home = Home(root)
    home.clock.at = like.clock.at
    home.runs = like.runs
    return home


def _totals(home: Home) -> Totals:
    """Return what there is and what was written down, without what names a run or a moment."""
    trash = trash_folder(home.environ)
    thrown = [
        (item.session, item.reason, sorted((f.path, f.sha256, f.mode, f.mtime_ns) for f in item.files))
        for item in trash_items(trash)
    ]
    packed = [
        (one.session.id, sorted((f.path, f.hash, f.mode, f.mtime_ns) for f in one.session.files))
        for one in Shelf(home.data / "archive").sessions()
    ]
    log = AuditLog(home.environ)
    assert log.verify() == []
    told = Counter((line.action, line.session, line.files, line.size, line.sha256) for line in log.lines())
    return {"clients": home.clients(), "trash": sorted(thrown), "archive": sorted(packed), "audit": told}


def _leftovers(home: Home) -> list[str]:
    items = {item.id for item in trash_items(trash_folder(home.environ))}
    found = [path for path in home.data.rglob("*") if path.name.startswith(files.TEMP_PREFIX)]
    strange = [path for path in trash_folder(home.environ).iterdir() if path.name not in items]
    return [str(path) for path in (*found, *strange)]


def test_a_killed_run_is_completed_by_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", no_fsync)
    root, kept = tmp_path / "home", tmp_path / "kept"
    template = _prepared(root)
    shutil.copytree(root, kept, symlinks=True)
    report = template.run()
    # crabtalk's last session keeps its number until there is another one
    assert (report.counts["freed"], report.counts["removed"]) == (len(DIALECTS) - 1, len(DIALECTS) + 1)
    whole = _totals(template)
    for point in range(1, MOST_POINTS, STRIDE):
        home = _rooted(kept, root, template)
        was_killed = killed_at(point, home.run)
        again = home.run()
        assert again.failures == []
        assert _totals(home) == whole, point
        assert _leftovers(home) == [], point
        if not was_killed:
            break
    else:
        pytest.fail("more changes than there should be")
    assert point > STRIDE * 20


def test_after_a_kill_everything_is_somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", no_fsync)
    root, kept = tmp_path / "home", tmp_path / "kept"
    template = _prepared(root)
    shutil.copytree(root, kept, symlinks=True)
    before = template.clients()
    for point in range(1, MOST_POINTS, STRIDE * 3):
        home = _rooted(kept, root, template)
        was_killed = killed_at(point, home.run)
        _bring_all_back(home)
        found = home.clients()
        assert {name: found[name] for name in before} == before, point
        if not was_killed:
            break


def _bring_all_back(home: Home) -> None:
    trash = trash_folder(home.environ)
    for item in trash_items(trash):
        restore(item, trash)


def test_a_killed_process_leaves_nothing_in_the_folders_of_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", no_fsync)
    root, kept = tmp_path / "home", tmp_path / "kept"
    template = _prepared(root)
    shutil.copytree(root, kept, symlinks=True)
    own: Tree = tree(kept)
    for point in range(1, MOST_POINTS, STRIDE * 3):
        home = _rooted(kept, root, template)
        was_killed = killed_at(point, home.run)
        # the lock of pi names a process that is gone, and pi itself and the next run take it over
        assert {name for name in home.clients() if not name.endswith(".lock")} <= set(own), point
        if not was_killed:
            break
