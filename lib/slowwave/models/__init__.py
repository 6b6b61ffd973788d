"""The language model behind one protocol: what is asked, what comes back, what it costs, and how it fails."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slowwave.models.base import LanguageModel, Meter
    from slowwave.settings import Settings


def model_of(settings: "Settings", environ: Mapping[str, str], meter: "Meter") -> "LanguageModel | None":
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
