"""What a rollout of Codex notes beside its messages: what the provider counted, the window and the model."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from slowwave.compaction.javascript import fields_of
from slowwave.compaction.usage import Usage, read_usage


class Counters(NamedTuple):
    """What was noted last.

    Attributes:
        usage: what the provider counted since the last compaction, None where it did not.
        window: tokens that the model can see; 0 where that is not noted.
        model: its name, or "".
    """

    usage: Usage | None = None
    window: int = 0
    model: str = ""


def counters_in(backward: Iterable[Mapping[str, Any]]) -> Counters:
    """Return what the records of a rollout note, given from the last to the first; no more is taken than needed."""
    usage: Usage | None = None
    window, model, is_before = 0, "", False
    for record in backward:
        payload = fields_of(record.get("payload"))
        is_before = is_before or record.get("type") == "compacted"
        if record.get("type") == "turn_context" and not model:
            model = str(payload.get("model") or "")
        info = fields_of(payload.get("info") if payload.get("type") == "token_count" else None)
        counted = read_usage(fields_of(info.get("last_token_usage")))
        if counted.context_tokens:
            noted = info.get("model_context_window")
            window = window or (noted if isinstance(noted, int) else 0)
            usage = usage or (None if is_before else counted)
        if model and (window or is_before):
            break
    return Counters(usage, window, model)
