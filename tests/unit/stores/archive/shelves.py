"""Stores of every client that keeps files, archived as a whole, and what a tree of files looks like."""

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from slowwave.files import archive_folder
from slowwave.settings import Settings
from slowwave.stores.archive.pack import SUFFIX, PackedSession, Wanted, write_pack
from slowwave.stores.archive.shelf import RowsByPath, with_rows
from slowwave.stores.catalogue import Catalogue, catalogue_path
from slowwave.stores.discovery import list_sessions
from slowwave.stores.roots import session_of_path
from slowwave.stores.summary import SessionRow
from tests.unit.stores.families import cersei_forks, claude, clawdbot, codex, pi

AT = "2026-11-22T03:30:00+00:00"
Tree = dict[str, tuple[str, int, int, bytes]]


def crabtalk(home: Path) -> None:
    folder = home / ".crabtalk" / "sessions"
    folder.mkdir(parents=True)
    for number, sender in enumerate(("user", "ann")):
        meta = {"agent": "crab", "created_by": sender, "created_at": "2026-02-25T10:00:00Z"}
        lines = [meta, {"role": "user", "content": f"mend it {number}"}, {"role": "assistant", "content": "done"}]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"crab_{sender}_{number}_title.jsonl").write_text(text, encoding="utf-8")


def ulid(home: Path) -> None:
    for name in ("01JKQ5W8ZP3V9YB2C4D6E8F0GH", "01JM2V7Q9N4E8ZC3T6R5W0XKYB"):
        folder = home / ".agent" / "sessions" / name
        folder.mkdir(parents=True)
        record = {"recordType": "message", "schemaVersion": 1, "seq": 1, "role": "user"}
        record |= {"content": [{"type": "text", "text": f"mend it in {name}"}]}
        (folder / "session.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
        (folder / "metadata.json").write_text(json.dumps({"id": name, "name": f"the {name}"}), encoding="utf-8")


def cersei_parts(home: Path) -> None:
    cersei_forks(home)
    folder = home / ".claude" / "projects" / "-work"
    (folder / "a_part2.jsonl").write_bytes((folder / "c.jsonl").read_bytes().replace(b'"u', b'"v'))


STORES: dict[str, Callable[[Path], object]] = {
    "claude": claude,
    "cersei": cersei_parts,
    "pi": pi,
    "openclaw": clawdbot,
    "codex": codex,
    "crabtalk": crabtalk,
    "ulid": ulid,
}


def listed(settings: Settings, environ: Mapping[str, str]) -> list[SessionRow]:
    with Catalogue(catalogue_path(environ)) as catalogue:
        return list_sessions(settings, environ, catalogue).rows


def belongings(row: SessionRow) -> list[Path]:
    """Return what of a session goes together, the file that its client needs most last."""
    found = session_of_path(Path(row.path))
    if row.dialect == "ulid":
        return [Path(found.folder)]
    side = Path(found.folder, row.id)
    return [*([side] if side.is_dir() else []), *(Path(found.folder, file.name) for file in reversed(found.files))]


def wanted(rows: Iterable[SessionRow], at: str = AT) -> list[Wanted]:
    """Return what an archive of some sessions is made of; sub-agents in the folder of another one go with it."""
    rows = list(rows)
    by_path = RowsByPath(rows)
    plans = {row.path: belongings(row) for row in rows}
    folders = {path for paths in plans.values() for path in paths if path.is_dir()}
    found: list[Wanted] = []
    for row in rows:
        if folders.intersection(Path(row.path).parents) and row.dialect != "ulid":
            continue
        session = PackedSession(row.id, row.dialect, row.project, row.cwd, at, 1.5, ())
        found.append(Wanted(with_rows(session, plans[row.path], by_path), plans[row.path]))
    return found


def archive(rows: Iterable[SessionRow], environ: Mapping[str, str], name: str = "one", at: str = AT) -> Path:
    """Pack sessions and remove them."""
    every = wanted(rows, at)
    pack = archive_folder(environ) / f"{name}{SUFFIX}"
    write_pack(pack, every)
    for one in every:
        for path in one.paths:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return pack


def tree(folder: Path) -> Tree:
    """Return everything below a folder: kind, mode, time and content."""
    found: Tree = {}
    for path in sorted(folder.rglob("*")):
        at = path.lstat()
        data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        when = 0 if path.is_dir() else at.st_mtime_ns
        found[str(path.relative_to(folder))] = (stat.filemode(at.st_mode), at.st_mode, when, data)
    return found
