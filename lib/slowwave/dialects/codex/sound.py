"""Which items Codex itself can parse: of one with a field missing or of another type it drops the whole line.

Source: tried on client 0.169. Items of a type that the client does not know are no such error.
"""

from collections.abc import Sequence
from typing import Any, Literal, cast

import msgspec

from slowwave.dialects.codex.records import Item, Line, item_of
from slowwave.records.model import REFUSALS

_Id = str | None


class _Words(msgspec.Struct, tag_field="type", gc=False):
    text: str


class _Input(_Words, tag="input_text", gc=False):
    """Words of a person or of the harness."""


class _Output(_Words, tag="output_text", gc=False):
    """Words of the model."""


class _Image(msgspec.Struct, tag_field="type", tag="input_image", gc=False):
    image_url: str


_Part = _Input | _Output | _Image


class _Message(msgspec.Struct, gc=False):
    type: Literal["message"]
    role: str
    content: list[_Part]
    id: _Id = None


class _Call(msgspec.Struct, gc=False):
    name: str
    arguments: str
    call_id: str
    id: _Id = None


class _CustomCall(msgspec.Struct, gc=False):
    name: str
    input: str
    call_id: str
    id: _Id = None


class _Result(msgspec.Struct, gc=False):
    call_id: str
    output: str | list[dict[str, Any]]


_KINDS = {
    "message": msgspec.json.Decoder(_Message),
    "function_call": msgspec.json.Decoder(_Call),
    "custom_tool_call": msgspec.json.Decoder(_CustomCall),
    "function_call_output": msgspec.json.Decoder(_Result),
    "custom_tool_call_output": msgspec.json.Decoder(_Result),
}


def parsed(lines: Sequence[Line]) -> list[Line]:
    """Return the lines without those that the client drops for their damage, or for an item of a compaction."""
    return [line for line in lines if not line.lost and (line.kind != "compacted" or _is_whole(line))]


def _is_whole(compaction: Line) -> bool:
    found = compaction.fields().get("replacement_history")
    if found is None:
        return True
    raws = [msgspec.json.encode(e) for e in cast("list[object]", found)] if isinstance(found, list) else [b"0"]
    return all(raw.startswith(b"{") and b'"type":' in raw and is_sound(item_of(raw), raw) for raw in raws)


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
