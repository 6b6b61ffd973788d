"""What a new entry of pi's must know of those before it, looked up from the end: the leaf, free ids, the model."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from slowwave.errors import UnreadableError, UsageError
from slowwave.stores.writing.lookup import first_record, record_with, records_backward

# Larger files are not searched for an id of eight digits; the new one is a whole UUID then, which cannot collide.
_SEARCHED_BYTES = 8 << 20
_FIRST_WITH_IDS = 2


class Model(NamedTuple):
    """How an answer says which model gave it; pi goes on with that of the last one on the path."""

    api: str
    provider: str
    name: str


# a session without an answer names no model; pi says so and takes its default one
_NO_MODEL = Model("openai-completions", "slowwave", "none")


class PiTail:
    """The entries of a session from the last to the first; :func:`on_disk` and :func:`waiting` make one."""

    def __init__(
        self, backward: Callable[[], Iterator[dict[str, Any]]], with_id: Callable[[str], bool], *, large: bool
    ) -> None:
        """Take how entries are read and looked up; of ``large`` sessions not all ids are known."""
        self._backward = backward
        self.has = with_id
        self._large = large

    def leaf(self) -> str | None:
        """Return the last entry with an id: one without would hide everything before it from pi."""
        for record in self._backward():
            if record.get("type") != "session" and isinstance(record.get("id"), str):
                return str(record["id"])
        return None

    def __contains__(self, entry_id: object) -> bool:
        """Say whether an id may be taken; of large sessions any may."""
        return self._large or (isinstance(entry_id, str) and self.has(entry_id))

    def model(self, parent: str | None) -> Model:
        """Return the model of the last answer on the path to ``parent``, or the one that was chosen after it."""
        chosen: tuple[str, str] | None = None
        for record in self._path(parent):
            if record.get("type") == "model_change" and chosen is None:
                chosen = _text(record.get("provider")), _text(record.get("modelId"))
            message = _answer(record)
            if message is None:
                continue
            found = Model(*(_text(message.get(key)) for key in ("api", "provider", "model")))
            if chosen is None:
                return found
            if found.provider == chosen[0]:
                return Model(found.api, *chosen)
        return _NO_MODEL if chosen is None else Model(_NO_MODEL.api, *chosen)

    def _path(self, entry_id: str | None) -> Iterator[dict[str, Any]]:
        """Yield an entry and those above it; pi writes none before its parent."""
        wanted: object = entry_id
        for record in self._backward():
            if wanted is None:
                return
            if record.get("id") == wanted and record.get("type") != "session":
                yield record
                wanted = record.get("parentId")


def on_disk(path: Path) -> PiTail:
    """Return the entries of a file.

    Raises:
        UnreadableError: pi would not take it for a session.
        UsageError: it is of version 1, whose entries have no ids.
    """
    header = first_record(path)
    if header.get("type") != "session" or not isinstance(header.get("id"), str):
        raise UnreadableError(path, "begins with no header", "pi would begin a new session in this file")
    version = header.get("version")
    if version is None or (isinstance(version, (int, float)) and version < _FIRST_WITH_IDS):
        raise UsageError(f"{path}: version 1 of pi has no ids: open it in pi once, which migrates it, or fork it")

    def has(entry_id: str) -> bool:
        return (
            record_with((path,), entry_id, lambda r: r.get("id") == entry_id and r.get("type") != "session") is not None
        )

    return PiTail(lambda: records_backward(path), has, large=path.stat().st_size > _SEARCHED_BYTES)


def waiting(lines: Sequence[bytes]) -> PiTail:
    """Return the entries that wait for an answer."""
    entries = [cast("dict[str, Any]", msgspec.json.decode(line)) for line in lines]
    return PiTail(lambda: reversed(entries), lambda entry_id: any(e["id"] == entry_id for e in entries), large=False)


def _answer(record: dict[str, Any]) -> dict[str, Any] | None:
    message = record.get("message")
    if record.get("type") != "message" or not isinstance(message, dict):
        return None
    fields = cast("dict[str, Any]", message)
    return fields if fields.get("role") == "assistant" else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
