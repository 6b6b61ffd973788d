"""What a backfill would read and cost, before anything is read for good: some sessions are read, and it is counted up.

Bytes and sessions are those of the plan. Processor time and tokens come from a sample that is read as the run would
read it, with the meter that extraction itself uses; a model is not asked. What its answers come to, and how long they
take, is taken from earlier backfills with the same model, and is a wide guess before the first one.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import sqrt
from typing import TypeVar

import msgspec

from slowwave.extraction.job import ask_model, extract_one
from slowwave.extraction.model.summary import USUAL_ANSWER
from slowwave.files import home_folder
from slowwave.formats.sessions import StoredSession
from slowwave.jobs.backfill.folder import MOST_LATER, Pace, Past, Piece, Plan, Shard, past_runs
from slowwave.jobs.backfill.plan import first_words, note_versions, plan_backfill
from slowwave.jobs.backfill.shard import Collected, why_later
from slowwave.jobs.parameters import BackfillParameters, run_of
from slowwave.jobs.portions import PAYS_FROM_BYTES
from slowwave.models.base import prices_of
from slowwave.models.batch import DISCOUNT
from slowwave.quantities import counted as number_of
from slowwave.report import Item, Report, counted
from slowwave.secrets import Redactor, redactor_of

T = TypeVar("T")

GROUPS = 8
# two standard errors: 19 of 20 such intervals hold the true number
_WIDE = 2.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with the interval that it lies in 19 times of 20, as far as chance goes."""

    value: float
    low: float
    high: float

    def scaled(self, factor: float) -> "Estimate":
        """Return the estimate of something that is proportional to this."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)

    def plus(self, other: "Estimate") -> "Estimate":
        """Return the estimate of a sum; the errors are taken to come together, which is on the safe side."""
        return Estimate(self.value + other.value, self.low + other.low, self.high + other.high)


def groups_of(things: Sequence[T], size: Callable[[T], int]) -> list[list[T]]:
    """Return things in groups of like size, small ones first, each of as many things."""
    ordered = sorted(things, key=size)
    number = max(1, min(GROUPS, len(ordered)))
    return [ordered[len(ordered) * at // number : len(ordered) * (at + 1) // number] for at in range(number)]


def sample_order(groups: Sequence[Sequence[T]], most: int) -> list[tuple[int, T]]:
    """Return up to ``most`` things with the number of their group, spread evenly over all groups and within each.

    The order goes round the groups, so that a sample that is stopped early is still spread; it is the same each time.
    """
    share = max(1, most // max(1, len(groups)))
    picks: list[list[tuple[int, T]]] = []
    for number, group in enumerate(groups):
        wanted = min(share, len(group))
        places = [len(group) * (2 * at + 1) // (2 * wanted) for at in _spread(wanted)]
        picks.append([(number, group[place]) for place in places])
    rounds = max((len(of_group) for of_group in picks), default=0)
    return [of_group[at] for at in range(rounds) for of_group in picks if at < len(of_group)]


def _spread(number: int) -> list[int]:
    """Return the numbers below ``number`` so that any beginning of them is spread: the middle, the quarters, ..."""
    bits = max(1, (number - 1).bit_length())
    every = (int(format(at, f"0{bits}b")[::-1], 2) for at in range(1 << bits))
    return [at for at in every if at < number]


def estimated(groups: Sequence[Sequence[int]], sampled: Sequence[Sequence[tuple[int, float]]]) -> Estimate:
    """Return the estimated sum of something over all things.

    ``groups``: the sizes of all things, by group. ``sampled``: of each group, size and measured value of the things in
    the sample.
    """
    total = variance = 0.0
    for sizes, sample in zip(groups, sampled, strict=True):
        known = sum(size for size, _ in sample)
        if not known:
            # sessions without bytes: there is no ratio, but a mean
            total += len(sizes) * (sum(value for _, value in sample) / len(sample) if sample else 0.0)
            continue
        ratio = sum(value for _, value in sample) / known
        total += ratio * sum(sizes)
        if len(sample) > 1:
            spread = sum((value - ratio * size) ** 2 for size, value in sample) / (len(sample) - 1)
            variance += len(sizes) ** 2 * (1 - len(sample) / len(sizes)) * spread / len(sample)
    wide = _WIDE * sqrt(variance)
    return Estimate(total, max(0.0, total - wide), total + wide)


_MILLION = 1_000_000
# what servers have counted for each token of our estimate, as far as is known: it is made to be rather too much
_OF_ESTIMATE = (0.7, 1.05)
# planning, writing and landing beside the reading itself, and how much two runs of the same work differ
_BESIDE = 1.02
_LEAST_WIDE = 0.05


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a sample says about a whole run."""

    sampled: int  # sessions that were read for it
    cpu: Estimate  # seconds of one processor
    wall: Estimate  # seconds, as one process on this machine needs them now
    questions: Estimate  # to a model
    prompt_tokens: Estimate  # of these, by our estimate
    workers: int  # processes that would read at once on this machine
    refused: Sequence[str] = ()  # sessions of the sample that a gate refused, and why


