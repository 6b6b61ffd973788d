"""A session as compaction looks at it: the items of its context, how large its provider counted it, and its model.

The items are the same whatever dialect it is of. Only the end of a session that was compacted before is read, where
that is surely enough.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import msgspec

from slowwave.compaction.files import NO_FILES, FileOperations, of_details, of_tags, without_tags
from slowwave.compaction.settings import NOTHING_CHOSEN, Chosen, chosen_by_client
from slowwave.compaction.tokens import CLAUDE, CODEX, IMAGE_LENGTH, PI, Rule, rule_of, stringify, units
from slowwave.errors import UsageError
from slowwave.formats import (
    Message,
    Origin,
    SessionFiles,
    ToolResult,
    Transcript,
    fields_of,
    object_in,
    parse_time,
    text_in,
    whole,
)
from slowwave.formats.client import CompactionRules, Dialect, TailDialect
from slowwave.formats.messages import PlainMessage
from slowwave.formats.openclaw import OWN_TYPES
from slowwave.formats.registry import by_name, client_of
from slowwave.formats.writing import first_record, records_backward

if TYPE_CHECKING:
    from slowwave.formats.claude.dialect import ClaudeTranscript
    from slowwave.formats.pi.dialect import PiTranscript
    from slowwave.formats.pi.records import Entry, Loaded

Kind = Literal[
    "user",  # what starts a turn: a person's words, a command that they ran, a message that stands for theirs
    "assistant",
    "result",  # what a tool answered; a kept range cannot begin with it
    "note",  # speaks to the model in the middle of a turn
    "compaction",  # the summary of what came before
    "setting",  # says nothing to the model
]


class Usage(NamedTuple):
    """The counters of one answer."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0

    @property
    def context_tokens(self) -> int:
        """The size of the context after this answer: the provider's total, else the sum of its counters."""
        return self.total or self.input + self.output + self.cache_read + self.cache_write


class Item(NamedTuple):
    """One entry of a context."""

    id: str | None  # how the dialect names the entry
    kind: Kind  # what it is to a compaction
    tokens: int = 0  # its estimate
    message: Message | None = None  # what it says; None for settings
    calls: tuple[str, ...] = ()  # ids of the tool calls that it makes
    results: tuple[str, ...] = ()  # ids of the tool calls that it answers
    summary: str = ""  # of a compaction: its text alone
    files: FileOperations = NO_FILES  # of a compaction: the files that it carries on
    usage: Usage | None = None  # of an answer: what the provider counted
    is_stale: bool = False  # it was written before the latest compaction

    @property
    def speaks(self) -> bool:
        """Say whether the model gets to see it."""
        return self.kind != "setting"


def items_of(context: Sequence[Message], rule: Rule) -> list[Item]:
    """Return the items of a context as a dialect gives it: its last summary is the previous compaction.

    What the summary hides is not in a context and what it keeps is, so a plan over these items begins where the
    previous compaction's kept range does. A message that stands in front of the summary's record is stale, whether the
    client shows it before the summary (Codex) or behind it (Claude Code).
    """
    last = max((i for i, message in enumerate(context) if message.origin == "summary"), default=-1)
    if last < 0:
        return [item_of(m, rule.of_message(m)) for m in context]
    border = _place(context[last])
    return [
        _compaction(m, rule)
        if i == last
        else item_of(m, rule.of_message(m))._replace(is_stale=i < last or _place(m) <= border)
        for i, m in enumerate(context)
    ]


def item_of(message: Message, tokens: int, kind: Kind | None = None) -> Item:
    """Return one message as an item; its kind is told by its role and blocks."""
    calls, results = tuple(c.id for c in message.calls), tuple(r.id for r in message.results)
    return Item(message.id, kind or _kind(message, results), tokens, message, calls, results)


def _place(message: Message) -> tuple[int, int]:
    """Return part and offset of the last record of a message."""
    return max(((span.part, span.offset) for span in message.sources), default=(-1, -1))


def _kind(message: Message, results: tuple[str, ...]) -> Kind:
    if results or message.role == "tool":
        return "result"
    if message.role == "assistant":
        return "assistant"
    return "user" if message.role == "user" else "note"


def _compaction(message: Message, rule: Rule) -> Item:
    summary = inner_text(message.text)
    item = Item(message.id, "compaction", rule.of_message(message), message)
    return item._replace(summary=without_tags(summary), files=of_tags(summary))


# Summaries among the messages of a context, without the words that their clients put around them.

