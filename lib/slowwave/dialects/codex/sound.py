"""Which items Codex itself can parse: of one with a field missing or of another type it drops the whole line.

Source: tried on client 0.169. Items of a type that the client does not know are no such error, nor are fields that it
does not know.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, cast

import msgspec

from slowwave.dialects.codex.records import Item, Line, item_of
from slowwave.records.model import REFUSALS
from slowwave.records.values import clean

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
