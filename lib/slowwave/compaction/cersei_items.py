"""The model that a session of Cersei talks to: its messages name it in ``metadata``, or as Claude Code's do."""

from collections.abc import Sequence

from slowwave.compaction.items import Item
from slowwave.compaction.javascript import fields_of
from slowwave.formats.salvage import whole

_NAMED = b'"model"'


def model_in(items: Sequence[Item]) -> str:
    """Return the name of the model that answered last, "" where no answer names one."""
    for item in reversed(items):
        if item.kind != "assistant" or item.message is None:
            continue
        for span in item.message.sources[:1]:
            if _NAMED in span.raw and (model := _model_of(span.raw)):
                return model
    return ""


def _model_of(raw: bytes) -> str:
    message = fields_of(whole(raw).get("message"))
    named = (fields_of(message.get("metadata")).get("model"), message.get("model"))
    return next((model for model in named if isinstance(model, str)), "")
