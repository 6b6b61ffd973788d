"""Writing Codex rollouts: items, compactions with their replacement history, names in the index.

A session is begun by Codex alone: its header holds the instructions of that version of the client. A fork names a byte
of its parent's file. Rollouts know no tombstones (``thread_rolled_back`` takes back whole turns),
no labels and no branches: lines follow each other. What a tool returned is cleared by a history that replaces itself.
"""

import os
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, cast
from uuid import UUID

import msgspec
import orjson

from slowwave.errors import UsageError
from slowwave.files import atomic_write, private_folder
from slowwave.formats import (
    Text,
    Thinking,
    ToolCall,
    fields_of,
    millisecond_time,
    object_in,
    objects_of,
    text_in,
    whole,
)
from slowwave.formats.changes import append_record
from slowwave.formats.codex import INDEX, SESSIONS, home_of, thread_in_name, writer_lock
from slowwave.formats.codex.dialect import (
    CODEX,
    USER_TOKENS,
    CodexTranscript,
    Sent,
    is_boundary,
    replay,
    rolled_back,
    starts_turn,
)
from slowwave.formats.codex.records import (
    KNOWN_ITEMS,
    SUMMARY_PREFIX,
    CodexMessage,
    Limit,
    Line,
    is_of_sub_agent,
    is_paginated,
    item_of,
    middle_cut,
    shortened,
    shortened_parts,
    texts_of,
    tokens_of,
)
from slowwave.formats.lines import is_compressed, open_regular
from slowwave.formats.writing import (
    Compaction,
    Content,
    Draft,
    Target,
    Writer,
    first_record,
    json_line,
    records_backward,
    unknown,
)

# Lines as Codex writes them, for appending: one JSON object with its newline, nothing decided here.
#
# ``form`` is that of the rollout: ``bare`` items stand alone, all later ones in an envelope, with an ``ordinal`` in
# paginated rollouts (a line without one stops the client from resuming, clients.md 5.3).
# Source: rollouts of clients 0.2x to 0.169.0.


Form = Literal["bare", "wrapped", "paginated"]


def message_items(role: str, content: Content, *, uuid: str) -> list[Mapping[str, object]]:
    """Return what somebody says as items: texts that follow each other as one message, calls and thoughts each alone.

    Mappings are items of the Responses API and stay as they are.
    """
    found: list[Mapping[str, object]] = []
    texts: list[str] = []
    for block in [*([Text(content)] if isinstance(content, str) else content), None]:
        if isinstance(block, Text):
            texts.append(block.text)
            continue
        if texts:
            found.append(_message(role, texts, _own(uuid, len(found))))
            texts = []
        if block is not None:
            found.append(_item(block, _own(uuid, len(found))))
    return found


def _own(uuid: str, number: int) -> str:
    return f"{uuid}-{number}" if number else uuid


def _item(block: Mapping[str, object] | Thinking | ToolCall, uuid: str) -> Mapping[str, object]:
    if isinstance(block, Thinking):
        parts = [{"type": "summary_text", "text": block.text}]
        return {"type": "reasoning", "id": f"rs_{uuid}", "summary": parts, "content": None}
    return _call(block, uuid) if isinstance(block, ToolCall) else block


def output_item(call_id: str, text: str, *, uuid: str) -> Mapping[str, object]:
    """Return the output of a call."""
    return {"type": "function_call_output", "id": f"fco_{uuid}", "call_id": call_id, "output": text}


def summary_text(summary: str) -> str:
    """Return a summary behind the introduction that the client gives it."""
    return f"{SUMMARY_PREFIX}\n{summary}"


def item_line(item: Mapping[str, object], *, form: Form, ordinal: int | None, at: datetime) -> bytes:
    """Return the line of one item."""
    return json_line(item) if form == "bare" else _wrapped("response_item", item, ordinal, at)


def compacted_line(
    summary: str | None,
    history: Sequence[Mapping[str, object]],
    *,
    window: Mapping[str, object],
    ordinal: int | None,
    at: datetime,
) -> bytes:
    """Return a compaction whose ``history`` replaces everything before it; ``window`` numbers the context windows.

    Without a summary nothing is summarised: its message is empty, as in compactions that the server makes.
    """
    told = "" if summary is None else summary_text(summary)
    payload = {"message": told, "replacement_history": list(history), **window}
    return _wrapped("compacted", payload, ordinal, at)


