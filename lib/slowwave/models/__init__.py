"""The language model behind one protocol: what is asked, what comes back, what it costs, and how it fails.

It is one for all steps and projects in a process, with one account for all processes of a run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from slowwave.files import state_folder
from slowwave.models.base import LanguageModel, Meter
from slowwave.settings import ModelSettings, Settings


def model_of(settings: Settings, environ: Mapping[str, str], meter: Meter) -> LanguageModel | None:
    """Return the model of the settings, or None when neither a server with ``model.name`` nor a command is set.

    ``environ``: the environment; the variable that ``model.api_key_env`` names holds the key; ``meter``: counts what is
    spent and knows the budget.
    """
    if not settings.model.is_set:
        return None
    if settings.model.command:
        from slowwave.models.command import CommandModel  # noqa: PLC0415 - as below

        return CommandModel(settings.model, environ, meter)
    from slowwave.models.client import OpenAIModel  # noqa: PLC0415 - without a model its client is never imported

    live = OpenAIModel(settings.model, environ, meter)
    if not settings.model.batch:
        return live
    from slowwave.models.batch import BatchModel, Spool, spool_folder  # noqa: PLC0415 - as above

    return BatchModel(live, settings.model.base_url, Spool(spool_folder(environ)), meter)


class _Key(NamedTuple):
    run_id: str
    settings: ModelSettings
    journal: Path


# what a server can do, and that it does not answer, is found out once a run; a worker has one run at a time
_latest: dict[_Key, LanguageModel] = {}


def language_model(
    run_id: str, settings: Settings, environ: Mapping[str, str], *, dry_run: bool = False
) -> LanguageModel | None:
    """Return the model that a run may ask, or None: none is configured, or nothing may be asked."""
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


def journal_of(run_id: str, environ: Mapping[str, str]) -> Path:
    """Return where the account of a run is kept."""
    return state_folder(environ) / "runs" / f"{run_id}.model.json"
