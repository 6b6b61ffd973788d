"""Lines of a Codex rollout as they are decoded at load, in all three forms that the client has written.

* bare (to early September 2025): a header without a type, then the items themselves, and ``record_type`` states;
* wrapped (since 0.34): ``{"timestamp", "type", "payload"}``;
* paginated (0.14x): the same with an ``ordinal``.

Only a small envelope is decoded of every line; an item's content stays bytes until somebody looks at it.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, cast

import msgspec

from slowwave.formats import (
    REFUSALS,
    Block,
    Content,
    Injected,
    Origin,
    Other,
    Role,
    Span,
    Text,
    Thinking,
    ToolCall,
    clean,
    decoded,
    fields_of,
    object_in,
    objects_of,
    parse_time,
    text_in,
    whole,
)
from slowwave.formats.messages import LazyMessage, Verbatim

CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
# Items that stand in a conversation without words of their own that could be quoted.
OPAQUE = frozenset(
    {
        *("web_search_call", "image_generation_call", "compaction", "context_compaction", "additional_tools"),
        *("ghost_snapshot", "compaction_trigger", "configuration_update"),
    }
)
KNOWN_ITEMS = CALLS | OUTPUTS | OPAQUE | {"message", "reasoning", "agent_message"}


class Envelope(msgspec.Struct, gc=False):
    """What loading needs of every line; fields are ``Any`` where a foreign value must not cost the whole line."""

    type: Any = None
    timestamp: Any = None
    ordinal: Any = None
    record_type: Any = None
    payload: msgspec.Raw = msgspec.Raw()


class Item(msgspec.Struct, gc=False):
    """One item of the conversation as the Responses API knows it; also an element of ``replacement_history``."""

    type: str | None = None
    role: str | None = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    execution: str | None = None
    content: msgspec.Raw = msgspec.Raw()
    arguments: msgspec.Raw = msgspec.Raw()
    input: msgspec.Raw = msgspec.Raw()
    action: msgspec.Raw = msgspec.Raw()
    output: msgspec.Raw = msgspec.Raw()
    summary: msgspec.Raw = msgspec.Raw()

    @property
    def kind(self) -> str:
        """The type; an item with a role and content and no type is a message."""
        return self.type or ("message" if self.role and self.content else "")


# Damage that costs the client the whole line, also the good objects on it.
UNREADABLE_LINE = frozenset({"glued", "garbage", "torn", "nul", "nonstandard", "not-utf8"})
DECODER = msgspec.json.Decoder(Envelope)
_ITEM = msgspec.json.Decoder(Item)
_TEXTS = ("type", "role", "id", "call_id", "name", "execution")
_RAWS = ("content", "arguments", "input", "action", "output", "summary")


class Line(msgspec.Struct, gc=False):
    """A line with its place."""

    kind: str  # the line's type; items of bare rollouts are ``response_item``, their header is ``session_meta``
    # the payload, or the whole line in a bare rollout; where it can be, a view of bytes that are held anyway
    body: msgspec.Raw
    span: Span
    timestamp: str | None
    ordinal: int | None
    lost: bool = False  # the client cannot parse the line that it stands on, so no context has it

    def fields(self) -> dict[str, Any]:
        """Return the payload as a dictionary, empty when it is none."""
        return whole(bytes(self.body))

    def mentions(self, word: bytes) -> bool:
        """Say whether a word stands anywhere in the line: a cheap look before its fields are decoded."""
        return word in self.span.raw


def line_of(span: Span, env: Envelope) -> Line:
    """Return the line that an envelope stands for."""
    stamp = env.timestamp if isinstance(env.timestamp, str) else None
    ordinal = env.ordinal if isinstance(env.ordinal, int) else None
    if len(env.payload):
        return Line(env.type if isinstance(env.type, str) else "", env.payload, span, stamp, ordinal)
    return Line(_bare_kind(env), msgspec.Raw(clean(span.raw)), span, stamp, ordinal)


def _bare_kind(env: Envelope) -> str:
    if env.record_type is not None:
        return "session_state" if env.record_type == "state" else f"record_type {env.record_type}"
    if env.type is None:
        return "session_meta" if env.timestamp is not None else "response_item"
    return "response_item" if isinstance(env.type, str) and env.type in KNOWN_ITEMS else str(env.type)


def item_of(raw: bytes | msgspec.Raw) -> Item:
    """Return an item of the conversation; of a field with a foreign type only that field is lost."""
    try:
        return _ITEM.decode(raw)
    except REFUSALS:
        fields = whole(bytes(raw))
    kept = {k: v for k, v in fields.items() if k in _RAWS or (k in _TEXTS and isinstance(v, str))}
    return _ITEM.decode(msgspec.json.encode(kept))


def replacement_items(line: Line) -> list[Item] | None:
    """Return the items of ``replacement_history``, or None for a compaction that has none."""
    found = line.fields().get("replacement_history")
    items = [item_of(msgspec.json.encode(element)) for element in objects_of(found)]
    return items if isinstance(found, list) else None


# What the header of a Codex rollout tells of it: a sub-agent's or not, how its client reads it, and whose it is.


def is_of_sub_agent(meta: dict[str, Any]) -> bool:
    """Say whether a header is that of a sub-agent's own rollout, in any of the forms that the client has written."""
    return _started(meta) is not None or meta.get("thread_source") == "subagent" or bool(meta.get("parent_thread_id"))