_INNER = re.compile(r"<(?P<tag>summary|context_summary)>\n?(?P<text>.*)\n?</(?P=tag)>", re.DOTALL)
# client: Claude Code writes a sentence, its thoughts, and the summary itself behind them
_ANALYSIS = re.compile(
    r"\A.{0,300}?(?:<analysis>.*?</analysis>|^Analysis:\n.*?^(?=Summary:))", re.DOTALL | re.MULTILINE
)
_LEAD = re.compile(r"\A(?:This session is being continued from a previous conversation[^\n]*\s+)?(?:Summary:\s*)?")
_TAIL = re.compile(
    r"^(?:If you need specific details from before compaction|Please continue the conversation from where we left"
    r"|Continue the conversation from where it left off)[^\n]*\n?",
    re.MULTILINE,
)
# client: pi says of which kind a summary is
_OF_BRANCH = "summary of a branch"


def inner_text(text: str) -> str:
    """Return a summary without its wrapping; one that has none as it is."""
    inner = _INNER.search(text)
    return (inner["text"] if inner is not None else _bare(text)).strip()


def _bare(text: str) -> str:
    return _TAIL.sub("", _LEAD.sub("", _ANALYSIS.sub("", text).lstrip()))


def last_summary(messages: Sequence[Message]) -> str:
    """Return the summary of the last compaction among messages, and those of branches after it; "" for none."""
    found: list[str] = []
    for message in messages:
        if message.origin != "summary" or not message.text.strip():
            continue
        if _OF_BRANCH not in message.text[:200]:
            found.clear()
        found.append(inner_text(message.text))
    return "\n\n".join(found)


# What a model's provider counted: the numbers in answers, and how far they can be believed.
#
# Source: ``calculateContextTokens``, ``getLastAssistantUsage``, ``estimateContextTokens`` of pi 0.58.3. An aborted or
# failed answer carries no valid numbers; numbers from before a compaction describe a context that is gone.

# each client's names, in the order: input, output, read from the cache, written to the cache, total
_NAMES = (
    ("input", "input_tokens", "inputTokens"),
    ("output", "output_tokens", "outputTokens"),
    ("cacheRead", "cache_read_input_tokens"),
    ("cacheWrite", "cache_creation_input_tokens"),
    ("totalTokens", "total_tokens"),
)
_FAILED = ("aborted", "error")


class ContextTokens(NamedTuple):
    """The size of a context: counted up to an answer, guessed behind it; ``counted`` is 0 where nothing was."""

    counted: int
    guessed: int

    @property
    def total(self) -> int:
        """Both together."""
        return self.counted + self.guessed


def has_failed(answer: Mapping[str, object]) -> bool:
    """Say whether an answer ended before it was whole: with an error, or because somebody stopped it."""
    return answer.get("stopReason") in _FAILED


def usage_of(answer: Mapping[str, object]) -> Usage | None:
    """Return the counters of an assistant's message, or None when it has none or they are not valid.

    Counters of 0 are no count: they stand in answers that no provider gave.
    """
    if answer.get("role", "assistant") != "assistant" or has_failed(answer):
        return None
    found = answer.get("usage")
    usage = read_usage(cast("Mapping[str, object]", found)) if isinstance(found, Mapping) else Usage()
    return usage if usage.context_tokens else None


def read_usage(counters: Mapping[str, object]) -> Usage:
    """Return counters in any client's names; what is no number counts 0."""
    return Usage(*(next((n for name in names if (n := _number(counters.get(name)))), 0) for names in _NAMES))


def context_tokens(spoken: Sequence[Item]) -> ContextTokens:
    """Return the size of a context from the last believable counters and the estimates behind them."""
    for at in range(len(spoken) - 1, -1, -1):
        usage = spoken[at].usage
        if usage is not None and not spoken[at].is_stale:
            return ContextTokens(usage.context_tokens, sum(item.tokens for item in spoken[at + 1 :]))
    return ContextTokens(0, sum(item.tokens for item in spoken))


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | float) and 0 < value < math.inf else 0


# The model that a session of Cersei talks to: its messages name it in ``metadata``, or as Claude Code's do.

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


# What Claude Code would send of a session: its summaries apart from what it joins with them.

_SYNTHETIC = "<synthetic>"
_IS_SUMMARY = re.compile(rb'"isCompactSummary": ?true')