def turn_lines(turn: str, *, ordinals: tuple[int | None, int | None], at: datetime) -> tuple[bytes, bytes]:
    """Return the marks of where a turn starts and where it is complete; a rollback counts turns by them."""
    start = {"type": "task_started", "turn_id": turn, "model_context_window": None}
    end = {"type": "task_complete", "turn_id": turn, "last_agent_message": None}
    return _wrapped("event_msg", start, ordinals[0], at), _wrapped("event_msg", end, ordinals[1], at)


def header_line(meta: Mapping[str, object], *, ordinal: int, at: datetime) -> bytes:
    """Return the header of a rollout."""
    return _wrapped("session_meta", meta, ordinal, at)


def name_line(thread: str, name: str, *, at: datetime) -> bytes:
    """Return the line of the index that gives a thread its name; the last one counts."""
    return json_line({"id": thread, "thread_name": name, "updated_at": millisecond_time(at)})


def _message(role: str, texts: Sequence[str], uuid: str) -> Mapping[str, object]:
    kind = "output_text" if role == "assistant" else "input_text"
    parts = [{"type": kind, "text": text} for text in texts]
    return {"type": "message", "id": f"msg_{uuid}", "role": role, "content": parts}


def _call(call: ToolCall, uuid: str) -> Mapping[str, object]:
    arguments = call.args if isinstance(call.args, str) else orjson.dumps(call.args).decode()
    head = {"type": "function_call", "id": f"fc_{uuid}", "name": call.name}
    return {**head, "arguments": arguments, "call_id": call.id}


def _wrapped(kind: str, payload: Mapping[str, object], ordinal: int | None, at: datetime) -> bytes:
    number = {} if ordinal is None else {"ordinal": ordinal}
    return json_line({"timestamp": millisecond_time(at), **number, "type": kind, "payload": payload})


Item = Mapping[str, Any]