def is_paginated(meta: dict[str, Any]) -> bool:
    """Say whether the client reads a rollout with this header from its end, window by window."""
    return meta.get("history_mode") == "paginated"


def parent_of(meta: dict[str, Any]) -> str:
    """Return the id of the thread that a header belongs to: that which started a sub-agent, or a fork's origin."""
    if is_of_sub_agent(meta):
        nested = object_in(fields_of(_started(meta)), "thread_spawn").get("parent_thread_id")
        # client 0.145 also repeats it as the id of the whole session
        named = (meta.get("parent_thread_id"), nested, meta.get("session_id"))
    else:
        named = (meta.get("forked_from_id"), object_in(meta, "history_base").get("thread_id"))
    own = meta.get("id")
    return next((name for name in named if isinstance(name, str) and name and name != own), "")


def _started(meta: dict[str, Any]) -> object:
    """Return how a sub-agent was started, None for what is no sub-agent's; older clients give it as a word."""
    return object_in(meta, "source").get("subagent")


# Ordinals of paginated rollouts, as they should be: counting up by one, whatever a crash or an old version left.
#
# The client resumes after a torn line with an ordinal that it has used already, and after a line without one it refuses
# the rollout (formats.md §8.3; clients.md §5.3 variants 22 to 24). In memory every line gets a number of its own; the
# bytes stay as they are.


def renumber(lines: Sequence[Line]) -> int:
    """Number the lines of one rollout and return how many had no number, or one that was used before.

    A number that is greater than the one before stays, so gaps remain gaps. A rollout in which no line has a number is
    of an older version and gets none.
    """
    first = next((index for index, line in enumerate(lines) if line.ordinal is not None), None)
    if first is None:
        return 0
    mended = 0
    last = max(-1, (lines[first].ordinal or 0) - first - 1)
    for line in lines:
        if line.ordinal is None or line.ordinal <= last:
            line.ordinal = last + 1
            mended += 1
        last = line.ordinal
    return mended


# Which items Codex itself can parse: of one with a field missing or of another type it drops the whole line.
#
# Source: tried on client 0.169. Items of a type that the client does not know are no such error, nor are fields that it
# does not know.

_Id = str | None
_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Words(msgspec.Struct, tag_field="type", gc=False):
    text: str
    annotations: list[Any] | None = None
    logprobs: list[Any] | None = None


class _Input(_Words, tag="input_text", gc=False):
    """Words of a person or of the harness."""


class _Output(_Words, tag="output_text", gc=False):
    """Words of the model."""


class _Image(msgspec.Struct, tag_field="type", tag="input_image", gc=False):
    image_url: str


