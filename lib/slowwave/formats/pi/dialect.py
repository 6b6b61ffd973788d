"""The dialect of pi, versions 1 to 3, which Clawdbot builds on: a header, then a tree of entries in one file.

A file is read without being changed: versions 1 and 2 are brought to version 3 in memory, where pi rewrites the file.
What pi would not survive is read on: a cycle of parents, a missing header, two records on one line, a torn tail.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from slowwave.formats import (
    Block,
    Message,
    Origin,
    Other,
    Role,
    SessionFiles,
    SessionKind,
    Span,
    Text,
    Thinking,
    ToolResult,
    Transcript,
    object_in,
    parse_time,
    text_in,
    text_or_empty,
    whole,
    without_lone_halves,
)
from slowwave.formats.client import Told
from slowwave.formats.lines import relaxed_collector
from slowwave.formats.messages import PlainMessage
from slowwave.formats.pi.records import (
    DECODER,
    KNOWN_TYPES,
    ORIGINS,
    ROLES,
    Entry,
    Envelope,
    Loaded,
    PiMessage,
    as_written,
    block_of,
    branch_text,
    compaction_text,
    entry_of,
    labels_of,
    links_of,
    live_entries,
    load,
    parts_of,
    path_of,
    shell_text,
)
from slowwave.formats.sessions import session_id
from slowwave.formats.tail import Suffix, first_record

# What pi sends when a session is resumed.
#
# First the path to its own messages and the model that goes on (:func:`said`, :func:`settings_of`), then their form of
# the model's API (:func:`wire`). Of a compacted session the end alone determines it (:func:`tail_of`).


class Model(NamedTuple):
    """The model that a resumed session goes on with."""

    provider: str
    name: str
    api: str


class Said(NamedTuple):
    """One message on its way to the model: its role (user, assistant or toolResult), its parts and its other fields."""

    role: str
    parts: list[dict[str, Any]]
    fields: dict[str, Any]
    entry: Entry


class Settings(NamedTuple):
    """What the path says beside messages."""

    model: Model | None
    thinking_level: str


def session_entries(path: list[Entry], loaded: Loaded) -> list[Entry]:
    """Return the entries whose messages are in the context, the latest compaction first.

    From ``firstKeptEntryId`` on, inclusive, entries before the compaction stay, older compactions among them without
    their summary; an id that is not on the path keeps none of them.
    """
    last = max((i for i, e in enumerate(path) if e.type == "compaction"), default=-1)
    if last < 0:
        return path
    first = _first_kept(path[last], loaded)
    begin = next((i for i, e in enumerate(path[:last]) if e.id is not None and e.id == first), last)
    around = path[begin:last] + path[last + 1 :]
    return [path[last], *(e for e in around if e.type != "compaction")]


def _first_kept(compaction: Entry, loaded: Loaded) -> str | None:
    known = loaded.kept.get(compaction.id or "")
    return known if known is not None else compaction.fields().get("firstKeptEntryId")


def said(entries: list[Entry]) -> list[Said]:
    """Return the messages of entries in the three roles that a model knows; the rest says nothing to it."""
    return [item for entry in entries if (item := _said(entry)) is not None]


def _said(entry: Entry) -> Said | None:
    body = _sayable(entry)
    item: Said | None = None
    match entry.kind:
        case ("user" | "assistant" | "toolResult") as role:
            content = body.get("content")
            # Clawdbot's older results are bare strings, of which pi sends nothing
            is_lost = role == "toolResult" and isinstance(content, str)
            item = Said(role, [] if is_lost else _parts(content), body, entry)
        case "custom" | "custom_message":
            item = Said("user", _parts(body.get("content")), body, entry)
        case "bashExecution" if not body.get("excludeFromContext"):
            item = _user(shell_text(body), body, entry)
        case "compaction" | "compactionSummary":
            item = _user(compaction_text(body), body, entry)
        case "branchSummary":
            item = _user(branch_text(body), body, entry)
        case "branch_summary" if body.get("summary"):
            item = _user(branch_text(body), body, entry)
        case _:
            pass
    return item


def _parts(content: object) -> list[dict[str, Any]]:
    """Return content as pi's converters see it: a bare string among the parts of a list is no text to them."""
    if not isinstance(content, list):
        return parts_of(content)
    items = cast("list[object]", content)
    return [cast("dict[str, Any]", i) if isinstance(i, dict) else {"type": type(i).__name__} for i in items]


