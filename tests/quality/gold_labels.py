"""The labelled sessions, and which records of a file say the same thing twice."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from tests.quality.beside import CORPUS, GOLD

_LEAST = 12
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Label:
    """What an annotator marked: something to remember, or a distractor that must not be.

    Attributes:
        annotators: whose label it is; two when both marked the same record as a memory.
        places: the records that show it, each with the records that say the same.
        why: why it is a distractor; "" for a memory.
    """

    annotators: frozenset[str]
    session: Path
    category: str
    statement: str
    importance: int
    origin: str
    findable: bool
    why: str
    places: frozenset[Place]

    @property
    def repository(self) -> str:
        """The repository that the session worked in."""
        return self.session.parent.name


def labels() -> list[Label]:
    """Return every label of every annotator."""
    return [
        _label(file.stem, json.loads(line))
        for file in sorted(GOLD.glob("*.jsonl"))
        for line in file.read_text().splitlines()
    ]


def merged(every: Sequence[Label]) -> list[Label]:
    """Return the labels with those once that two annotators gave to the same records."""
    kept: list[Label] = []
    for label in every:
        same = next((k for k in kept if _is_same(k, label)), None)
        if same is None:
            kept.append(label)
        else:
            kept[kept.index(same)] = Label(
                same.annotators | label.annotators,
                same.session,
                same.category,
                same.statement,
                max(same.importance, label.importance),
                same.origin,
                same.findable or label.findable,
                same.why,
                same.places | label.places,
            )
    return kept


def by_session(every: Iterable[Label]) -> dict[Path, list[Label]]:
    """Return labels by the session that they belong to."""
    found: dict[Path, list[Label]] = defaultdict(list)
    for label in every:
        found[label.session].append(label)
    return dict(found)


def _is_same(one: Label, other: Label) -> bool:
    is_theirs = not one.annotators & other.annotators and bool(one.why) == bool(other.why)
    return is_theirs and one.session == other.session and bool(one.places & other.places)


def _label(annotator: str, raw: dict[str, Any]) -> Label:
    path = CORPUS / raw["session"]
    lines = {line for item in raw["evidence"] for line in same_words(path, item["line"])}
    return Label(
        frozenset({annotator}),
        path,
        raw.get("category", ""),
        raw.get("statement", ""),
        raw.get("importance", 0),
        raw.get("origin", ""),
        raw.get("offline_findable", False),
        raw.get("why", "") or ("distractor" if raw.get("distractor") else ""),
        frozenset((str(path), line) for line in lines),
    )


def same_words(path: Path, line: int) -> frozenset[int]:
    """Return the lines of a file that hold the same typed words as one of them, itself included.

    Codex writes every prompt as an event and as an item; Claude Code writes what is typed while it works into its
    queue and again when it is delivered. An annotator names one of them, and so does a candidate.
    """
    return _twins(path).get(line, frozenset({line}))


@cache
def _twins(path: Path) -> dict[int, frozenset[int]]:
    places: dict[str, set[int]] = defaultdict(set)
    for number, raw in enumerate(path.read_bytes().splitlines(), start=1):
        words = _typed(raw)
        if len(words) >= _LEAST:
            places[words].add(number)
    return {line: frozenset(lines) for lines in places.values() if len(lines) > 1 for line in lines}


def _typed(raw: bytes) -> str:
    """Return the typed words of one of the records that come in twos, else ""."""
    try:
        record = json.loads(raw)
    except ValueError:
        return ""
    if not isinstance(record, dict):
        return ""
    given = cast("dict[str, Any]", record)
    payload, message, attachment = (_object(given.get(name)) for name in ("payload", "message", "attachment"))
    if payload.get("type") == "user_message" or payload.get("role") == "user":
        return _flat(payload.get("message") or payload.get("content"))
    where = {"queue-operation": given.get("content"), "attachment": attachment.get("prompt")}
    return _flat((where | {"user": message.get("content")}).get(str(given.get("type"))))


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _flat(content: object) -> str:
    if isinstance(content, list):
        content = " ".join(str(_object(block).get("text", "")) for block in cast("list[object]", content))
    return " ".join(content.split()) if isinstance(content, str) else ""
