"""What a proof is made of: probes, what a summary lost of them, and the verdict."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from slowwave.formats.model import Span

ProbeKind = Literal[
    "modified", "read", "error", "command", "ask", "constraint", "task", "decision", "identifier"
]  # fmt: skip
KINDS: tuple[ProbeKind, ...] = (
    "modified",
    "read",
    "error",
    "command",
    "ask",
    "constraint",
    "task",
    "decision",
    "identifier",
)
# what a next turn needs most weighs most; a wrong start costs more than a file read again
WEIGHTS: dict[ProbeKind, int] = {
    "modified": 3,
    "read": 1,
    "error": 3,
    "command": 1,
    "ask": 2,
    "constraint": 2,
    "task": 2,
    "decision": 2,
    "identifier": 1,
}
_TEXT_CHARS = 200


class Probe(NamedTuple):
    """One thing that a summary should still tell.

    Attributes:
        kind: what it is.
        text: in the words of the session.
        spellings: what counts as telling it exactly; none when its words are what counts.
        failed: of a command: it failed the last time.
        sources: the records that it comes from.
    """

    kind: ProbeKind
    text: str
    spellings: tuple[str, ...] = ()
    failed: bool = False
    sources: tuple[Span, ...] = ()


class Place(NamedTuple):
    """Bytes of a session's file: which part, from where, how many."""

    part: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Loss:
    """What became of the probes.

    Attributes:
        total: number of probes by kind; kinds without any are not in it.
        lost: the probes that the summary does not answer, in their order.
    """

    total: dict[ProbeKind, int]
    lost: tuple[Probe, ...]

    def retention(self, kind: ProbeKind) -> float:
        """Return the share of a kind that was kept; 1 when there was nothing to keep."""
        number = self.total.get(kind, 0)
        return 1 - sum(probe.kind == kind for probe in self.lost) / number if number else 1.0

    @property
    def score(self) -> float:
        """The mean retention over the kinds that there are, weighted."""
        weight = sum(WEIGHTS[kind] for kind in self.total)
        return sum(WEIGHTS[kind] * self.retention(kind) for kind in self.total) / weight if weight else 1.0

    def as_fields(self) -> dict[str, object]:
        """Return the report as it is stored: kept and total by kind, and every lost probe with where it stands."""
        gone = Counter(probe.kind for probe in self.lost)
        return {
            "score": round(self.score, 4),
            "kinds": {kind: {"kept": n - gone[kind], "total": n} for kind, n in self.total.items()},
            "lost": [
                {
                    "kind": probe.kind,
                    "text": probe.text[:_TEXT_CHARS],
                    "ranges": [place._asdict() for place in places(probe.sources)],
                }
                for probe in self.lost
            ],
        }


class Verdict(NamedTuple):
    """Whether a summary may stand for what it summarises; ``reason`` says why not."""

    passes: bool
    reason: str = ""


def places(sources: Sequence[Span]) -> list[Place]:
    """Return where records stand, each once, in their order."""
    found = {Place(span.part, span.offset, len(span.raw)) for span in sources}
    return sorted(found)
