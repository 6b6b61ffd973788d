"""A session as compaction looks at it: the items of its context, how large its provider counted it, and its model.

Only the end of a session that was compacted before is read, where that is surely enough.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from slowwave.compaction.items import (
    ContextTokens,
    Item,
    Usage,
    claude_items,
    context_tokens,
    items_of,
    model_counted,
    model_in,
    pi_items,
    read_usage,
)
from slowwave.compaction.settings import NOTHING_CHOSEN, Chosen, chosen_by_client
from slowwave.compaction.tokens import CLAUDE, CODEX, PI, Rule, rule_of
from slowwave.errors import UsageError
from slowwave.formats.client import CompactionRules, Dialect, TailDialect
from slowwave.formats.model import Message, SessionFiles, Transcript, fields_of, object_in, parse_time, text_in
from slowwave.formats.openclaw import OWN_TYPES
from slowwave.formats.registry import by_name, client_of
from slowwave.formats.writing import first_record, records_backward

if TYPE_CHECKING:
    from slowwave.formats.claude.dialect import ClaudeTranscript
    from slowwave.formats.pi.dialect import PiTranscript


class Reading(NamedTuple):
    """What compaction needs to know of a session."""

    dialect: str  # name of its dialect
    items: list[Item]  # its context
    rule: Rule  # how its client guesses tokens
    keeps: bool = True  # messages before a compaction can stay as they are
    cwd: str = ""  # the working folder that it was begun in, or that its records name first, or ""
    model: str = ""  # the model that answered last, or ""
    window: int = 0  # tokens that this model can see, where the client noted it; 0 where not
    recorded: Usage | None = None  # what the provider counted last, where that stands beside the messages (Codex)
    behind: int = 0  # the estimate of what was said since then
    at: datetime | None = None  # when its last message was written, where messages tell
    chosen: Chosen = NOTHING_CHOSEN  # what a person set about compaction in the settings of its client

    @property
    def rules(self) -> CompactionRules:
        """What is peculiar to compactions of its client."""
        return client_of(self.dialect).compacting

    @property
    def size(self) -> ContextTokens:
        """The size of the context: what the provider counted as far as it goes, then an estimate."""
        if self.recorded is not None:
            return ContextTokens(self.recorded.context_tokens, self.behind)
        return context_tokens(self.items)

    @property
    def guess(self) -> int:
        """The estimate of the whole context, whatever a provider counted."""
        return sum(item.tokens for item in self.items)

    @property
    def spoken(self) -> list[Item]:
        """The items that the model sees, without the latest summary."""
        return [item for item in self.items if item.speaks and item.kind != "compaction"]


def read_session(dialect: str, files: SessionFiles) -> Reading:
    """Read a session: the end that its last compaction left, else all of it.

    Raises UsageError: nothing can be told of where its client would go on; the message says why.
    """
    chosen = chosen_by_client(dialect, files.paths[0], _folder_of(dialect, files))
    rules = by_name(dialect)
    tail = rules.tail(files) if isinstance(rules, TailDialect) else None
    reading = _READERS[client_of(dialect).compacting.reading](rules, rules.read(files) if tail is None else tail)
    messages = [item.message for item in reading.items if item.message is not None]
    cwd = reading.cwd or next((m.cwd for m in messages if m.cwd), "")
    return reading._replace(
        keeps=reading.keeps and reading.rules.keeps,
        cwd=cwd,
        chosen=chosen_by_client(dialect, files.paths[0], cwd, reading.model) if reading.rules.has_variables else chosen,
        at=max((m.timestamp for m in messages if m.timestamp is not None), default=None),
    )


def _folder_of(dialect: str, files: SessionFiles) -> str:
    """Return the working folder that a header names; clients with other settings for it keep no other number there."""
    return "" if client_of(dialect).compacting.sections is None else text_in(first_record(files.paths[0]), "cwd")


def _any(dialect: Dialect, transcript: Transcript) -> Reading:
    rule = rule_of(dialect.name)
    items = items_of(dialect.context(transcript), rule)
    return Reading(dialect.name, items, rule, model=_model(dialect.name, items))


def _model(dialect: str, items: list[Item]) -> str:
    """Return the model that answered last, where the messages of a dialect without rules of its own name it."""
    return model_in(items) if client_of(dialect).compacting.names_model else ""


def _claude(dialect: Dialect, transcript: Transcript) -> Reading:
    from slowwave.formats.claude.resume import FIRST_THAT_KEEPS, version_of  # noqa: PLC0415 - few sessions are read

    items = claude_items(dialect.context(transcript))
    keeps = version_of(cast("ClaudeTranscript", transcript).tree) >= FIRST_THAT_KEEPS
    model = model_counted(items)
    return Reading(dialect.name, items, CLAUDE, keeps, model=model)


def _pi(dialect: Dialect, transcript: Transcript) -> Reading:
    whole, files = cast("PiTranscript", transcript), transcript.files
    if any(entry.type in OWN_TYPES for entry in whole.loaded.entries):
        raise UsageError(
            f"{files.id}: holds OpenClaw's own records (leaf, reset), which move the place where a compaction has to"
            " stand: send /compact in OpenClaw to compact it"
        )
    cwd = text_in(first_record(files.paths[0]), "cwd")
    model = whole.model.name if whole.model is not None else ""
    return Reading(dialect.name, pi_items(whole.path, whole.loaded, cwd), PI, cwd=cwd, model=model)


def _codex(dialect: Dialect, transcript: Transcript) -> Reading:
    items, files = _codex_items(dialect.context(transcript)), transcript.files
    last = files.paths[-1]
    counters = counters_in(records_backward(last, *_NOTED) if last.suffix == ".jsonl" else ())
    cwd = text_in(object_in(first_record(files.paths[0]), "payload"), "cwd")
    usage, window, model, _ = counters
    behind = counters.behind(items)
    return Reading(dialect.name, items, CODEX, cwd=cwd, model=model, window=window, recorded=usage, behind=behind)


def _codex_items(context: Iterable[Message]) -> list[Item]:
    """Return the items of a context, with what calls were given decoded."""
    from slowwave.formats.codex.messages import SUMMARY_PREFIX, CodexMessage  # noqa: PLC0415 - few sessions are read

    items = items_of(list(context), CODEX)
    for at, item in enumerate(items):
        message = item.message
        if isinstance(message, CodexMessage):  # the ledger looks for files in what calls were given
            message = msgspec.structs.replace(message, as_sent=False, opened=None)
        items[at] = item._replace(summary=item.summary.removeprefix(SUMMARY_PREFIX).strip(), message=message)
    return items


_READERS: Mapping[str, Callable[[Dialect, Transcript], Reading]] = {
    "plain": _any,
    "chain": _claude,
    "entries": _pi,
    "rollout": _codex,
}

# What a rollout of Codex notes beside its messages: what the provider counted, the window and the model.


class Counters(NamedTuple):
    """What was noted last."""

    usage: Usage | None = None  # what the provider counted since the last compaction, None where it did not
    window: int = 0  # tokens that the model can see; 0 where that is not noted
    model: str = ""  # its name, or ""
    at: datetime | None = None  # when that was counted

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


# what records of these kinds mention
_NOTED = (b"turn_context", b"token_count", b"compacted")


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
                usage, at = counted, parse_time(text_in(record, "timestamp"))
        if model and (window or is_before):
            break
    return Counters(usage, window, model, at)
