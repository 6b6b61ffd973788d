"""Sessions of opencode as they are loaded, whatever they are kept in: messages with their parts and places.

Messages and parts have the same fields in exports, in both storage trees and in the database (formats.md §9.3).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import orjson

from slowwave.formats import (
    Block,
    Injected,
    Message,
    Origin,
    Other,
    Role,
    SessionKind,
    Span,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    clock_time,
    fields_of,
    object_in,
    objects_of,
    text_in,
    whole,
)
from slowwave.formats.messages import PlainMessage

KNOWN_PARTS = frozenset(
    {
        *("text", "reasoning", "file", "tool", "step-start", "step-finish", "snapshot", "patch", "agent", "retry"),
        *("compaction", "subtask"),
    }
)
_FORKED = re.compile(r".*\(fork #[0-9]+\)\s*\Z", re.DOTALL)


class Record(msgspec.Struct, gc=False):
    """A message or a part: its JSON as fields, its bytes, and its id (a database keeps that beside the JSON)."""

    span: Span
    id: str
    fields: dict[str, Any]

    @property
    def kind(self) -> str:
        """The type of a part, the role of a message."""
        return text_in(self.fields, "type") or text_in(self.fields, "role")


class Stored(msgspec.Struct):
    """A message with its parts, in order."""

    info: Record
    parts: list[Record]
    live: bool = True  # False for messages that a revert takes back
    kept: int | None = None  # how many of its parts a revert leaves

    @property
    def is_summary(self) -> bool:
        """Say whether this is the summary that a compaction wrote."""
        return self.info.fields.get("summary") is True

    @property
    def sent_parts(self) -> list[Record]:
        """The parts that a revert leaves."""
        return self.parts[: self.kept]


class Session(msgspec.Struct):
    """What is known of a session beside its messages."""

    id: str = ""
    title: str = ""
    directory: str = ""
    parent: str = ""
    revert: dict[str, Any] = {}
    model: str = ""
    is_archived: bool = False  # a person put it away

    @property
    def is_fork(self) -> bool:
        """Say whether its title says that it is a copy of another session; nothing else does."""
        return _FORKED.match(self.title) is not None

    @property
    def kind(self) -> SessionKind:
        """What it is among sessions."""
        return "subagent" if self.parent else "fork" if self.is_fork else "main"


def record_of(span: Span, beside: dict[str, Any] | None = None) -> Record:
    """Return the record in ``span``; ``beside`` are fields that are kept outside of the JSON."""
    fields = whole(span.raw) | (beside or {})
    return Record(span, text_in(fields, "id"), fields)


def session_of(fields: dict[str, Any]) -> Session:
    """Return a session from its JSON (``parentID``) or its row (``parent_id``)."""
    model = _decoded(fields, "model")
    return Session(
        text_in(fields, "id"),
        text_in(fields, "title"),
        text_in(fields, "directory"),
        text_in(fields, "parentID") or text_in(fields, "parent_id"),
        _decoded(fields, "revert"),
        model_name(model, "id"),
        bool(fields.get("time_archived") or object_in(fields, "time").get("archived")),
    )


def model_name(fields: dict[str, Any], key: str) -> str:
    """Return the provider and the model that ``fields`` name, the model under ``key``; "" when either is missing."""
    names = text_in(fields, "providerID"), text_in(fields, key)
    return "/".join(names) if all(names) else ""


def _decoded(fields: dict[str, Any], key: str) -> dict[str, Any]:
    """Return an object, which a row keeps as JSON."""
    value = fields.get(key)
    return whole(value.encode("utf-8", "replace")) if isinstance(value, str) else object_in(fields, key)


def take_back(stored: list[Stored], revert: dict[str, Any]) -> None:
    """Mark what a revert takes back: the message it names and all behind, or only from one of its parts on (client).

    The client deletes these at the next prompt, so a resumed session never sends them. A message whose part is named
    but gone stays whole.
    """
    named, part = text_in(revert, "messageID"), text_in(revert, "partID")
    start = next((i for i, message in enumerate(stored) if named and message.info.id == named), None)
    if start is None:
        return
    for message in stored[start:]:
        message.live = False
    first = stored[start]
    if part:
        first.live = True
        first.kept = next((i for i, record in enumerate(first.parts) if record.id == part), None)


# Stored messages of opencode as messages, for reading and as the client sends them.
#
# One stored assistant message holds calls and their results; a model sees them as an answer and one message for each
# result. Rules: the client's conversion to model messages (formats.md §9.4).


COMPACTED = "What did we do so far?"
SUBTASK = "The following tool was executed by the user"
PRUNED = "[Old tool result content cleared]"
INTERRUPTED = "[Tool execution was interrupted]"
ATTACHED = "Attached media from tool result:"
# Files that the client reads into a text part of its own; the part itself is not sent.
_READ_INTO_TEXT = ("text/plain", "application/x-directory")
Placed = tuple[Block, Record]


def messages_of(stored: Stored, session: Session) -> list[Message]:
    """Return what a stored message says to a reader, with everything that is in it."""
    if stored.info.kind != "assistant":
        placed: list[Placed] = [(b, part) for part in stored.parts if (b := _user_block(part, whole=True)) is not None]
        by_person = stored.info.kind == "user" and not session.parent
        typed = by_person and any(isinstance(b, Text) for b, _ in placed)
        if not by_person:
            placed = [(Injected(b.text) if isinstance(b, Text) else b, part) for b, part in placed]
        return [_message(stored, session, "user", placed, "typed" if typed else "injected")]
    said = [(block, part) for part in stored.parts if (block := _model_block(part)) is not None]
    origin: Origin = "summary" if stored.is_summary else "model"
    results = [p for p in stored.parts if p.kind == "tool" and _is_over(p)]
    return [
        _message(stored, session, "assistant", said, origin),
        *(_message(stored, session, "tool", [(_result(p, pruned=False), p)], "tool") for p in results),
    ]


def sent_as(stored: Stored, session: Session, model: str = "") -> list[Message]:
    """Return what a stored message is sent as to ``model``; nothing for messages that the client leaves out."""
    if stored.info.kind != "assistant":
        placed = [(block, part) for part in stored.sent_parts if (block := _user_block(part, whole=False)) is not None]
        return [_message(stored, session, "user", placed, "injected")] if placed else []
    if _failed(stored):
        return []
    found: list[Message] = []
    for step in _steps(stored.sent_parts):
        placed = [(block, part) for part in step if (block := _model_block(part)) is not None]
        said = _joined(_told(placed) if _is_of_another(stored, model) else placed)
        calls = [part for part in step if part.kind == "tool"]
        if said:
            found.append(_message(stored, session, "assistant", said, "summary" if stored.is_summary else "model"))
        found += [_message(stored, session, "tool", [(_result(p, pruned=True), p)], "tool") for p in calls]
    pictures = [part for part in stored.sent_parts if _has_media(part)]
    if pictures:
        found.append(_message(stored, session, "user", [(Injected(ATTACHED), pictures[0])], "injected"))
    return found


def _is_of_another(stored: Stored, model: str) -> bool:
    return model_name(stored.info.fields, "modelID") not in ("", model) if model else False


def _told(placed: list[Placed]) -> list[Placed]:
    """Return what another model thought as text; only to the model that thought it is it sent as thoughts (client)."""
    said = [(Text(b.text), part) if isinstance(b, Thinking) else (b, part) for b, part in placed]
    blank = (isinstance(old, Thinking) and not old.text.strip() for old, _ in placed)
    return [new for new, is_blank in zip(said, blank, strict=True) if not is_blank]


def _message(stored: Stored, session: Session, role: Role, placed: list[Placed], origin: Origin) -> Message:
    fields = stored.info.fields
    cwd = text_in(object_in(fields, "path"), "cwd") or session.directory
    return PlainMessage(
        role,
        tuple(block for block, _ in placed),
        tuple(part.span for _, part in placed),
        origin,
        stored.info.id or None,
        clock_time(object_in(fields, "time").get("created")),
        cwd,
        active=stored.live,
    )


def _user_block(part: Record, *, whole: bool) -> Block | None:
    """Return the block of a user's part; with ``whole`` also of parts that are not sent."""
    fields = part.fields
    match part.kind:
        case "text":
            if fields.get("ignored") is True and not whole:
                return None
            by_harness = fields.get("synthetic") is True or fields.get("ignored") is True
            return Injected(text_in(fields, "text")) if by_harness else Text(text_in(fields, "text"))
        case "file" if whole or text_in(fields, "mime") not in _READ_INTO_TEXT:
            return Other("file")
        case "compaction":
            return Injected(COMPACTED)
        case "subtask":
            return Injected(text_in(fields, "prompt") if whole else SUBTASK)
        case _:
            return None