_Part = _Input | _Output | _Image


class _Passed(msgspec.Struct, gc=False):
    turn_id: str | None = None
    create_time: float | None = None


class _Item(msgspec.Struct, kw_only=True, gc=False):
    id: _Id = None
    passed: _Passed | None = msgspec.field(default=None, name="internal_chat_message_metadata_passthrough")


class _Message(_Item, kw_only=True, gc=False):
    type: Literal["message"]
    role: str
    content: list[_Part]
    status: str | None = None
    phase: Literal["commentary", "final_answer"] | None = None
    encrypted_content: str | None = None


class _Call(_Item, kw_only=True, gc=False):
    name: str
    arguments: str
    call_id: str
    namespace: str | None = None


class _CustomCall(_Item, kw_only=True, gc=False):
    name: str
    input: str
    call_id: str
    status: str | None = None


class _Exec(msgspec.Struct, tag_field="type", tag="exec", gc=False):
    command: list[str]


class _ShellCall(_Item, kw_only=True, gc=False):
    status: str
    action: _Exec
    call_id: str | None = None


class _SearchCall(_Item, kw_only=True, gc=False):
    execution: str
    arguments: Any
    call_id: str | None = None


class _SearchResult(_Item, kw_only=True, gc=False):
    execution: str
    status: str
    tools: list[Any]
    call_id: str | None = None


class _Result(_Item, kw_only=True, gc=False):
    call_id: str
    output: str | list[dict[str, Any]]


class _SourceId(msgspec.Struct, gc=False):
    turn_id: str
    role: str


class _Source(msgspec.Struct, gc=False):
    id: _SourceId
    revision: str | None = None
    complete: bool = False


class Beside(msgspec.Struct, gc=False):
    """What the client keeps beside an item."""

    client_authored: bool = False
    compaction_output: bool = False
    history_sequence: _Count | None = None
    sampled_through_sequence: _Count | None = None
    user_input_order: _Count | None = None
    token_limit: _Count | None = msgspec.field(default=None, name="fallback_token_limit_override")
    retained_source: _Source | None = None


class _Envelope(msgspec.Struct, gc=False):
    metadata: Beside | list[Any] | None = None


_NOTHING = Beside()
_ENVELOPE = msgspec.json.Decoder(_Envelope)
_KINDS = {
    "message": msgspec.json.Decoder(_Message),
    "function_call": msgspec.json.Decoder(_Call),
    "custom_tool_call": msgspec.json.Decoder(_CustomCall),
    "local_shell_call": msgspec.json.Decoder(_ShellCall),
    "tool_search_call": msgspec.json.Decoder(_SearchCall),
    "tool_search_output": msgspec.json.Decoder(_SearchResult),
    "function_call_output": msgspec.json.Decoder(_Result),
    "custom_tool_call_output": msgspec.json.Decoder(_Result),
}


def parsed(lines: Sequence[Line]) -> list[Line]:
    """Return the lines without those that the client drops for their damage, or for an item of a compaction."""
    timed = (line for line in lines if not line.lost and _is_timed(line))
    return [line for line in timed if line.kind != "compacted" or _is_whole(line)]


def _is_timed(line: Line) -> bool:
    """Say whether a line has the time that every line in an envelope needs."""
    return line.timestamp is not None or not line.mentions(b'"payload"')


def _is_whole(compaction: Line) -> bool:
    fields = compaction.fields()
    found = fields.get("replacement_history")
    if not isinstance(fields.get("message"), str):
        return False
    beside = fields.get("replacement_history_metadata")
    if beside is not None and not (isinstance(found, list) and _are_beside(beside, cast("list[object]", found))):
        return False
    if found is None:
        return True
    raws = [msgspec.json.encode(e) for e in cast("list[object]", found)] if isinstance(found, list) else [b"0"]
    return all(raw.startswith(b"{") and b'"type":' in raw and is_sound(item_of(raw), raw) for raw in raws)