class CodexWriter(Writer):
    """Lines in the form of the rollout that they are added to."""

    dialect: ClassVar[str] = "codex"

    @contextmanager
    def alone(self, target: Target) -> Generator[None]:
        """Hold Codex's own writer lock."""
        with writer_lock(target.path, target.id):
            yield

    def message(self, target: Target, draft: Draft) -> str:
        """Append what somebody said, and calls, each as an item; return the id of the first one.

        Raises UsageError: it is to follow an older message: lines of a rollout follow each other.
        """
        if draft.parent is not None:
            raise UsageError(f"{target.id}: a rollout of codex has no branches; a message follows the last one")
        uuid = self.means.ids()
        items = _items(draft, uuid)

        def lines(form: Form, ordinal: int | None) -> list[bytes]:
            at = self.means.clock.now()
            numbers = [None if ordinal is None else ordinal + i for i in range(len(items))]
            return [
                item_line(item, form=form, ordinal=number, at=at) for item, number in zip(items, numbers, strict=True)
            ]

        self._append(target, lines)
        return str(items[0].get("id") or "")

    def compaction(self, target: Target, compaction: Compaction) -> str:
        """Append a compaction with its whole replacement history; return the id of the summary's item.

        As in the client, the user's messages before it stay, newest first up to 20,000 tokens; the summary follows
        them, and what is to stay as it is follows the summary. Raises NotFoundError: no item that would be sent has the
        id of the first one that is to stay; UsageError: the rollout is of a version that knew no compactions.
        """
        uuid = self.means.ids()
        # the user message by which the client knows a summary
        summary = _message("user", [summary_text(compaction.summary)], uuid)

        def history(whole: CodexTranscript) -> list[Item]:
            return replacement(whole, summary, compaction.keep_from)

        self._replace(target, uuid, compaction.summary, history)
        return f"msg_{uuid}"

    def clear(self, target: Target, calls: Collection[str], text: str) -> None:
        """Append a replacement history that is the history itself, without what these calls returned.

        Raises UsageError: the rollout is of a version that knew no compactions.
        """
        self._replace(target, self.means.ids(), None, lambda whole: cleared(whole, calls, text))

    def _replace(
        self, target: Target, uuid: str, summary: str | None, history: Callable[[CodexTranscript], list[Item]]
    ) -> None:
        """Append a history in the place of all before it, in a turn of its own where a rollback would reach it."""

        def lines(form: Form, ordinal: int | None) -> list[bytes]:
            if form == "bare":
                raise UsageError(f"{target.id}: a rollout of before version 0.34 takes no compactions")
            whole = CODEX.read(target.session)
            items = history(whole)
            window = window_after(whole, self.means.ids())
            at = self.means.clock.now()
            in_turn = is_rolled_back(whole)
            numbers = [None if ordinal is None else ordinal + i for i in range(3)]
            own = numbers[1] if in_turn else numbers[0]
            line = compacted_line(summary, items, window=window, ordinal=own, at=at)
            if not in_turn:
                return [line]
            start, end = turn_lines(uuid, ordinals=(numbers[0], numbers[2]), at=at)
            return [start, line, end]

        self._append(target, lines)

    def name(self, target: Target, name: str) -> None:
        """Append the name to the index of the home and make it durable, as the client does; the last line counts.

        Raises UsageError: the rollout lies in no Codex home, or the name is empty.
        """
        home, thread = home_of(target.path), self._thread(target)
        if home is None or not thread:
            raise UsageError(f"{target.id}: lies in no Codex home, where names are kept ({INDEX})")
        if not name.strip():
            raise UsageError(f"{target.id}: codex keeps a name once it has one; give it another one")
        line = name_line(thread, name.strip(), at=self.means.clock.now())
        append_record(home / INDEX, line.removesuffix(b"\n"), fsync=True)

    def new_id(self, folder: Path, origin: Target | None = None) -> str:
        """Return the id of a thread."""
        del folder, origin
        return ordered_id(self.means.ids(), self.means.clock.now())

    def fork(self, target: Target, folder: Path, new_id: str, at: str | None = None) -> list[Path]:
        """Begin a thread that refers to this one, whole or up to a message; nothing is copied.

        Raises NotFoundError: there is no such message; UsageError: its client has no such fork of it, the message says
        why.
        """
        del folder
        meta, now = forkable(target.path, target.id), self.means.clock.now()
        end = end_of(target.path, target.id, at)
        home = home_of(target.path)
        if not isinstance(meta.get("id"), str) or home is None:
            self._refuse(target.id, "forks of a rollout without an id")
        path = place(home, new_id, now)
        payload = header(meta, new_id, ordered_id(self.means.ids(), now), end, millisecond_time(now))
        private_folder(path.parent)
        atomic_write(path, header_line(payload, ordinal=end.ordinal, at=now))
        return [path]

    @staticmethod
    def _thread(target: Target) -> str:
        named = thread_in_name(target.path)
        if named or not target.files:
            return named
        return text_in(object_in(first_record(target.path), "payload"), "id")

    def _append(self, target: Target, lines: Callable[[Form, int | None], list[bytes]]) -> None:
        if not target.files:
            self._refuse(target.id, "sessions that slowwave begins; begin it in its client")
        if is_compressed(target.path):
            raise UsageError(f"{os.fspath(target.path)}: is compressed; codex unpacks it when it resumes the session")

        self._add(target.path, lambda: lines(*_form(target.path)))


def _items(draft: Draft, uuid: str) -> Sequence[Mapping[str, object]]:
    if draft.role != "tool":
        return message_items(draft.role, draft.content, uuid=uuid)
    if not isinstance(draft.content, str):
        raise UsageError("the result of a tool is text in codex")
    return [output_item(draft.call_id, draft.content, uuid=uuid)]


def _form(path: Path) -> tuple[Form, int | None]:
    """Return the form of a rollout and, where its lines are numbered, the number of the next one."""
    header = first_record(path)
    if "payload" not in header:
        return "bare", None
    if _ordinal(header) is None:
        return "wrapped", None
    return "paginated", 1 + next((n for record in records_backward(path) if (n := _ordinal(record)) is not None), 0)


def _ordinal(record: dict[str, Any]) -> int | None:
    value: object = record.get("ordinal")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# What a compaction of Codex leaves in the place of everything before it, and the number of the new window.
#
# The items are taken over as they stand in the rollout, with every field: a context that was rebuilt from what this
# version knows would lose the rest for good.