def _sayable(entry: Entry) -> dict[str, Any]:
    """Return what an entry says as pi sends it: without lone halves of surrogate pairs, which no UTF-8 can hold."""
    raw = without_lone_halves(entry.span.raw)
    if raw is entry.span.raw:
        return entry.message() if entry.role else entry.fields()
    fields = whole(raw)
    return object_in(fields, "message") if entry.role else fields


def _user(text: str, body: dict[str, Any], entry: Entry) -> Said:
    return Said("user", [{"type": "text", "text": text}], body, entry)


def settings_of(path: list[Entry], entries: list[Entry]) -> Settings:
    """Return the thinking level and the model of a path: the latest model change or answer of a model names it.

    How a model is spoken to stands in its answers, wherever in the file (``entries``) they are.
    """
    named = next((name for e in reversed(path) if (name := _named(e)) is not None), None)
    change = next((e for e in reversed(path) if e.type == "thinking_level_change"), None)
    level = text_in(change.fields(), "thinkingLevel") if change is not None else "off"
    return Settings(None if named is None else Model(*named, _api(named, entries)), level)


def _named(entry: Entry) -> tuple[str, str] | None:
    """Return the provider and the name of the model that an entry tells of."""
    if entry.type == "model_change":
        fields = entry.fields()
        return text_in(fields, "provider"), text_in(fields, "modelId")
    if entry.role == "assistant":
        fields = entry.message()
        return text_in(fields, "provider"), text_in(fields, "model")
    return None


def _api(named: tuple[str, str], entries: list[Entry]) -> str:
    """Return which API a model is spoken to with: as in its answers, or in those of its provider."""
    same_provider = ""
    for entry in reversed(entries):
        if entry.role != "assistant":
            continue
        body = entry.message()
        api = text_in(body, "api")
        if api and body.get("provider") == named[0]:
            if body.get("model") == named[1]:
                return api
            same_provider = same_provider or api
    return same_provider or _APIS.get(named[0]) or _api_by_name(named[1])


def _api_by_name(model: str) -> str:
    """Guess the API of a provider that a person configured and that no answer in the file is of."""
    return "anthropic-messages" if "claude" in model.lower() else "openai-completions"


_APIS = {"anthropic": "anthropic-messages", "openai": "openai-responses", "amazon-bedrock": "bedrock-converse-stream"}


# What pi sends when a session is resumed, second half: its messages in the form of the model's API.
#
# Answers that failed or were aborted are left out, calls without a result get one, another model's thinking becomes
# text, and images that the model cannot see are named instead. Source: ``transform-messages.ts`` and the providers
# ``openai-completions`` and ``anthropic`` of pi-ai 0.73.1; other APIs are treated as the first.

# APIs that take all results of a turn as one message of the user.
_RESULTS_OF_USER = ("anthropic", "bedrock", "google")
# Providers of pi's own list whose models see images, but for a few; a model that a person configured does not, unless
# the configuration says so, which no session tells.
_SEEING = frozenset(
    {
        *("anthropic", "openai", "openai-codex", "azure-openai-responses", "google", "google-vertex"),
        *("google-gemini-cli", "google-antigravity", "github-copilot", "cloudflare-ai-gateway", "amazon-bedrock"),
    }
)
_NO_IMAGE = "(image omitted: model does not support images)"
_NO_TOOL_IMAGE = "(tool image omitted: model does not support images)"
_ONLY_IMAGE = "(see attached image)"
_IMAGES = "Attached image(s) from tool result:"
_NO_RESULT = "No result provided"
_ODD_IN_ID = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_ID = {"anthropic-messages": 64, "bedrock-converse-stream": 64}
_OPENAI_ID = 40


