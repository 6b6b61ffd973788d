"""Operations that a model proposes over numbered entries, read from whatever it wrote."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

Op = Literal["merge", "supersede", "drop", "keep", "add"]
_OPS = get_args(Op)
# one question is about fewer; more is a model that has lost its way
_MOST = 2_000

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["operations"],
    "properties": {
        "operations": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["op", "entries", "by", "text"],
                "properties": {
                    "op": {"type": "string", "enum": list(_OPS)},
                    "entries": {"type": "array", "items": {"type": "integer"}},
                    "by": {"type": "integer"},
                    "text": {"type": "string"},
                },
            },
        }
    },
}


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposed operation.

    Attributes:
        op: merge (the entries say the same, best said as ``text``), supersede (``by`` takes the place of the entries),
            drop, keep or add.
        entries: numbers of the entries that it is about.
        by: of supersede, the number of the newer entry; else 0.
        text: of merge, the words to keep, "" for those of the best entry.
    """

    op: Op
    entries: tuple[int, ...]
    by: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A proposal that was not followed, and why; ``number`` counts from 1 in the order of the answer."""

    number: int
    reason: str


def read_proposals(data: Any) -> tuple[list[tuple[int, Proposal]], list[Refusal]]:
    """Return the proposals in a model's answer with their place in it, and what was none."""
    raw = cast("dict[str, Any]", data).get("operations") if isinstance(data, dict) else data
    if not isinstance(raw, list):
        return [], [Refusal(0, "the answer holds no list of operations")]
    found: list[tuple[int, Proposal]] = []
    refused: list[Refusal] = []
    for number, item in enumerate(cast("list[Any]", raw), 1):
        if number > _MOST:
            refused.append(Refusal(number, f"more than {_MOST} operations; the rest was not read"))
            break
        proposal = _proposal(item)
        if isinstance(proposal, str):
            refused.append(Refusal(number, proposal))
        else:
            found.append((number, proposal))
    return found, refused


def _proposal(item: Any) -> Proposal | str:
    if not isinstance(item, dict):
        return "is not an object"
    fields = cast("dict[str, Any]", item)
    op, entries = fields.get("op"), fields.get("entries")
    by, text = fields.get("by") or 0, fields.get("text") or ""
    if not isinstance(op, str) or op.lower() not in _OPS:
        return "names no known operation"
    if not isinstance(entries, list) or not entries or not all(map(_is_number, cast("list[Any]", entries))):
        return "names no entries by number"
    if not _is_number(by) or not isinstance(text, str):
        return "by is not a number, or text is not a string"
    return Proposal(
        cast("Op", op.lower()), tuple(dict.fromkeys(cast("list[int]", entries))), by, " ".join(text.split())
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
