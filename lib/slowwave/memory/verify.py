"""Whether every memory proves itself: its evidence re-reads to the same bytes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from slowwave.memory.book import Memory
from slowwave.memory.evidence import Checked, Finding, check_all


@dataclass(frozen=True, slots=True)
class Verified:
    """One memory with what became of its evidence."""

    memory: Memory
    evidence: tuple[Checked, ...]

    @property
    def is_proven(self) -> bool:
        """Whether every piece of its evidence was found."""
        return all(c.finding in {"ok", "moved"} for c in self.evidence)


def verify(memories: Iterable[Memory], folders: Sequence[Path]) -> list[Verified]:
    """Read the evidence of memories again; ``folders`` are where files that were moved are looked for.

    Raises:
        UnreadableError: a database changes all the time while it is read.
    """
    every = list(memories)
    checked = iter(check_all([e for m in every for e in m.evidence], folders))
    return [Verified(m, tuple(islice(checked, len(m.evidence)))) for m in every]


def totals(verified: Iterable[Verified]) -> dict[str, int]:
    """Return the numbers of pieces of evidence by finding, of those moved that are archived, and of memories."""
    every = list(verified)
    findings: tuple[Finding, ...] = ("ok", "moved", "changed", "lost")
    checked = [c.finding for v in every for c in v.evidence]
    return {
        "checked": len(checked),
        **{finding: checked.count(finding) for finding in findings},
        "archived": sum(c.is_archived for v in every for c in v.evidence if c.finding == "moved"),
        "memories": len(every),
        "unproven": sum(not v.is_proven for v in every),
    }
