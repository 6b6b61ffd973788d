"""Questions at a provider's batch price: asked one night, answered within a day, read the next night.

They wait on disk. A question is known by the hash of its whole request, so the same one is never sent twice, whichever
process asks it and however often a night is repeated. Its way: a file in ``outbox/``; a line of
``sent/<parcel>.jsonl``, with how far the parcel has come in ``sent/<parcel>.json``; at last a file in ``answers/``.
Every step is one rename, and each state on the way is a state to go on from. The folder can be deleted: its questions
are then asked, and paid, again.
"""

import hashlib
import secrets
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import orjson

from slowwave.errors import CorruptStateError, LockHeldError
from slowwave.files import atomic_write, private_folder, state_folder
from slowwave.journal import Form, Journal
from slowwave.locks import locked_file
from slowwave.models.base import (
    Answer,
    AnswerPendingError,
    Ask,
    ContextOverflowError,
    LanguageModel,
    MalformedAnswerError,
    Meter,
    ModelRefusedError,
    ModelUnavailableError,
    Usage,
    estimated_tokens,
)
from slowwave.models.client import (
    Exchange,
    Fault,
    completion_of,
    data_of,
    held_to,
    mapping_of,
    meaning_of,
    refuse_unfinished,
    spoken,
)

# Limits of the Batch API for one input file; a parcel stays below both.
MOST_REQUESTS = 50_000
MOST_BYTES = 190_000_000


class Question(msgspec.Struct, frozen=True):
    """A question that waits."""

    id: str  # hash of server and request
    server: str  # address of the server that it goes to
    request: dict[str, Any]  # body of the chat completion


class Parcel(msgspec.Struct, frozen=True, omit_defaults=True):
    """Questions that go to a server together."""

    # names its input file there and here; new for every parcel, so that a repeated one is not taken for the one that
    # failed
    id: str
    server: str  # address of the server
    questions: tuple[str, ...]  # ids of its questions
    file: str = ""  # the server's id of the uploaded input; "" before it is known
    batch: str = ""  # the server's id of the batch; "" before it is known
    at: str = ""  # ISO time of the hand-over
    files: tuple[str, ...] = ()  # what is still to be deleted at the server, when all answers are here