def replacement(whole: CodexTranscript, summary: Item, keep_from: str | None) -> list[Item]:
    """Return the replacement history: the user's messages, the summary, and what stays from ``keep_from`` on.

    Raises NotFoundError: no item that would be sent has that id.
    """
    lines = [*whole.inherited, *whole.lines]
    sent = replay(lines, is_paginated=whole.is_paginated)
    items = _raw_items(sent, lines)
    start = len(sent)
    if keep_from is not None:
        found = next((i for i, m in enumerate(sent) if isinstance(m, CodexMessage) and m.item.id == keep_from), None)
        if found is None:
            raise unknown(keep_from, whole.files.id)
        start = found
    asked = _asked(sent[:start], items[:start])
    return [*asked, summary, *items[start:]]


def cleared(whole: CodexTranscript, calls: Collection[str], text: str) -> list[Item]:
    """Return the history as it is, with a text in the place of what these calls returned."""
    lines = [*whole.inherited, *whole.lines]
    items = _raw_items(replay(lines, is_paginated=whole.is_paginated), lines)
    return [{**item, "output": text} if "output" in item and item.get("call_id") in calls else item for item in items]


def window_after(whole: CodexTranscript, window_id: str) -> dict[str, object]:
    """Return the fields that number the context window after a compaction, where the rollout numbers them."""
    before = _window(whole)
    if before is None:
        return {}
    number, first, current = before
    return {
        "window_number": number + 1,
        "first_window_id": first,
        "previous_window_id": current,
        "window_id": window_id,
    }


def is_rolled_back(whole: CodexTranscript) -> bool:
    """Say whether the last turn was taken back: what follows without a turn of its own would count as part of it."""
    for line in reversed(whole.lines):
        if starts_turn(line):
            return False
        if rolled_back(line):
            return True
    return False


# A fork of a Codex rollout: a header that names its parent and where the history that it shares ends, and no copy.
#
# Tried with client 0.169.0: it goes on from what stands in the parent before that byte and that number, and appends to
# the fork. Only rollouts that the client reads from their end (``history_mode`` is ``paginated``) are forked so.


def forkable(path: Path, session_id: str) -> Mapping[str, Any]:
    """Return the header of a rollout that can be forked.

    Raises UsageError: its client forks none such; the message says why.
    """
    record = first_record(path)
    meta = object_in(record, "payload")
    if path.suffix != ".jsonl":
        raise UsageError(f"{session_id}: is compressed; codex unpacks it when it resumes the session")
    if home_of(path) is None:
        raise UsageError(f"{session_id}: lies in no Codex home, where its client would look for a fork's parent")
    if is_of_sub_agent(meta):
        raise UsageError(f"{session_id}: is a sub-agent's, which works for another session")
    if not is_paginated(meta) or not isinstance(record.get("ordinal"), int):
        raise UsageError(f"{session_id}: its lines have no numbers, so codex has no forks of it by reference")
    return meta


class End(NamedTuple):
    """Where the shared history ends: the first byte and the first number that are not shared."""

    offset: int
    ordinal: int


def end_of(path: Path, session_id: str, at: str | None) -> End:
    """Return where the history ends that a fork shares: behind a message, or behind the last whole line.

    Raises NotFoundError: there is no such message; UsageError: a call that was made before it is answered behind it.
    """
    calls: set[str] = set()
    offset, end = 0, End(0, 0)
    with open_regular(path) as file:
        for line in file:
            offset += len(line)
            record = whole(line) if line.endswith(b"\n") else {}
            ordinal = record.get("ordinal")
            if not isinstance(ordinal, int):
                continue
            end = End(offset, ordinal + 1)
            item = object_in(record, "payload")
            if record.get("type") != "response_item":
                continue
            call = item.get("call_id")
            if isinstance(call, str):
                (calls.discard if str(item.get("type")).endswith("_output") else calls.add)(call)
            if at is not None and item.get("id") == at:
                if calls:
                    raise UsageError(f"{session_id}: a call before {at} is answered after it; name a later message")
                return end
    if at is not None:
        raise unknown(at, session_id)
    return end


