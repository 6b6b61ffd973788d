"""The repository that a working folder belongs to, where it still exists on this machine."""

from pathlib import Path

# The folder that holds the repository's own data; in a worktree it is a file that points there.
_GIT = ".git"


def repository_of(cwd: str, home: str = "") -> str:
    """Return the git root above ``cwd``, for a worktree that of its repository, else ``cwd`` itself.

    Args:
        cwd: an absolute path; it may not exist on this machine.
        home: the person's home folder: a repository of it (settings kept under version control) does not make one
            project of everything below it.
    """
    if not cwd.startswith("/") or "\0" in cwd:
        return cwd
    try:
        for folder in (Path(cwd), *Path(cwd).parents):
            if str(folder) == home and cwd != home:
                return cwd
            mark = folder / _GIT
            if mark.is_dir():
                return str(folder)
            if mark.is_file():
                return _main_repository(mark) or str(folder)
    except OSError:
        # a folder above it may not be read, or the name is longer than this system allows
        return cwd
    return cwd


def _main_repository(mark: Path) -> str:
    """Return the repository that a worktree's ``.git`` file names (``gitdir: REPO/.git/worktrees/NAME``), or ""."""
    text = mark.read_text(encoding="utf-8", errors="surrogateescape")[:4096].strip()
    target = Path(mark.parent, text.removeprefix("gitdir:").strip())
    if text.startswith("gitdir:") and target.parent.name == "worktrees" and target.parent.parent.name == _GIT:
        return str(target.parent.parent.parent)
    return ""