def note_forecast(report: Report, plan: Plan, foreseen: Foreseen, past: Sequence[Past]) -> None:
    """Put a forecast into a report, as items for people and as counts for programs."""
    tokens, waiting = Estimate(0, 0, 0), Estimate(0, 0, 0)
    if foreseen.questions.value:
        tokens, usd, words = _tokens(plan, foreseen, past)
        report.items.append(Item(plan.run_id, "tokens", words))
        _count(report, "tokens_foreseen", tokens)
        _count(report, "micro_usd_foreseen", usd.scaled(_MILLION))
        report.count("questions_foreseen", round(foreseen.questions.value))
        waiting = _answering(plan, foreseen, past)
    _time(report, plan, foreseen, waiting, is_known=bool(past) or not foreseen.questions.value)


def _tokens(plan: Plan, foreseen: Foreseen, past: Sequence[Past]) -> tuple[Estimate, Estimate, str]:
    limits, questions = plan.settings.model, foreseen.questions
    asked, answers = sum(one.foreseen_prompt_tokens for one in past), sum(one.answers for one in past)
    if asked and answers:
        prompt = foreseen.prompt_tokens.scaled(sum(one.prompt_tokens for one in past) / asked)
        answer = questions.scaled(sum(one.completion_tokens for one in past) / answers)
        how = f"measured in {len(past)} earlier backfills"
    else:
        known = foreseen.prompt_tokens
        prompt = Estimate(known.value, known.low * _OF_ESTIMATE[0], known.high * _OF_ESTIMATE[1])
        usual = min(USUAL_ANSWER, limits.max_output_tokens)
        answer = Estimate(questions.value * usual, 0, questions.high * limits.max_output_tokens)
        how = "answers as usual; the first backfill with this model will tell"
    asking, answering = (price / _MILLION for price in prices_of(limits))
    share = DISCOUNT if limits.batch else 1.0
    usd = prompt.scaled(asking * share).plus(answer.scaled(answering * share))
    tokens = prompt.plus(answer)
    words = (
        f"{limits.name} would be asked about {questions.value:,.0f} questions: {tokens.value:,.0f} tokens"
        f" ({tokens.low:,.0f} to {tokens.high:,.0f})"
        + (f", {usd.value:,.2f} USD ({usd.low:,.2f} to {usd.high:,.2f})" if usd.high else "")
        + (", at a batch price" if limits.batch else "")
        + f"; {how}"
    )
    return tokens, usd, words


def _answering(plan: Plan, foreseen: Foreseen, past: Sequence[Past]) -> Estimate:
    """Return how long the answers of a model take, with as many questions at once as the settings say."""
    answers = sum(one.answers for one in past)
    if not answers or plan.settings.model.batch:
        return Estimate(0, 0, 0)
    at_once = plan.settings.model.concurrency * foreseen.workers
    return foreseen.questions.scaled(sum(one.model_seconds for one in past) / answers / at_once)


def _time(report: Report, plan: Plan, foreseen: Foreseen, waiting: Estimate, *, is_known: bool) -> None:
    cpu = _widened(foreseen.cpu.scaled(_BESIDE))
    wall = _widened(foreseen.wall.scaled(_BESIDE / foreseen.workers).plus(waiting))
    least = slowest(plan.pace, plan.sessions, plan.bytes)
    wall = Estimate(max(wall.value, least), max(wall.low, least), max(wall.high, least))
    _count(report, "seconds_foreseen", wall)
    _count(report, "cpu_seconds_foreseen", cpu)
    text = (
        f"about {spanned(wall)} with {foreseen.workers}"
        f" process{'' if foreseen.workers == 1 else 'es'} on this machine; {_told(cpu.value)} of processor time;"
        f" {foreseen.sampled} of {counted('sessions', plan.sessions)} read to tell"
        + ("" if is_known else "; how long the model takes shows in its first backfill")
    )
    report.items.append(Item(plan.run_id, "time", text))
    refused = len(foreseen.refused)
    if foreseen.sampled == plan.sessions:
        report.count("would_wait", refused)
    elif refused:
        which = f" of the {foreseen.sampled} that were read to tell {'is' if refused == 1 else 'are'} not ready yet"
        report.items.append(Item(plan.run_id, "not ready", number_of(refused, "session") + which))
    report.items += (Item(plan.run_id, "not ready", one) for one in foreseen.refused[:MOST_LATER])


