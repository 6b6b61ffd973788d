"""What a dream changed, as a unified diff of each file."""

import difflib
from pathlib import Path

from slowwave.errors import NotFoundError
from slowwave.memory.folder import read_or_none
from slowwave.memory.stage import read_manifest, undo_folder


def difference(memory: Path, dream: str) -> str:
    """Return the unified diff of everything that a dream or an undo changed in the files that agents read.

    Raises:
        NotFoundError: nothing with that id was ever committed here.
    """
    manifest = read_manifest(memory, dream)
    if manifest is None:
        raise NotFoundError(f"no dream {dream} in {memory}; slowwave memory list shows what is there")
    folder = undo_folder(memory, dream)
    return "".join(
        file_difference(name, read_or_none(folder / "before" / name), read_or_none(folder / "after" / name))
        for name in sorted(manifest.files)
    )


def file_difference(name: str, before: bytes | None, after: bytes | None) -> str:
    """Return the unified diff of one file; a file that is not there stands as /dev/null."""
    lines = difflib.unified_diff(
        _lines(before),
        _lines(after),
        "/dev/null" if before is None else f"a/{name}",
        "/dev/null" if after is None else f"b/{name}",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(data: bytes | None) -> list[str]:
    if not data:
        return []
    lines = [f"{line}\n" for line in data.decode("utf-8", "replace").split("\n")]
    return [*lines[:-1], *([lines[-1][:-1]] if lines[-1] != "\n" else [])]
