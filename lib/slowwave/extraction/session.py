"""One session read for extraction: what is new, whether the gates let it pass, and the candidates in it.

None of it may be learnt that lay in a session which was erased, be this a fork or a copy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from slowwave.extraction.candidates import Quarantined, quarantine_of
from slowwave.extraction.gates import Progress, progress_of, session_gates
from slowwave.extraction.ranges import PartState, part_state, ranges_of, runs_of, stamp
from slowwave.extraction.selection import EXTRACTOR, Taken, taken
from slowwave.formats import Message, Span, Transcript
from slowwave.formats.registry import by_name
from slowwave.formats.sessions import StoredSession
from slowwave.memory import ExtractedRange, SessionRef, name_to_json
from slowwave.reading import Meaning
from slowwave.reading.session import read
from slowwave.report import Gate
from slowwave.secrets import Redactor
from slowwave.secrets.blocklist import Blocked, moment_name, record_name
from slowwave.settings import Settings
from slowwave.stores.projects import Project
from slowwave.stores.summary import HARMLESS


def unerased(messages: Sequence[Message], blocked: Blocked | None) -> Sequence[Message]:
    """Return the messages without those whose records were erased with another session."""
    if blocked is None or not blocked.has_records:
        return messages
    return [message for message in messages if not _is_erased(message, blocked)]


def _is_erased(message: Message, blocked: Blocked) -> bool:
    if message.sources and all(blocked.has_record(record_name(span.raw)) for span in message.sources):
        return True
    # a fork of opencode has new ids
    return blocked.has_record(moment_name(message.role, message.timestamp, message.text))


class Around(Protocol):
    """What reading a session needs of the run that it is part of."""

    project: Project
    settings: Settings
    force: bool
    redact: Redactor
    now: datetime


@dataclass(frozen=True, slots=True)
class Read:
    """A session as extraction saw it."""

    states: Sequence[PartState]  # its files
    gates: list[Gate]  # those that were asked after reading; only when all passed is anything taken
    taken: Taken  # its candidates
    problems: list[str]  # damage in its files, one line each
    bytes_read: int  # bytes that were decoded
    redacted: int  # secrets that were taken out of what people said and commands
    is_subagent: bool = False  # its content shows that it belongs to a sub-agent
    progress: Progress | None = None  # what the gates were told
    abandoned: int = 0  # new messages of branches that were left behind; nothing is taken from them
    sidechain: int = 0  # new messages of sub-agents inside the session's own files; nothing is taken from them
    # what people typed or pasted that tries to steer an agent; nothing is taken from it
    quarantined: Sequence[Quarantined] = ()
    # records by a type that this version does not know
    unknown: Mapping[str, int] = field(default_factory=dict[str, int])


def states_of(session: StoredSession, ranges: Sequence[ExtractedRange]) -> list[PartState]:
    """Compare every file of a session with what was read before."""
    return [part_state(path, ranges_of(path, session.id, EXTRACTOR, ranges)) for path in session.files.paths]


def read_session(
    session: StoredSession, states: Sequence[PartState], around: Around, transcript: Transcript | None = None
) -> Read:
    """Read a session as its client would, ask the gates, and mine what is new with what came before as context.

    Args:
        session: the session.
        states: what of it was read before.
        around: the run.
        transcript: the session when it was read already.

    Raises:
        UnreadableError: a file cannot be opened.
        UsageError: the dialect is not known.
    """
    from slowwave.extraction.offline import notes  # noqa: PLC0415 - few sessions of a night have anything new

    if transcript is None:
        transcript = by_name(session.dialect).read(session.files)
        size = sum(state.path.stat().st_size for state in states)
    else:
        size = session.size
    problems = [str(problem) for problem in transcript.problems if problem.kind not in HARMLESS]
    if transcript.kind == "subagent":
        return Read(states, [], Taken(), problems, size, 0, is_subagent=True, unknown=transcript.unknown_types)
    messages = [m for m in transcript.messages if _is_within(m, states)]
    new = [m for m in messages if _is_unread(m, states)]
    is_first = all(state.known == 0 for state in states)
    progress = progress_of(messages, new, is_first=is_first)
    gates = gates_for(session, progress, around)
    if not all(gate.passed for gate in gates):
        return Read(states, gates, Taken(), problems, size, 0, progress=progress, unknown=transcript.unknown_types)
    counter = Counted(around.redact)
    ref = _part(session, session.files.paths[0])

    def is_new(item: Meaning) -> bool:
        # of what was left before only what is active again gives items
        return any(_is_new(span, states) or _was_left(span, states) for span in item.sources)

    spoken = unerased(messages, around.redact.blocked)
    reading = read(spoken, counter)
    least = around.settings.extraction.min_confidence
    found = taken(notes(reading), reading, ref, transcript.files.paths, around.redact, is_new, least)
    found.erased += len(messages) - len(spoken)
    sidechain = sum(m.sidechain for m in new)
    abandoned = sum(not m.active and not m.sidechain for m in new)
    states = _after(states, messages)
    refused = quarantine_of(reading, ref, is_new, found.hostile, found.echoed)
    return Read(
        states,
        gates,
        found,
        problems,
        size,
        counter.number,
        abandoned=abandoned,
        sidechain=sidechain,
        quarantined=refused,
        unknown=transcript.unknown_types,
    )


def is_taken_up(transcript: Transcript, states: Sequence[PartState]) -> bool:
    """Say whether a branch that had been left when it was read is active again."""
    if not any(state.left for state in states):
        return False
    return any(_is_taken_up(m, states) for m in transcript.messages if _is_within(m, states))


def gates_for(session: StoredSession, progress: Progress, around: Around) -> list[Gate]:
    """Ask the gates about a session; a forced run asks none."""
    if around.force:
        return []
    return session_gates(
        progress,
        around.settings.extraction,
        project=around.project.key,
        session=session.id,
        rested=rest_of(session, progress, around.now),
    )


def rest_of(session: StoredSession, progress: Progress, now: datetime) -> timedelta:
    """Return how long ago anything happened in a session: by its last message, else by the time of its file.

    A message from the future tells nothing.
    """
    said = datetime.fromisoformat(progress.last_at).timestamp() if progress.last_at else float("inf")
    last = said if said <= now.timestamp() else session.mtime_ns / 1e9
    return timedelta(seconds=now.timestamp() - last)


class Counted:
    """A redactor that counts what it took out."""

    def __init__(self, redact: Redactor) -> None:
        self.number = 0
        self._redact = redact

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        text, number = self._redact.counted(text)
        self.number += number
        return text


def new_ranges(session: StoredSession, states: Sequence[PartState], at: str) -> list[ExtractedRange]:
    """Return the ranges that were read now; of a session with a stamp also where nothing was new."""
    now = stamp(session)
    return [
        ExtractedRange(
            _part(session, state.path), state.known, state.stop, state.sha256, EXTRACTOR, at, now, state.left
        )
        for state in states
        if state.has_new or now
    ]


def _part(session: StoredSession, path: Path) -> SessionRef:
    return SessionRef(session.dialect, name_to_json(session.id), name_to_json(path))


def _state_of(span: Span, states: Sequence[PartState]) -> PartState:
    """Return the state that a record belongs to: a stream has one for all of its files."""
    return states[0] if len(states) == 1 else states[span.part]


def _is_within(message: Message, states: Sequence[PartState]) -> bool:
    return all(_state_of(span, states).holds(span) for span in message.sources)


def _is_new(span: Span, states: Sequence[PartState]) -> bool:
    return _state_of(span, states).is_new(span)


def _was_left(span: Span, states: Sequence[PartState]) -> bool:
    return _state_of(span, states).was_left(span)


def _is_unread(message: Message, states: Sequence[PartState]) -> bool:
    return any(_is_new(span, states) for span in message.sources) or _is_taken_up(message, states)


def _is_taken_up(message: Message, states: Sequence[PartState]) -> bool:
    return message.active and not message.sidechain and any(_was_left(span, states) for span in message.sources)


def _after(states: Sequence[PartState], messages: Sequence[Message]) -> list[PartState]:
    """Return the states with what is left now: on branches that are not active, and never read before."""
    records: dict[int, list[tuple[int, int, bool]]] = {}
    for message in messages if any(_is_aside(m) for m in messages) else ():
        is_aside = _is_aside(message)
        for span in message.sources:
            state = _state_of(span, states)
            begin = state.position(span)
            is_left = is_aside and (state.is_new(span) or state.was_left(span))
            records.setdefault(id(state), []).append((begin, begin + len(span.raw), is_left))
    return [replace(state, left=runs_of(records.get(id(state), ()))) for state in states]


def _is_aside(message: Message) -> bool:
    return not message.active and not message.sidechain
