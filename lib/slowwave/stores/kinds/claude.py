"""Claude Code and Cersei: ``~/.claude/projects/<project>/*.jsonl``, and any plain folder of transcripts.

A plain folder, or a folder of such folders, may hold transcripts of every client: their content tells.
"""

import os
from collections.abc import Container, Iterator, Mapping
from pathlib import Path

from slowwave.places import home_folder
from slowwave.stores.kinds.base import Kind, Place, is_folder
from slowwave.stores.model import StoreProblem
from slowwave.stores.walk import MEMORY, SUFFIXES, FoundSession, K, Walk

PROJECTS = "projects"
# Places of this kind belong to one project each, which is named after the folder.
FOLDER_OF_PROJECT = "claude"


class ClaudeHome(Kind):
    """Claude Code's home, or its ``projects`` folder."""

    name = FOLDER_OF_PROJECT
    is_flat = True

    def usual(self, environ: Mapping[str, str]) -> list[Path]:
        """Return Claude Code's home: ``$CLAUDE_CONFIG_DIR``, else ``~/.claude``."""
        named = environ.get("CLAUDE_CONFIG_DIR")
        return [Path(named).expanduser() if named else home_folder(environ) / ".claude"]

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:
        """Return every project folder; each counts, as one without a transcript may still have sub-agents."""
        if root.name == PROJECTS:
            return _folders(root, problems)
        return _folders(root / PROJECTS, problems) if PROJECTS in names and (root / PROJECTS).is_dir() else None

    def sessions(self, place: Place, walk: Walk[K]) -> Iterator[FoundSession]:
        """Yield the sessions of a project folder."""
        return walk.sessions(place.path)


class Transcripts(ClaudeHome):
    """A folder of transcripts, or a folder of such folders: the last kind that is tried."""

    def usual(self, environ: Mapping[str, str]) -> list[Path]:  # noqa: ARG002
        """Return no root: no client keeps its sessions so."""
        return []

    def places(self, root: Path, names: Container[str], problems: list[StoreProblem]) -> list[Place] | None:  # noqa: ARG002
        """Return the folder itself when a transcript lies in it, else its sub-folders with transcripts or memories."""
        with os.scandir(root) as entries:
            if any(entry.name.endswith(SUFFIXES) and entry.name[0] != "." for entry in entries):
                return [Place(self.name, os.fspath(root))]
        found = _folders(root, problems)
        return [place for place in found if _holds_sessions(place.path, problems)] or None


def _folders(root: Path, problems: list[StoreProblem]) -> list[Place]:
    with os.scandir(root) as found:
        entries = sorted(((entry.name, entry) for entry in found if entry.name[0] != "."), key=lambda item: item[0])
    places: list[Place] = []
    for name, entry in entries:
        if is_folder(entry, problems):
            places.append(Place(FOLDER_OF_PROJECT, entry.path))
        elif name.endswith(SUFFIXES):
            problems.append(StoreProblem("ignored", entry.path, "lies beside the project folders, not in one"))
    return places


def _holds_sessions(folder: str, problems: list[StoreProblem]) -> bool:
    try:
        # the first transcript decides, so the rest of a large folder is listed only once, by the walk
        with os.scandir(folder) as inside:
            return any(entry.name.endswith(SUFFIXES) or entry.name == MEMORY for entry in inside)
    except OSError as error:
        problems.append(StoreProblem("unreadable", folder, error.strerror or "cannot be listed"))
        return False
