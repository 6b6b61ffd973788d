"""Where slowwave keeps its own files, from the environment that it is given."""

from collections.abc import Mapping
from pathlib import Path


def state_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for everything that can be rebuilt: ``$XDG_STATE_HOME/slowwave``."""
    home = Path(environ.get("HOME", "~")).expanduser()
    return Path(environ.get("XDG_STATE_HOME") or home / ".local" / "state") / "slowwave"