def slowest(pace: Pace, sessions: int, size: int) -> float:
    """Return how many seconds a pace makes of so many sessions and bytes; 0.0 without a limit."""
    by_session = sessions / pace.sessions if pace.sessions else 0.0
    return max(by_session, size / (pace.megabytes * _MILLION) if pace.megabytes else 0.0)


def _widened(one: Estimate) -> Estimate:
    return Estimate(
        one.value, min(one.low, one.value * (1 - _LEAST_WIDE)), max(one.high, one.value * (1 + _LEAST_WIDE))
    )


def _count(report: Report, name: str, one: Estimate) -> None:
    report.counts |= {name: round(one.value), f"{name}_low": round(one.low), f"{name}_high": round(one.high)}


def spanned(one: Estimate) -> str:
    """Return a time with the range that it may lie in, where that is one."""
    value, low, high = _told(one.value), _told(one.low), _told(one.high)
    return value if low == high else f"{value} ({low} to {high})"


def _told(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


MOST_SESSIONS = 240
# processor time that a preview may take; with less than this many sessions read, it goes on all the same
MOST_CPU_S = 20.0
LEAST_SESSIONS = 40
# what is imported, compiled and looked up once is no part of a session's time
WARMING_UP = 4


class Measured(msgspec.Struct, frozen=True):
    """What reading one session came to: seconds of the processor and of the clock, questions and their tokens."""

    size: int
    cpu: float
    wall: float
    questions: int
    prompt_tokens: int
    refused: str = ""  # which session a gate refused, and why


def foreseen(given: BackfillParameters, environ: Mapping[str, str]) -> Report:
    """Return the report of what a backfill would do; nothing is changed, and no model is asked.

    Raises SlowwaveError: as the run itself would.
    """
    run = run_of(given, environ)
    plan, shards = plan_backfill(run, given)
    report = first_words(plan)
    report.count("sessions", plan.sessions)
    report.count("bytes", plan.bytes)
    note_versions(report, shards)
    if plan.sessions:
        past = [one for one in past_runs(environ) if one.model and one.model == plan.settings.model.label]
        note_forecast(report, plan, _foreseen(plan, shards, environ), past)
    return report


def _foreseen(plan: Plan, shards: Sequence[Shard], environ: Mapping[str, str]) -> Foreseen:
    """Read a sample and return what it says about the whole."""
    every = [(piece, session) for shard in shards for piece in shard.pieces for session in piece.sessions]
    groups = groups_of(every, lambda one: one[1].size)
    sampled: list[list[Measured]] = [[] for _ in groups]
    redact = redactor_of(plan.settings, environ, create=False)
    chosen = sample_order(groups, MOST_SESSIONS)
    for _, (piece, session) in chosen[:WARMING_UP]:
        _measured(plan, piece, session, environ, redact)
    begun = time.process_time()
    number = 0
    for group, (piece, session) in chosen:
        if number >= LEAST_SESSIONS and time.process_time() - begun > MOST_CPU_S:
            break
        sampled[group].append(_measured(plan, piece, session, environ, redact))
        number += 1
    sizes = [[session.size for _, session in group] for group in groups]

    def whole(value: str) -> Estimate:
        return estimated(sizes, [[(one.size, getattr(one, value)) for one in of_group] for of_group in sampled])

    return Foreseen(
        sampled=number,
        cpu=whole("cpu"),
        wall=whole("wall"),
        questions=whole("questions"),
        prompt_tokens=whole("prompt_tokens"),
        workers=min(os.cpu_count() or 1, plan.pieces) if plan.bytes >= PAYS_FROM_BYTES else 1,
        refused=[one.refused for of_group in sampled for one in of_group if one.refused],
    )


def _measured(
    plan: Plan, piece: Piece, session: StoredSession, environ: Mapping[str, str], redact: Redactor
) -> Measured:
    wall, cpu = time.monotonic(), time.process_time()
    batch = Collected(plan.projects[piece.project], plan, piece.seed, home_folder(environ), redact)
    extract_one(session, batch)
    settings = plan.settings.model
    if settings.is_set:
        ask_model([session], batch, None)
    seconds, cpu_seconds = time.monotonic() - wall, time.process_time() - cpu
    questions = batch.report.counts.get("model_questions", 0)
    usual = questions * min(USUAL_ANSWER, settings.max_output_tokens)
    prompt = batch.report.counts.get("model_tokens_foreseen", 0) - usual
    refused = "".join(why_later(batch.report)) if batch.report.counts.get("skipped_by_gate") else ""
    return Measured(session.size, cpu_seconds, seconds, questions, max(0, prompt), refused)
