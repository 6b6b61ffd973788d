"""The questions that a model is asked: one about each window of a session, and one about all notes together."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import msgspec

from slowwave.extraction.model.ledger import Bounds, Unread
from slowwave.extraction.model.material import Passage, Window
from slowwave.extraction.model.operations import SCHEMA, SCHEMA_NAME, is_reply
from slowwave.extraction.model.prompts import JUDGE, JUDGE_NAME, JUDGE_SCHEMA, LINE_FORM, SYSTEM, material
from slowwave.extraction.model.quotations import Cited
from slowwave.extraction.model.verification import FAILED, PROVEN, TASK, Accepted, Verified
from slowwave.hostile import is_hostile, one_line
from slowwave.memory import Candidate
from slowwave.models.base import (
    Answer,
    AnswerPendingError,
    Ask,
    BudgetSpentError,
    ContextOverflowError,
    LanguageModel,
    MalformedAnswerError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
    StrangeAnswerError,
    Usage,
    estimated_tokens,
)
from slowwave.secrets import Redactor

# One window, with all that may go wrong with it: too long, too slow, refused, garbage, no money left.
#
# What fails is asked again in halves where less may work; what fails for good is left to the miners, whose candidates
# are there already. Nothing here raises: each piece of the window comes back with its candidates or its reason.

Trouble = Literal[
    "",
    "stopped",  # nothing more is asked in this run: no server, no money
    "pending",  # it is asked in a batch; another run reads the answer
    "unanswered",  # nobody answered, and nobody answered anything else either: the server's trouble
    "failed",  # this piece got no answer; others did
    "too_long",  # one record alone is more than the model takes
]
# so many answers in a row that nobody can read mean a server that is none, or the wrong model
_USELESS_AFTER = 4
# how often a piece whose answer cannot be read is halved: a shorter answer may fit its limit
_HALVED = 1

Accept = Callable[[Answer, Window], Accepted]


@dataclass(slots=True)
class Piece:
    """What became of a window or a part of it."""

    bounds: dict[int, Bounds]  # its bytes, by part
    trouble: Trouble = ""  # why there is no answer, or ""
    reason: str = ""  # the same in words
    # what of the answer passed the checks, and why the rest did not
    accepted: Accepted = field(default_factory=Accepted)
    usage: Usage | None = None  # what the answer cost, None without one


@dataclass(frozen=True, slots=True)
class Subject:
    """The session that is asked about."""

    project: str  # name of the project, for the prompt
    # what is remembered, the project's instructions, the notes of the offline path, each as a block
    known: tuple[str, ...]
    unread: Unread  # what is left of the session
    accept: Accept  # checks the operations of an answer
    schema: Mapping[str, Any]  # the form of its answers


class Asker:
    """Asks for one run; it may be used from several threads.

    Args:
        model: who is asked.
        max_output_tokens: the longest answer.
        overlap_tokens: how much of the first half the second one is shown.
    """

    def __init__(self, model: LanguageModel, max_output_tokens: int, overlap_tokens: int) -> None:
        self._model = model
        self._most = max_output_tokens
        self._overlap = overlap_tokens
        self._lock = threading.Lock()
        self._useless = 0
        self._has_answered = False
        self.stopped = ""

    def pieces(self, about: Subject, window: Window, bounds: dict[int, Bounds], halved: int = 0) -> list[Piece]:
        """Ask about a window and return its pieces in order.

        Args:
            about: the session.
            window: what of it is asked about.
            bounds: the window's bytes, by part.
            halved: how often it was halved because its answer could not be read.
        """
        if self.stopped:
            return [Piece(bounds, "stopped", self.stopped)]
        try:
            answer = self._model.answer(ask_of(about.project, about.known, window, self._most, about.schema))
            self._has_answered = True
            found = about.accept(answer, window)
            self._useless = 0
        except ModelError as error:
            return self._without(error, about, window, bounds, halved)
        except Exception as error:  # noqa: BLE001 - an answer that trips a bug must not cost the others their night
            return [Piece(bounds, "failed", f"{type(error).__name__}: {error}")]
        return [Piece(bounds, "", "", found, answer.usage)]

    def _without(
        self, error: ModelError, about: Subject, window: Window, bounds: dict[int, Bounds], halved: int
    ) -> list[Piece]:
        """Return what becomes of a window that got no answer."""
        reason = str(error)
        if isinstance(error, AnswerPendingError):
            return [Piece(bounds, "pending", reason)]
        if isinstance(error, BudgetSpentError) or (isinstance(error, ModelUnavailableError) and error.is_general):
            return [self._stop(bounds, reason)]
        if isinstance(error, MalformedAnswerError):
            return self._unreadable(error, about, window, bounds, halved)
        too_long = isinstance(error, ContextOverflowError)
        if too_long and window.earlier:
            return self.pieces(about, window.alone(), bounds, halved)
        less = None if isinstance(error, ModelRefusedError) else self._less(about, window, bounds, halved)
        return less or [Piece(bounds, "too_long" if too_long else self._blame(error), reason)]

    def _blame(self, error: ModelError) -> Trouble:
        """Return whether a piece or the server is to blame: only a piece is ever given up."""
        is_servers = isinstance(error, ModelUnavailableError | StrangeAnswerError) and not self._has_answered
        return "unanswered" if is_servers else "failed"

    def _unreadable(
        self, error: MalformedAnswerError, about: Subject, window: Window, bounds: dict[int, Bounds], halved: int
    ) -> list[Piece]:
        with self._lock:
            self._useless += 1
            useless = self._useless
        if useless >= _USELESS_AFTER:
            return [self._stop(bounds, f"{useless} answers in a row could not be read; the last: {error}")]
        less = self._less(about, window, bounds, halved + 1) if halved < _HALVED else None
        return less or [Piece(bounds, self._blame(error), str(error))]

    def _less(self, about: Subject, window: Window, bounds: dict[int, Bounds], halved: int) -> list[Piece] | None:
        """Ask about each half; None when the window is a single record."""
        if len(window.units) == 1:
            return None
        first, second = window.halves(self._overlap)
        mine, theirs = halved_bounds(bounds, first, second, about.unread)
        return [*self.pieces(about, first, mine, halved), *self.pieces(about, second, theirs, halved)]

    def _stop(self, bounds: dict[int, Bounds], reason: str) -> Piece:
        self.stopped = self.stopped or reason
        return Piece(bounds, "stopped", reason)


def ask_of(
    project: str, known: Sequence[str], window: Window, max_output_tokens: int, schema: Mapping[str, Any] = SCHEMA
) -> Ask:
    """Return the question about a window."""
    shown = {number: passage.shown(number) for number, passage in window.numbered.items()}
    earlier = [text for number, text in shown.items() if number <= len(window.earlier)]
    new = [text for number, text in shown.items() if number > len(window.earlier)]
    user = material(project, known, earlier, new)
    # memories and notes change from night to night, and an answer that was paid for stays good
    identity = material(project, (), earlier, new)
    return Ask("extract", SYSTEM, user, schema, SCHEMA_NAME, max_output_tokens, LINE_FORM, is_reply, identity)


def halved_bounds(
    bounds: dict[int, Bounds], first: Window, second: Window, unread: Unread
) -> tuple[dict[int, Bounds], dict[int, Bounds]]:
    """Return which bytes belong to each half of a window."""
    mine: dict[int, Bounds] = {}
    theirs: dict[int, Bounds] = {}
    in_first = _begins(first, unread)
    in_second = _begins(second, unread)
    for part, (start, stop) in bounds.items():
        if part not in in_second:
            mine[part] = (start, stop)
        elif part not in in_first:
            theirs[part] = (start, stop)
        else:
            mine[part] = (start, in_second[part])
            theirs[part] = (in_second[part], stop)
    return mine, theirs


def _begins(window: Window, unread: Unread) -> dict[int, int]:
    places: Sequence[Bounds] = [unread.place(unit[0].span) for unit in window.units]
    return dict(reversed(places))


# One question about all notes of a session: do the quotations bear them out, do they hold, do they last, alone?
#
# A note that fails waits in the inbox with the reason. One that nobody judged is kept as it was verified, below what a
# judged one has.

# so much of what was said afterwards is shown
_LATER_TOKENS = 250
_LATER_CHARS = 160
# so much of what stands before and behind a quotation
_AROUND_CHARS = 60
_MOST_QUOTES = 4


class Verdict(msgspec.Struct, frozen=True):
    """What the model says of one note; see :data:`slowwave.extraction.model.prompts.JUDGE`."""

    number: int
    supported: bool
    holds: bool
    lasting: bool
    alone: bool
    why: str = ""


def question(notes: Sequence[Verified], passages: Sequence[Passage], max_output_tokens: int) -> Ask:
    """Return the question about the notes of a session.

    Args:
        notes: all that were verified.
        passages: the whole session, for what was said later.
        max_output_tokens: the longest answer.
    """
    blocks = [_shown(number, note) for number, note in enumerate(notes, 1)]
    first = min(
        (passages.index(one.passage) for note in notes for one in note.cited if one.passage in passages), default=0
    )
    later = _later(passages[first + 1 :])
    user = "Proposed memories:\n" + "\n".join(blocks) + "\n\nWhat was said afterwards:\n" + "\n".join(later) + "\n"
    return Ask("judge", JUDGE, user, JUDGE_SCHEMA, JUDGE_NAME, max_output_tokens)


def judged(notes: Sequence[Verified], answer: Answer, redact: Redactor) -> tuple[list[Candidate], int]:
    """Return the candidates, each with what the judgement makes of it, and how many it says nothing about.

    Args:
        notes: as they were asked about.
        answer: the verdicts; of several about one note the worst counts.
        redact: takes secrets out of the reasons.

    Raises:
        MalformedAnswerError: the answer has no list of verdicts.
    """
    data: Any = answer.data
    items: object = cast("Mapping[str, object]", data).get("verdicts") if isinstance(data, dict) else None
    try:
        verdicts = msgspec.convert(items, list[Verdict])
    except msgspec.ValidationError as error:
        raise MalformedAnswerError(f"the answer has no verdicts: {error}") from error
    by_number = {verdict.number: verdict for verdict in sorted(verdicts, key=lambda v: bool(_failed(v)))}
    of_each = [(note.candidate, by_number.get(number)) for number, note in enumerate(notes, 1)]
    unjudged = sum(verdict is None for _, verdict in of_each)
    return [_with(candidate, verdict, redact) for candidate, verdict in of_each], unjudged


def _failed(verdict: Verdict) -> str:
    """Return the first thing that is wrong with a note, or ""."""
    if not verdict.supported:
        return "its quotations do not bear it out"
    if not verdict.holds:
        return "it was overturned later in the session"
    if not verdict.lasting:
        return "it is about the task of the moment"
    return "" if verdict.alone else "it cannot be understood alone"


def _with(candidate: Candidate, verdict: Verdict | None, redact: Redactor) -> Candidate:
    if verdict is None:
        return candidate
    failed = _failed(verdict)
    if failed:
        why = one_line(redact(verdict.why))
        reason = f"{failed} ({why})" if why and not is_hostile(why) else failed
        return msgspec.structs.replace(candidate, confidence=FAILED, doubt=reason[:200])
    return candidate if candidate.confidence == TASK else msgspec.structs.replace(candidate, confidence=PROVEN)


def _shown(number: int, note: Verified) -> str:
    quotes = "".join(f"\n    {one.passage.label}: {_quoted(one)}" for one in note.cited[:_MOST_QUOTES])
    hint = f"\n    hint: the quotations do not have {', '.join(note.hints[:5])}" if note.hints else ""
    return f"{number}. ({note.candidate.category}) {note.candidate.text}{quotes}{hint}"


def _quoted(cited: Cited) -> str:
    """Return a quotation between what stands around it, so that none is cut behind a "not"."""
    text = " ".join(cited.passage.text.split())
    before, there, after = text.partition(cited.words)
    if not there:
        before = after = ""
    return f'{before[-_AROUND_CHARS:]}"{cited.words}"{after[:_AROUND_CHARS]}'


def _later(passages: Sequence[Passage]) -> list[str]:
    """Return what people and the assistant's conclusions said, the newest of it as far as there is room."""
    kept: list[str] = []
    room = _LATER_TOKENS
    for passage in reversed([p for p in passages if p.speaker != "command"]):
        line = f"{passage.label}: {' '.join(passage.text[:_LATER_CHARS].split())}"
        room -= estimated_tokens(line)
        if room < 0:
            break
        kept.append(line)
    return kept[::-1]
