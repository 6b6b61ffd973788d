"""What other programs import: sessions of every client, what their clients would send, and the gates of a dream.

Everything else is for slowwave's own commands and may change; ``docs/library.md`` shows these in use.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from slowwave.clock import Clock, SystemClock
from slowwave.consolidation.gates import changed_since, read_state, render_state, session_gate, time_gate
from slowwave.consolidation.lock import DreamLock, held, refusal
from slowwave.files import atomic_write, private_folder
from slowwave.formats.model import Message, SessionFiles, Transcript
from slowwave.formats.registry import by_name, read_for_context
from slowwave.formats.sessions import StoredSession
from slowwave.memory.folder import STATE_FILE
from slowwave.report import Gate
from slowwave.settings import Settings
from slowwave.stores.roots import session_of_path
from slowwave.stores.sessions import Sessions
from slowwave.stores.writers import known_head


def read_session(path: Path) -> Transcript:
    """Read one session of any client, all of its parts; what is damaged is told in ``problems``.

    Raises:
        UnreadableError: the file cannot be opened.
        UnknownDialectError: it is empty, or of no known dialect.
    """
    dialect, files = _opened(path)
    return by_name(dialect).read(files)


def context_of(path: Path) -> Sequence[Message]:
    """Return what the session's client would send if it were resumed now.

    Raises:
        UnreadableError, UnknownDialectError: as :func:`read_session`.
    """
    name, files = _opened(path)
    dialect = by_name(name)
    return dialect.context(read_for_context(dialect, files))


def _opened(path: Path) -> tuple[str, SessionFiles]:
    found = session_of_path(path.absolute())
    return known_head(found).dialect, SessionFiles(
        found.id, tuple(Path(found.folder, file.name) for file in found.files)
    )


class Dreaming:
    """The gates, the lock and the state of one memory folder's dreams, as in the seed's ``AutoDream``.

    Args:
        memory: the memory folder.
        conversations: the folder that its project's transcripts lie in.
        settings: hours, sessions and the age of a stale lock.
        clock: what time it is.
    """

    def __init__(
        self, memory: Path, conversations: Path, *, settings: Settings | None = None, clock: Clock | None = None
    ) -> None:
        self.memory, self.conversations = memory, conversations
        self._rules = (settings or Settings()).consolidation
        self._clock = clock or SystemClock()

    def gates(self) -> list[Gate]:
        """Return the three gates, each with its reason: time, sessions, lock.

        Raises:
            CorruptStateError: the state does not parse, which never counts as "never ran".
        """
        last, now = read_state(self.memory), self._clock.now()
        changed = changed_since(self._sessions(), last, lambda _session: "")
        shut = refusal(self.memory, self._rules.lock_stale, wall=now.timestamp)
        return [
            time_gate("", last, now, self._rules.min_hours),
            session_gate("", changed, self._rules.min_sessions),
            Gate("lock", "", passed=not shut, reason=shut or "free"),
        ]

    def should_consolidate(self) -> bool:
        """Say whether all gates are open.

        Raises:
            CorruptStateError: as :meth:`gates`.
        """
        return all(gate.passed for gate in self.gates())

    @contextmanager
    def lock(self) -> Generator[DreamLock]:
        """Hold the lock as long as the block runs; it is given up in any case.

        Raises:
            LockHeldError: another process holds it.
        """
        with held(self.memory, self._rules.lock_stale) as lock:
            yield lock

    def update_state(self) -> None:
        """Note that a dream was done now; call it inside of :meth:`lock`.

        Raises:
            OSError: the folder cannot be written.
        """
        private_folder(self.memory)
        atomic_write(self.memory / STATE_FILE, render_state(int(self._clock.now().timestamp())))

    def _sessions(self) -> Sequence[StoredSession]:
        return Sessions(self.conversations, clock=self._clock).stored()