class Answered(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came back for a question."""

    id: str  # the question
    body: dict[str, Any] | None = None  # the chat completion, as the server sent it; None when there is none
    error: str = ""  # why there is none
    status: int = 0  # the HTTP status of the refusal, or 0
    code: str = ""  # the server's code for it, or ""
    failures: int = 0  # how many parcels that were worked through gave none
    at: str = ""  # ISO time of the collection


_WRONG = "not what a spool holds", "delete it: it is asked again"
_ANSWER, _PARCEL, _QUESTION = Form(Answered, *_WRONG), Form(Parcel, *_WRONG), Form(Question, *_WRONG)


def question_of(server: str, request: dict[str, Any], identity: str = "") -> Question:
    """Return the question of a request; its id is equal on every machine and in every run.

    ``server``: address of the server that is asked; ``identity``: what the id is made of in place of the material,
    where that changes and the question does not.
    """
    known: object = [request["model"], request["messages"][0], identity] if identity else request
    data = msgspec.json.encode([server, known], order="deterministic")
    return Question(hashlib.sha256(data).hexdigest()[:32], server, request)


class Spool:
    """The folder in which the questions of all runs of one machine wait.

    Whatever reads it raises CorruptStateError for a damaged file; whatever writes to it raises OSError where it cannot.
    ``folder``: made when something is first written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._outbox = Journal(folder / "outbox", _QUESTION)
        self._sent = Journal(folder / "sent", _PARCEL)
        self._answers = Journal(folder / "answers", _ANSWER)

    def answer(self, question: str) -> Answered | None:
        """Return what came back for a question, or None."""
        return self._answers.find(question)

    def waits(self, question: str) -> bool:
        """Say whether a question is in the outbox, or was on its way when this object was made."""
        return question in self._on_their_way or self._outbox.place(question).exists()

    def ask(self, question: Question) -> None:
        """Put a question into the outbox; one that waits already stays single."""
        if not self.waits(question.id):
            self._outbox.intend(question.id, question)

    def pack(self, server: str) -> None:
        """Turn what waits for ``server`` into parcels; they stand on disk before the outbox forgets them."""
        parcels = self.parcels()
        packed = {question for parcel in parcels for question in parcel.questions}
        self._drop_inputs_but(parcels)
        share: dict[str, bytes] = {}
        size = 0
        for path, question in self._outbox.left():
            if question.server != server:
                continue
            if question.id in packed:
                # a kill came between the parcel and this file
                path.unlink(missing_ok=True)
                continue
            line = _line(question)
            if len(share) == MOST_REQUESTS or size + len(line) > MOST_BYTES:
                self._write(server, share)
                share, size = {}, 0
            share[question.id] = line
            size += len(line)
        self._write(server, share)

    def parcels(self) -> list[Parcel]:
        """Return all parcels that are on their way, in the order of their ids."""
        return [parcel for _, parcel in self._sent.left()]

    def input_of(self, parcel: Parcel) -> Path:
        """Return the file to upload for a parcel."""
        return self._sent.folder / f"{parcel.id}.jsonl"

    def note(self, parcel: Parcel) -> None:
        """Write down how far a parcel has come."""
        self._sent.intend(parcel.id, parcel)

    def collect(self, parcel: Parcel, answers: Iterable[Answered], files: tuple[str, ...]) -> Parcel:
        """Keep the answers to a parcel; return what is left of it, its files at the server.

        After a kill in between it is collected anew.
        """
        for answer in answers:
            self._answers.intend(answer.id, answer)
        left = msgspec.structs.replace(parcel, questions=(), files=files)
        self.note(left)
        self.input_of(parcel).unlink(missing_ok=True)
        return left

    def forget(self, parcel: Parcel) -> None:
        """Forget a parcel of which nothing is left."""
        self._sent.place(parcel.id).unlink(missing_ok=True)

    def sweep(self, before: float) -> int:
        """Remove answers collected before a time in seconds since 1970; return how many nobody will ask for."""
        old = [path for path in self._answers.folder.glob("*.json") if path.stat().st_mtime < before]
        for path in old:
            path.unlink(missing_ok=True)
        return len(old)

    @contextmanager
    def alone(self) -> Generator[bool]:
        """Keep other processes from handing over and collecting; False when one is at it already."""
        private_folder(self._folder)
        with ExitStack() as held:
            try:
                held.enter_context(locked_file(self._folder / "lock", create=True, timeout_s=0))
            except LockHeldError:
                yield False
            else:
                yield True

    # Parcels are only packed and collected between the portions of a run, which each have a spool of their own.
    @cached_property
    def _on_their_way(self) -> frozenset[str]:
        return frozenset(question for parcel in self.parcels() for question in parcel.questions)

    def _drop_inputs_but(self, parcels: Iterable[Parcel]) -> None:
        """Remove inputs that a kill left without their parcel; their questions are still in the outbox."""
        kept = {self.input_of(parcel) for parcel in parcels}
        for path in self._sent.folder.glob("*.jsonl"):
            if path not in kept:
                path.unlink(missing_ok=True)

    def _write(self, server: str, share: dict[str, bytes]) -> None:
        if not share:
            return
        parcel = Parcel(secrets.token_hex(12), server, tuple(share))
        private_folder(self._sent.folder)
        atomic_write(self.input_of(parcel), share.values(), mode=0o600)
        self.note(parcel)
        for question in share:
            self._outbox.place(question).unlink(missing_ok=True)


def _line(question: Question) -> bytes:
    line = {"custom_id": question.id, "method": "POST", "url": "/v1/chat/completions", "body": question.request}
    return msgspec.json.encode(line) + b"\n"


# A model that answers by batch: now what was asked another night, and another night what is asked now.

# What the Batch API takes off the price.
DISCOUNT = 0.5
# A question that so many batches gave no answer to is given up.
MOST_FAILURES = 3
# Questions whose answers are worth waiting for: the material is the same a night later.
_PATIENT = frozenset({"extract"})


@dataclass(frozen=True, slots=True)
class BatchModel:
    """A model that is asked by batch where that does no harm, and at once elsewhere."""

    live: LanguageModel  # the model that answers at once
    server: str  # address of its server
    spool: Spool  # where questions and answers wait
    meter: Meter  # the account of the run; a question is charged by the run that asks it

    @property
    def name(self) -> str:
        """The model's name as the settings give it."""
        return self.live.name

    def answer(self, ask: Ask) -> Answer:
        """Return the answer that came by batch, or note the question for the next one.

        Raises AnswerPendingError: it was noted, or is on its way; BudgetSpentError: it was not noted: the budget does
        not cover it; ModelError: as :class:`slowwave.models.base.LanguageModel`.
        """
        if ask.purpose not in _PATIENT:
            return self.live.answer(ask)
        request = _request(self.live.name, ask)
        question = question_of(self.server, request, ask.identity)
        try:
            return self._by_batch(ask, question)
        except CorruptStateError as error:
            # its remedy stands in the message; until then nothing is lost and nothing is paid twice
            raise ModelUnavailableError(str(error), is_general=True) from error

    def _by_batch(self, ask: Ask, question: Question) -> Answer:
        came = self.spool.answer(question.id)
        if came is not None and came.body is not None:
            return self._read(came.body, ask)
        if came is not None:
            _refuse(came)
        if not self.spool.waits(question.id):
            prompt = estimated_tokens(*(m["content"] for m in question.request["messages"]))
            self.meter.hold(prompt, ask.max_output_tokens, DISCOUNT)
            self.spool.ask(question)
        raise AnswerPendingError("asked in a batch; the answer is read another night")

    def _read(self, body: dict[str, Any], ask: Ask) -> Answer:
        said = completion_of(msgspec.json.encode(body))
        if said is None:
            raise MalformedAnswerError("what came by batch is not a chat completion")
        refuse_unfinished(said)
        tokens = said.prompt_tokens or 0, said.completion_tokens or 0
        usage = Usage(*tokens, self.meter.price(*tokens) * DISCOUNT)
        return Answer(data_of(said.text, ask.schema), spoken(said.text), "schema", usage, said.model or self.name)


def spool_folder(environ: Mapping[str, str]) -> Path:
    """Return where the questions and answers of this machine wait."""
    return state_folder(environ) / "batches"


def _request(model: str, ask: Ask) -> dict[str, Any]:
    """Return the body of a chat completion in the words that every model of the Batch API takes."""
    return {
        "model": model,
        "messages": [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.user}],
        "max_completion_tokens": ask.max_output_tokens,
        "response_format": held_to(ask),
    }


