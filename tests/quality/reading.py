"""Real sessions as the product reads them: through a forced extraction into a memory folder of their own."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from slowwave.context import FixedClock
from slowwave.extraction.job import extract_sessions
from slowwave.formats import SessionFiles, Text, Transcript
from slowwave.formats.registry import by_name, detect
from slowwave.formats.sessions import StoredSession
from slowwave.memory import Candidate
from slowwave.memory.candidates import read_candidates
from slowwave.settings import Settings
from slowwave.stores.projects import Project
from tests.quality.unsynced import unsynced

# long after the last session, so that none counts as live
LATER = FixedClock(datetime(2030, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class Turn:
    """What a person typed in one record; ``line`` counts from 1."""

    path: Path
    line: int
    text: str


def stored(path: Path) -> StoredSession:
    """Return a file as the session that a store would list."""
    status = path.stat()
    files = SessionFiles(path.stem, (path,))
    return StoredSession(detect(path).name, files, "main", path.parent, status.st_size, status.st_mtime_ns)


def extracted(paths: Sequence[Path]) -> list[Candidate]:
    """Return what extraction finds in sessions of one project.

    Raises:
        RuntimeError: a session could not be read; its candidates would be missing without a word.
    """
    with TemporaryDirectory() as folder:
        root = Path(folder)
        sessions = tuple(map(stored, paths))
        project = Project("quality", "", (root,), root / "memory", sessions)
        with unsynced():
            report = extract_sessions(project, sessions, Settings(), LATER, force=True, home=root)
        if report.failures:
            raise RuntimeError("; ".join(report.failures))
        return read_candidates(project.memory)[0]


@cache
def transcript_of(path: Path) -> Transcript:
    """Return a session as its client would load it."""
    return by_name(detect(path).name).read(SessionFiles(path.stem, (path,)))


@cache
def line_starts(path: Path) -> tuple[int, ...]:
    """Return the offset of each line of a file."""
    data = path.read_bytes()
    starts = [0]
    at = data.find(b"\n")
    while at >= 0:
        starts.append(at + 1)
        at = data.find(b"\n", at + 1)
    return tuple(starts)


def line_at(path: Path, offset: int) -> int:
    """Return the number of the line, from 1, that an offset lies in."""
    return bisect_right(line_starts(path), offset)


def cited(candidate: Candidate) -> frozenset[tuple[str, int]]:
    """Return the records that a candidate cites, as path and line."""
    return frozenset((e.path, line_at(Path(e.path), e.offset)) for e in candidate.evidence)


def typed_turns(path: Path) -> Iterator[Turn]:
    """Yield what a person typed in the main conversation of a session."""
    for message in transcript_of(path).messages:
        if message.active and not message.sidechain and message.role == "user" and message.origin == "typed":
            for block, span in message.placed():
                if isinstance(block, Text) and block.text.strip():
                    yield Turn(path, line_at(path, span.offset), block.text)


def spoken(path: Path) -> Iterator[Turn]:
    """Yield all text of a session's main conversation, whoever it is from."""
    for message in transcript_of(path).messages:
        if message.active and not message.sidechain:
            for block, span in message.placed():
                if isinstance(block, Text) and block.text.strip():
                    yield Turn(path, line_at(path, span.offset), block.text)
