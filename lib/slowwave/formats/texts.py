"""The words of sessions, and nothing else of them, at the speed of one lean decode a line.

All line-based clients keep a message's words in ``content``, a string or blocks of which those of type text (Codex:
input_text, output_text) count, beside or below a role: in the line itself (bare messages, crabtalk, ULID), in
``message`` (Claude Code, Cersei, pi, OpenClaw) or in ``payload`` (Codex). Every line is decoded, by a type that skips
all other values unread: a search for keys in raw bytes would lose words or find them inside of others. A line that
this type does not fit takes the slow path of every other reader.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from slowwave.errors import UnreadableError
from slowwave.formats.lines import open_regular
from slowwave.formats.model import REFUSALS, Problem

TEXT_TYPES = ("text", "input_text", "output_text")
# Who speaks; results of tools are no words of a conversation.
SPEAKERS = frozenset({"user", "assistant", "system", "developer"})


class Words(NamedTuple):
    """The words of one message."""

    role: str
    text: str


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""


class _Said(msgspec.Struct, gc=False):
    role: str = ""
    content: str | list[_Block] | None = None


class _Line(msgspec.Struct, gc=False):
    role: str = ""
    content: str | list[_Block] | None = None
    message: _Said | None = None
    payload: _Said | None = None


_DECODER = msgspec.json.Decoder(_Line)
_ANY = msgspec.json.Decoder(dict[str, Any])
_BLANK = b" \t\r\n"


def words_in(path: Path, problems: list[Problem]) -> Iterator[Words]:
    """Yield the words of every message in a transcript, in file order; messages without words are left out.

    Args:
        path: a transcript of any client that writes lines.
        problems: everything that was not one clean object a line is appended here.

    Raises:
        UnreadableError: the file cannot be opened or read.
    """
    decode, speakers = _DECODER.decode, SPEAKERS
    offset = 0
    with open_regular(path) as file:
        try:
            for number, line in enumerate(file, 1):
                try:
                    said = decode(line)
                except REFUSALS:
                    yield from _slowly(path, number, offset, line, problems)
                else:
                    one = said.message or said.payload or said
                    content = one.content
                    if content and one.role in speakers:
                        text = content if isinstance(content, str) else _joined(content)
                        if text:
                            yield Words(one.role, text)
                offset += len(line)
        except OSError as error:
            raise UnreadableError(path, error.strerror or "cannot be read") from error


def _joined(blocks: list[_Block]) -> str:
    if len(blocks) == 1:
        return blocks[0].text if blocks[0].type in TEXT_TYPES else ""
    return "\n".join([b.text for b in blocks if b.text and b.type in TEXT_TYPES])


def _slowly(path: Path, number: int, offset: int, line: bytes, problems: list[Problem]) -> Iterator[Words]:
    """Yield the words of a line that is not plainly one object of the usual shape."""
    from slowwave.formats.salvage import OddLine, salvage  # noqa: PLC0415  # few files need it

    raw = line.strip(_BLANK)
    if not raw:
        return
    lead = len(line) - len(line.lstrip(_BLANK))
    odd = OddLine(path, 0, number, offset + lead, raw, not line.endswith(b"\n"))
    for _, fields in salvage(odd, _ANY, problems):
        inner = (fields.get(name) for name in ("message", "payload"))
        one = next((cast("dict[str, Any]", v) for v in inner if isinstance(v, dict)), fields)
        role, text = one.get("role"), _text_of(one.get("content"))
        if isinstance(role, str) and role in SPEAKERS and text:
            yield Words(role, text)


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = cast("list[object]", content) if isinstance(content, list) else []
    dicts = [cast("dict[str, Any]", block) for block in blocks if isinstance(block, dict)]
    texts = (block.get("text") for block in dicts if block.get("type") in TEXT_TYPES)
    return "\n".join(text for text in texts if isinstance(text, str) and text)