def _refuse(came: Answered) -> None:
    """Raise what a failure means, unless asking again may help."""
    meaning = meaning_of(Fault("status", came.error, came.status, came.code))
    if meaning == "overflow":
        raise ContextOverflowError(came.error)
    if meaning == "filtered":
        raise ModelRefusedError(came.error)
    if came.failures >= MOST_FAILURES:
        raise MalformedAnswerError(f"{came.failures} batches gave no answer, the last because: {came.error}")


# The Batch API of an OpenAI-compatible server: upload, create, look, fetch (OpenAI's API reference, Batch).
#
# What a kill may leave behind on the server is found again by the parcel's id: it names the uploaded file and stands in
# the batch's metadata.

_PURPOSE = "batch"
_GONE = 404
_LABEL = "slowwave_parcel"
# states in which nothing more comes
_OVER = frozenset({"completed", "expired", "cancelled", "failed"})


@dataclass(frozen=True, slots=True)
class Standing:
    """How a batch stands."""

    state: str  # as the server calls it
    is_over: bool  # whether nothing more comes
    files: tuple[str, ...]  # the server's ids of what came, answers and errors
    reason: str  # why the whole batch failed, or ""


class Provider:
    """The batches of one server.

    Every method raises :class:`slowwave.models.client.Fault` when the server cannot be reached or refuses.
    ``exchange``: the connection.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    @contextmanager
    def _understood(self) -> Generator[None]:
        """Turn an answer that is none of this API's into a fault: ``openai`` checks no shape, and some servers none."""
        with self._exchange.faults():
            try:
                yield
            except (AttributeError, TypeError, ValueError) as error:
                raise Fault("cut", f"this is not an answer of a batch API: {type(error).__name__}: {error}") from error

    def upload(self, path: Path) -> str:
        """Upload an input file and return its id; one that is there already under this name is taken."""
        with self._understood():
            files = self._exchange.opened().files
            there = next((f.id for f in files.list(purpose=_PURPOSE) if f.filename == path.name), "")
            return there or _name(files.create(file=path, purpose=_PURPOSE).id)

    def create(self, file: str, parcel: str) -> str:
        """Start the batch of a parcel and return its id; one that was started already is taken."""
        with self._understood():
            batches = self._exchange.opened().batches
            there = next((b.id for b in batches.list(limit=100) if (b.metadata or {}).get(_LABEL) == parcel), "")
            if there:
                return there
            made = batches.create(
                input_file_id=file, endpoint="/v1/chat/completions", completion_window="24h", metadata={_LABEL: parcel}
            )
            return _name(made.id)

    def standing(self, batch: str) -> Standing:
        """Return how a batch stands."""
        with self._understood():
            found = self._exchange.opened().batches.retrieve(batch)
            state = _name(found.status)
            problems = (found.errors.data if found.errors else None) or ()
            reason = "; ".join(f"{e.code or 'error'}: {e.message or ''}".strip() for e in problems)
            files = tuple(_name(file) for file in (found.output_file_id, found.error_file_id) if file)
        return Standing(state, state in _OVER, files, reason)

    def answers(self, file: str, at: str) -> Iterator[Answered]:
        """Return what a file of answers or errors says, line by line; ``at`` is the time of the collection.

        Raises Fault: it cannot be fetched, or a line of it is none.
        """
        with self._understood():
            data = self._exchange.opened().files.content(file).content
        for line in data.splitlines():
            if line.strip():
                yield _answered(line, at)

    def clear(self, files: tuple[str, ...]) -> None:
        """Delete files of a batch that is over: what people said does not stay on a server longer than it must."""
        for file in files:
            try:
                with self._understood():
                    self._exchange.opened().files.delete(file)
            except Fault as fault:
                if fault.status != _GONE:
                    raise


