"""What a compaction of Codex leaves in the place of everything before it, and the number of the new window.

The items are taken over as they stand in the rollout, with every field: a context that was rebuilt from what this
version knows would lose the rest for good.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import msgspec

from slowwave.formats.codex.dialect import CodexTranscript
from slowwave.formats.codex.messages import (
    CodexMessage,
    Limit,
    middle_cut,
    shortened,
    shortened_parts,
    texts_of,
    tokens_of,
)
from slowwave.formats.codex.records import KNOWN_ITEMS, Line, item_of
from slowwave.formats.codex.replay import USER_TOKENS, Sent, is_boundary, replay, rolled_back, starts_turn
from slowwave.stores.writing.lookup import unknown

Item = Mapping[str, Any]


def replacement(whole: CodexTranscript, summary: Item, keep_from: str | None) -> list[Item]:
    """Return the replacement history: the user's messages, the summary, and what stays from ``keep_from`` on.

    Raises:
        NotFoundError: no item that would be sent has that id.
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
    text: object = cast("Item", part).get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else None


def _elements(line: Line) -> list[Item]:
    """Return the items that a line holds, those of a replacement history in order, as the replay takes them."""
    fields = line.fields()
    if line.kind == "response_item":
        return [fields]
    history = cast("list[object]", fields.get("replacement_history") or [])
    items = [cast("Item", e) for e in history if isinstance(e, dict)]
    return [e for e in items if item_of(msgspec.json.encode(e)).kind in KNOWN_ITEMS]


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "input_text", "text": text}]


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


def _window(whole: CodexTranscript) -> tuple[int, str, str] | None:
    """Return number, first id and current id of the window that the rollout is in."""
    for line in reversed(whole.lines):
        if line.kind == "compacted":
            fields = line.fields()
            number, current = fields.get("window_number"), fields.get("window_id")
            if isinstance(number, int) and isinstance(current, str):
                return number, str(fields.get("first_window_id") or current), current
    header = next((line.fields() for line in whole.lines if line.kind == "session_meta"), None)
    context = header.get("context_window") if header is not None else None
    first = cast("dict[str, object]", context).get("window_id") if isinstance(context, dict) else None
    return (0, first, first) if isinstance(first, str) else None