def header(meta: Mapping[str, Any], thread: str, window: str, end: End, at: str) -> dict[str, object]:
    """Return the payload of a fork's header: its parent's, under ids of its own.

    ``meta``: the parent's. ``end``: where the shared history ends. ``at``: the time, as the client writes it.
    """
    parent = str(meta["id"])
    base = {"thread_id": parent, "end_ordinal_exclusive": end.ordinal, "end_byte_offset": end.offset}
    own = {"id": thread, "timestamp": at, "forked_from_id": parent, "forked_from_ordinal_exclusive": end.ordinal}
    own |= {name: thread for name in ("session_id",) if name in meta}
    own |= {"context_window": {"window_id": window}} if "context_window" in meta else {}
    return {**meta, **own, "history_base": base}


def place(home: Path, thread: str, now: datetime) -> Path:
    """Return where a new rollout lies; times in names are those of the person's clock."""
    local = now.astimezone()
    return home / SESSIONS / f"{local:%Y/%m/%d}" / f"rollout-{local:%Y-%m-%dT%H-%M-%S}-{thread}.jsonl"


def ordered_id(made: str, now: datetime) -> str:
    """Return a random UUID as one that sorts by time (version 7), as the client's threads have them."""
    milliseconds = int(now.timestamp() * 1000)
    chance = UUID(made).int & ((1 << _SHARED) - 1)
    return str(UUID(int=(milliseconds << _SHARED | chance) & ~(0xF << 76 | 0x3 << 62) | 0x7 << 76 | 0x2 << 62))


def _asked(sent: Sequence[Sent], items: Sequence[Item]) -> list[Item]:
    """Return what the user said, newest first within the client's budget, in the order in which it was said."""
    kept: list[Item] = []
    room = USER_TOKENS
    for message, item in zip(reversed(sent), reversed(items), strict=True):
        if not is_boundary(message) or room <= 0:
            continue
        text = "".join(texts_of(message.item)) if isinstance(message, CodexMessage) else message.text
        size = tokens_of(text)
        kept.append(item if size <= room else {**item, "content": _text(middle_cut(text, room))})
        room -= size
    return kept[::-1]


def _raw_items(sent: Sequence[Sent], lines: Sequence[Line]) -> list[Item]:
    """Return the item of each message with all its fields; words that a line only summarises become plain items."""
    by_place = {(line.span.part, line.span.offset): line for line in lines}
    elements: dict[tuple[int, int], list[Item]] = {}
    found: list[Item] = []
    for message in sent:
        if not isinstance(message, CodexMessage):
            found.append({"type": "message", "role": message.role, "content": _text(message.text)})
            continue
        place = message.span.part, message.span.offset
        if place not in elements:
            elements[place] = _elements(by_place[place])
        found.append(_as_taken(elements[place].pop(0), message.limit))
    return found


def _as_taken(item: Item, limit: Limit | None) -> Item:
    """Return an output as far as the client's history took it: what stands in a replacement is sent as it stands."""
    output: object = item.get("output")
    if limit is None or not isinstance(output, str | list):
        return item
    if isinstance(output, str):
        short = shortened(output, limit)
        return item if short == output else {**item, "output": short}
    parts = cast("list[object]", output)
    texts = [_text_of(part) for part in parts]
    cut = shortened_parts(texts, limit)
    if cut == texts:
        return item
    others = iter([part for part, text in zip(parts, texts, strict=True) if text is None])
    return {**item, "output": [next(others) if t is None else {"type": "input_text", "text": t} for t in cut]}


def _text_of(part: object) -> str | None:
    text = fields_of(part).get("text")
    return text if isinstance(text, str) else None


def _elements(line: Line) -> list[Item]:
    """Return the items that a line holds, those of a replacement history in order, as the replay takes them."""
    fields = line.fields()
    if line.kind == "response_item":
        return [fields]
    history = objects_of(fields.get("replacement_history"))
    return [e for e in history if item_of(msgspec.json.encode(e)).kind in KNOWN_ITEMS]


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "input_text", "text": text}]


def _window(whole: CodexTranscript) -> tuple[int, str, str] | None:
    """Return number, first id and current id of the window that the rollout is in."""
    for line in reversed(whole.lines):
        if line.kind == "compacted":
            fields = line.fields()
            number, current = fields.get("window_number"), fields.get("window_id")
            if isinstance(number, int) and isinstance(current, str):
                return number, str(fields.get("first_window_id") or current), current
    header = next((line.fields() for line in whole.lines if line.kind == "session_meta"), None)
    first = object_in(header or {}, "context_window").get("window_id")
    return (0, first, first) if isinstance(first, str) else None


_SHARED = 80