def wire(messages: list[Said], model: Model | None, *, is_modern: bool = True) -> list[Message]:
    """Return the messages that are sent.

    ``messages``: what was said, in order. ``model``: the model that goes on. ``is_modern``: False for pi 0.49 (in
    Clawdbot): it leaves images that the model cannot see out without a word, and sends the texts of an answer one by
    one.
    """
    together = model is not None and model.api.startswith(_RESULTS_OF_USER)
    sent: list[Message] = []
    for is_result, items in groupby(
        _answered(_told(messages, model, is_modern=is_modern)), key=lambda item: item.role == "toolResult"
    ):
        if not is_result:
            sent += [_single(item, model, is_modern=is_modern) for item in items]
        elif together:
            sent.append(_of_user(list(items)))
        else:
            sent += _one_each(list(items), model)
    return [m for m in sent if m.blocks]


def _told(messages: list[Said], model: Model | None, *, is_modern: bool) -> list[Said]:
    """Return messages as this model may see them: images, thinking and ids of calls put into its form."""
    ids: dict[str, str] = {}
    sees = model is None or model.provider in _SEEING
    told: list[Said] = []
    for item in messages:
        if item.role == "assistant":
            told.append(item._replace(parts=_parts_for(item, model, ids)))
            continue
        notice = (_NO_TOOL_IMAGE if item.role == "toolResult" else _NO_IMAGE) if is_modern else ""
        told.append(item if sees else item._replace(parts=_without_images(item.parts, notice)))
        own = item.fields.get("toolCallId")
        if isinstance(own, str) and own in ids:
            told[-1] = told[-1]._replace(fields=item.fields | {"toolCallId": ids[own]})
    return told


def _without_images(parts: list[dict[str, Any]], notice: str) -> list[dict[str, Any]]:
    """Name images instead of sending them, neighbours together."""
    kept: list[dict[str, Any]] = []
    for part in parts:
        if part.get("type") != "image":
            kept.append(part)
        elif notice and (not kept or kept[-1].get("text") != notice):
            kept.append({"type": "text", "text": notice})
    return kept


def _parts_for(item: Said, model: Model | None, ids: dict[str, str]) -> list[dict[str, Any]]:
    """Return the parts of an answer; those of another model lose what only that one could read."""
    own = tuple(item.fields.get(k) for k in ("provider", "model", "api"))
    same = model is None or own == tuple(model)
    parts: list[dict[str, Any]] = []
    for part in item.parts:
        kind = part.get("type")
        if kind == "thinking":
            parts += _thinking(part, same=same)
        elif kind == "toolCall" and not same and model is not None and isinstance(part.get("id"), str):
            ids[part["id"]] = _call_id(part["id"], model)
            parts.append(part | {"id": ids[part["id"]]})
        else:
            parts.append(part)
    return parts


def _thinking(part: dict[str, Any], *, same: bool) -> list[dict[str, Any]]:
    if part.get("redacted") or (same and part.get("thinkingSignature")):
        return [part] if same else []
    if not text_in(part, "thinking").strip():
        return []
    return [part] if same else [{"type": "text", "text": part["thinking"]}]


def _call_id(own: str, model: Model) -> str:
    """Return the id of a call as the API accepts it."""
    if longest := _LONGEST_ID.get(model.api):
        return _ODD_IN_ID.sub("_", own)[:longest]
    if "|" in own:
        return _ODD_IN_ID.sub("_", own.split("|", 1)[0])[:_OPENAI_ID]
    return own[:_OPENAI_ID] if model.provider == "openai" else own


