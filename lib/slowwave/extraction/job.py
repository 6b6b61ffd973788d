"""Extraction: what sessions say that is worth remembering, as candidates beside the memories of their project.

Gated by session: rest, length, tool calls since the last time, no open call (seed 000); a session that has ended is
read whatever these say. It deletes nothing. A second run finds every byte read before, by hash, and decodes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import token_bytes

from slowwave.context import Clock
from slowwave.errors import CorruptStateError, UnreadableError
from slowwave.extraction.batch import Batch, bytes_stamp
from slowwave.extraction.gates import MOST_ATTEMPTS, read_failures
from slowwave.extraction.ranges import PartState, Recorded, is_known, rest_reason, stamp, stream_state
from slowwave.extraction.selection import EXTRACTOR
from slowwave.extraction.session import Read, gates_for, is_taken_up, read_session, states_of
from slowwave.formats.registry import by_name
from slowwave.formats.sessions import StoredSession
from slowwave.memory import name_to_json
from slowwave.memory.book import read_book
from slowwave.memory.candidates import read_candidates, reconcile
from slowwave.memory.effects import Asked
from slowwave.memory.provenance import look_at_foreign, noted_in, tell
from slowwave.models.base import LanguageModel
from slowwave.report import Gate, Report
from slowwave.secrets import Redactor
from slowwave.settings import Settings
from slowwave.stores.discovery import active_reason
from slowwave.stores.projects import Project

# Who begins a session without anybody who types in it; only a person's words can become a wish or a decision. A
# question is one of slowwave's own, which a model's command kept as a session.
UNTYPED = ("cron", "hook", "question")


def extract_sessions(
    project: Project,
    sessions: Sequence[StoredSession],
    settings: Settings,
    clock: Clock,
    *,
    run_id: str = "",
    force: bool = False,
    dry_run: bool = False,
    home: Path | None = None,
    model: LanguageModel | None = None,
    redact: Redactor | None = None,
    rehearsal: Path | None = None,
    told_to: Callable[[StoredSession, Redactor], Asked | None] | None = None,
) -> Report:
    """Extract candidates from sessions of one project and write them into its memory folder.

    Args:
        project: the project; candidates go to its memory folder.
        sessions: the sessions to look at; the rest of the project is left alone.
        settings: the settings in force.
        clock: what time it is.
        run_id: names the run in the report.
        force: pass the gates on length and tool calls; a live session still waits.
        dry_run: read and report the same, write nothing.
        home: the user's home folder, where running clients leave their notes.
        model: adds what it finds in what was read; it is not asked in a dry run, which says what it would cost.
        redact: takes secrets out of whatever is kept; by default with a key that nobody else has.
        rehearsal: where a dry run keeps its notes for the dream that follows; None keeps none.
        told_to: returns what a session was told of which rules cannot say whether it was kept; the model is asked.

    Raises:
        UnreadableError: the memory folder's own files cannot be read.
        LockHeldError: another process kept the memory folder locked for too long.
        OSError: the memory folder cannot be written.
    """
    batch = Batch(
        project,
        settings,
        clock,
        Report("extract", run_id),
        force=force,
        dry_run=dry_run,
        home=home or Path.home(),
        redact=redact or Redactor(token_bytes()),
        noted=noted_in(project.memory, rehearsal),
    )
    batch.told_to = told_to
    if not dry_run:
        _repair(project.memory, batch.report, settings.consolidation.max_loss)
    try:
        for session in sessions:
            batch.report.count("sessions")
            extract_one(session, batch)
        if settings.model.is_set and (model is not None or dry_run):
            ask_model(sessions, batch, None if dry_run else model)
        _look(sessions, batch)
    finally:
        # also when the run is cancelled: what was read so far is not read again
        batch.flush()
    batch.finish()
    return batch.report


def unread(project: Project, sessions: Sequence[StoredSession]) -> int:
    """Return at most how many bytes of some of a project's sessions are to be read; only notes and sizes tell.

    Raises:
        UnreadableError: the notes exist and cannot be opened.
    """
    ranges = Recorded(read_candidates(project.memory)[1])
    return sum(
        max(0, session.size - sum(r.stop - r.start for r in ranges.of(name_to_json(session.id), EXTRACTOR)))
        for session in sessions
        if session.kind != "subagent"
    )


def ask_model(sessions: Sequence[StoredSession], batch: Batch, model: LanguageModel | None) -> None:
    """Let the model read what the miners have read; what these found is safe on disk before."""
    from slowwave.extraction.model.job import ModelRun  # noqa: PLC0415 - the usual night has no model

    batch.flush()
    ModelRun(batch, model).run(sessions)


def _look(sessions: Sequence[StoredSession], batch: Batch) -> None:
    """Look where lines of memory files came from that slowwave did not write; a damaged note costs no candidate."""
    project = batch.project
    try:
        look = look_at_foreign(project, sessions, batch.now, batch.home, batch.kept_in)
    except CorruptStateError as error:
        batch.report.failures.append(f"{project.key}: extract: {error}")
        return
    tell(look, project.key, batch.report, batch.redact)


def _repair(memory: Path, report: Report, max_loss: float) -> None:
    """Finish what a kill between two writes of an earlier run left undone, and mend what an accident took away."""
    if memory.is_dir() and (wrong := reconcile(memory, read_book(memory).done, max_loss)):
        report.warnings.append(f"{memory}: {wrong}")


def extract_one(session: StoredSession, batch: Batch) -> None:
    """Extract one session; whatever is wrong with it stays its own trouble and is tried again on later runs."""
    past = batch.past_failure(session)
    if past is not None and past.attempts >= MOST_ATTEMPTS:
        batch.skip(session, f"failed {past.attempts} times and has not changed since: {past.error}", "given_up")
        return
    try:
        read = _read(session, batch)
    except Exception as error:  # noqa: BLE001 - a session that trips a bug must not cost the others their night
        message = str(error) if isinstance(error, UnreadableError) else f"{type(error).__name__}: {error}"
        batch.fail(session, message[:300], (past.attempts if past else 0) + 1)
        return
    if read is not None:
        batch.keep(session, read)


def _read(session: StoredSession, batch: Batch) -> Read | None:
    """Return what is new in a session, or None after saying why there is nothing to take."""
    if session.kind == "subagent":
        batch.report.count("subagents")
        return None
    if session.origin in UNTYPED:
        batch.report.count("untyped")
        return None
    if batch.redact.blocked and batch.redact.blocked.has_session(session.id):
        batch.report.count("erased_sessions")
        return None
    if session.source == "backup":
        batch.report.count("backups")  # what is said once must not look as if it had been said in two sessions
        return None
    if is_known(session, EXTRACTOR, batch.ranges):
        batch.report.count("unchanged")
        return None
    return _stream(session, batch) if session.is_stream else _lines(session, batch)


def _lines(session: StoredSession, batch: Batch) -> Read | None:
    """Return what is new in a session of files of lines; bytes that were read before are not decoded again."""
    states = states_of(session, batch.ranges)
    if not any(state.has_new for state in states):
        return _unchanged(session, states, batch)
    if not _rests(session, batch):
        return None
    return _decoded(session, states, batch)


def _unchanged(session: StoredSession, states: Sequence[PartState], batch: Batch) -> None:
    """Count a session of which nothing is new, and remember the stamp with which it was so, if it has one."""
    batch.report.count("unchanged")
    if stamp(session):
        batch.keep_ranges(session, states)


def _rests(session: StoredSession, batch: Batch) -> bool:
    idle = batch.settings.extraction.idle
    live = (
        rest_reason(session, batch.now, idle)
        if session.is_stream
        else active_reason(session, batch.now, idle, batch.home)
    )
    return batch.asked(
        session, [Gate("idle", batch.project.key, live is None, f"session {session.id}: {live or 'at rest'}")]
    )


def _stream(session: StoredSession, batch: Batch) -> Read | None:
    """Return what is new in a session that is no file of lines; what was read before shows when it is decoded."""
    if not _rests(session, batch):
        return None
    unread = [PartState(session.files.paths[0], 0, 0, stamp(session), rewritten=False)]
    past = batch.past_progress(session, unread)
    if past is not None and not batch.asked(session, gates_for(session, past, batch)):
        return None
    transcript = by_name(session.dialect).read(session.files)
    states = [stream_state(session, transcript, EXTRACTOR, batch.ranges)]
    if not states[0].has_new and not is_taken_up(transcript, states):
        return _unchanged(session, states, batch)
    read = read_session(session, states, batch, transcript)
    if batch.asked(session, read.gates):
        return read
    batch.refuse(session, replace(read, states=unread))
    return None


def _decoded(session: StoredSession, states: Sequence[PartState], batch: Batch) -> Read | None:
    """Decode a session unless its gates are known to refuse it, and ask them."""
    past = batch.past_progress(session, states)
    if past is not None and not batch.asked(session, gates_for(session, past, batch)):
        return None
    read = read_session(session, states, batch)
    if batch.asked(session, read.gates):
        return read
    batch.refuse(session, read)
    return None


# Whether extraction would still take something from a session: asked by whoever is about to remove it.


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
        if failure and failure.attempts >= MOST_ATTEMPTS and failure.stamp == bytes_stamp(session):
            return f"it could not be read {failure.attempts} times: {failure.error}"
        return f"{size} bytes have not been read since they were written"
