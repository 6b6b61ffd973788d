"""The part of ``slowwave status`` about nights: the last one, what it raised, and what a model may cost."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from slowwave.cli.output import counted

if TYPE_CHECKING:
    from slowwave.jobs.status import Budget, Lately, Morning

_DAY = 24
_ASK = "slowwave doctor --model asks whether it is there"


def of_morning(found: "Morning") -> Iterator[str]:
    """Yield what was learned last, and what needs a person: the first that somebody wants to know who comes back."""
    from slowwave.observability.lessons import in_words  # noqa: PLC0415 - --help stays fast

    if found.run:
        yield f"Learned {_time(found.at)}: {in_words(found.numbers)}  (slowwave nights show {found.run})"
    if found.needs:
        yield f"Waiting for you: {found.needs}  (slowwave review)"
    if found.run or found.needs:
        yield ""


def of_nights(past: "Lately") -> Iterator[str]:
    """Yield what the history says, for a person."""
    from slowwave.observability.night import state  # noqa: PLC0415 - --help stays fast

    if past.last is None and not past.problems and not past.at_work:
        return
    yield ""
    for note in past.at_work:
        who = f"process {note.owner.pid} on {note.owner.host}"
        yield f"At work: {note.job} since {_time(note.at)}, {note.where} ({who})"
    if past.last is not None:
        night = past.last
        good = "" if not night.failed else f"; the last without a failure began {past.last_good[:16] or 'never'}"
        when = f"{_time(night.at)}, {_ago(past.hours or 0)}"
        yield f"Last run: {night.job} of {when}: {state(night)}{good}"
        if unanswered := night.counted("model_postponed"):
            what = counted(unanswered, "question")
            yield f"  model      {what} got no answer and wait for the next run; {_ASK}"
        if past.ahead:
            yield f"  clock      {past.ahead}"
    yield from (f"  stopped    {_time(night.at)}: {night.failures[0]}" for night in past.stopped)
    yield from (f"  alarm      {alarm.name}: {alarm.summary}" for alarm in past.alarms)
    yield from _budget(past.budget)
    yield from (f"  problem    {problem}" for problem in past.problems)


def _budget(budget: "Budget") -> Iterator[str]:
    if not (budget.tokens or budget.usd or budget.spent_tokens):
        return
    of_tokens = f" of {budget.tokens:,}" if budget.tokens else ""
    of_money = f" of {budget.usd:g}" if budget.usd else ""
    spent = f"{budget.spent_tokens:,}{of_tokens} tokens, {budget.spent_usd:.4f}{of_money} USD"
    yield f"  budget     the last run spent {spent}"


def _time(at: str) -> str:
    return at[:16].replace("T", " ")


def _ago(hours: float) -> str:
    if hours < 0:
        return f"in {-hours:.1f} h by this clock"
    if hours < 1:
        return f"{max(round(hours * 60), 1)} min ago"
    return f"{hours:.1f} h ago" if hours < 2 * _DAY else f"{hours / _DAY:.0f} days ago"