def _are_beside(beside: object, history: list[object]) -> bool:
    """Say whether every item of a history has one entry of what the client keeps beside items."""
    try:
        return len(msgspec.convert(beside, list[Beside])) == len(history)
    except msgspec.ValidationError:
        return False


def beside_of(line: Line) -> Beside | None:
    """Return what the client keeps beside the item of a line, None when it cannot parse that."""
    if not line.mentions(b'"metadata"'):
        return _NOTHING
    try:
        found = _ENVELOPE.decode(clean(line.span.raw)).metadata
    except REFUSALS:
        return None
    return found if isinstance(found, Beside) else _NOTHING


def is_sound(item: Item, raw: bytes | msgspec.Raw) -> bool:
    """Say whether the client can parse an item, given as it was decoded and as it stands in the file."""
    decoder = _KINDS.get(item.kind)
    if decoder is None:
        return True
    try:
        decoder.decode(raw)
    except REFUSALS:
        return False
    return True


# Items as messages; each item is one message, as the client sends it.
#
# Everything is said twice in most rollouts, as an item and as an event for the screen; only items are read (corpus.md
# 14: 2,524 of 2,526 texts of events are items, too).

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "developer": "system", "system": "system"}
_SAID = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
# Calls that are sent in a form of their own, not as that of a function.
_UNNAMED = ("local_shell_call", "tool_search_call")


class Place(msgspec.Struct, frozen=True, gc=False):
    """What the lines before an item say about it."""

    cwd: str = ""
    branch: str = ""
    own_agent: bool = False


class Limit(NamedTuple):
    """How much of an output fits, counted in tokens or in bytes."""

    size: int
    is_bytes: bool = False


class CodexMessage(LazyMessage, gc=False, eq=False):
    """An item with its place; the content is decoded when it is first looked at."""

    item: Item
    span: Span
    stamp: str | None
    place: Place
    as_sent: bool = False  # arguments of calls stay the JSON text that the client sends, as in a context
    live: bool = True  # False once a rollback took the message out of the conversation
    limit: Limit | None = None  # how much of an output the client sends, None for all of it
    parent: str | None = None  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    @property
    def role(self) -> Role:
        """Who speaks; developer messages are the harness's own (``system``)."""
        kind = self.item.kind
        if kind == "message":
            return _ROLES.get(self.item.role or "", "user")
        if kind in OUTPUTS:
            return "tool"
        return "user" if kind == "agent_message" else "assistant"

    @property
    def id(self) -> str | None:
        """The API's id of the item; older rollouts have none."""
        return self.item.id

    @property
    def cwd(self) -> str:
        """The working folder of the turn, or ""."""
        return self.place.cwd

    @property
    def branch(self) -> str:
        """The git branch that the header names, or ""."""
        return self.place.branch

    @property
    def timestamp(self) -> datetime | None:
        """When the line was written; bare rollouts have no times."""
        return parse_time(self.stamp)

    @property
    def active(self) -> bool:
        """False for turns that were rolled back."""
        return self.live

    def _content(self) -> Content:
        blocks, origin = self._told()
        return Content(tuple(blocks), (self.span,) * len(blocks), origin)

    def _told(self) -> tuple[list[Block], Origin]:
        item, kind = self.item, self.item.kind
        if kind in OUTPUTS:
            return [_result(item, self.limit)], "tool"
        if kind == "message":
            return _said(item, self.role, own_agent=self.place.own_agent)
        if kind == "agent_message" and not self.as_sent:
            return [Injected(part) for part in _parts(decoded(item.content))], "injected"
        return self._made(kind), "model"

    def _made(self, kind: str) -> list[Block]:
        """Return what the model made that is no message."""
        if kind in CALLS and not (self.as_sent and kind in _UNNAMED):
            return [_call(self.item, as_sent=self.as_sent)]
        if kind == "reasoning":
            return [Thinking(part) for part in _parts(decoded(self.item.summary))]
        return [Other(kind)]


