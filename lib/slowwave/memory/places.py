"""Where a memory folder's siblings lie while it is exchanged: they share its parent, so that a rename reaches them."""

import hashlib
from pathlib import Path
from typing import Literal

Kind = Literal["stage", "aside", "trash"]
_PREFIX = ".slowwave-"
KINDS: tuple[Kind, ...] = ("aside", "stage", "trash")


def sibling(memory: Path, kind: Kind, transaction: str) -> Path:
    """Return the path of a sibling: ``stage`` is being built, ``aside`` is the old folder, ``trash`` can go."""
    return memory.with_name(f"{_PREFIX}{kind}-{_tag(memory)}-{transaction}")


def siblings(memory: Path) -> list[tuple[Kind, str, Path]]:
    """Return what lies beside a memory folder: kind, id of the transaction, path."""
    found: list[tuple[Kind, str, Path]] = []
    for kind in KINDS:
        start = f"{_PREFIX}{kind}-{_tag(memory)}-"
        for path in sorted(memory.parent.glob(f"{start}*")):
            found.append((kind, path.name.removeprefix(start), path))  # noqa: PERF401 - keeps the literal type
    return found


def _tag(memory: Path) -> str:
    """Tell the memory folders of one parent apart, whatever their names hold."""
    return hashlib.sha256(memory.name.encode("utf-8", "surrogateescape")).hexdigest()[:8]
