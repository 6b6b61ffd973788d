"""pi: ``~/.pi/agent/sessions/--<working folder>--/<time>_<id>.jsonl``."""

import os
import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from slowwave.places import home_folder
from slowwave.stores.kinds.base import Kind, Place, is_folder
from slowwave.stores.model import StoreProblem
from slowwave.stores.walk import FoundSession, K, Walk

# The working folder without its first slash, every separator as a dash; it cannot be turned back.
_FOLDER = re.compile(r"--.*--\Z", re.DOTALL)
_SESSIONS = "sessions"


class Pi(Kind):
    """pi's agent folder, or the ``sessions`` folder in it."""

    name = "pi"
    is_flat = True

    def usual(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the agent folder: ``$PI_CODING_AGENT_DIR``, else ``~/.pi/agent``."""
        named = environ.get("PI_CODING_AGENT_DIR")
        return [Path(named).expanduser() if named else home_folder(environ) / ".pi" / "agent"]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:  # noqa: ARG002
        """Return a place for each working folder."""
        for folder in (root / _SESSIONS, root / "agent" / _SESSIONS, root):
            if folder.is_dir() and (found := _folders(folder, problems)):
                return [Place(self.name, path) for path in found]
        return None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a working folder."""
        return walk.sessions(place.path)


def _folders(folder: Path, problems: list[StoreProblem]) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.path for entry in entries if _FOLDER.match(entry.name) and is_folder(entry, problems))
