"""The language model of a run: one for all steps and projects in a process, one account for all of its processes."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from slowwave.models.base import LanguageModel, ModelError, model_of
from slowwave.models.meter import Account, Meter, read_account
from slowwave.places import state_folder
from slowwave.report import Item, Report
from slowwave.settings import ModelSettings, Settings


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
