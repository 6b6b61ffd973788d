"""What Codex would send of a rollout as items, with what calls were given decoded."""

from collections.abc import Iterable

import msgspec

from slowwave.compaction.estimates import CODEX
from slowwave.compaction.items import Item, items_of
from slowwave.formats.codex.messages import SUMMARY_PREFIX, CodexMessage
from slowwave.formats.model import Message


def codex_items(context: Iterable[Message]) -> list[Item]:
    """Return the items of a context, or of a stretch of it."""
    items = items_of(list(context), CODEX)
    for at, item in enumerate(items):
        message = item.message
        if isinstance(message, CodexMessage):  # the ledger looks for files in what calls were given
            message = msgspec.structs.replace(message, as_sent=False, opened=None)
        items[at] = item._replace(summary=item.summary.removeprefix(SUMMARY_PREFIX).strip(), message=message)
    return items
