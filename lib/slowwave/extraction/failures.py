"""Sessions that could not be extracted: tried again on later runs, at most three times for the same bytes."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from slowwave.formats.lines import read_records
from slowwave.formats.model import Problem
from slowwave.memory.candidates import append_lines
from slowwave.memory.guard import OWN_FOLDER, guarded

FILE = "failures.jsonl"
MOST_ATTEMPTS = 3


class Failure(msgspec.Struct, frozen=True):
    """One failed attempt.

    Attributes:
        session: the session's id.
        stamp: size and modification time of the session; another stamp starts to count anew.
        attempts: how often these bytes have failed.
        error: what went wrong.
        extractor: name and version of the extractor.
        at: ISO time.
    """

    session: str
    stamp: str
    attempts: int
    error: str
    extractor: str
    at: str


_decoder = msgspec.json.Decoder(Failure)
_encode = msgspec.json.Encoder().encode


def failures_path(memory: Path, file: str = FILE) -> Path:
    """Return where the failures of a memory folder are."""
    return memory / OWN_FOLDER / file


def read_failures(memory: Path, file: str = FILE) -> tuple[dict[str, Failure], list[Problem]]:
    """Return the last failure of each session, and what could not be read.

    Raises:
        UnreadableError: the file exists and cannot be opened.
    """
    path = failures_path(memory, file)
    problems: list[Problem] = []
    if not path.exists():
        return {}, problems
    return {failure.session: failure for _, failure in read_records(path, _decoder, problems)}, problems


def append_failures(memory: Path, failures: Iterable[Failure], file: str = FILE) -> None:
    """Record failed attempts in one write.

    Raises:
        LockHeldError: another process kept the memory folder locked for too long.
        OSError: the file cannot be written.
    """
    lines = [_encode(failure) for failure in failures]
    if lines:
        with guarded(memory):
            append_lines(failures_path(memory, file), lines)