def _model_block(part: Record) -> Block | None:
    match part.kind:
        case "text":
            return Text(text_in(part.fields, "text"))
        case "reasoning":
            return Thinking(text_in(part.fields, "text"))
        case "tool":
            given = object_in(part.fields, "state").get("input")
            return ToolCall(text_in(part.fields, "callID"), text_in(part.fields, "tool"), given)
        case _:
            return None


def _result(part: Record, *, pruned: bool) -> ToolResult:
    """Return what a call came to; with ``pruned`` as the client sends it, else with the output that is still kept."""
    state = object_in(part.fields, "state")
    call = text_in(part.fields, "callID")
    match state.get("status"):
        case "completed":
            cleared = pruned and object_in(state, "time").get("compacted")
            # The client calls a command completed that ran to its end with whatever exit code.
            failed = object_in(state, "metadata").get("exit") not in (None, 0)
            output = _with_files(state) if pruned else text_in(state, "output")
            return ToolResult(call, PRUNED if cleared else output, is_error=failed)
        case "error":
            metadata = object_in(state, "metadata")
            if metadata.get("interrupted") is True and isinstance(metadata.get("output"), str):
                return ToolResult(call, text_in(metadata, "output"))
            return ToolResult(call, text_in(state, "error"), is_error=True)
        case _:
            return ToolResult(call, INTERRUPTED, is_error=True)