def _name(value: object) -> str:
    """Return an id or a state, which is never anything but a word."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"a word is missing: {value!r}"[:80])
    return value


def _answered(line: bytes, at: str) -> Answered:
    try:
        whole = mapping_of(orjson.loads(line))
    except orjson.JSONDecodeError as error:
        raise Fault("cut", f"a line of the answers is not JSON: {line[:80]!r}") from error
    question = str(whole.get("custom_id") or "")
    response = mapping_of(whole.get("response"))
    body = mapping_of(response.get("body"))
    status = response.get("status_code")
    if status == 200 and body:  # noqa: PLR2004 - HTTP's OK
        return Answered(question, body=dict(body), at=at)
    about = mapping_of(whole.get("error")) or mapping_of(body.get("error"))
    code = " ".join(str(about[name]) for name in ("code", "type") if about.get(name))
    message = str(about.get("message") or "no answer and no reason")
    return Answered(question, error=message[:300], status=status if isinstance(status, int) else 0, code=code, at=at)


# The two rounds of a night with batches: fetch what came at its begin, hand over what was asked at its end.
#
# Both can be repeated at any time and after any kill. A server that cannot be reached costs nothing but a night: the
# parcels wait.

# An answer is read by the night after it came; one that nobody asked for in all that time is not asked for any more.
KEPT = timedelta(days=30)
# A server that knows nothing of a batch after its window of 24 hours, and a day more, has forgotten it.
FORGOTTEN = timedelta(days=2)
_NOT_FOUND = 404
_SERVER = 500
_OTHER = "another run is handing over or collecting batches; this one leaves them to it"


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came."""

    answers: int = 0  # how many questions were answered
    failed: int = 0  # how many came back without an answer; they are asked again
    waiting: int = 0  # how many are still on their way
    tokens: int = 0  # what the answers cost, as the server counted
    problems: list[str] = field(default_factory=list[str])  # what went wrong, a sentence each


@dataclass(frozen=True, slots=True)
class Handed:
    """What went out."""

    questions: int = 0  # how many were handed over
    problems: list[str] = field(default_factory=list[str])  # what went wrong, a sentence each


def fetch(spool: Spool, provider: Provider, server: str, now: datetime) -> Fetched:
    """Collect every parcel of ``server`` that is over.

    Raises CorruptStateError: a file of the spool is damaged; OSError: the spool cannot be written.
    """
    with spool.alone() as is_alone:
        return _fetch(spool, provider, server, now) if is_alone else Fetched(problems=[_OTHER])


def _fetch(spool: Spool, provider: Provider, server: str, now: datetime) -> Fetched:
    done = Fetched()
    for parcel in _of(spool, server, done.problems):
        if not parcel.batch:
            # a kill came before it was handed over; the end of this night does it
            continue
        if parcel.files:
            _clear(spool, provider, parcel, done.problems)
            continue
        try:
            standing = provider.standing(parcel.batch)
            if not standing.is_over:
                done = replace(done, waiting=done.waiting + len(parcel.questions))
                continue
            answers = _answers(spool, provider, parcel, standing, now.isoformat())
        except Fault as fault:
            if not _is_forgotten(parcel, fault, now):
                done.problems.append(_told(parcel, fault))
                done = replace(done, waiting=done.waiting + len(parcel.questions))
                continue
            standing = Standing("forgotten", is_over=True, files=(), reason=f"the server lost it: {fault.message}")
            answers = _answers(spool, provider, parcel, standing, now.isoformat())
        left = spool.collect(parcel, answers, (parcel.file, *standing.files))
        done = _counted(done, parcel, standing, answers)
        _clear(spool, provider, left, done.problems)
    spool.sweep((now - KEPT).timestamp())
    return done


