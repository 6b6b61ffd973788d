"""Whether the bytes that prove a fact are still there."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from slowwave.memory.model import Evidence
from slowwave.memory.names import name_from_json, name_to_json, printable

Finding = Literal["ok", "moved", "changed", "lost"]


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of one piece of evidence.

    Attributes:
        evidence: as it was recorded.
        finding: ok; moved (the same bytes lie elsewhere); changed (the file has other bytes); lost (no file).
        path: where the bytes are now, or the file that was looked at.
        offset: where in ``path`` they are, -1 when they were not found.
    """

    evidence: Evidence
    finding: Finding
    path: str
    offset: int


def check_evidence(evidence: Evidence, folders: Sequence[Path] = ()) -> Checked:
    """Read the evidence again.

    Args:
        evidence: what was recorded.
        folders: where to look for a file of the same name when it is no longer at its path.
    """
    path = Path(name_from_json(evidence.path))
    if _bytes_at(path, evidence.offset, evidence.length) == evidence.sha256:
        return Checked(evidence, "ok", evidence.path, evidence.offset)
    places = [p for p in _places(path, folders) if p.is_file()]
    for place in places:
        offset = _find(place, evidence)
        if offset >= 0:
            return Checked(evidence, "moved", name_to_json(place), offset)
    if places:
        return Checked(evidence, "changed", name_to_json(places[0]), -1)
    return Checked(evidence, "lost", evidence.path, -1)


def unproven(evidence: Iterable[Evidence], folders: Sequence[Path] = ()) -> str:
    """Return why these bytes do not prove anything any more, or "" when all of them re-read."""
    for item in evidence:
        checked = check_evidence(item, folders)
        if checked.finding == "changed":
            return f"its evidence is no longer in {printable(checked.path)}"
        if checked.finding == "lost":
            return f"its evidence is gone with {printable(checked.path)}"
    return ""


def _places(path: Path, folders: Sequence[Path]) -> list[Path]:
    """Return the file itself, then files of its name in the project's folders."""
    found = [path]
    for folder in folders:
        if folder.is_dir():
            found += sorted(p for p in folder.rglob(_literal(path.name)) if p != path)
    return found


def _literal(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _bytes_at(path: Path, offset: int, length: int) -> str:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return hashlib.sha256(file.read(length)).hexdigest()
    except OSError:
        return ""


def _find(path: Path, evidence: Evidence) -> int:
    """Return where the recorded bytes lie in a file, -1 when nowhere; records stand on lines of their own."""
    try:
        with path.open("rb", buffering=1 << 20) as file:
            offset = 0
            for line in file:
                begin = len(line) - len(line.lstrip(b" \t\r\n\0"))
                raw = line[begin : begin + evidence.length]
                if len(raw) == evidence.length and hashlib.sha256(raw).hexdigest() == evidence.sha256:
                    return offset + begin
                offset += len(line)
    except OSError:
        return -1
    return -1
