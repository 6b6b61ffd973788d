"""The path of a pi session as items, with the estimates of pi itself.

Source: ``estimateTokens``, ``getMessageFromEntry`` and ``findValidCutPoints`` of pi 0.58.3. Unlike there, images that
a person sent count, and so do messages of extensions and summaries of branches; answers that failed or were aborted
do not, since neither pi nor Clawdbot sends them again, and what they called for was never done.
"""

from collections.abc import Mapping, Sequence

from slowwave.compaction.files import NO_FILES, of_details, without_tags
from slowwave.compaction.items import Item, Kind, has_failed, item_of, usage_of
from slowwave.compaction.tokens import IMAGE_LENGTH, PI, stringify, units
from slowwave.formats.model import text_in
from slowwave.formats.pi.dialect import session_entries
from slowwave.formats.pi.records import Entry, Loaded, PiMessage, parts_of

_KINDS: Mapping[str, Kind] = {
    "user": "user",
    "bashExecution": "user",
    "custom_message": "user",
    "branch_summary": "user",
    "branchSummary": "user",
    "compactionSummary": "user",
    "assistant": "assistant",
    "toolResult": "result",
    "custom": "note",
    "hookMessage": "note",
    "compaction": "compaction",
}


def pi_items(path: Sequence[Entry], loaded: Loaded, cwd: str = "") -> list[Item]:
    """Return the items of a path: the latest compaction first, then what it kept, then what followed.

    Older compactions are not among them, so the region of the next compaction begins where the last one's kept range
    does; pi 0.58.3 begins behind the compaction and forgets what it kept (its issue 2608).
    """
    last = max((i for i, entry in enumerate(path) if entry.type == "compaction"), default=-1)
    before = {id(entry) for entry in path[: last + 1]}
    return [_item(entry, cwd, is_stale=id(entry) in before) for entry in session_entries(list(path), loaded)]


def message_tokens(kind: str, body: Mapping[str, object]) -> int:
    """Return the estimate of a message in pi's own form; ``kind`` is its role, or the type of its entry."""
    match kind:
        case "bashExecution":
            length = units(text_in(body, "command")) + units(text_in(body, "output"))
        case "compaction" | "branch_summary" | "compactionSummary" | "branchSummary":
            length = units(text_in(body, "summary"))
        case _:
            length = sum(map(_part_length, parts_of(body.get("content"))))
    return PI.tokens(length)


def _part_length(part: Mapping[str, object]) -> int:
    match part.get("type"):
        case "text":
            return units(text_in(part, "text"))
        case "thinking":
            return units(text_in(part, "thinking"))
        case "toolCall":
            arguments = part.get("arguments")
            return units(text_in(part, "name")) + (0 if arguments is None else units(stringify(arguments)))
        case "image":
            return IMAGE_LENGTH
        case _:
            return 0


def _item(entry: Entry, cwd: str, *, is_stale: bool) -> Item:
    kind = _KINDS.get(entry.kind, "setting")
    body = entry.message() if entry.role else entry.fields()
    if kind == "setting" or body.get("excludeFromContext") or (kind == "assistant" and has_failed(body)):
        return Item(entry.id, "setting", is_stale=is_stale)
    item = item_of(PiMessage(entry, cwd, True), message_tokens(entry.kind, body), kind)  # noqa: FBT003  # a struct's field
    item = item._replace(id=entry.id, is_stale=is_stale)
    if kind == "compaction":
        # an extension's details are its own business
        files = NO_FILES if body.get("fromHook") else of_details(body.get("details"))
        return item._replace(summary=without_tags(text_in(body, "summary")), files=files)
    return item._replace(usage=usage_of(body)) if kind == "assistant" else item