def hand_over(spool: Spool, provider: Provider, server: str, now: datetime) -> Handed:
    """Send everything that waits for ``server``, and what an earlier run was killed over.

    Raises CorruptStateError: a file of the spool is damaged; OSError: the spool cannot be written.
    """
    with spool.alone() as is_alone:
        if not is_alone:
            return Handed(problems=[_OTHER])
        spool.pack(server)
        handed = Handed()
        for parcel in _of(spool, server, []):
            if parcel.batch:
                continue
            try:
                there = msgspec.structs.replace(parcel, file=parcel.file or provider.upload(spool.input_of(parcel)))
                spool.note(there)
                batch = provider.create(there.file, there.id)
            except Fault as fault:
                # what was uploaded is found by its name, or missed, by the next attempt
                spool.note(msgspec.structs.replace(parcel, file=""))
                handed.problems.append(_told(parcel, fault))
                continue
            spool.note(msgspec.structs.replace(there, batch=batch, at=now.isoformat()))
            handed = replace(handed, questions=handed.questions + len(parcel.questions))
        return handed


def _of(spool: Spool, server: str, problems: list[str]) -> list[Parcel]:
    every = spool.parcels()
    others = {parcel.server for parcel in every if parcel.server != server}
    problems += [f"a batch is on its way at {other}, which is not model.base_url any more" for other in sorted(others)]
    return [parcel for parcel in every if parcel.server == server]


def _answers(spool: Spool, provider: Provider, parcel: Parcel, standing: Standing, at: str) -> list[Answered]:
    """Return an answer or an error for each question of a parcel, whatever the server sent."""
    came: dict[str, Answered] = {}
    for file in standing.files:
        for answer in provider.answers(file, at):
            if answer.body is not None or answer.id not in came:
                came[answer.id] = answer
    reason = standing.reason or f"the batch is {standing.state} and has no answer to it"
    # that a batch was refused, cut off or lost as a whole says nothing against its questions
    blame = int(standing.state == "completed")
    return [
        _with_failures(spool, came.get(question) or Answered(question, error=reason, at=at), blame)
        for question in parcel.questions
    ]


def _with_failures(spool: Spool, answer: Answered, blame: int) -> Answered:
    if answer.body is not None:
        return answer
    before = spool.answer(answer.id)
    return msgspec.structs.replace(answer, failures=blame + (before.failures if before else 0))


def _is_forgotten(parcel: Parcel, fault: Fault, now: datetime) -> bool:
    return fault.status == _NOT_FOUND and now - datetime.fromisoformat(parcel.at) > FORGOTTEN


def _counted(done: Fetched, parcel: Parcel, standing: Standing, answers: list[Answered]) -> Fetched:
    good = [answer for answer in answers if answer.body is not None]
    bad = len(answers) - len(good)
    if bad:
        reason = standing.reason or next(answer.error for answer in answers if answer.body is None)
        done.problems.append(
            f"batch {parcel.batch} ({standing.state}) left {bad} of {len(answers)} questions without an answer,"
            f" which are asked again: {reason}"
        )
    tokens = sum(map(_tokens, good))
    return replace(done, answers=done.answers + len(good), failed=done.failed + bad, tokens=done.tokens + tokens)


def _tokens(answer: Answered) -> int:
    said = completion_of(msgspec.json.encode(answer.body))
    return 0 if said is None else (said.prompt_tokens or 0) + (said.completion_tokens or 0)


def _clear(spool: Spool, provider: Provider, parcel: Parcel, problems: list[str]) -> None:
    """Delete the files of a collected batch; that some stay is told, but costs the night nothing.

    A server that is away is asked again by the next night; one that refuses is not.
    """
    try:
        provider.clear(parcel.files)
    except Fault as fault:
        problems.append(f"files of batch {parcel.batch} stay on the server: {fault.message}")
        if fault.kind != "status" or fault.status >= _SERVER:
            return
    spool.forget(parcel)


def _told(parcel: Parcel, fault: Fault) -> str:
    where = f"batch {parcel.batch}" if parcel.batch else f"a batch of {len(parcel.questions)} questions"
    return f"{where} waits for another night: {fault.message}"
