"""What git says of a project's folder: which files it tracks, and where its own list of what it does not show lies."""

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from slowwave.errors import RefusedError

_SECONDS = 60
# git starts programs that a repository's settings name; to be asked a question it needs none of them
_PLAIN = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def has_git(root: Path) -> bool:
    """Say whether a folder is that of a repository."""
    return (root / ".git").exists()


def tracked(root: Path, names: Iterable[str], environ: Mapping[str, str]) -> set[str]:
    """Return which files of a repository git tracks.

    Raises:
        RefusedError: git is not there, or does not answer.
    """
    return set(filter(None, asked(root, environ, "ls-files", "-z", "--", *names).split("\0")))


def worktrees(root: Path, environ: Mapping[str, str]) -> list[Path]:
    """Return the other worktrees of a repository that are there; those of a bare one are projects of their own.

    Raises:
        RefusedError: git is not there, or does not answer.
    """
    if not (root / ".git").is_dir():
        return []
    told = asked(root, environ, "worktree", "list", "--porcelain", "-z").split("\0")
    paths = (Path(line.removeprefix("worktree ")) for line in told if line.startswith("worktree "))
    return [path for path in paths if path.resolve() != root.resolve() and (path / ".git").is_file()]


def author_of(root: Path, environ: Mapping[str, str]) -> str:
    """Return who works in a repository, as git names them in commits: ``Name <address>``; "" when it does not know.

    Raises:
        RefusedError: git is not there, or does not answer.
    """
    how = ("config", "--get", "--default", "")
    name, address = (asked(root, environ, *how, f"user.{what}").strip() for what in ("name", "email"))
    return f"{name} <{address}>" if name and address else ""


def exclude_file(root: Path, environ: Mapping[str, str]) -> Path:
    """Return git's own list of what it does not show of a repository; it may not exist yet.

    Raises:
        RefusedError: git is not there, or does not answer; or the list is a link, and so perhaps everybody's.
    """
    path = root / asked(root, environ, "rev-parse", "--git-path", "info/exclude").rstrip("\n")
    if path.is_symlink():
        raise RefusedError(f"{path}: is a link, so what is written there may appear elsewhere; see --visible")
    return path


def asked(root: Path, environ: Mapping[str, str], *question: str) -> str:
    """Return what git says in a repository.

    Raises:
        RefusedError: git is not there, or ends with an error.
    """
    plain = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and names come behind --
            ["git", *_PLAIN, *question],  # noqa: S607 - the person's own git
            cwd=root,
            env={**plain, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RefusedError(f"{root}: git does not answer ({error}); install git") from error
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise RefusedError(f"{root}: git does not answer: {said}")
    return os.fsdecode(done.stdout)