def _is_over(part: Record) -> bool:
    return object_in(part.fields, "state").get("status") in ("completed", "error")


def _has_media(part: Record) -> bool:
    """Say whether a tool returned pictures, which chat APIs take only as a message of the user."""
    state = object_in(part.fields, "state")
    if part.kind != "tool" or state.get("status") != "completed" or object_in(state, "time").get("compacted"):
        return False
    return any(_is_media(file) for file in objects_of(state.get("attachments")))


def _with_files(state: dict[str, Any]) -> str:
    """Return the output of a tool; with files that are no media it is sent as the JSON of all its content (client)."""
    output = text_in(state, "output")
    files = [file for file in objects_of(state.get("attachments")) if not _is_media(file)]
    if not files:
        return output
    content: list[dict[str, str]] = [{"type": "text", "text": output}] if output else []
    for file in files:
        scheme, comma, data = text_in(file, "url").partition(",")
        if scheme.startswith("data:") and comma:
            content.append({"type": "file-data", "data": data, "mediaType": text_in(file, "mime")})
    return _json(content)


def _is_media(file: dict[str, Any]) -> bool:
    mime = text_in(file, "mime")
    return mime.startswith("image/") or mime == "application/pdf"


def _failed(stored: Stored) -> bool:
    """Say whether an answer ended with an error and is not sent; an aborted one is sent as far as it came."""
    error = stored.info.fields.get("error")
    if not error:
        return False
    is_aborted = fields_of(error).get("name") == "MessageAbortedError"
    return not (is_aborted and any(p.kind not in ("step-start", "reasoning") for p in stored.sent_parts))


def _steps(parts: Iterable[Record]) -> list[list[Record]]:
    """Part an answer at its steps: each is one answer of the model, with the results of its calls behind it."""
    steps: list[list[Record]] = [[]]
    for part in parts:
        if part.kind == "step-start":
            steps.append([])
        else:
            steps[-1].append(part)
    return [step for step in steps if step]


def _joined(placed: list[Placed]) -> list[Placed]:
    """Join the texts of an answer without anything between, and write arguments as JSON, as a chat API takes them."""
    texts = [(b.text, part) for b, part in placed if isinstance(b, Text)]
    found: list[Placed] = [(b, part) for b, part in placed if isinstance(b, Thinking)]
    if texts:
        found.append((Text("".join(text for text, _ in texts)), texts[0][1]))
    return found + [(ToolCall(b.id, b.name, _json(b.args)), part) for b, part in placed if isinstance(b, ToolCall)]


def _json(value: Any) -> str:
    return orjson.dumps({} if value is None else value).decode()


# Which messages of an opencode session are sent after compactions (client: ``filterCompacted``).


def filter_compacted(stored: Sequence[Stored]) -> list[Stored]:
    """Return the messages that count, in the order in which they are sent.

    From the newest back to the first prompt with a ``compaction`` part whose answer is a finished summary without an
    error. If that part names a tail, the messages from there on are kept as well, behind the summary.
    """
    first = _first(stored)
    shown = list(stored[first:])
    at = next((i for i in range(len(shown) - 1, -1, -1) if _tail_of(shown[i])), None)
    if at is None:
        return shown
    named, tail = shown[at].info.id, _tail_of(shown[at])
    summary = next((i for i in range(at + 1, len(shown)) if _answers(shown[i], named)), None)
    begin = next((i for i in range(at) if shown[i].info.id == tail), None)
    if summary is None or begin is None:
        return shown
    return [*shown[at : summary + 1], *shown[begin:at], *shown[summary + 1 :]]


def _first(stored: Sequence[Stored]) -> int:
    done: set[str] = set()
    retained = ""
    for index in range(len(stored) - 1, -1, -1):
        message = stored[index]
        if retained:
            if message.info.id == retained:
                return index
            continue
        if message.info.kind == "user" and message.info.id in done and (part := _compaction(message)) is not None:
            retained = text_in(part.fields, "tail_start_id")
            if retained in ("", message.info.id):
                return index
        elif _is_finished_summary(message):
            done.add(text_in(message.info.fields, "parentID"))
    return 0


def _is_finished_summary(message: Stored) -> bool:
    fields = message.info.fields
    summed = message.info.kind == "assistant" and bool(fields.get("summary"))
    return summed and bool(fields.get("finish")) and not fields.get("error")


def _answers(message: Stored, named: str) -> bool:
    fields = message.info.fields
    return message.info.kind == "assistant" and bool(fields.get("summary")) and fields.get("parentID") == named


def _compaction(message: Stored) -> Record | None:
    return next((part for part in message.sent_parts if part.kind == "compaction"), None)


def _tail_of(message: Stored) -> str:
    """Return the message from which on a compaction kept the conversation, or ""."""
    part = _compaction(message) if message.info.kind == "user" else None
    return text_in(part.fields, "tail_start_id") if part else ""
