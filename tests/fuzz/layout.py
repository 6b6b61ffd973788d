"""An input of the fuzzer as files: one file, or several with a separator between them, each where its client has it."""

import re
from collections.abc import Callable
from pathlib import Path

from slowwave.formats.sessions import part_name

SEPARATOR = b"\n\x1c\n"
_ID = re.compile(rb'"id"\s*:\s*"([A-Za-z0-9_-]{1,64})"')
_MESSAGE = re.compile(rb'"messageID"\s*:\s*"([A-Za-z0-9_-]{1,64})"')


def written(dialect: str, data: bytes, folder: Path) -> list[Path]:
    """Write the files of one input and return those that name the session."""
    pieces = data.split(SEPARATOR)
    return _LAYOUTS.get(dialect, _one)(pieces, folder)


def _one(pieces: list[bytes], folder: Path) -> list[Path]:
    return [_write(folder / "s.jsonl", b"\n".join(pieces))]


def _parts(pieces: list[bytes], folder: Path) -> list[Path]:
    return [_write(folder / part_name("s", number), piece) for number, piece in enumerate(pieces, 1)]


def _rollouts(pieces: list[bytes], folder: Path) -> list[Path]:
    """Write a rollout, and beside it those that it may be a fork of."""
    for piece in pieces[1:]:
        _write(folder / f"rollout-2026-11-21T20-00-00-{_found(_ID, piece)}.jsonl", piece)
    return [_write(folder / f"rollout-2026-11-21T20-53-12-{_found(_ID, pieces[0])}.jsonl", pieces[0])]


def _storage(pieces: list[bytes], folder: Path) -> list[Path]:
    """Write an export or a database as it is, several files as a storage tree."""
    if len(pieces) == 1:
        return _one(pieces, folder)
    session = _found(_ID, pieces[0])
    for number, piece in enumerate(pieces[1:]):
        owner = _found(_MESSAGE, piece)
        if owner == "x":
            _write(folder / "storage" / "message" / session / f"{_found(_ID, piece)}.json", piece)
        else:
            _write(folder / "storage" / "part" / owner / f"p{number:03}.json", piece)
    return [_write(folder / "storage" / "session" / "global" / f"{session}.json", pieces[0])]


def _found(pattern: re.Pattern[bytes], data: bytes) -> str:
    match = pattern.search(data)
    return match[1].decode() if match else "x"


def _write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


_LAYOUTS: dict[str, Callable[[list[bytes], Path], list[Path]]] = {
    "cersei": _parts,
    "codex": _rollouts,
    "opencode": _storage,
}
