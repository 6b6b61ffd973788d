"""Extraction by a language model, after the miners: it reads what they have read, and adds what they missed.

Gated as the miners are, since it follows them. It deletes nothing. A second run asks nothing about bytes that were
answered; what got no answer (no server, no money, words that nobody can read) is named in the report and asked again by
the next run. Without a model in the settings nothing here runs.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from slowwave.dialects.registry import by_name
from slowwave.errors import UnreadableError
from slowwave.extraction.batch import Batch
from slowwave.extraction.events import events_of
from slowwave.extraction.failures import MOST_ATTEMPTS, Failure, read_failures
from slowwave.extraction.model.accepted import accepted, is_same
from slowwave.extraction.model.asking import Asker, Piece, Subject, ask_of
from slowwave.extraction.model.ledger import Bounds, Unread, bounds_of, is_read, unread_of
from slowwave.extraction.model.passages import passages_of
from slowwave.extraction.model.prompts import EXTRACTOR
from slowwave.extraction.model.summary import Summary
from slowwave.extraction.model.windows import Window, windows_of
from slowwave.extraction.session import Counted
from slowwave.memory.model import Candidate, SessionRef, iso
from slowwave.memory.names import name_to_json, printable
from slowwave.models.base import LanguageModel
from slowwave.report import Item
from slowwave.settings import Settings
from slowwave.stores.model import StoredSession

FAILURES = "model-failures.jsonl"
# sessions are decoded ahead of the answers only so far
_AHEAD = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """What there is to ask about one session."""

    session: StoredSession
    unread: Unread
    windows: list[Window]
    bounds: list[dict[int, Bounds]]


@dataclass(frozen=True, slots=True)
class _Asked:
    reading: Reading
    answers: list[Future[list[Piece]]]


class ModelRun:
    """One run of the model over sessions of a project.

    Args:
        batch: what the miners of the same run share.
        model: who is asked; None in a dry run.
    """

    def __init__(self, batch: Batch, model: LanguageModel | None) -> None:
        self._batch = batch
        self._settings: Settings = batch.settings
        self._model = model
        self.extractor = f"{EXTRACTOR}:{batch.settings.model.label}"
        self.summary = Summary(batch.settings.model, batch.project.key)
        past, problems = read_failures(batch.project.memory, FAILURES)
        self._failed = {name: f for name, f in past.items() if f.extractor == self.extractor}
        batch.report.warnings += [str(problem) for problem in problems]

    def run(self, sessions: Sequence[StoredSession]) -> None:
        """Ask about everything that is new in these sessions, or, in a dry run, count what would be asked."""
        if self._model is None:
            for reading in self._readings(sessions):
                self._foresee(reading)
        else:
            self._ask(sessions, self._model)
        self.summary.note(self._batch.report)

    def _readings(self, sessions: Sequence[StoredSession]) -> Iterator[Reading]:
        """Yield what is to be read: newest sessions first, those that failed before last."""
        batch = self._batch
        due = [s for s in sessions if not is_read(s, self.extractor, batch.ranges)]
        due.sort(key=lambda s: (name_to_json(s.id) in self._failed, -s.mtime_ns, s.id))
        for session in due:
            try:
                reading = self._read(session)
            except Exception as error:  # noqa: BLE001 - a session that trips a bug must not cost the others their night
                why = str(error) if isinstance(error, UnreadableError) else f"{type(error).__name__}: {error}"
                batch.report.warnings.append(f"session {session.id}: the model could not be asked: {printable(why)}")
                continue
            if reading is not None:
                yield reading

    def _read(self, session: StoredSession) -> Reading | None:
        batch, limits = self._batch, self._settings.model
        transcript = by_name(session.dialect).read(session.files)
        unread = unread_of(session, transcript, self.extractor, batch.ranges)
        messages = [
            m
            for m in transcript.messages
            if m.active and not m.sidechain and all(unread.is_within(span) for span in m.sources)
        ]
        if transcript.kind == "subagent":
            messages = []
        redact = Counted(batch.redact)
        passages = passages_of(events_of(messages, redact), messages, batch.redact, unread.place)
        is_new = [unread.is_new(passage.span) for passage in passages]
        windows = windows_of(passages, is_new, limits.window_tokens, limits.overlap_tokens)
        if not windows:
            silent = {part: (start, unread.limits[part]) for part, start in enumerate(unread.known)}
            at = iso(batch.now)
            batch.take([], [*unread.ranges_of(silent, at), *unread.done(at)])
            return None
        return Reading(session, unread, windows, bounds_of(windows, unread))

    def _foresee(self, reading: Reading) -> None:
        asks = (ask_of(self._batch.project.key, w, self._settings.model.max_output_tokens) for w in reading.windows)
        self.summary.foresee(asks)

    def _ask(self, sessions: Sequence[StoredSession], model: LanguageModel) -> None:
        limits = self._settings.model
        asker = Asker(model, limits.max_output_tokens, limits.overlap_tokens)
        waiting: deque[_Asked] = deque()
        pool = ThreadPoolExecutor(limits.concurrency, thread_name_prefix="model")
        try:
            for reading in self._readings(sessions):
                waiting.append(self._submitted(reading, asker, pool))
                while sum(len(asked.answers) for asked in waiting) > _AHEAD * limits.concurrency:
                    self._keep(waiting.popleft())
            while waiting:
                self._keep(waiting.popleft())
        finally:
            # cancelled or broken: nothing more is asked, and what was answered is kept with the batch
            asker.stopped = asker.stopped or "the run ended"
            pool.shutdown(wait=True, cancel_futures=True)

    def _submitted(self, reading: Reading, asker: Asker, pool: ThreadPoolExecutor) -> _Asked:
        batch = self._batch
        accept = partial(
            accepted,
            session=_ref(reading),
            paths=reading.unread.transcript.files.paths,
            redact=batch.redact,
            extractor=self.extractor,
            min_confidence=self._settings.extraction.min_confidence,
        )
        about = Subject(batch.project.key, reading.unread, accept)
        asked = zip(reading.windows, reading.bounds, strict=True)
        return _Asked(reading, [pool.submit(asker.pieces, about, window, bounds) for window, bounds in asked])

    def _keep(self, asked: _Asked) -> None:
        """Write what a session gave, in the order in which it was said."""
        pieces = [piece for answer in asked.answers for piece in answer.result()]
        session, unread, batch = asked.reading.session, asked.reading.unread, self._batch
        past = self._failed.get(name_to_json(session.id))
        attempts = past.attempts + 1 if past and past.stamp == _stamp(session) else 1
        left = 0
        for piece in pieces:
            gives_up = piece.trouble == "failed" and attempts >= MOST_ATTEMPTS
            new: list[Candidate] = []
            if piece.trouble in ("", "too_long") or gives_up:
                new = self._new(piece)
                batch.take(new, unread.ranges_of(piece.bounds, iso(batch.now)))
                self._note(session, new)
            else:
                left += 1
            self.summary.count(session, piece, kept=len(new), gives_up=gives_up)
        failed = next((piece.reason for piece in pieces if piece.trouble == "failed"), "")
        if failed:
            self._fail(session, failed, attempts)
        if not left:
            batch.take([], unread.done(iso(batch.now)))
        batch.flush()

    def _new(self, piece: Piece) -> list[Candidate]:
        """Return those candidates that nothing known says already, and count the others."""
        new: list[Candidate] = []
        for candidate in piece.candidates:
            of_session = [c for c in self._batch.known if c.session.id == candidate.session.id]
            if self._batch.is_known(candidate) or is_same(candidate, [*of_session, *new]):
                piece.dropped.append("same")
            else:
                new.append(candidate)
        return new

    def _note(self, session: StoredSession, new: Sequence[Candidate]) -> None:
        report = self._batch.report
        for c in new:
            report.count("candidates")
            report.count("model_candidates")
            reason = f"{c.extractor}: {c.evidence[0].quote}"
            report.items.append(
                Item(session.id, "candidate", reason, self._batch.project.key, c.text, c.category, c.confidence)
            )

    def _fail(self, session: StoredSession, reason: str, attempts: int) -> None:
        batch = self._batch
        # a server's words may repeat what it was sent
        error = batch.redact(printable(reason))[:300]
        failure = Failure(name_to_json(session.id), _stamp(session), attempts, error, self.extractor, iso(batch.now))
        batch.note_failure(failure, FAILURES)


def _ref(reading: Reading) -> SessionRef:
    session = reading.session
    return SessionRef(session.dialect, name_to_json(session.id), name_to_json(session.files.paths[0]))


def _stamp(session: StoredSession) -> str:
    return f"{session.size}:{session.mtime_ns}"
