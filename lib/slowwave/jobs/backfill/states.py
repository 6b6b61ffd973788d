"""What was read of each session, and by which version; which sessions kill the process that reads them."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec

from slowwave.extraction.failures import MOST_ATTEMPTS, read_failures
from slowwave.extraction.gates import session_gates
from slowwave.extraction.job import UNTYPED
from slowwave.extraction.model.ledger import is_read
from slowwave.extraction.model.prompts import EXTRACTOR as MODEL
from slowwave.extraction.ranges import PartState, Recorded, ranges_of
from slowwave.extraction.remembered import read_refused, stamp_of
from slowwave.extraction.session import rest_of, states_of
from slowwave.extraction.streams import is_known
from slowwave.extraction.taking import EXTRACTOR
from slowwave.files import atomic_write, file_bytes
from slowwave.jobs.backfill.model import Seed
from slowwave.jobs.backfill.versions import changed_since, latest
from slowwave.memory.candidates import read_candidates
from slowwave.memory.model import Candidate
from slowwave.memory.names import name_to_json
from slowwave.settings import Settings
from slowwave.stores.model import StoredSession

Kind = Literal[
    "read",  # every byte, by the present version
    "older",  # an older version has read it
    "grown",  # a part of it is new
    "unread",
    "unasked",  # the miners have read it, the model that is set has not
    "failed",  # it could not be read, and will be tried again
    "given_up",  # it could not be read three times
    "refused",  # the gates would refuse it again
    "passed_over",  # nobody's words: sub-agents, schedules, hooks, copies
]
# what a backfill reads, beside those that it is asked for by name of their state
TO_READ: tuple[Kind, ...] = ("unread", "grown", "older", "unasked", "failed")
FAILED: tuple[Kind, ...] = ("failed", "given_up")


class State(msgspec.Struct, frozen=True):
    """How a session stands.

    Attributes:
        kind: see :data:`Kind`.
        version: the newest version of the miners that has read of it, or "".
        why: in words, where the kind alone does not tell.
    """

    kind: Kind
    version: str = ""
    why: str = ""


class Ledger:
    """What one memory folder knows of sessions.

    Args:
        memory: the folder; it may not exist.
        settings: the gates, and which model is asked.
        now: the current time.

    Raises:
        UnreadableError: a file of it cannot be read.
    """

    def __init__(self, memory: Path, settings: Settings, now: datetime) -> None:
        candidates, ranges, self.problems = read_candidates(memory)
        self._settings = settings
        self._now = now
        self._ranges = Recorded(ranges)
        self._versions: dict[str, set[str]] = {}
        for one in ranges:
            self._versions.setdefault(one.session.id, set()).add(one.extractor)
        self._candidates: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            self._candidates.setdefault(candidate.session.id, []).append(candidate)
        self._refused = read_refused(memory)[0]
        self._failed = read_failures(memory)[0]
        self._model = f"{MODEL}:{settings.model.label}" if settings.model.is_set else ""

    def state(self, session: StoredSession, *, force: bool = False) -> State:
        """Return how a session stands; its bytes are only looked at where something was recorded of it.

        Args:
            session: the session.
            force: what the gates refused does not count as refused.

        Raises:
            UnreadableError: a file of it cannot be read.
        """
        name = name_to_json(session.id)
        if why := _passed_over(session):
            return State("passed_over", why=why)
        version = latest(self._by(name))
        if version == EXTRACTOR and self._is_all_read(session):
            is_asked = not self._model or is_read(session, self._model, self._ranges)
            return State("read" if is_asked else "unasked", version)
        failure = self._failed.get(name)
        if failure and (failure.stamp, failure.extractor) == (f"{session.size}:{session.mtime_ns}", EXTRACTOR):
            return State("given_up" if failure.attempts >= MOST_ATTEMPTS else "failed", version, failure.error)
        if not force and name in self._refused and (why := self._refusal(session)):
            return State("refused", version, why)
        return State("unread" if not version else "grown" if version == EXTRACTOR else "older", version)

    def versions(self, session: StoredSession) -> list[str]:
        """Return which versions of which extractors are in the books of a session."""
        return sorted(self._by(name_to_json(session.id)))

    def seed(self, sessions: Sequence[StoredSession], *, retry: bool) -> Seed:
        """Return what is known of sessions; with ``retry`` it forgets that they failed."""
        names = list(dict.fromkeys(name_to_json(session.id) for session in sessions))
        versions = {name: latest(self._by(name)) for name in names}
        changed = {name: changed_since(version) for name, version in versions.items() if version not in ("", EXTRACTOR)}
        return Seed(
            candidates=[c for name in names for c in self._candidates.get(name, ())],
            ranges=[r for name in names for v in sorted(self._by(name)) for r in self._ranges.of(name, v)],
            refused=[self._refused[name] for name in names if name in self._refused],
            failures=[] if retry else [self._failed[name] for name in names if name in self._failed],
            changed={name: None if of is None else sorted(of) for name, of in changed.items()},
        )

    def _by(self, name: str) -> set[str]:
        """Return which versions of which extractors have read of a session."""
        return self._versions.get(name, set())

    def _is_all_read(self, session: StoredSession) -> bool:
        if is_known(session, EXTRACTOR, self._ranges):
            return True
        every = all(ranges_of(path, session.id, EXTRACTOR, self._ranges) for path in session.files.paths)
        return every and not session.is_stream and not any(s.has_new for s in states_of(session, self._ranges))

    def _refusal(self, session: StoredSession) -> str:
        """Return why the gates would refuse these very bytes again, or ""."""
        refused = self._refused[name_to_json(session.id)]
        if refused.extractor != EXTRACTOR:
            return ""
        if session.is_stream:
            states = [PartState(session.files.paths[0], 0, 0, f"{session.size}:{session.mtime_ns}", rewritten=False)]
        else:
            states = states_of(session, self._ranges)
        if refused.stamp != stamp_of(states):
            return ""
        rested = rest_of(session, refused.progress, self._now)
        gates = session_gates(refused.progress, self._settings.extraction, project="", session="", rested=rested)
        return next((gate.reason.partition(": ")[2] for gate in gates if not gate.passed), "")


def _passed_over(session: StoredSession) -> str:
    """Return why nothing is ever taken from a session, or ""."""
    for is_so, why in (
        (session.kind == "subagent", "a sub-agent's"),
        (session.origin in UNTYPED, "begun by a schedule or a hook"),
        (session.source == "backup", "a client's copy"),
    ):
        if is_so:
            return why
    return ""


MOST = 2
_decoder = msgspec.json.Decoder(dict[str, int])


class Deaths:
    """Who died of what in one piece.

    Args:
        path: a file of the piece; beside it, ending in ``.at``, stands which session is being read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = path.with_suffix(".at")
        self._died = _decoder.decode(file_bytes(path)) if path.exists() else {}

    def __enter__(self) -> Self:
        """Begin to read."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Note that nothing is being read any more, however it ended: this process lives."""
        self._at.unlink(missing_ok=True)

    def of(self, session: StoredSession) -> int:
        """Return how many processes died while they read a session; 0 for one that may be read."""
        died = self._died.get(_name_of(session), 0)
        return died if died >= MOST else 0

    def expect(self, session: StoredSession) -> None:
        """Note which session is read now; it needs to survive this process, not this machine."""
        if not self._at.exists():
            self._at.touch(mode=0o600)
        self._at.write_bytes(_name_of(session).encode())

    def count(self) -> bool:
        """Note that the process that read this piece is gone; say whether it was reading a session."""
        if not self._at.exists():
            return False
        name = file_bytes(self._at).decode()
        self._at.unlink()
        self._died[name] = self._died.get(name, 0) + 1
        atomic_write(self._path, msgspec.json.encode(self._died))
        return True


def _name_of(session: StoredSession) -> str:
    """Return what tells a session from its copies, and from others in its file."""
    return f"{name_to_json(session.id)} {name_to_json(session.files.paths[0])}"
