"""What was archived since its client was about to delete it: packs of their own, and the room that these take."""

from pathlib import Path

from slowwave.stores.archive.model import SUFFIX
from slowwave.stores.archive.shelf import Shelf

_NAME = "rescue"


def pack_name(run_id: str) -> str:
    """Return what packs of a run are called, up to their number."""
    return f"{run_id}-{_NAME}"


def rescue_packs(archive: Path) -> list[Path]:
    """Return these packs.

    Raises:
        UnreadableError: the archive cannot be listed.
    """
    names = ((path, path.name.removesuffix(SUFFIX).rpartition("-")[0]) for path in Shelf(archive).packs())
    return [path for path, name in names if name.endswith(f"-{_NAME}")]


def rescued_bytes(archive: Path) -> int:
    """Return the bytes that they take.

    Raises:
        UnreadableError: the archive cannot be listed.
        OSError: a pack cannot be looked at.
    """
    return sum(path.stat().st_size for path in rescue_packs(archive))