def _answered(messages: list[Said]) -> Iterator[Said]:
    """Leave out failed answers, and give every open call a result before somebody else speaks."""
    open_calls: list[dict[str, Any]] = []
    answered: set[object] = set()
    source: Said | None = None
    for item in messages:
        if item.role == "toolResult":
            answered.add(compared(item.fields.get("toolCallId")))
            yield item
            continue
        yield from _stand_ins(source, open_calls, answered)
        open_calls = []
        if item.role == "assistant":
            if item.fields.get("stopReason") in ("error", "aborted"):
                continue
            open_calls = [p for p in item.parts if p.get("type") == "toolCall"]
            answered = set()
            source = item
        yield item
    yield from _stand_ins(source, open_calls, answered)


def _stand_ins(source: Said | None, calls: list[dict[str, Any]], answered: set[object]) -> Iterator[Said]:
    for call in calls:
        if source is not None and compared(call.get("id")) not in answered:
            fields = {"toolCallId": call.get("id"), "isError": True}
            yield Said("toolResult", [{"type": "text", "text": _NO_RESULT}], fields, source.entry)


def compared(own: object) -> object:
    """Return an id as JavaScript compares it: objects and arrays equal nothing but themselves."""
    return own if own is None or isinstance(own, str | int | float) else ("object", id(own))


def _of_user(results: list[Said]) -> Message:
    """Return all results of a turn as one message of the user."""
    blocks = tuple(_result(item, "\n".join(_result_lines(item))) for item in results)
    return _plain("user", blocks, [item.entry.span for item in results], "tool", results[0])


def _one_each(results: list[Said], model: Model | None) -> Iterator[Message]:
    """Yield each result of a turn; OpenAI's older API gets their images behind them, as the user's."""
    images: list[Span] = []
    for item in results:
        texts = ["" if p.get("text") is None else as_written(p["text"]) for p in item.parts if p.get("type") == "text"]
        text = "\n".join(texts) or _ONLY_IMAGE
        yield _plain("tool", (_result(item, text),), [item.entry.span], "tool", item)
        images += [item.entry.span for part in item.parts if part.get("type") == "image"]
    if images and (model is None or model.api == "openai-completions"):
        blocks = (Text(_IMAGES), *(Other("image") for _ in images))
        yield _plain("user", blocks, [images[0], *images], "tool", results[-1])


def _result_lines(item: Said) -> Iterator[str]:
    """Yield the lines of a result as Anthropic's API gets it."""
    if item.parts and all(part.get("type") == "image" for part in item.parts):
        yield _ONLY_IMAGE
    for part in item.parts:
        yield "[image]" if part.get("type") == "image" else text_in(part, "text")


def _single(item: Said, model: Model | None, *, is_modern: bool) -> Message:
    """Return one message as it is sent; without blocks when the API would get nothing to read."""
    blocks = (
        _spoken(item, model, is_modern=is_modern)
        if item.role == "assistant"
        else [block_of(part) for part in item.parts]
    )
    role: Role = "assistant" if item.role == "assistant" else "user"
    origin = ORIGINS.get(item.entry.kind, "injected")
    return _plain(role, tuple(blocks), [item.entry.span] * len(blocks), origin, item)


def _spoken(item: Said, model: Model | None, *, is_modern: bool) -> list[Block]:
    """Return the blocks of an answer: OpenAI's API gets its texts as one."""
    texts = [p["text"] for p in item.parts if p.get("type") == "text" and text_in(p, "text").strip()]
    if model is None or model.api == "openai-completions":
        calls = [block_of(p) for p in item.parts if p.get("type") == "toolCall"]
        if not is_modern:
            return [*map(Text, texts), *calls]
        return [*([Text("".join(texts))] if texts else []), *calls]
    blocks: list[Block] = []
    for part in item.parts:
        if part.get("type") == "text":
            blocks += [Text(part["text"])] if text_in(part, "text").strip() else []
        elif part.get("type") == "thinking" and model.api == "anthropic-messages":
            blocks += _thought(part)
        else:
            blocks.append(block_of(part))
    return blocks