def claude_items(context: Iterable[Message]) -> list[Item]:
    """Return the items of a context."""
    from slowwave.formats.claude.dialect import FILLER  # noqa: PLC0415 - few sessions are read

    parts = [part for message in context for part in _without_summary(message)]
    if parts and parts[-1].role == "assistant" and parts[-1].text == FILLER:
        parts.pop()  # no record of the session says it
    return items_of(parts, CLAUDE)


def model_counted(items: list[Item]) -> str:
    """Note what the provider counted last at its answer, and return the name of the model that answered last."""
    model = ""
    for at in range(len(items) - 1, -1, -1):
        answer = _answer_of(items[at])
        if answer.get("model") not in (None, _SYNTHETIC):
            model = model or str(answer["model"])
            if (usage := usage_of(answer)) is not None:
                items[at] = items[at]._replace(usage=usage)
                break
    return model


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
    record = whole(sources[0].raw)
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
    return object_in(whole(item.message.sources[-1].raw), "message")


# The path of a pi session, with the estimates of pi itself.
#
# Source: ``estimateTokens``, ``getMessageFromEntry`` and ``findValidCutPoints`` of pi 0.58.3. Unlike there, images that
# a person sent count, and so do messages of extensions and summaries of branches; answers that failed or were aborted
# do not, since neither pi nor Clawdbot sends them again, and what they called for was never done.

_PI_KINDS: Mapping[str, Kind] = {
    "user": "user",
    "bashExecution": "user",
    "custom_message": "user",
    "branch_summary": "user",
    "branchSummary": "user",
    "compactionSummary": "user",
    "assistant": "assistant",
    "toolResult": "result",
    "custom": "note",
    "hookMessage": "note",
    "compaction": "compaction",
}


def pi_items(path: "Sequence[Entry]", loaded: "Loaded", cwd: str = "") -> list[Item]:
    """Return the items of a path: the latest compaction first, then what it kept, then what followed.

    Older compactions are not among them, so the region of the next compaction begins where the last one's kept range
    does; pi 0.58.3 begins behind the compaction and forgets what it kept (its issue 2608).
    """
    from slowwave.formats.pi.dialect import session_entries  # noqa: PLC0415 - as above

    last = max((i for i, entry in enumerate(path) if entry.type == "compaction"), default=-1)
    before = {id(entry) for entry in path[: last + 1]}
    return [_pi_item(entry, cwd, is_stale=id(entry) in before) for entry in session_entries(list(path), loaded)]


def message_tokens(kind: str, body: Mapping[str, object]) -> int:
    """Return the estimate of a message in pi's own form; ``kind`` is its role, or the type of its entry."""
    from slowwave.formats.pi.records import parts_of  # noqa: PLC0415 - as above

    match kind:
        case "bashExecution":
            length = units(text_in(body, "command")) + units(text_in(body, "output"))
        case "compaction" | "branch_summary" | "compactionSummary" | "branchSummary":
            length = units(text_in(body, "summary"))
        case _:
            length = sum(map(_part_length, parts_of(body.get("content"))))
    return PI.tokens(length)


def _part_length(part: Mapping[str, object]) -> int:
    match part.get("type"):
        case "text":
            return units(text_in(part, "text"))
        case "thinking":
            return units(text_in(part, "thinking"))
        case "toolCall":
            arguments = part.get("arguments")
            return units(text_in(part, "name")) + (0 if arguments is None else units(stringify(arguments)))
        case "image":
            return IMAGE_LENGTH
        case _:
            return 0


def _pi_item(entry: "Entry", cwd: str, *, is_stale: bool) -> Item:
    from slowwave.formats.pi.records import PiMessage  # noqa: PLC0415 - as above

    kind = _PI_KINDS.get(entry.kind, "setting")
    body = entry.message() if entry.role else entry.fields()
    if kind == "setting" or body.get("excludeFromContext") or (kind == "assistant" and has_failed(body)):
        return Item(entry.id, "setting", is_stale=is_stale)
    item = item_of(PiMessage(entry, cwd, True), message_tokens(entry.kind, body), kind)  # noqa: FBT003  # a struct's field
    item = item._replace(id=entry.id, is_stale=is_stale)
    if kind == "compaction":
        # an extension's details are its own business
        files = NO_FILES if body.get("fromHook") else of_details(body.get("details"))
        return item._replace(summary=without_tags(text_in(body, "summary")), files=files)
    return item._replace(usage=usage_of(body)) if kind == "assistant" else item


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
    from slowwave.formats.codex.records import SUMMARY_PREFIX, CodexMessage  # noqa: PLC0415 - few sessions are read

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
