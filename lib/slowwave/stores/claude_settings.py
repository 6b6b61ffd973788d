"""Where Claude Code keeps its settings, in the order in which it lays one file over another (read in 2.1.330).

An administrator's policy lies in one folder of the machine and goes over everything that a person sets.
"""

import sys
from pathlib import Path

# a folder of the machine, not of a home; the client takes no other one
POLICY = Path("/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code")


def persons_files(home: Path, cwd: Path | None) -> list[Path]:
    """Return the files that people write, the strongest last; they may not exist.

    Args:
        home: the client's home, usually ``~/.claude``.
        cwd: the folder that a session works in.
    """
    own = [cwd / ".claude" / name for name in ("settings.json", "settings.local.json")] if cwd is not None else []
    return [home / "settings.json", *own]


def policy_files() -> list[Path]:
    """Return the files of the machine's policy, the strongest last; the first may not exist.

    Raises:
        OSError: there is a folder with more of them, which cannot be listed.
    """
    folder = POLICY / "managed-settings.d"
    try:
        more = sorted(path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != ".")
    except (FileNotFoundError, NotADirectoryError):
        more = []
    return [POLICY / "managed-settings.json", *more]
