"""The two rounds of a night with batches: fetch what came at its begin, hand over what was asked at its end.

Both can be repeated at any time and after any kill. A server that cannot be reached costs nothing but a night: the
parcels wait.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import msgspec

from slowwave.models.batch.provider import Provider, Standing
from slowwave.models.batch.spool import Answered, Parcel, Spool
from slowwave.models.faults import Fault
from slowwave.models.reply import completion_of

# An answer is read by the night after it came; one that nobody asked for in all that time is not asked for any more.
KEPT = timedelta(days=30)
# A server that knows nothing of a batch after its window of 24 hours, and a day more, has forgotten it.
FORGOTTEN = timedelta(days=2)
_NOT_FOUND = 404
_SERVER = 500
_OTHER = "another run is handing over or collecting batches; this one leaves them to it"


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came.

    Attributes:
        answers: how many questions were answered.
        failed: how many came back without an answer; they are asked again.
        waiting: how many are still on their way.
        tokens: what the answers cost, as the server counted.
        problems: what went wrong, a sentence each.
    """

    answers: int = 0
    failed: int = 0
    waiting: int = 0
    tokens: int = 0
    problems: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class Handed:
    """What went out.

    Attributes:
        questions: how many were handed over.
        problems: what went wrong, a sentence each.
    """

    questions: int = 0
    problems: list[str] = field(default_factory=list[str])


def fetch(spool: Spool, provider: Provider, server: str, now: datetime) -> Fetched:
    """Collect every parcel of ``server`` that is over.

    Raises:
        CorruptStateError: a file of the spool is damaged.
        OSError: the spool cannot be written.
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

    Raises:
        CorruptStateError: a file of the spool is damaged.
        OSError: the spool cannot be written.
    """
    with spool.alone() as is_alone:
        return _hand_over(spool, provider, server, now) if is_alone else Handed(problems=[_OTHER])


def _hand_over(spool: Spool, provider: Provider, server: str, now: datetime) -> Handed:
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
