"""Words that a person typed outside of plain user records.

Three places hold them. A prompt typed while the agent works is a ``queue-operation``: older clients write it nowhere
else, newer ones a second time as a user record or an attachment. A person who rejects a tool call gives the reason
inside of the tool's result, and answers to the agent's questions are a tool's result, too. Each becomes a message of
its own with origin ``typed`` whose span is that record; the result itself stays a message of origin ``tool``.
"""

from typing import Any, cast

from slowwave.dialects.blocks import blocks_of
from slowwave.dialects.claude.origin import split_typed
from slowwave.dialects.claude.records import Node, start_of
from slowwave.dialects.model import Block, Injected, Message, Text, ToolResult
from slowwave.dialects.plain import PlainMessage
from slowwave.dialects.times import parse_time

_REJECTION = "The user doesn't want to proceed with this tool use."
_SAID = "the user said:"
_ANSWERED = ("User has answered your questions:", "Your questions have been answered:", "The user answered:")


def said_in_result(node: Node, *, active: bool) -> Message | None:
    """Return the reason or the answers that a person gave in a tool result, as a typed message.

    Only the start of a record is looked at: the client writes one result a record, and its sentence comes first.
    """
    start = start_of(node.env.message)
    if b"The user doesn't want to proceed" in start:
        blocks = _reason(node)
    elif b" answered" in start and b'"tool_result"' in start:
        blocks = _answers(node)
    else:
        return None
    return _typed(node, blocks, active=active)


def queued_prompt(node: Node) -> Message | None:
    """Return the prompt of a ``queue-operation`` or of an attachment that delivers one, as a typed message."""
    fields = node.fields()
    if node.env.type == "queue-operation":
        content = fields.get("content") if fields.get("operation") == "enqueue" else None
    else:
        attached = cast("dict[str, Any]", fields.get("attachment") or {})
        human = attached.get("commandMode", "prompt") == "prompt" and not fields.get("isMeta")
        content = attached.get("prompt") if human else None
    blocks: list[Block] = []
    for block in blocks_of(content):
        # The queue also carries the client's own notes (JSON of background tasks) and commands.
        if isinstance(block, Text) and not block.text.lstrip().startswith(('{"task_id"', "/")):
            blocks += split_typed(block.text)
    return _typed(node, blocks, active=True)


def without_repeats(messages: list[Message], queued: list[Message]) -> list[Message]:
    """Drop queued prompts that a user record repeats, or that an earlier queued one says already."""
    if not queued:
        return messages
    waiting = {id(m) for m in queued}
    prompts = [_plain(m.text) for m in messages if id(m) not in waiting and m.role == "user" and m.origin == "typed"]
    said = "\n".join(prompts)
    known: set[str] = set()
    kept: list[Message] = []
    for message in messages:
        if id(message) in waiting:
            text = _plain(message.text)
            if text in known or text in said:
                continue
            known.add(text)
        kept.append(message)
    return kept


def _plain(text: str) -> str:
    return " ".join(text.split())


def _typed(node: Node, blocks: list[Block], *, active: bool) -> Message | None:
    if not any(isinstance(b, Text) for b in blocks):
        return None
    env = node.env
    return PlainMessage(
        "user",
        tuple(blocks),
        (node.span,) * len(blocks),
        "typed",
        env.uuid,
        parse_time(env.timestamp),
        env.cwd or "",
        active=active,
        branch=env.branch or "",
    )


def _results(node: Node) -> list[ToolResult]:
    message = cast("dict[str, Any]", node.fields().get("message") or {})
    return [b for b in blocks_of(message.get("content")) if isinstance(b, ToolResult)]


def _reason(node: Node) -> list[Block]:
    """Only the client's own sentence counts, at the start of an error: a tool may print anything."""
    for result in _results(node):
        if result.is_error and result.text.startswith(_REJECTION):
            head, said, reason = result.text.partition(_SAID)
            if said:
                return [Injected(head + said), *split_typed(reason.strip())]
    return []


def _answers(node: Node) -> list[Block]:
    outcome = node.fields().get("toolUseResult")
    given = cast("dict[str, Any]", outcome).get("answers") if isinstance(outcome, dict) else None
    if not isinstance(given, dict) or not any(r.text.startswith(_ANSWERED) for r in _results(node)):
        return []
    blocks: list[Block] = []
    for question, answer in cast("dict[str, object]", given).items():
        blocks += [Injected(question), *(split_typed(answer) if isinstance(answer, str) else [])]
    return blocks
