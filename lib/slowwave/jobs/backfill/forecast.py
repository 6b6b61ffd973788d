"""The words and numbers of a preview: tokens, money and time, each with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from slowwave.extraction.model.summary import USUAL_ANSWER
from slowwave.jobs.backfill.estimate import Estimate
from slowwave.jobs.backfill.history import Past
from slowwave.jobs.backfill.model import Pace, Plan
from slowwave.models.batch.model import DISCOUNT
from slowwave.models.meter import prices_of
from slowwave.report import Item, Report

_MILLION = 1_000_000
# what servers have counted for each token of our estimate, as far as is known: it is made to be rather too much
_OF_ESTIMATE = (0.7, 1.05)
# planning, writing and landing beside the reading itself, and how much two runs of the same work differ
_BESIDE = 1.02
_LEAST_WIDE = 0.05


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What a sample says about a whole run.

    Attributes:
        sampled: sessions that were read for it.
        cpu: seconds of one processor.
        wall: seconds, as one process on this machine needs them now.
        questions: to a model.
        prompt_tokens: of these, by our estimate.
        workers: processes that would read at once on this machine.
    """

    sampled: int
    cpu: Estimate
    wall: Estimate
    questions: Estimate
    prompt_tokens: Estimate
    workers: int


def note_forecast(report: Report, plan: Plan, foreseen: Foreseen, past: Sequence[Past]) -> None:
    """Put a forecast into a report, as items for people and as counts for programs.

    Args:
        report: the report of the preview.
        plan: what would be read.
        foreseen: what the sample says.
        past: earlier backfills with the same model.
    """
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
        f"about {_told(wall.value)} ({_told(wall.low)} to {_told(wall.high)}) with {foreseen.workers} processes on"
        f" this machine; {_told(cpu.value)} of processor time; {foreseen.sampled} of {plan.sessions:,} sessions were"
        " read to tell" + ("" if is_known else "; how long the model takes shows in its first backfill")
    )
    report.items.append(Item(plan.run_id, "time", text))


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


def _told(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
