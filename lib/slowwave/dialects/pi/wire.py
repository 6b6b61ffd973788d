"""What pi sends when a session is resumed, second half: its messages in the form of the model's API.

Answers that failed or were aborted are left out, calls without a result get one, another model's thinking becomes
text, and images that the model cannot see are named instead. Source: ``transform-messages.ts`` and the providers
``openai-completions`` and ``anthropic`` of pi-ai 0.73.1; other APIs are treated as the first.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from slowwave.dialects.model import Block, Message, Origin, Other, Role, Text, Thinking, ToolResult
from slowwave.dialects.pi.blocks import block_of
from slowwave.dialects.pi.context import Model, Said
from slowwave.dialects.pi.messages import ORIGINS
from slowwave.dialects.pi.records import text_or_empty
from slowwave.dialects.pi.texts import as_written
from slowwave.dialects.plain import PlainMessage
from slowwave.dialects.times import parse_time
from slowwave.records.model import Span

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

    Args:
        messages: what was said, in order.
        model: the model that goes on.
        is_modern: False for pi 0.49 (in Clawdbot): it leaves images that the model cannot see out without a word, and
            sends the texts of an answer one by one.
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
    if not text_or_empty(part.get("thinking")).strip():
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
        yield "[image]" if part.get("type") == "image" else text_or_empty(part.get("text"))


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
    texts = [p["text"] for p in item.parts if p.get("type") == "text" and text_or_empty(p.get("text")).strip()]
    if model is None or model.api == "openai-completions":
        calls = [block_of(p) for p in item.parts if p.get("type") == "toolCall"]
        if not is_modern:
            return [*map(Text, texts), *calls]
        return [*([Text("".join(texts))] if texts else []), *calls]
    blocks: list[Block] = []
    for part in item.parts:
        if part.get("type") == "text":
            blocks += [Text(part["text"])] if text_or_empty(part.get("text")).strip() else []
        elif part.get("type") == "thinking" and model.api == "anthropic-messages":
            blocks += _thought(part)
        else:
            blocks.append(block_of(part))
    return blocks


def _thought(part: dict[str, Any]) -> list[Block]:
    """Return thinking as Anthropic's API gets it: without a signature it has to be text."""
    if part.get("redacted"):
        return [Other("redacted_thinking")]
    words = text_or_empty(part.get("thinking"))
    if not words.strip():
        return []
    return [Thinking(words) if text_or_empty(part.get("thinkingSignature")).strip() else Text(words)]


def _result(item: Said, text: str) -> ToolResult:
    return ToolResult(text_or_empty(item.fields.get("toolCallId")), text, item.fields.get("isError") is True)


def _plain(role: Role, blocks: tuple[Block, ...], spans: list[Span], origin: Origin, item: Said) -> Message:
    at = parse_time(text_or_empty(item.entry.env.timestamp))
    return PlainMessage(role, blocks, tuple(spans), origin, item.entry.id, at)
