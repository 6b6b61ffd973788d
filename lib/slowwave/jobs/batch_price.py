"""A night at a provider's batch price: read what was asked another night first, hand over what was asked last."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from slowwave.errors import SlowwaveError, told
from slowwave.places import state_folder
from slowwave.report import Item, Report
from slowwave.settings import Settings

if TYPE_CHECKING:
    from slowwave.models.batch.provider import Provider
    from slowwave.models.batch.spool import Spool


def is_batched(settings: Settings) -> bool:
    """Say whether the model of these settings is asked by batch."""
    return settings.model.batch and settings.model.is_set


def fetch_answers(report: Report, settings: Settings, environ: Mapping[str, str], now: datetime) -> None:
    """Collect the answers of batches that are over, and report them; a server that is away waits for another night.

    A damaged spool is named as a failure and costs the night nothing else.
    """
    from slowwave.models.batch.rounds import Fetched, fetch  # noqa: PLC0415 - the usual night has no model

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
    from slowwave.models.batch.rounds import Handed, hand_over  # noqa: PLC0415 - the usual night has no model

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
            f"{number} batches are on their way to a model, and nobody reads the answers while model.batch is off"
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
    from slowwave.models.batch.model import spool_folder  # noqa: PLC0415 - the usual night has no model
    from slowwave.models.batch.provider import Provider  # noqa: PLC0415 - as above
    from slowwave.models.batch.spool import Spool  # noqa: PLC0415 - as above
    from slowwave.models.exchange import Exchange  # noqa: PLC0415 - as above

    return Spool(spool_folder(environ)), Provider(Exchange(settings.model, environ))


def _count(report: Report, **numbers: int) -> None:
    for name, number in numbers.items():
        if number:
            report.count(name, number)