def _thought(part: dict[str, Any]) -> list[Block]:
    """Return thinking as Anthropic's API gets it: without a signature it has to be text."""
    if part.get("redacted"):
        return [Other("redacted_thinking")]
    words = text_in(part, "thinking")
    if not words.strip():
        return []
    return [Thinking(words) if text_in(part, "thinkingSignature").strip() else Text(words)]


def _result(item: Said, text: str) -> ToolResult:
    return ToolResult(text_in(item.fields, "toolCallId"), text, item.fields.get("isError") is True)


def _plain(role: Role, blocks: tuple[Block, ...], spans: list[Span], origin: Origin, item: Said) -> Message:
    at = parse_time(text_or_empty(item.entry.env.timestamp))
    return PlainMessage(role, blocks, tuple(spans), origin, item.entry.id, at)


# The end of a compacted pi session that alone determines its context.
#
# The walk from the last entry to the root needs what it passes only, and ends for the context at the first entry that
# the latest compaction keeps. An id means the last entry that has it, so what lies before the suffix changes nothing.
# Only files of version 3 whose first line is a sound header are read so, and only where the suffix has no damage.

_MARK = b'"compaction"'
_V3 = 3


def header_of(files: SessionFiles) -> Entry | None:
    """Return the header of a file of version 3 or later whose first line is sound, else None."""
    first = first_record(files.paths[0], DECODER) if len(files.paths) == 1 else None
    if first is None:
        return None
    entry = entry_of(first[1], first[0])
    version = entry.env.version
    is_known = isinstance(version, int | float) and not isinstance(version, bool) and version >= _V3
    return entry if entry.type == "session" and entry.id is not None and is_known else None


def _is_enough(path: list[Entry]) -> bool:
    """Say whether the path reaches back to the first entry that its latest compaction keeps."""
    last = max((i for i, e in enumerate(path) if e.type == "compaction"), default=-1)
    if last < 0:
        return False
    first = path[last].fields().get("firstKeptEntryId")
    return not isinstance(first, str) or any(e.id == first for e in path[:last])


def _model(path: list[Entry], entries: list[Entry]) -> Model | None:
    """Return the model that goes on, when the suffix names it and has an answer of it."""
    model = settings_of(path, entries).model
    if model is None:
        return None
    for entry in reversed(entries):
        if entry.role == "assistant":
            body = entry.message()
            if text_in(body, "api") and (body.get("provider"), body.get("model")) == model[:2]:
                return model
    return None


class PiTranscript(Transcript):
    """A session with its entries and what they say beside messages."""

    loaded: Loaded = msgspec.field(default_factory=lambda: Loaded([]))  # every record of the file
    # the entries that pi goes on from, root first; empty when pi would start a new session in this file
    path: list[Entry] = msgspec.field(default_factory=list[Entry])
    # the fields of the first header (``id``, ``cwd``, ``version``, ``parentSession``, ...)
    header: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    # the name that a person gave to an entry, by the entry's id; the last one wins, an empty one clears
    labels: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    model: Model | None = None  # the model that a resumed session goes on with, None when the path names none
    thinking_level: str = "off"  # the thinking level that it goes on with

    @property
    def leaf(self) -> str | None:
        """The id of the entry that the next one is appended to."""
        return self.path[-1].id if self.path else None


P = TypeVar("P", bound=PiTranscript)


def tail_of(result: P) -> P | None:
    """Fill a transcript with the end of its session, from the first entry on that its latest compaction keeps.

    Returns None where only the whole session tells it.
    """
    header = header_of(result.files)
    if header is None:
        return None
    suffix = Suffix(result.files.paths, DECODER)
    behind: list[Entry] = []
    is_more = suffix.back_to(_MARK)
    while is_more and not suffix.is_whole and not suffix.problems:
        more = suffix.records[: len(suffix.records) - len(behind)]
        behind = [*(entry_of(env, span) for span, env in more), *behind]
        entries = [header, *behind]
        path = path_of(entries)
        if _is_enough(path) and (model := _model(path, entries)) is not None:
            result.loaded, result.path, result.model = Loaded(entries, float(header.env.version)), path, model
            return result if suffix.is_steady() else None
        is_more = suffix.grow()
    return None


