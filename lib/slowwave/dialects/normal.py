"""Messages in the form in which contexts of different clients are compared, and which ``sessions context`` prints."""

import re
from collections.abc import Iterable

from slowwave.dialects.model import Injected, Message, Text, ToolResult

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


class Verbatim(ToolResult, frozen=True, gc=False):
    """A result that is compared as it stands: its client puts no reminders into results and trims nothing."""


def without_reminders(text: str) -> str:
    """Return ``text`` without the reminders of the harness and without white space at its ends."""
    return (_REMINDER.sub("", text) if "<system-reminder>" in text else text).strip()


def normal_form(messages: Iterable[Message]) -> list[dict[str, object]]:
    """Return each message as ``role``, ``text``, ``calls`` and ``results``, without what is empty.

    Reminders and reasoning are left out; a message of which nothing is left does not appear.
    """
    return [form for m in messages if (form := _one(m)).keys() - {"role"}]


def _one(message: Message) -> dict[str, object]:
    form: dict[str, object] = {"role": message.role}
    texts = [without_reminders(b.text) for b in message.blocks if isinstance(b, Text | Injected)]
    if text := "\n".join(t for t in texts if t):
        form["text"] = text
    if message.calls:
        form["calls"] = [{"id": c.id, "name": c.name, "args": c.args} for c in message.calls]
    if message.results:
        form["results"] = [{"id": r.id, "text": _result_text(r)} for r in message.results]
    return form


def _result_text(result: ToolResult) -> str:
    return result.text if isinstance(result, Verbatim) else without_reminders(result.text)
