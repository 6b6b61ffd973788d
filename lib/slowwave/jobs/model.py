"""The language model of a run: one for all steps and projects in a process, one account for all of its processes.

At a provider's batch price a night reads the answers to what was asked before, and hands over what was asked last.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from slowwave.errors import SlowwaveError, told
from slowwave.models import model_of
from slowwave.models.base import LanguageModel, ModelError
from slowwave.models.meter import Account, Meter, read_account
from slowwave.places import state_folder
from slowwave.report import Item, Report
from slowwave.settings import ModelSettings, Settings

if TYPE_CHECKING:
    from slowwave.models.batch import Provider
    from slowwave.models.spool import Spool


class _Key(NamedTuple):
    run_id: str
    settings: ModelSettings
    journal: Path


# what a server can do, and that it does not answer, is found out once a run; a worker has one run at a time
_latest: dict[_Key, LanguageModel] = {}


def language_model(
    run_id: str, settings: Settings, environ: Mapping[str, str], *, dry_run: bool = False
) -> LanguageModel | None:
    """Return the model that a run may ask, or None: none is configured, or nothing may be asked.

    Args:
        run_id: id of the run, whose account all of its processes share.
        settings: the settings in force.
        environ: the environment.
        dry_run: a dry run asks nothing.
    """
    if dry_run or not settings.model.is_set:
        return None
    key = _Key(run_id, settings.model, journal_of(run_id, environ))
    model = _latest.get(key)
    if model is None:
        model = model_of(settings, environ, Meter(settings.model, key.journal))
        if model is not None:
            _latest.clear()
            _latest[key] = model
    return model


def note_account(report: Report, journal: Path) -> None:
    """Say which command answered in a run and who counted, and what it was charged beyond the answers that were of use.

    Answers that were cut off, refused or unreadable cost as much as others.

    Raises:
        OSError: the journal cannot be read.
    """
    if not journal.exists():
        return
    try:
        account = read_account(journal)
    except ModelError as error:
        report.warnings.append(str(error))
        return
    if account.program or account.estimated:
        report.items.append(Item(report.run_id, "model", _told(account)))
    counts = report.counts
    used = counts.get("model_prompt_tokens", 0) + counts.get("model_completion_tokens", 0)
    charged = account.prompt_tokens + account.completion_tokens
    if charged > used:
        money = f", {account.usd:.4f} USD" if account.usd else ""
        reason = f"the run was charged {charged:,} tokens{money}, of which {charged - used:,} gave no usable answer"
        report.items.append(Item(report.run_id, "model", reason))
        report.count("model_charged_tokens", charged)


def _told(account: Account) -> str:
    money = f", {account.usd:.4f} USD" if account.usd else ""
    counted = "as it reports them" if account.program else "as the server counted"
    if account.estimated:
        counted = f"{account.estimated} of the answers estimated, since nobody counted them"
    tokens = f"{account.prompt_tokens:,} tokens of questions and {account.completion_tokens:,} of answers"
    return f"{account.program or 'the model'} answered {account.calls:,} times: {tokens}{money} ({counted})"


def journal_of(run_id: str, environ: Mapping[str, str]) -> Path:
    """Return where the account of a run is kept."""
    return state_folder(environ) / "runs" / f"{run_id}.model.json"


def is_batched(settings: Settings) -> bool:
    """Say whether the model of these settings is asked by batch."""
    return settings.model.batch and settings.model.is_set


def fetch_answers(report: Report, settings: Settings, environ: Mapping[str, str], now: datetime) -> None:
    """Collect the answers of batches that are over, and report them; a server that is away waits for another night.

    A damaged spool is named as a failure and costs the night nothing else.
    """
    from slowwave.models.batch import Fetched, fetch  # noqa: PLC0415 - the usual night has no model

    done = Fetched()
    with _contained(report, environ):
        done = fetch(*_ends(settings, environ), settings.model.base_url, now)
    _count(report, model_batch_answers=done.answers, model_batch_failed=done.failed, model_batch_waiting=done.waiting)
    _count(report, model_batch_tokens=done.tokens)
    report.warnings += done.problems
    if done.answers or done.failed:
        text = f"batches brought {done.answers} answers, {done.tokens:,} tokens; {done.failed} questions had none"
        report.items.append(Item(settings.model.name, "model", text))


def hand_over_questions(report: Report, settings: Settings, environ: Mapping[str, str], now: datetime) -> None:
    """Send what waits as a batch, and report it; a server that is away waits for another night.

    A damaged spool is named as a failure and costs the night nothing else.
    """
    from slowwave.models.batch import Handed, hand_over  # noqa: PLC0415 - the usual night has no model

    handed = Handed()
    with _contained(report, environ):
        handed = hand_over(*_ends(settings, environ), settings.model.base_url, now)
    _count(report, model_batch_questions=handed.questions)
    report.warnings += handed.problems
    if handed.questions:
        text = f"{handed.questions} questions went out in a batch; their answers are read another night"
        report.items.append(Item(settings.model.name, "model", text))


def note_left_behind(report: Report, settings: Settings, environ: Mapping[str, str]) -> None:
    """Warn of batches whose answers nobody reads any more, since the settings ask for none."""
    if is_batched(settings):
        return
    # by their names alone: the usual night has no model, and no spool
    number = sum(1 for _ in (state_folder(environ) / "batches" / "sent").glob("*.json"))
    if number:
        report.warnings.append(
            f"{number} batches are on their way to a model, and the answers are not read while model.batch is off"
        )


@contextmanager
def _contained(report: Report, environ: Mapping[str, str]) -> Generator[None]:
    """Name what is wrong with the spool; the miners need none."""
    try:
        yield
    except SlowwaveError as error:
        report.failures.append(f"batches: extract: {error}")
    except OSError as error:
        report.failures.append(f"batches: extract: {told(error, state_folder(environ))}")


def _ends(settings: Settings, environ: Mapping[str, str]) -> "tuple[Spool, Provider]":
    from slowwave.models.batch import Provider, spool_folder  # noqa: PLC0415 - the usual night has no model
    from slowwave.models.client import Exchange  # noqa: PLC0415 - as above
    from slowwave.models.spool import Spool  # noqa: PLC0415 - as above

    return Spool(spool_folder(environ)), Provider(Exchange(settings.model, environ))


def _count(report: Report, **numbers: int) -> None:
    for name, number in numbers.items():
        if number:
            report.count(name, number)
