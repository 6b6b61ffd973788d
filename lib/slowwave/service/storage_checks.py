"""Checks of the places that things lie in: room, privacy, kind of file system, and the archive."""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from slowwave.errors import SlowwaveError
from slowwave.memory.guard import OWN_FOLDER
from slowwave.places import archive_folder, config_folder, data_folder, scheduler_folder, state_folder
from slowwave.service.check import Check
from slowwave.stores.archive.shelf import Shelf
from slowwave.stores.model import Discovery

LEAST_FREE = 1 << 30
_MOUNTS = Path("/proc/self/mounts")
# what has no locks that other hosts see, or no renames that happen at once
_LOOSE = ("fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.sshfs", "cifs", "smb3", "9p", "fuse.blobfuse2")
_NFS = ("nfs", "nfs4")


def first_there(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    return next(p for p in (path, *path.parents) if p.exists())


def disk(environ: Mapping[str, str], found: Discovery | None) -> Check:
    """Say whether every file system that is written to has room: a gigabyte, and names for new files."""
    places = [state_folder(environ), data_folder(environ), *(p.memory for p in (found.projects if found else ()))]
    tightest, least = places[0], None
    for place in places:
        there = first_there(place)
        names = os.statvfs(there)
        # file systems that make names as they need them tell 0 of 0
        if names.f_files and not names.f_favail:
            return Check("disk", ok=False, seen=f"no new file can be made in {there}", fix="remove files there")
        free = shutil.disk_usage(there).free
        if least is None or free < least:
            tightest, least = place, free
    seen = f"{(least or 0) / (1 << 30):.1f} GiB free for {tightest}"
    is_well = (least or 0) >= LEAST_FREE
    return Check("disk", ok=is_well, seen=seen, fix="" if is_well else "make at least 1 GiB free")


def private(environ: Mapping[str, str], found: Discovery) -> Check:
    """Say whether others may read what slowwave keeps: memories, candidates and archives tell what was said."""
    places = [state_folder(environ), data_folder(environ), scheduler_folder(environ)]
    places.append(config_folder(environ) / "fingerprint.key")
    places += [project.memory / OWN_FOLDER for project in found.projects]
    is_open = [p for p in places if p.exists() and _others_reach(p)]
    if not is_open:
        return Check("privacy", ok=True, seen="nobody else may read what slowwave keeps")
    seen = f"others may read {len(is_open)} places, first: {is_open[0]}"
    return Check("privacy", ok=True, seen=seen, fix=f"chmod -R go-rwx {is_open[0]}")


def _others_reach(path: Path) -> bool:
    """Say whether somebody outside of the group may read a place: all folders above must let them in."""
    if not path.stat().st_mode & stat.S_IROTH:
        return False
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents)


def storage(found: Discovery, mounts: Path = _MOUNTS) -> Check:
    """Say whether memory folders lie on storage on which two hosts are kept apart (decision 39)."""
    try:
        table = [line.split() for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return Check("storage", ok=True, seen="this system does not tell what its file systems are")
    kinds = {p.memory: _mount_of(p.memory, table) for p in found.projects}
    for memory, (kind, options) in kinds.items():
        if kind in _LOOSE:
            seen = f"{memory} lies on {kind}, where renames or locks do not hold across hosts"
            return Check(
                "storage", ok=False, seen=seen, fix="let one host alone dream there, or move it to a disk or NFS 4"
            )
        if kind in _NFS and ("nolock" in options or "local_lock=all" in options):
            fix = "mount it with locks; until then dream on one host alone"
            return Check("storage", ok=False, seen=f"{memory} lies on {kind} without locks", fix=fix)
    return Check("storage", ok=True, seen=f"memory folders lie on {_kinds(kind for kind, _ in kinds.values())}")


def _kinds(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names))) or "nothing yet"


def _mount_of(path: Path, table: list[list[str]]) -> tuple[str, list[str]]:
    """Return the kind and options of the file system that a path lies on."""
    there = os.path.realpath(first_there(path))
    fitting = [
        (len(row[1]), row[2], row[3].split(","))
        for row in table
        if len(row) > 3 and (there == row[1] or there.startswith(row[1].rstrip("/") + "/"))  # noqa: PLR2004 - its columns
    ]
    if not fitting:
        return "an unknown file system", []
    _, kind, options = max(fitting, key=lambda item: item[0])
    return kind, options


def archive(environ: Mapping[str, str], *, read_back: bool) -> Iterator[Check]:
    """Say whether the packs of the archive can be read; with ``read_back`` every byte of them."""
    shelf = Shelf(archive_folder(environ))
    try:
        sessions = len(list(shelf.sessions()))
        problems = shelf.check() if read_back else shelf.problems
        packs = len(shelf.packs())
    except SlowwaveError as error:
        yield Check("archive", ok=False, seen=str(error), fix="let this user read it")
        return
    how = "every byte read back" if read_back else "tables read (--archive reads every byte)"
    seen = f"{packs} packs with {sessions} sessions, {how}" if packs else "nothing was archived yet"
    if problems:
        seen = f"{len(problems)} packs or sessions cannot be read, first: {problems[0]}"
    fix = "restore the pack from a backup; until then nothing of it can be restored" if problems else ""
    yield Check("archive", ok=not problems, seen=seen, fix=fix)
