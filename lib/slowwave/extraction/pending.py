"""Whether extraction would still take something from a session: asked by whoever is about to remove it."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from slowwave.extraction.failures import MOST_ATTEMPTS, read_failures
from slowwave.extraction.gates import session_gates
from slowwave.extraction.job import UNTYPED
from slowwave.extraction.mining import EXTRACTOR
from slowwave.extraction.ranges import PartState, Recorded
from slowwave.extraction.remembered import read_refused, stamp_of
from slowwave.extraction.session import has_enough_lines, rest_of, states_of
from slowwave.extraction.streams import is_known, is_stream
from slowwave.memory.candidates import read_candidates
from slowwave.memory.names import name_to_json
from slowwave.settings import ExtractionSettings
from slowwave.stores.model import StoredSession


class Pending:
    """What was read of the sessions of one project."""

    def __init__(self, memory: Path, settings: ExtractionSettings, now: datetime) -> None:
        """Read what is recorded in a memory folder.

        Args:
            memory: the memory folder.
            settings: the gates of extraction.
            now: the current time.

        Raises:
            UnreadableError: its files cannot be read.
        """
        self._settings = settings
        self._now = now
        self._ranges = Recorded(read_candidates(memory)[1])
        self._refused = read_refused(memory)[0]
        self._failed = read_failures(memory)[0]

    def left(self, session: StoredSession) -> str:
        """Return what extraction has not read of a session yet, or "" when there is nothing that it would take.

        It never takes what sub-agents, schedules and hooks said, copies, sessions of too few messages, and what its
        gates refused when it saw these very bytes: to wait for that would be to wait for ever.

        Raises:
            UnreadableError: a file of the session cannot be read.
        """
        if self._is_passed_over(session) or is_known(session, EXTRACTOR, self._ranges):
            return ""
        if is_stream(session):
            return "its client's database was not read since it changed"
        states = states_of(session, self._ranges)
        size = sum(state.stop - state.known for state in states)
        if not size or not has_enough_lines(states, self._settings.min_messages) or self._was_refused(session, states):
            return ""
        failure = self._failed.get(name_to_json(session.id))
        if failure and failure.attempts >= MOST_ATTEMPTS and failure.stamp == f"{session.size}:{session.mtime_ns}":
            return f"it could not be read {failure.attempts} times: {failure.error}"
        return f"{size} bytes were not read since they were written"

    def _is_passed_over(self, session: StoredSession) -> bool:
        return (
            session.kind == "subagent"
            or session.origin in UNTYPED
            or session.source == "backup"
            or 0 <= session.messages < self._settings.min_messages
        )

    def _was_refused(self, session: StoredSession, states: Sequence[PartState]) -> bool:
        """Say whether the gates saw these very bytes, and would refuse them again."""
        refused = self._refused.get(name_to_json(session.id))
        if refused is None or (refused.stamp, refused.extractor) != (stamp_of(states), EXTRACTOR):
            return False
        rested = rest_of(session, refused.progress, self._now)
        gates = session_gates(refused.progress, self._settings, project="", session=session.id, rested=rested)
        return not all(gate.passed for gate in gates)
