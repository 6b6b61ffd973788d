"""Items of a Codex conversation as messages; each item is one message, as the client sends it.

Everything is said twice in most rollouts, as an item and as an event for the screen; only items are read (corpus.md
14: 2,524 of 2,526 texts of events are items, too).
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, NamedTuple, cast

import msgspec

from slowwave.formats.codex.records import CALLS, OUTPUTS, Item
from slowwave.formats.messages import LazyMessage, Verbatim
from slowwave.formats.model import (
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
    decoded,
    fields_of,
    parse_time,
    text_in,
)

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "developer": "system", "system": "system"}
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
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
    return text if isinstance(text, str) and fields.get("type", "text") in _TEXTS else None


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
