"""What happened lately, and what a run may cost: a part of ``status``, out of the history of nights."""

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from slowwave.errors import told
from slowwave.jobs.choice import memory_folders
from slowwave.observability.alarms import REMEMBERING
from slowwave.observability.at_work import AtWork, over_because, read_notes, stopped
from slowwave.observability.history import history_path, read_nights
from slowwave.observability.learned import Kind, learned, remembered
from slowwave.observability.night import STOPPED, Alarm, Night, Spent
from slowwave.settings import ModelSettings, Settings


class Budget(msgspec.Struct):
    """What one run may cost at most, 0 for no limit, and what the last one did cost.

    Attributes:
        tokens: most tokens, both ways.
        usd: most money.
        spent_tokens: of the last run that remembers.
        spent_usd: the same in money.
    """

    tokens: int = 0
    usd: float = 0.0
    spent_tokens: int = 0
    spent_usd: float = 0.0


class Morning(msgspec.Struct):
    """What somebody wants to know who comes back: what was learned last, and whether anything needs them.

    Attributes:
        run: id of the last run that changed a memory, or "".
        at: when its first dream began, ISO time, or "".
        numbers: how many changes of each kind it made.
        needs: how many things wait for a person and are worth their time.
    """

    run: str = ""
    at: str = ""
    numbers: dict[Kind, int] = {}
    needs: int = 0


def morning(settings: Settings, environ: Mapping[str, str], last: Night | None, *, project: str = "") -> Morning:
    """Return what was learned last, and how much waits: what waited after the last run, less what was decided since.

    Args:
        settings: the settings in force.
        environ: the environment.
        last: the last run of :class:`Lately`.
        project: only projects whose key or root contains this.

    Raises:
        UnreadableError: a store cannot be read at all.
        NotFoundError: no project matches ``project``.
    """
    every, _ = remembered(memory_folders(settings, environ, project))
    dreams = [dream for one in every for dream in one.dreams if not dream.is_undone]
    found = Morning()
    if last is not None and not project:
        begun = f"{last.began.astimezone(UTC):%Y%m%dT%H%M%SZ}"
        # the ids of both kinds of decisions begin with their time
        decided = [dream.id for dream in dreams if dream.is_by_person]
        decided += [name for one in every for name in one.book.refusals]
        found.needs = max(last.needs - sum(name[1:17] > begun for name in decided), 0)
    changed = [dream for dream in dreams if dream.changes and not dream.is_by_person]
    if changed:
        latest = max(changed, key=lambda dream: (dream.at, dream.id))
        run = [dream for dream in changed if dream.run == latest.run] if latest.run else [latest]
        found.run, found.at = latest.run or latest.id, min(dream.at for dream in run)
        found.numbers = learned(every, lambda dream: dream in run).numbers
    return found


class Lately(msgspec.Struct):
    """What the history says.

    Attributes:
        last: the last run that reads sessions or dreams, or None; ``last_good`` is the last one without a failure.
            One that never came to its end counts, also before another run has put it into the history.
        last_good: its beginning, ISO time, or "".
        hours: hours since the last one began, or None.
        alarms: what the last run of each job raised.
        budget: limits and last use of the language model.
        at_work: runs that are at work now.
        stopped: runs that never came to their end, and that no run has told of yet.
        ahead: why the last run lies in the future, or "".
        problems: what of the history cannot be read.
    """

    last: Night | None = None
    last_good: str = ""
    hours: float | None = None
    alarms: list[Alarm] = []
    budget: Budget = msgspec.field(default_factory=Budget)
    at_work: list[AtWork] = []
    stopped: list[Night] = []
    ahead: str = ""
    problems: list[str] = []


def lately(model: ModelSettings, environ: Mapping[str, str], now: datetime) -> Lately:
    """Return what happened lately; what cannot be read is told and stops nothing."""
    try:
        nights, problems = read_nights(environ)
    except OSError as error:
        return Lately(problems=[told(error, history_path(environ))])
    found = Lately(problems=problems, budget=Budget(model.budget_tokens, model.budget_usd))
    _look_at_notes(found, environ, {(night.run_id, night.at) for night in nights})
    nights = sorted([*nights, *found.stopped], key=lambda night: night.began)
    found.alarms = list({a.name: a for night in _latest_of_each(nights) for a in night.alarms}.values())
    remembering = [night for night in nights if night.job in REMEMBERING]
    if remembering:
        last = found.last = remembering[-1]
        found.hours = round((now - last.began).total_seconds() / 3600, 2)
        if last.began > now:
            found.ahead = f"it is {now:%Y-%m-%d %H:%M} UTC, before the last run began: the clock was moved"
        found.last_good = next((night.at for night in reversed(remembering) if not night.failed), "")
        _charge(found.budget, last.spent)
    return found


def _look_at_notes(found: Lately, environ: Mapping[str, str], known: set[tuple[str, str]]) -> None:
    """Tell the runs that are at work from those that were stopped."""
    notes, problems = read_notes(environ)
    found.problems = [*found.problems, *problems]
    for note in notes:
        why = over_because(note)
        if not why:
            found.at_work.append(note)
        elif (note.run_id, note.at) not in known:
            found.stopped.append(stopped(note, why))


def _charge(budget: Budget, spent: Spent) -> None:
    budget.spent_tokens = spent.prompt_tokens + spent.completion_tokens
    budget.spent_usd = spent.usd


def _latest_of_each(nights: list[Night]) -> list[Night]:
    """Return the last run of each job that came to its end, over all projects where there was one."""
    ended = [night for night in nights if not night.partial and night.outcome != STOPPED]
    return list({night.job: night for night in ended}.values())