def _said(item: Item, role: Role, *, own_agent: bool) -> tuple[list[Block], Origin]:
    blocks = [_block(part) for part in _content_list(item)]
    if role == "assistant":
        return blocks, "model"
    if role == "system" or own_agent:
        # The task of a sub-agent was written by the agent that started it.
        return [Injected(b.text) if isinstance(b, Text) else b for b in blocks], "injected"
    if any(isinstance(b, Text) and is_summary(b.text) for b in blocks):
        return blocks, "summary"
    split: list[Block] = []
    for block in blocks:
        split += split_typed(block.text) if isinstance(block, Text) else [block]
    return split, "typed" if any(isinstance(b, Text) for b in split) else "injected"


def _content_list(item: Item) -> list[object]:
    content = decoded(item.content)
    return cast("list[object]", content) if isinstance(content, list) else [content] if content else []


def _block(part: object) -> Block:
    text = _text(part)
    return Other(_type(part)) if text is None else Text(text)


def _text(part: object) -> str | None:
    if isinstance(part, str):
        return part
    fields = fields_of(part)
    text = fields.get("text")
    return text if isinstance(text, str) and fields.get("type", "text") in _SAID else None


def _type(part: object) -> str:
    return text_in(fields_of(part), "type") or type(part).__name__


def _parts(value: object) -> list[str]:
    parts = cast("list[object]", value) if isinstance(value, list) else [value]
    return [text for part in parts if (text := _text(part)) is not None]


def texts_of(item: Item) -> list[str]:
    """Return the texts of an item's content, without pictures and the like."""
    return _parts(decoded(item.content))


def words_of(item: Item) -> list[str]:
    """Return the texts of an item without the marks that the client puts around pictures."""
    return [text for text in texts_of(item) if not _IMAGE.fullmatch(text.strip())]


def _call(item: Item, *, as_sent: bool) -> ToolCall:
    """Return a call; functions have arguments as JSON text, custom tools free text, others an object."""
    kind = item.kind
    name = item.name or kind.removesuffix("_call")
    given = decoded(item.arguments or item.input or item.action)
    if isinstance(given, str) and kind == "function_call" and not as_sent:
        given = _object_in(given)
    return ToolCall(item.call_id or item.id or "", name, given)


def _object_in(text: str) -> object:
    value = decoded(msgspec.Raw(text.encode("utf-8", "replace")))
    return cast("object", value) if isinstance(value, dict) else text


def _result(item: Item, limit: Limit | None) -> Verbatim:
    """Return an output: a text, a list of parts, or in older versions an object with ``content`` and ``success``."""
    output = decoded(item.output)
    failed = False
    if isinstance(output, dict):
        fields = fields_of(cast("object", output))
        failed = fields.get("success") is False
        output = fields.get("content", fields.get("text"))
    if isinstance(output, list):
        text = _parts_text(cast("list[object]", output), limit)
    else:
        text = output if isinstance(output, str) else ""
        text = text if limit is None else shortened(text, limit)
    return Verbatim(item.call_id or "", text, failed or is_failure(text))


def _parts_text(parts: list[object], limit: Limit | None) -> str:
    texts = [_text(part) for part in parts]
    if limit is not None:
        texts = shortened_parts(texts, limit)
    marks = iter([f"[{_type(part)}]" for part in parts if _text(part) is None])
    return "\n".join(next(marks) if text is None else text for text in texts)


# Which texts of user messages the Codex harness wrote: context that no person typed.
#
# Source: the client's registry of contextual fragments (each has an opening and a closing mark, compared without regard
# to case) and real files (corpus.md 14).

