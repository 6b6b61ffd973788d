"""A session as compaction looks at it: the items of its context, how large its provider counted it, and its model.

Only the end of a session that was compacted before is read, where that is surely enough.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, cast

import msgspec

from slowwave.compaction.estimates import CLAUDE, CODEX, PI, Rule, rule_of
from slowwave.compaction.items import Item, items_of
from slowwave.compaction.pi_entries import pi_items
from slowwave.compaction.usage import ContextTokens, Usage, context_tokens, read_usage, usage_of
from slowwave.dialects.base import Dialect, read_for_context
from slowwave.dialects.model import Message, Origin, SessionFiles, ToolResult
from slowwave.dialects.plain import PlainMessage
from slowwave.dialects.registry import by_name
from slowwave.errors import UsageError
from slowwave.records.model import REFUSALS
from slowwave.stores.writing.lookup import first_record, records_backward

# Messages before a compaction cannot stay: the client hides all of them.
_KEEP_NONE = ("cersei", "crabtalk")
_SYNTHETIC = "<synthetic>"
_IS_SUMMARY = re.compile(rb'"isCompactSummary": ?true')


class Reading(NamedTuple):
    """What compaction needs to know of a session.

    Attributes:
        dialect: name of its dialect.
        items: its context.
        rule: how its client guesses tokens.
        keeps: messages before a compaction can stay as they are.
        cwd: the working folder that it was begun in, or that its records name first, or "".
        model: the model that answered last, or "".
        window: tokens that this model can see, where the client noted it; 0 where not.
        recorded: what the provider counted last, where that stands beside the messages (Codex).
        at: when its last message was written, where messages tell.
    """

    dialect: str
    items: list[Item]
    rule: Rule
    keeps: bool = True
    cwd: str = ""
    model: str = ""
    window: int = 0
    recorded: Usage | None = None
    at: datetime | None = None

    @property
    def size(self) -> ContextTokens:
        """The size of the context: what the provider counted as far as it goes, then an estimate."""
        if self.recorded is not None:
            return ContextTokens(self.recorded.context_tokens, 0)
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
    """Read a session.

    Raises:
        UnreadableError: a file of it cannot be opened.
        UsageError: nothing can be told of where its client would go on; the message says why.
    """
    reading = _READERS.get(dialect, _any)(by_name(dialect), files)
    messages = [item.message for item in reading.items if item.message is not None]
    return reading._replace(
        cwd=reading.cwd or next((m.cwd for m in messages if m.cwd), ""),
        at=max((m.timestamp for m in messages if m.timestamp is not None), default=None),
    )


def _any(dialect: Dialect, files: SessionFiles) -> Reading:
    rule = rule_of(dialect.name)
    context = dialect.context(read_for_context(dialect, files))
    return Reading(dialect.name, items_of(context, rule), rule, keeps=dialect.name not in _KEEP_NONE)


def _claude(dialect: Dialect, files: SessionFiles) -> Reading:
    from slowwave.dialects.claude.dialect import ClaudeTranscript  # noqa: PLC0415 - of a night's sessions few are read
    from slowwave.dialects.claude.repair import FILLER  # noqa: PLC0415 - as above
    from slowwave.dialects.claude.resume import version_of  # noqa: PLC0415 - as above
    from slowwave.stores.writing.claude import FIRST_THAT_KEEPS  # noqa: PLC0415 - as above

    transcript = cast("ClaudeTranscript", read_for_context(dialect, files))
    context = [part for message in dialect.context(transcript) for part in _without_summary(message)]
    if context and context[-1].role == "assistant" and context[-1].text == FILLER:
        context.pop()  # no record of the session says it
    items = items_of(context, CLAUDE)
    model = ""
    for at in range(len(items) - 1, -1, -1):
        answer = _answer_of(items[at])
        if answer.get("model") not in (None, _SYNTHETIC):
            model = model or str(answer["model"])
            if (usage := usage_of(answer)) is not None:
                items[at] = items[at]._replace(usage=usage)
                break
    return Reading(dialect.name, items, CLAUDE, version_of(transcript.tree) >= FIRST_THAT_KEEPS, model=model)


def _without_summary(message: Message) -> list[Message]:
    """Return a message, in two where the client joins its summary with what follows or stands before it.

    What a compaction kept begins with a person's words more often than not, and the client sends both as one.
    """
    if message.role != "user":
        return [message]
    is_summary = [_IS_SUMMARY.search(span.raw) is not None for span in message.sources]
    if not any(is_summary) or (all(is_summary) and message.origin == "summary"):
        return [message]
    at = is_summary.index(True)
    stop = len(is_summary) - is_summary[::-1].index(True)
    parts = ((0, at), (at, stop), (stop, len(is_summary)))
    return [_part(message, a, b, is_summary=a == at) for a, b in parts if a < b]


def _part(message: Message, start: int, stop: int, *, is_summary: bool) -> Message:
    blocks, sources = message.blocks[start:stop], message.sources[start:stop]
    record = _decoded(sources[0].raw)
    own = record.get("uuid")
    origin: Origin = "typed"
    if is_summary:
        origin = "summary"
    elif all(isinstance(block, ToolResult) for block in blocks):
        origin = "tool"
    elif record.get("isMeta") or record.get("type") != "user":
        origin = "injected"
    name = own if isinstance(own, str) else None
    return PlainMessage(message.role, blocks, sources, origin, name, message.timestamp, message.cwd)


def _answer_of(item: Item) -> Mapping[str, Any]:
    """Return an answer in the API's own form, from the last record of it."""
    if item.kind != "assistant" or item.message is None or not item.message.sources:
        return {}
    message = _decoded(item.message.sources[-1].raw).get("message")
    return cast("Mapping[str, Any]", message) if isinstance(message, dict) else {}


