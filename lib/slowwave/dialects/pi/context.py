"""What pi sends when a session is resumed, first half: the path to its own messages, and the model that goes on.

Source: ``buildSessionContext`` and ``convertToLlm`` of pi 0.58.3 and 0.73.1; the second half is :mod:`pi_wire`.
"""

from typing import Any, NamedTuple, cast

from slowwave.dialects.pi.blocks import parts_of
from slowwave.dialects.pi.load import Loaded
from slowwave.dialects.pi.records import Entry, text_or_empty
from slowwave.dialects.pi.texts import branch_text, compaction_text, shell_text
from slowwave.records.lenient import whole
from slowwave.records.values import without_lone_halves


class Model(NamedTuple):
    """The model that a resumed session goes on with."""

    provider: str
    name: str
    api: str


class Said(NamedTuple):
    """One message on its way to the model: its role (user, assistant or toolResult), its parts and its other fields."""

    role: str
    parts: list[dict[str, Any]]
    fields: dict[str, Any]
    entry: Entry


class Settings(NamedTuple):
    """What the path says beside messages."""

    model: Model | None
    thinking_level: str


def session_entries(path: list[Entry], loaded: Loaded) -> list[Entry]:
    """Return the entries whose messages are in the context, the latest compaction first.

    From ``firstKeptEntryId`` on, inclusive, entries before the compaction stay, older compactions among them without
    their summary; an id that is not on the path keeps none of them.
    """
    last = max((i for i, e in enumerate(path) if e.type == "compaction"), default=-1)
    if last < 0:
        return path
    first = _first_kept(path[last], loaded)
    begin = next((i for i, e in enumerate(path[:last]) if e.id is not None and e.id == first), last)
    around = path[begin:last] + path[last + 1 :]
    return [path[last], *(e for e in around if e.type != "compaction")]


def _first_kept(compaction: Entry, loaded: Loaded) -> str | None:
    known = loaded.kept.get(compaction.id or "")
    return known if known is not None else compaction.fields().get("firstKeptEntryId")


def said(entries: list[Entry]) -> list[Said]:
    """Return the messages of entries in the three roles that a model knows; the rest says nothing to it."""
    return [item for entry in entries if (item := _said(entry)) is not None]


def _said(entry: Entry) -> Said | None:
    body = _sayable(entry)
    item: Said | None = None
    match entry.kind:
        case ("user" | "assistant" | "toolResult") as role:
            content = body.get("content")
            # Clawdbot's older results are bare strings, of which pi sends nothing
            is_lost = role == "toolResult" and isinstance(content, str)
            item = Said(role, [] if is_lost else _parts(content), body, entry)
        case "custom" | "custom_message":
            item = Said("user", _parts(body.get("content")), body, entry)
        case "bashExecution" if not body.get("excludeFromContext"):
            item = _user(shell_text(body), body, entry)
        case "compaction" | "compactionSummary":
            item = _user(compaction_text(body), body, entry)
        case "branchSummary":
            item = _user(branch_text(body), body, entry)
        case "branch_summary" if body.get("summary"):
            item = _user(branch_text(body), body, entry)
        case _:
            pass
    return item


def _parts(content: object) -> list[dict[str, Any]]:
    """Return content as pi's converters see it: a bare string among the parts of a list is no text to them."""
    if not isinstance(content, list):
        return parts_of(content)
    items = cast("list[object]", content)
    return [cast("dict[str, Any]", i) if isinstance(i, dict) else {"type": type(i).__name__} for i in items]


def _sayable(entry: Entry) -> dict[str, Any]:
    """Return what an entry says as pi sends it: without lone halves of surrogate pairs, which no UTF-8 can hold."""
    raw = without_lone_halves(entry.span.raw)
    if raw is entry.span.raw:
        return entry.message() if entry.role else entry.fields()
    fields = whole(raw)
    message = fields.get("message")
    return fields if not entry.role else cast("dict[str, Any]", message) if isinstance(message, dict) else {}


def _user(text: str, body: dict[str, Any], entry: Entry) -> Said:
    return Said("user", [{"type": "text", "text": text}], body, entry)


def settings_of(path: list[Entry], entries: list[Entry]) -> Settings:
    """Return the thinking level and the model of a path: the latest model change or answer of a model names it.

    How a model is spoken to stands in its answers, wherever in the file (``entries``) they are.
    """
    named = next((name for e in reversed(path) if (name := _named(e)) is not None), None)
    change = next((e for e in reversed(path) if e.type == "thinking_level_change"), None)
    level = text_or_empty(change.fields().get("thinkingLevel")) if change is not None else "off"
    return Settings(None if named is None else Model(*named, _api(named, entries)), level)


def _named(entry: Entry) -> tuple[str, str] | None:
    """Return the provider and the name of the model that an entry tells of."""
    if entry.type == "model_change":
        fields = entry.fields()
        return text_or_empty(fields.get("provider")), text_or_empty(fields.get("modelId"))
    if entry.role == "assistant":
        fields = entry.message()
        return text_or_empty(fields.get("provider")), text_or_empty(fields.get("model"))
    return None


def _api(named: tuple[str, str], entries: list[Entry]) -> str:
    """Return which API a model is spoken to with: as in its answers, or in those of its provider."""
    same_provider = ""
    for entry in reversed(entries):
        if entry.role != "assistant":
            continue
        body = entry.message()
        api = text_or_empty(body.get("api"))
        if api and body.get("provider") == named[0]:
            if body.get("model") == named[1]:
                return api
            same_provider = same_provider or api
    return same_provider or _APIS.get(named[0]) or _api_by_name(named[1])


def _api_by_name(model: str) -> str:
    """Guess the API of a provider that a person configured and that no answer in the file is of."""
    return "anthropic-messages" if "claude" in model.lower() else "openai-completions"


_APIS = {"anthropic": "anthropic-messages", "openai": "openai-responses", "amazon-bedrock": "bedrock-converse-stream"}
