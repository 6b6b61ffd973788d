"""A home in which one run of retention does all that it can do, copies of it, and what must be equal afterwards."""

import os
import shutil
from collections import Counter
from pathlib import Path

from slowwave import files
from slowwave.retention.audit import AuditLog
from slowwave.stores.archive.pack import Pack
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.trash import trash_folder, trash_items
from tests.unit.retention.fleets import ADD, INDEXES, remember
from tests.unit.retention.homes import Home, Tree

# what one run over a prepared home does
DOES = {"freed": 7, "archived": 7, "removed": 7, "rescued": 1, "purged": 1, "refused_needed": 1, "openclaw_entries": 1}


def prepared(root: Path) -> Home:
    """Return a home in which a run frees, archives, throws away, rescues, purges and tidies, and keeps something."""
    home = Home(root, purge=True, openclaw="own")
    for number, add in enumerate(ADD.values(), 1):
        add(home, number, 50)
        add(home, number + 30, 5)
    home.run()
    home.clock.advance(days=8)
    for number, add in enumerate(ADD.values(), 61):
        add(home, number, 50)
    ADD["crabtalk"](home, 80, 50)  # its number keeps it, and lets the one before it go
    ADD["claude"](home, 91, 28)
    remember(home, ADD["cersei"](home, 92, 5))
    ADD["clawdbot"](home, 93, 50).unlink()
    return home


def copied(kept: Path, root: Path, like: Home) -> Home:
    """Return a copy of a home in its place, at the same moment."""
    if root.exists():
        shutil.rmtree(root)
    shutil.copytree(kept, root, symlinks=True)
    home = Home(root)
    home.settings, home.clock.at, home.runs = like.settings, like.clock.at, like.runs
    return home


def totals(home: Home) -> dict[str, object]:
    """Return what there is and what was written down, without what names a run or a moment."""
    thrown = [
        (
            item.session, item.reason, item.notes,
            sorted((f.path, f.sha256, f.mode, f.mtime_ns) for f in item.files if f.kind == "file"),
        )
        for item in trash_items(trash_folder(home.environ))
    ]  # fmt: skip
    packed = [
        (
            one.session.id, one.session.notes,
            sorted((f.path, f.hash, f.mode, f.mtime_ns) for f in one.session.files if f.kind == "file"),
        )
        for one in Shelf(home.data / "archive").sessions()
    ]  # fmt: skip
    log = AuditLog(home.environ)
    assert log.verify() == []
    told = Counter((line.action, line.session, line.files, line.size) for line in log.lines())
    return {"clients": own_to_clients(home), "trash": sorted(thrown), "archive": sorted(packed), "audit": told}


def own_to_clients(home: Home) -> Tree:
    """Return the files of clients; memories and indexes without their times, which say when they were written."""
    return {name: (data, mode, 0 if _is_shared(name) else at) for name, (data, mode, at) in home.clients().items()}


def _is_shared(name: str) -> bool:
    return "/memory/" in name or name.endswith(INDEXES)


def leftovers(home: Home) -> list[str]:
    """Return what of ours lies where nothing should lie after a whole run."""
    every = [Path(folder, name) for folder, inside, names in os.walk(home.root) for name in (*inside, *names)]
    found = [path for path in every if path.name.startswith(files.TEMP_PREFIX)]
    found += [path for path in every if path.name.endswith(".lock") and path.is_relative_to(home.root / ".clawdbot")]
    trash = trash_folder(home.environ)
    items = {item.id for item in trash_items(trash)}
    found += [path for path in trash.glob("*") if path.name not in items]
    noted = home.root / "state" / "slowwave" / "purge"
    return [str(path) for path in (*found, *(noted.iterdir() if noted.is_dir() else ()))]


def saved(home: Home) -> set[bytes]:
    """Return the contents of all files of sessions: in their places, in the trash, and in packs, unpacked."""
    found = {data for name, (data, _, _) in home.clients().items() if not _is_shared(name)}
    trash = trash_folder(home.environ)
    found |= {path.read_bytes() for path in trash.rglob("0*") if path.is_file()}
    for one in Shelf(home.data / "archive").sessions():
        with Pack(one.pack) as pack:
            found |= {pack.read(file) for file in one.session.files if file.kind == "file"}
    return found
