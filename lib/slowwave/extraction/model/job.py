"""Extraction by a language model: it reads whole sessions after the offline path, and has the last word on its notes.

Gated as the offline path is, since it follows it. It deletes nothing. A second run asks nothing about bytes that were
answered; what got no answer (no server, no money, words that nobody can read) is named in the report and asked again by
the next run. Without a model in the settings nothing here runs.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import msgspec

from slowwave.errors import UnreadableError
from slowwave.extraction.batch import Batch, bytes_stamp
from slowwave.extraction.gates import MOST_ATTEMPTS, Failure, read_failures
from slowwave.extraction.model import questions
from slowwave.extraction.model.ledger import Bounds, Unread, bounds_of, is_read, unread_of
from slowwave.extraction.model.material import Passage, Window, passages_of, windows_of
from slowwave.extraction.model.operations import OPERATIONS, SCHEMA, form_of
from slowwave.extraction.model.prompts import EXTRACTOR, Known, instructions_of, known_of
from slowwave.extraction.model.questions import Asker, Piece, Subject, ask_of
from slowwave.extraction.model.summary import Summary
from slowwave.extraction.model.verification import Accepted, Checks, Verified, accepted, dropped
from slowwave.extraction.selection import EXTRACTOR as OFFLINE
from slowwave.extraction.session import Counted, unerased
from slowwave.formats.registry import by_name
from slowwave.formats.sessions import StoredSession
from slowwave.memory import DROPS, Candidate, Replaces, SessionRef, candidate_id, iso, name_to_json, printable
from slowwave.memory.book import read_book
from slowwave.memory.effects import EFFECTS, Asked
from slowwave.models.base import Answer, AnswerPendingError, LanguageModel, ModelError, Usage
from slowwave.reading.session import read
from slowwave.settings import Settings

FAILURES = "model-failures.jsonl"
# sessions are decoded ahead of the answers only so far
_AHEAD = 4
# why a note goes that the model was not shown
LEFT = "the model read the same words and took nothing from them"


@dataclass(frozen=True, slots=True)
class Question:
    """What there is to ask about one session."""

    session: StoredSession
    unread: Unread
    passages: Sequence[Passage]  # the whole session
    windows: list[Window]  # what is to be read of it
    bounds: list[dict[int, Bounds]]  # the bytes of each window
    known: Known  # what the model is told beside it
    told: Asked | None = None  # what the session was told and rules say nothing of, None where there is nothing

    @property
    def schema(self) -> Mapping[str, Any]:
        """The form of the answers."""
        return form_of(operations=OPERATIONS, effects=self.told.schema) if self.told else SCHEMA


@dataclass(slots=True)
class Outcome:
    """What became of a session."""

    pieces: list[Piece]  # its windows, or parts of them
    candidates: list[Candidate] = field(default_factory=list[Candidate])  # what passed the checks, as it was judged
    usage: Usage | None = None  # what the judgement cost, None without one
    pending: str = ""  # why the judgement waits for another night, or ""


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
        self._book = read_book(batch.project.memory)
        self._instructions = instructions_of(batch.project.root, batch.redact)
        past, problems = read_failures(batch.project.memory, FAILURES)
        self._failed = {name: f for name, f in past.items() if f.extractor == self.extractor}
        batch.report.warnings += [str(problem) for problem in problems]

    def run(self, sessions: Sequence[StoredSession]) -> None:
        """Ask about everything that is new in these sessions, or, in a dry run, count what would be asked."""
        if self._model is None:
            for question in self._questions(sessions):
                self._foresee(question)
        else:
            self._ask(sessions, self._model)
        self.summary.note(self._batch.report)

    def _questions(self, sessions: Sequence[StoredSession]) -> Iterator[Question]:
        """Yield what is to be read: newest sessions first, those that failed before last."""
        batch = self._batch
        due = [s for s in sessions if not is_read(s, self.extractor, batch.ranges)]
        due.sort(key=lambda s: (name_to_json(s.id) in self._failed, -s.mtime_ns, s.id))
        for session in due:
            try:
                question = self._read(session)
            except Exception as error:  # noqa: BLE001 - a session that trips a bug must not cost the others their night
                why = str(error) if isinstance(error, UnreadableError) else f"{type(error).__name__}: {error}"
                batch.report.warnings.append(f"session {session.id}: the model could not be asked: {printable(why)}")
                continue
            if question is not None:
                yield question

    def _read(self, session: StoredSession) -> Question | None:
        batch, limits = self._batch, self._settings.model
        transcript = by_name(session.dialect).read(session.files)
        unread = unread_of(session, transcript, self.extractor, batch.ranges)
        messages = [
            m
            for m in transcript.messages
            if m.active and not m.sidechain and all(unread.is_within(span) for span in m.sources)
        ]
        messages = unerased(messages if transcript.kind != "subagent" else [], batch.redact.blocked)
        redact = Counted(batch.redact)
        passages = passages_of(read(messages, redact))
        is_new = [unread.is_new(passage.span) for passage in passages]
        windows = windows_of(passages, is_new, limits.window_tokens, limits.overlap_tokens)
        if not windows:
            silent = {part: (start, unread.limits[part]) for part, start in enumerate(unread.known)}
            at = iso(batch.now)
            batch.take([], [*unread.ranges_of(silent, at), *unread.done(at)])
            return None
        own = name_to_json(session.id)
        notes = [c for c in batch.known if c.session.id == own and c.extractor.startswith(f"{OFFLINE}:")]
        told = batch.told_to(session, batch.redact) if batch.told_to else None
        told = told if told and told.texts else None
        likely = self._settings.consolidation.accept_confidence
        known = known_of(self._book, notes, self._instructions, likely, told)
        return Question(session, unread, passages, windows, bounds_of(windows, unread), known, told)

    def _foresee(self, question: Question) -> None:
        most, known = self._settings.model.max_output_tokens, question.known.blocks
        asks = [ask_of(self._batch.project.key, known, window, most, question.schema) for window in question.windows]
        self.summary.foresee(asks, questions.question((), question.passages, most))

    def _ask(self, sessions: Sequence[StoredSession], model: LanguageModel) -> None:
        limits = self._settings.model
        asker = Asker(model, limits.max_output_tokens, limits.overlap_tokens)
        waiting: deque[tuple[Question, Future[Outcome]]] = deque()
        pool = ThreadPoolExecutor(limits.concurrency, thread_name_prefix="model")
        try:
            for question in self._questions(sessions):
                waiting.append((question, pool.submit(self._answered, question, asker, model)))
                while len(waiting) > _AHEAD * limits.concurrency:
                    self._keep(*waiting.popleft())
            while waiting:
                self._keep(*waiting.popleft())
        finally:
            # cancelled or broken: nothing more is asked, and what was answered is kept with the batch
            asker.stopped = asker.stopped or "the run ended"
            pool.shutdown(wait=True, cancel_futures=True)

    def _answered(self, question: Question, asker: Asker, model: LanguageModel) -> Outcome:
        """Ask about every window of a session, then once about all that passed the checks."""
        batch = self._batch

        def accept(answer: Answer, window: Window) -> Accepted:
            new = range(len(window.earlier) + 1, len(window.numbered) + 1)
            session, paths = _ref(question), question.unread.transcript.files.paths
            memories, notes = question.known.memories, question.known.notes
            checks = Checks(window.numbered, new, memories, notes, session, paths, batch.redact, self.extractor)
            found = accepted(answer, checks)
            if question.told:
                # what a tool printed and what was pasted anybody may have written; what was run stands among the acts
                said = [p for n in new if (p := window.numbered[n]).speaker != "command"]
                question.told.hear(answer.data, [(p.own or p.text * (p.speaker != "person"), p.item) for p in said])
            return found

        about = Subject(batch.project.key, question.known.blocks, question.unread, accept, question.schema)
        asked = zip(question.windows, question.bounds, strict=True)
        outcome = Outcome([piece for window, bounds in asked for piece in asker.pieces(about, window, bounds)])
        notes = [note for piece in outcome.pieces for note in piece.accepted.notes]
        if notes:
            self._judge(notes, question, model, outcome)
        before = {note.id for note in (*question.known.notes.values(), *question.known.unlikely)}
        outcome.candidates = [_instead(c) if c.id in before else c for c in outcome.candidates]
        outcome.candidates += [note for piece in outcome.pieces for note in piece.accepted.dropped]
        if not any(piece.trouble for piece in outcome.pieces):
            taken = {one.id for c in outcome.candidates for one in c.replaces}
            unlikely = [note for note in question.known.unlikely if note.id not in taken]
            outcome.candidates += [dropped(note, LEFT, batch.redact, self.extractor) for note in unlikely]
        return outcome

    def _judge(self, notes: Sequence[Verified], question: Question, model: LanguageModel, outcome: Outcome) -> None:
        """Ask the one question of judgement; what nobody judged waits in the inbox."""
        ask = questions.question(notes, question.passages, self._settings.model.max_output_tokens)
        try:
            answer = model.answer(ask)
            outcome.usage = answer.usage
            outcome.candidates, unjudged = questions.judged(notes, answer, self._batch.redact)
        except AnswerPendingError as error:
            outcome.pending, unjudged = str(error), 0
        except ModelError:
            outcome.candidates, unjudged = [note.candidate for note in notes], len(notes)
        if unjudged:
            self.summary.unjudged(question.session, unjudged)

    def _keep(self, question: Question, answered: Future[Outcome]) -> None:
        """Write what a session gave, in the order in which it was said."""
        outcome = answered.result()
        session, unread, batch = question.session, question.unread, self._batch
        past = self._failed.get(name_to_json(session.id))
        attempts = past.attempts + 1 if past and past.stamp == bytes_stamp(session) else 1
        if outcome.pending:
            outcome.pieces = [Piece(p.bounds, "pending", outcome.pending, p.accepted, p.usage) for p in outcome.pieces]
        # what two windows say in the same words is one
        found = {} if outcome.pending else {c.id: c for c in outcome.candidates if not batch.is_known(c)}
        new = list(found.values())
        left = 0
        for piece in outcome.pieces:
            gives_up = piece.trouble == "failed" and attempts >= MOST_ATTEMPTS
            if piece.trouble in ("", "too_long") or gives_up:
                batch.take(new, unread.ranges_of(piece.bounds, iso(batch.now)))
                self._note(session, new)
                self.summary.count(session, piece, kept=sum(c.key != DROPS for c in new), gives_up=gives_up)
                new = []
            else:
                left += 1
                self.summary.count(session, piece, kept=0, gives_up=gives_up)
        self.summary.spent(outcome.usage)
        failed = next((piece.reason for piece in outcome.pieces if piece.trouble == "failed"), "")
        if failed:
            self._fail(session, failed, attempts)
        if not left:
            batch.take([], unread.done(iso(batch.now)))
        batch.flush()
        self._judge_effects(question, is_read=not any(piece.trouble for piece in outcome.pieces))

    def _judge_effects(self, question: Question, *, is_read: bool) -> None:
        """Note what the model says of the memories that a session was told; a batch was asked about others perhaps."""
        if question.told is None:
            return
        name = question.session.dialect, name_to_json(question.session.id)
        earlier = next((row for row in self._book.watched if row.by and row.name == name), None)
        is_whole = (
            is_read and not self._settings.model.batch and (earlier is not None or not any(question.unread.known))
        )
        if row := question.told.judged(self.extractor, earlier, is_whole=is_whole):
            EFFECTS.append(self._batch.project.memory, [row])

    def _note(self, session: StoredSession, new: Sequence[Candidate]) -> None:
        report = self._batch.report
        for c in new:
            report.count("dropped_by_model" if c.key == DROPS else "candidates")
            report.count("model_candidates", int(c.key != DROPS))
        self._batch.tell(session, new)

    def _fail(self, session: StoredSession, reason: str, attempts: int) -> None:
        batch = self._batch
        # a server's words may repeat what it was sent
        error = batch.redact(printable(reason))[:300]
        failure = Failure(
            name_to_json(session.id), bytes_stamp(session), attempts, error, self.extractor, iso(batch.now)
        )
        batch.note_failure(failure, FAILURES)


def _instead(candidate: Candidate) -> Candidate:
    """Return what a model says in the very words of a note of the offline path: it takes that one's place."""
    own = candidate_id(candidate.session, candidate.category, f"{EXTRACTOR} {candidate.text}", candidate.evidence)
    replaces = (*candidate.replaces, Replaces(candidate.id, "drop"))
    return msgspec.structs.replace(candidate, id=own, replaces=replaces)


def _ref(question: Question) -> SessionRef:
    session = question.session
    return SessionRef(session.dialect, name_to_json(session.id), name_to_json(session.files.paths[0]))
