"""The labelled sessions, and which labels a text says: by the labels' own expressions, whoever words it."""

import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.quality.beside import CORPUS, GOLD

SCORER = GOLD / "score_text.py"


@dataclass(frozen=True, slots=True)
class Label:
    """What an annotator marked in a session: something to remember, or a distractor that must not be.

    Attributes:
        annotator: the file that it stands in.
        session: the session's file below the corpus.
        says: what a text has to match, all of it, to say this.
        is_distractor: it looks like a memory and is none.
    """

    name: str
    annotator: str
    session: str
    category: str
    statement: str
    importance: int
    origin: str
    findable: bool
    says: tuple[str, ...]
    is_distractor: bool


@cache
def every_label() -> tuple[Label, ...]:
    """Return all labels and distractors of all annotators."""
    return tuple(_label(raw) for raw in _scorer().labelled(sorted(GOLD.glob("*.jsonl"))))


@cache
def labels() -> tuple[Label, ...]:
    """Return what is to be remembered."""
    return tuple(label for label in every_label() if not label.is_distractor)


@cache
def distractors() -> tuple[Label, ...]:
    """Return what must not be remembered."""
    return tuple(label for label in every_label() if label.is_distractor)


def said_by(session: str, text: str, among: tuple[Label, ...] | None = None) -> frozenset[str]:
    """Return the names of the labels of a session that a text says."""
    says = _scorer().says
    wanted = labels() if among is None else among
    return frozenset(x.name for x in wanted if x.session == session and says(text, x.says))


def sessions() -> list[Path]:
    """Return the labelled sessions."""
    return sorted({CORPUS / label.session for label in every_label()})


def _label(raw: dict[str, Any]) -> Label:
    return Label(
        raw["name"],
        Path(raw["name"].rpartition(":")[0]).stem,
        raw["session"],
        raw.get("category", ""),
        raw.get("statement", ""),
        raw.get("importance", 0),
        raw.get("origin", ""),
        raw.get("offline_findable", False),
        tuple(raw["must"] if "must" in raw else raw["never"]),
        "must" not in raw,
    )


@cache
def _scorer() -> Any:
    spec = importlib.util.spec_from_file_location("score_text", SCORER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
