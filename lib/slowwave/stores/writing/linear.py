"""What the writers of clients without trees have in common: who may say what, and text that is none."""

from collections.abc import Callable

from slowwave.errors import UsageError
from slowwave.stores.writing.base import Draft


def valid(make: Callable[[], bytes]) -> bytes:
    """Return the line that ``make`` makes.

    Raises:
        UsageError: what goes into it is no valid text, or nothing that JSON knows.
    """
    try:
        return make()
    except (TypeError, UnicodeEncodeError) as error:
        raise UsageError(f"not valid text or JSON: {error}; nothing was written") from error


def check_speaker(draft: Draft, *, acts: bool) -> None:
    """Refuse a message that its speaker could not have said.

    Args:
        draft: the message.
        acts: it calls tools or thinks.

    Raises:
        UsageError: only an assistant acts, and only a tool answers a call.
    """
    if acts and draft.role != "assistant":
        raise UsageError(f"only an assistant thinks and calls tools, not a {draft.role}; nothing was written")
    if (draft.role == "tool") != bool(draft.call_id):
        raise UsageError("a tool's message, and no other, names the call that it answers; nothing was written")
