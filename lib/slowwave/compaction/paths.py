"""Paths as sessions write them, of any system: joined, compared, shown; the file system is never asked."""

import posixpath
import re

_DRIVE = re.compile(r"^([A-Za-z]):[\\/]")
# Git for Windows writes D:\ as /d/
_MOUNTED = re.compile(r"^/([A-Za-z])(?:/|$)")


def is_absolute(path: str) -> bool:
    """Say whether a path says by itself where it is."""
    return path.startswith(("/", "~", "\\\\")) or _DRIVE.match(path) is not None


def joined(folder: str | None, path: str) -> str | None:
    """Return a path seen from where ``folder`` is; None when the folder is not known and the path needs one."""
    if is_absolute(path) or not folder:
        return path if folder is not None or is_absolute(path) else None
    return f"{folder.rstrip('/')}/{path}" if folder != "/" else f"/{path}"


def whole(path: str, cwd: str = "") -> str:
    """Return a path in full where ``cwd`` is known, without dots, with forward slashes where a drive is named."""
    full = joined(cwd, path) or path
    if _DRIVE.match(full) or _DRIVE.match(cwd):
        full = _MOUNTED.sub(lambda m: f"{m[1]}:/", full.replace("\\", "/"))
    return posixpath.normpath(full)


def key_of(path: str, cwd: str = "") -> str:
    """Return what is the same for every spelling of a file."""
    full = whole(path, cwd)
    return full.casefold() if _DRIVE.match(full) else full


def shown(path: str, cwd: str = "") -> str:
    """Return a path as seen from ``cwd`` where it lies within, else in full."""
    if not cwd:
        return posixpath.normpath(path)
    full, root = whole(path, cwd), whole(cwd)
    within = key_of(full).startswith(key_of(root).rstrip("/") + "/")
    return full[len(root.rstrip("/")) + 1 :] if within else full