def _decoded(raw: bytes) -> dict[str, Any]:
    try:
        value: object = msgspec.json.decode(raw)
    except REFUSALS:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _pi(dialect: Dialect, files: SessionFiles) -> Reading:
    from slowwave.dialects.openclaw.tree import OWN_TYPES  # noqa: PLC0415 - few sessions of a night are read
    from slowwave.dialects.pi.dialect import PiTranscript  # noqa: PLC0415 - as above

    transcript = cast("PiTranscript", read_for_context(dialect, files))
    if any(entry.type in OWN_TYPES for entry in transcript.loaded.entries):
        raise UsageError(
            f"{files.id}: holds records of OpenClaw that move the leaf or reset it; only its client compacts"
        )
    cwd = _text(first_record(files.paths[0]).get("cwd"))
    model = transcript.model.name if transcript.model is not None else ""
    return Reading(dialect.name, pi_items(transcript.path, transcript.loaded, cwd), PI, cwd=cwd, model=model)


def _codex(dialect: Dialect, files: SessionFiles) -> Reading:
    from slowwave.dialects.codex.injected import SUMMARY_PREFIX  # noqa: PLC0415 - few sessions of a night are read
    from slowwave.dialects.codex.messages import CodexMessage  # noqa: PLC0415 - as above

    items = items_of(dialect.context(read_for_context(dialect, files)), CODEX)
    for at, item in enumerate(items):
        message = item.message
        if isinstance(message, CodexMessage):  # what calls were given, decoded: the ledger looks for files in it
            message = msgspec.structs.replace(message, as_sent=False, opened=None)
        items[at] = item._replace(summary=item.summary.removeprefix(SUMMARY_PREFIX).strip(), message=message)
    usage, window, model = _codex_counters(files)
    cwd = _text(_fields(first_record(files.paths[0]).get("payload")).get("cwd"))
    return Reading(dialect.name, items, CODEX, cwd=cwd, model=model, window=window, recorded=usage)


def _codex_counters(files: SessionFiles) -> tuple[Usage | None, int, str]:
    """Return what the provider counted since the last compaction, the window and the model, as far as noted."""
    usage: Usage | None = None
    window, model, is_before = 0, "", False
    for record in records_backward(files.paths[-1]) if files.paths[-1].suffix == ".jsonl" else ():
        payload = _fields(record.get("payload"))
        is_before = is_before or record.get("type") == "compacted"
        if record.get("type") == "turn_context" and not model:
            model = str(payload.get("model") or "")
        info = _fields(payload.get("info") if payload.get("type") == "token_count" else None)
        counted = read_usage(_fields(info.get("last_token_usage")))
        if counted.context_tokens:
            window = window or int(info.get("model_context_window") or 0)
            usage = usage or (None if is_before else counted)
        if model and (window or is_before):
            break
    return usage, window, model


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _fields(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


_READERS: Mapping[str, Callable[[Dialect, SessionFiles], Reading]] = {
    "claude": _claude,
    "pi": _pi,
    "openclaw": _pi,
    "codex": _codex,
}