SUMMARY_PREFIX = (
    "Another language model started to solve this problem and produced a summary of its thinking process."
    " You also have access to the state of the tools that were used by that language model. Use this to build on"
    " the work that has already been done and avoid duplicating work. Here is the summary produced by the other"
    " language model, use the information in this summary to assist with your own analysis:"
)
_TAGS = (
    *("environment_context", "user_instructions", "skill", "user_shell_command", "turn_aborted", "goal_context"),
    *("subagent_notification", "hook_prompt", "codex_internal_context", "additional_context", "recommended_plugins"),
    *("model_switch", "permissions instructions", "collaboration_mode", "skills_instructions", "apps_instructions"),
)
_TAGGED = re.compile(rf"<({'|'.join(_TAGS)})[\s>]", re.IGNORECASE)
# Instructions that the client writes in front of a turn when they have changed.
_RENEWED = re.compile(
    r"<(?:permissions instructions|model_switch|collaboration_mode|realtime_conversation|personality_spec|tools"
    r"|rollout_budget|token_budget|skills_instructions|plugins_instructions|apps_instructions|persistent_mode"
    r"|multi_agent_role|multi_agent_mode|managed_developer_instructions|environments_instructions|git_attribution"
    r"|context_window_guidance|context_window)>",
    re.IGNORECASE,
)
# Context in the user's role as client 0.169 itself knows it (tried): narrower than what its harness ever wrote.
_CONTEXT = re.compile(
    r"<(environment_context|recommended_plugins|agent_message_board_notification|skill|subagent_notification"
    r"|goal_context|turn_aborted|user_shell_command|external_[^>\s]+)>.*</\1>"
    r"|<(hook_prompt|codex_internal_context)\s.*</\2>"
    r"|# agents\.md instructions.*</instructions>"
    r"|warning: the maximum number of unified exec processes.*"
    r"|warning: apply_patch was requested via .*use the apply_patch tool instead of exec_command\."
    r"|warning: your account was flagged for poten.*",
    re.IGNORECASE | re.DOTALL,
)
_AGENTS = ("# agents.md instructions", "</instructions>")
# Marks around an attached picture, and warnings that older versions recorded as if the user had said them.
_IMAGE = re.compile(r"<image(?: name=[^>]*)?>|</image>")
_WARNINGS = (
    "Warning: The maximum number of unified exec processes",
    "Warning: apply_patch was requested via",
    "Warning: Your account was flagged",
)
# Editors put their state in front of what a person asks (seen in the client's IDE extensions).
_EDITOR = "# Context from my IDE setup:"
_REQUEST = "## My request for Codex:"


def is_injected(text: str) -> bool:
    """Say whether the harness wrote the whole of ``text``."""
    bare = text.strip()
    low = bare.lower()
    if low.startswith(_AGENTS[0]):
        return low.endswith(_AGENTS[1])
    if (tag := _TAGGED.match(bare)) is not None:
        return low.endswith(f"</{tag[1].lower()}>")
    return _IMAGE.fullmatch(bare) is not None or bare.startswith(_WARNINGS)


def is_context(text: str) -> bool:
    """Say whether the client takes a user's ``text`` for its own context, which is no turn."""
    return _CONTEXT.fullmatch(text.strip()) is not None


def is_instruction(text: str) -> bool:
    """Say whether a developer's ``text`` is context that the client renews at every turn."""
    return _RENEWED.match(text.lstrip()) is not None


def is_summary(text: str) -> bool:
    """Say whether ``text`` is a summary that the client wrote when it compacted."""
    return text.startswith(SUMMARY_PREFIX + "\n")


def split_typed(text: str) -> list[Block]:
    """Return what the harness and what a person wrote of one text, in order."""
    if is_injected(text):
        return [Injected(text)]
    if text.startswith(_EDITOR) and _REQUEST in text:
        head, mark, asked = text.partition(_REQUEST)
        return [Injected(head + mark), Text(asked.strip())]
    return [Text(text)]


# What one agent of Codex tells another: a line of its own in a rollout, or JSON as the only text of a message.
#
# Source: tried on client 0.169. A rollback counts it as the start of a turn; to the model it is sent under a name of
# its own, not as a message.

# The root, one with a name of its own, and those below the root.
_Path = Annotated[str, msgspec.Meta(pattern=r"^(/morpheus|/root(/(?!root(/|$))[a-z0-9_]+)*)$")]
_MARK = re.compile(rb'trigger_turn\\*"')


