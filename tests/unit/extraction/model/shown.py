"""What a model is shown of a session built by a test, and what becomes of what it proposes about it."""

from collections.abc import Collection, Mapping
from pathlib import Path

from slowwave.extraction.model.material import Passage, passages_of
from slowwave.extraction.model.verification import Accepted, Checks, Verified, accepted
from slowwave.formats.registry import by_name
from slowwave.memory import Candidate, CandidateOrigin, Category, SessionRef, name_to_json
from slowwave.memory.book import Memory
from slowwave.memory.ledger import Sighting
from slowwave.models.base import Answer, Usage
from slowwave.reading.session import read
from slowwave.secrets import NAMELESS, Redactor
from tests.unit.extraction.talk import Talk


def passages(folder: Path, talk: Talk, redact: Redactor = NAMELESS) -> list[Passage]:
    files = talk.write(folder / "store").files
    transcript = by_name("claude").read(files)
    return passages_of(read([m for m in transcript.messages if m.active and not m.sidechain], redact))


def checks_of(
    folder: Path,
    talk: Talk,
    *,
    memories: Mapping[str, Memory] | None = None,
    notes: Mapping[str, Candidate] | None = None,
    new: Collection[int] | None = None,
    redact: Redactor = NAMELESS,
) -> Checks:
    numbered = dict(enumerate(passages(folder, talk, redact), 1))
    path = folder / "store" / f"{talk.id}.jsonl"
    session = SessionRef("claude", talk.id, name_to_json(path))
    return Checks(numbered, new or range(1, 99), memories or {}, notes or {}, session, [path], redact, "model/3:m")


def answer(*operations: Mapping[str, object]) -> Answer:
    return Answer({"operations": list(operations)}, "", "schema", Usage(1, 1), "m")


def verified(checks: Checks, *operations: Mapping[str, object]) -> Accepted:
    return accepted(answer(*operations), checks)


def kept(checks: Checks, operation: Mapping[str, object]) -> Verified:
    """Return what becomes of the one operation, which passes."""
    found = verified(checks, operation)
    assert found.left == []
    (note,) = found.notes
    return note


def memory(
    text: str, name: str = "m1", *, origin: CandidateOrigin = "user_explicit", category: Category = "constraint"
) -> Memory:
    seen = Sighting("claude", "s0", "/s0.jsonl", origin, 0.9, "2026-10-01T09:00:00Z")
    return Memory(name, category, text, 0.9, "", "", "f.md", f"- {text}", "x", "2026-10-01T09:00:00Z", (), (seen,), ())
