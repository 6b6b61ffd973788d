"""Whether a session's memories are saved now, before a compaction summarises it away.

Source: ``memory-flush.ts`` of Clawdbot 2026.1.27 and seed 004. Once per compaction cycle, when the context is within
a soft threshold of what would compact it. The counters are of ``sessions.json``; what arrived since they were written
can be added as ``pending_tokens``, since one huge turn would otherwise jump over the threshold.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from slowwave.compaction.javascript import fields_of
from slowwave.compaction.triggers import OPENCLAW_RESERVE_FLOOR

SOFT_THRESHOLD_TOKENS = 4_000
DEFAULT_WINDOW = 200_000
SILENT = "NO_REPLY"
PROMPT = (
    f"A compaction is near. Write down now what should be remembered for good, in memory/YYYY-MM-DD.md "
    f"(make the folder if it is not there). Reply with {SILENT} when there is nothing to keep."
)
SYSTEM_PROMPT = (
    f"This turn saves memories before a compaction. You may answer, but {SILENT} is nearly always the right answer."
)


@dataclass(frozen=True)
class FlushSettings:
    """``agents.defaults.compaction.memoryFlush``, and the floor beside it."""

    soft_threshold_tokens: int = SOFT_THRESHOLD_TOKENS
    reserve_floor: int = OPENCLAW_RESERVE_FLOOR
    prompt: str = PROMPT
    system_prompt: str = SYSTEM_PROMPT


def flush_settings(compaction: Mapping[str, object]) -> FlushSettings | None:
    """Return the settings in a ``compaction`` section, or None when the flush is turned off.

    A number that is none or below 0 stands for its default, an empty prompt too; a prompt that does not name the
    silent reply gets it appended.
    """
    flush = fields_of(compaction.get("memoryFlush"))
    if flush.get("enabled") is False:
        return None
    return FlushSettings(
        _count(flush.get("softThresholdTokens"), SOFT_THRESHOLD_TOKENS),
        _count(compaction.get("reserveTokensFloor"), OPENCLAW_RESERVE_FLOOR),
        _hinted(flush.get("prompt"), PROMPT),
        _hinted(flush.get("systemPrompt"), SYSTEM_PROMPT),
    )


def flush_window(of_model: int | None, configured: int | None = None) -> int:
    """Return the window that counts: of the model, else as configured, else the default."""
    return of_model or configured or DEFAULT_WINDOW


def flush_refusal(
    entry: Mapping[str, object] | None, window: int, settings: FlushSettings | None, *, pending_tokens: int = 0
) -> str:
    """Return why no flush is due, or "" when one is.

    Args:
        entry: the session in ``sessions.json``.
        window: tokens that its model can see.
        settings: None when turned off.
        pending_tokens: estimate of what is not in the counters yet.
    """
    if settings is None:
        return "memory flush is turned off"
    if entry is None:
        return "no entry in sessions.json"
    tokens = _count(entry.get("totalTokens"), 0)
    threshold = window - settings.reserve_floor - settings.soft_threshold_tokens
    if not tokens:
        reason = "its size is not known yet"
    elif threshold <= 0:
        reason = f"a window of {window:,} tokens leaves no threshold"
    elif tokens + pending_tokens < threshold:
        reason = f"{tokens + pending_tokens:,} tokens, {threshold:,} needed"
    else:
        reason = "done already since the last compaction" if has_flushed(entry) else ""
    return reason


def has_flushed(entry: Mapping[str, object]) -> bool:
    """Say whether a flush ran in this compaction cycle."""
    done = entry.get("memoryFlushCompactionCount")
    return isinstance(done, int | float) and done == (entry.get("compactionCount") or 0)


def flushed(entry: Mapping[str, object], *, at_ms: int, compacted: bool = False) -> dict[str, object]:
    """Return the fields to note in an entry after a flush; ``compacted`` when a compaction ended during it."""
    count = _count(entry.get("compactionCount"), 0) + (1 if compacted else 0)
    return {"memoryFlushAt": at_ms, "memoryFlushCompactionCount": count}


def _count(value: object, default: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return default
    return int(value)


def _hinted(value: object, default: str) -> str:
    text = (value.strip() if isinstance(value, str) else "") or default
    return text if SILENT in text else f"{text}\n\nStart with {SILENT} when the user does not need to see a reply."
