"""What the gates were told of sessions that they refused, so that the same bytes are not decoded to be refused again.

The progress is kept and not the verdict: under other settings the same progress may pass.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from slowwave.extraction.gates import Progress
from slowwave.extraction.ranges import PartState
from slowwave.formats.lines import read_records
from slowwave.formats.model import Problem
from slowwave.memory.candidates import append_lines
from slowwave.memory.guard import OWN_FOLDER, guarded

FILE = "refused.jsonl"


class Refused(msgspec.Struct, frozen=True):
    """A session that a gate refused after it was decoded.

    Attributes:
        session: the session's id, as :mod:`slowwave.memory.model` spells it.
        stamp: of its files, as :func:`stamp_of` returns it; another stamp means another progress.
        extractor: name and version of the extractor.
        progress: what the gates were told.
        at: ISO time.
    """

    session: str
    stamp: str
    extractor: str
    progress: Progress
    at: str


_decoder = msgspec.json.Decoder(Refused)
_encode = msgspec.json.Encoder().encode


def refused_path(memory: Path) -> Path:
    """Return where the refused sessions of a memory folder are."""
    return memory / OWN_FOLDER / FILE


def stamp_of(states: Sequence[PartState]) -> str:
    """Return what identifies the bytes of a session, and how much of them was read before."""
    parts = [f"{state.path.name!a}:{state.known}:{state.stop}:{state.sha256}" for state in states]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def read_refused(memory: Path) -> tuple[dict[str, Refused], list[Problem]]:
    """Return for each session the last time that it was refused, and what could not be read.

    Raises:
        UnreadableError: the file exists and cannot be opened.
    """
    path = refused_path(memory)
    problems: list[Problem] = []
    if not path.exists():
        return {}, problems
    return {refused.session: refused for _, refused in read_records(path, _decoder, problems)}, problems


def append_refused(memory: Path, refused: Iterable[Refused]) -> None:
    """Note refused sessions in one write.

    Raises:
        LockHeldError: another process kept the memory folder locked for too long.
        OSError: the file cannot be written.
    """
    lines = [_encode(one) for one in refused]
    if lines:
        with guarded(memory):
            append_lines(refused_path(memory), lines)
