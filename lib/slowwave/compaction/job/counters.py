"""What a rollout of Codex notes beside its messages: what the provider counted, the window and the model."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from slowwave.compaction.items import Item
from slowwave.compaction.javascript import fields_of
from slowwave.compaction.usage import Usage, read_usage
from slowwave.formats.times import parse_time


class Counters(NamedTuple):
    """What was noted last.

    Attributes:
        usage: what the provider counted since the last compaction, None where it did not.
        window: tokens that the model can see; 0 where that is not noted.
        model: its name, or "".
        at: when that was counted.
    """

    usage: Usage | None = None
    window: int = 0
    model: str = ""
    at: datetime | None = None

    def behind(self, items: Sequence[Item]) -> int:
        """Return the estimate of what was not counted: all behind the last answer before the count.

        The outputs of an answer's tools are written before its count and are not in it.
        """
        at = self.at
        if self.usage is None or at is None:
            return 0
        times = [item.message.timestamp if item.message is not None else None for item in items]
        until = (n for n in range(len(items), 0, -1) if items[n - 1].kind == "assistant" and _by(times[n - 1], at))
        is_later = any(time is not None and time > at for time in times)
        return sum(item.tokens for item in items[next(until, 0 if is_later else len(items)) :])


def _by(time: datetime | None, at: datetime) -> bool:
    return time is not None and time <= at


def counters_in(backward: Iterable[Mapping[str, Any]]) -> Counters:
    """Return what the records of a rollout note, given from the last to the first; no more is taken than needed."""
    usage: Usage | None = None
    at: datetime | None = None
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
            if usage is None and not is_before:
                usage, at = counted, parse_time(_text(record.get("timestamp")))
        if model and (window or is_before):
            break
    return Counters(usage, window, model, at)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
