"""The lists of tasks that agents keep through their clients, as they stood last.

Whole lists (TodoWrite of Claude Code, ``todowrite`` of opencode, ``update_plan`` of Codex) replace each other; Claude
Code 2.1 writes single tasks (TaskCreate, TaskUpdate) whose numbers its answers tell.
"""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, cast

from slowwave.compaction.exchanges import Exchange
from slowwave.compaction.javascript import fields_of
from slowwave.formats.model import Span

Status = Literal["pending", "in_progress", "completed"]
_LISTS = {"todowrite": "todos", "todo_write": "todos", "update_plan": "plan", "write_todos": "todos"}
_TEXTS = ("content", "step", "description", "subject", "title", "text")
_CREATED = re.compile(r"#(\d+)")
_STATES: dict[str, Status] = {"completed": "completed", "done": "completed", "in_progress": "in_progress"}
_GONE = frozenset({"deleted", "cancelled", "canceled"})


class Task(NamedTuple):
    """One task as it stood last."""

    text: str
    status: Status
    sources: tuple[Span, ...]


def tasks_of(every: Iterable[Exchange]) -> list[Task]:
    """Return the tasks of all lists as they stood last; of whole lists those of the last, those done earlier too."""
    listed: dict[str, Task] = {}
    numbered: dict[str, Task] = {}
    for exchange in every:
        name = exchange.call.name.lower()
        if exchange.failed:
            continue
        items = exchange.fields.get(_LISTS.get(name, ""))
        if isinstance(items, list):
            done = {key: task for key, task in listed.items() if task.status == "completed"}
            listed = done | _listed(exchange, cast("list[object]", items))
        elif name == "taskcreate":
            _create(exchange, numbered)
        elif name == "taskupdate":
            _update(exchange, numbered)
    return [*listed.values(), *numbered.values()]


def _listed(exchange: Exchange, items: list[object]) -> dict[str, Task]:
    found: dict[str, Task] = {}
    for item in items:
        fields = fields_of(item)
        text = next((t for key in _TEXTS if isinstance(t := fields.get(key), str) and t.strip()), "")
        status = fields.get("status")
        if text and status not in _GONE:
            found[text.casefold()] = Task(text, _STATES.get(str(status), "pending"), exchange.sources)
    return found


def _create(exchange: Exchange, numbered: dict[str, Task]) -> None:
    subject = exchange.fields.get("subject")
    number = _CREATED.search(exchange.result.text[:100]) if exchange.result is not None else None
    if isinstance(subject, str) and subject.strip():
        numbered[number[1] if number else f"unnumbered {len(numbered)}"] = Task(subject, "pending", exchange.sources)


def _update(exchange: Exchange, numbered: dict[str, Task]) -> None:
    number, status = str(exchange.fields.get("taskId", "")), exchange.fields.get("status")
    known = numbered.get(number)
    if status in _GONE:
        numbered.pop(number, None)
    elif known is not None and isinstance(status, str):
        state = _STATES.get(status, "pending")
        numbered[number] = known._replace(status=state, sources=(*known.sources, *exchange.sources))