class _Told(msgspec.Struct, gc=False):
    author: _Path
    recipient: _Path
    content: str
    trigger_turn: bool
    other_recipients: list[_Path] = []


_DECODER = msgspec.json.Decoder(_Told)


def may_instruct(raw: bytes | msgspec.Raw) -> bool:
    """Say whether bytes could hold such a thing; a cheap look before they are decoded."""
    return _MARK.search(raw) is not None


def is_agents_instruction(raw: bytes | msgspec.Raw) -> bool:
    """Say whether JSON is what one agent tells another, as the client parses it."""
    try:
        _DECODER.decode(raw)
    except REFUSALS:
        return False
    return True


# Whether a command failed, as Codex says it in the output that it recorded (every form in corpus.md 14 to 17).
#
# * ``Exit code: 1`` on the first line;
# * ``Process exited with code 1`` within the lines before the output (unified exec);
# * ``{"output": "...", "metadata": {"exit_code": 1, ...}}`` as JSON text.

_LINES = re.compile(r"(?:Exit code: |(?:[^\n]{0,80}\n){0,3}?Process exited with code )(-?[0-9]{1,10})\b")
_JSON = re.compile(r'"exit_code": ?(-?[0-9]{1,10})\b[^"]*(?:"duration_seconds"[^"]*)?\}\s*\}\s*\Z')
_REFUSED = ("failed in sandbox", "exec_command failed", "execution error")
_METADATA_CHARS = 200


def is_failure(output: str) -> bool:
    """Say whether an output tells of a failure."""
    if output.startswith('{"output"'):
        found = _JSON.search(output[-_METADATA_CHARS:])
    elif output.startswith(_REFUSED):
        return True
    else:
        found = _LINES.match(output)
    return found is not None and int(found[1]) != 0


# Codex's estimate of tokens, and its way to shorten a text that does not fit: the middle goes (client).
#
# An output is shortened when the client takes it into its history, so a rollout can hold more than was ever sent. How
# much fits stands beside the item (``fallback_token_limit_override``, since 0.16x); without it client 0.169 takes the
# limit of the model, which is 10,000 bytes and a fifth more for every model that its own list does not name (tried).

_BYTES_PER_TOKEN = 4
DEFAULT_LIMIT = Limit(12_000, is_bytes=True)


def tokens_of(text: str) -> int:
    """Return the client's estimate: bytes by four, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


def middle_cut(text: str, tokens: int) -> str:
    """Return ``text`` in at most ``tokens`` tokens of its start and end, with a note of what is missing between."""
    return shortened(text, Limit(max(tokens, 0)))


def shortened(text: str, limit: Limit) -> str:
    """Return as much of the start and the end of ``text`` as fits, with a note of what is missing between."""
    room = limit.size if limit.is_bytes else limit.size * _BYTES_PER_TOKEN
    if len(text) * _BYTES_PER_TOKEN <= room:  # no character has more bytes than a token
        return text
    data = text.encode("utf-8", "replace")
    if len(data) <= room:
        return text
    head = data[: room // 2].decode("utf-8", "ignore")
    tail = data[len(data) - (room - room // 2) :].decode("utf-8", "ignore") if room else ""
    if limit.is_bytes:
        return f"{head}…{len(text) - len(head) - len(tail)} chars truncated…{tail}"
    return f"{head}…{-(-(len(data) - room) // _BYTES_PER_TOKEN)} tokens truncated…{tail}"


def shortened_parts(parts: Sequence[str | None], limit: Limit) -> list[str | None]:
    """Return the texts of an output in parts as far as they fit together; None stands for a part that is no text."""
    left = limit.size
    omitted = 0
    found: list[str | None] = []
    for part in parts:
        if part is None:
            found.append(None)
        elif part and left == 0:
            omitted += 1
        elif part:
            found.append(shortened(part, limit._replace(size=left)))
            cost = len(part.encode("utf-8", "replace")) if limit.is_bytes else tokens_of(part)
            left = max(0, left - cost)
    return [*found, f"[omitted {omitted} text items ...]"] if omitted else found
