"""Whether extraction would still take something from a session: asked by whoever is about to remove it."""

from pathlib import Path

from slowwave.extraction.failures import MOST_ATTEMPTS, read_failures
from slowwave.extraction.job import UNTYPED
from slowwave.extraction.ranges import Recorded
from slowwave.extraction.session import states_of
from slowwave.extraction.streams import is_known
from slowwave.extraction.taking import EXTRACTOR
from slowwave.memory.candidates import read_candidates
from slowwave.memory.model import name_to_json
from slowwave.stores.model import StoredSession


class Pending:
    """What was read of the sessions of one project."""

    def __init__(self, memory: Path) -> None:
        """Read what is recorded in a memory folder.

        Raises:
            UnreadableError: its files cannot be read.
        """
        self._ranges = Recorded(read_candidates(memory)[1])
        self._failed = read_failures(memory)[0]

    def left(self, session: StoredSession) -> str:
        """Return what extraction has not read of a session yet, or "" when there is nothing that it would take.

        It never takes what sub-agents, schedules and hooks said, and copies: to wait for that would be to wait
        for ever. What its gates refuse now it reads as soon as the session has ended.

        Raises:
            UnreadableError: a file of the session cannot be read.
        """
        is_passed_over = session.kind == "subagent" or session.origin in UNTYPED or session.source == "backup"
        if is_passed_over or is_known(session, EXTRACTOR, self._ranges):
            return ""
        if session.is_stream:
            return "its client's database has not been read since it changed"
        size = sum(state.stop - state.known for state in states_of(session, self._ranges))
        if not size:
            return ""
        failure = self._failed.get(name_to_json(session.id))
        if failure and failure.attempts >= MOST_ATTEMPTS and failure.stamp == f"{session.size}:{session.mtime_ns}":
            return f"it could not be read {failure.attempts} times: {failure.error}"
        return f"{size} bytes have not been read since they were written"