class Pi:
    """Rules of pi's sessions."""

    name = "pi"
    decoder = DECODER

    def read(self, files: SessionFiles) -> PiTranscript:
        """Read a session, all messages in file order."""
        result = PiTranscript(self.name, files, problems=list(files.problems))
        with relaxed_collector():
            loaded = result.loaded = load(files, result.problems)
            result.path = path_of(loaded.seen)
            cwd = describe(result, loaded)
            live = live_entries(loaded)
            result.messages = spoken(loaded.entries, cwd, live)
        return result

    def tail(self, files: SessionFiles) -> PiTranscript | None:
        """Return the end of a compacted session, from the first entry on that its last compaction keeps."""
        return tail_of(PiTranscript(self.name, files, problems=list(files.problems), is_tail=True))

    def context(self, transcript: Transcript) -> Sequence[Message]:
        """Return what pi would send if this session were resumed now."""
        whole = transcript if isinstance(transcript, PiTranscript) else self.read(transcript.files)
        return wire(said(session_entries(whole.path, whole.loaded)), whole.model)

    def told(self, span: Span, record: Envelope, *, is_first: bool = False, by_agent: bool = False) -> Told:  # noqa: ARG002
        """Return what an entry tells: the header, a name of the session, or a message."""
        return told_by(entry_of(record, span), PiMessage)


def told_by(entry: Entry, message_of: Callable[..., Message]) -> Told:
    """Return what an entry tells of its session; ``message_of`` makes the message of it."""
    if entry.type == "session":
        fields = entry.fields()
        return Told(kind=_kind(fields), cwd=text_in(fields, "cwd"), parent=parent_of(fields))
    if entry.type == "session_info":
        return Told(title=_title(entry))
    return Told(message_of(entry, "", True)) if entry.kind else Told()  # noqa: FBT003 - fields of a struct


def describe(result: PiTranscript, loaded: Loaded, known_types: frozenset[str] = KNOWN_TYPES) -> str:
    """Fill in everything but path and messages; return the folder that the session worked in."""
    entries = loaded.entries
    result.records = len(entries)
    result.unknown_types = Counter([kind for e in entries if (kind := _unknown(e, known_types)) is not None])
    header = next((e for e in entries if e.type == "session"), None)
    result.header = header.fields() if header is not None else {}
    result.kind, result.parent = _kind(result.header), parent_of(result.header)
    for entry in entries:
        if entry.type == "session_info":
            result.title = _title(entry)
    result.labels = {target: label for target, (label, _) in labels_of(entries).items()}
    result.model, result.thinking_level = settings_of(result.path, entries)
    return text_in(result.header, "cwd")


def _kind(header: dict[str, Any]) -> SessionKind:
    return "fork" if header.get("parentSession") or header.get("branchedFrom") else "main"


def parent_of(header: dict[str, Any]) -> str:
    """Return the id of the session that a header says it was forked from, "" for none: it names the file."""
    named = text_in(header, "parentSession") or text_in(header, "branchedFrom")
    # the path may be of another system
    return session_id(named.replace("\\", "/").rpartition("/")[2])


def _title(entry: Entry) -> str:
    return text_in(entry.fields(), "name").strip()


def spoken(entries: list[Entry], cwd: str, live: set[int] | None) -> list[Message]:
    """Return the messages of entries; those that are not in ``live`` (identities, None for all) are abandoned."""
    links = links_of(entries)
    return [PiMessage(e, cwd, live is None or id(e) in live, links=links) for e in entries if e.kind]


def _unknown(entry: Entry, known_types: frozenset[str]) -> str | None:
    if entry.type == "message":
        return None if entry.role in ROLES else f"role {entry.role}"
    return None if entry.type in known_types else entry.type


PI = Pi()
