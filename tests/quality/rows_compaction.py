"""Compaction: what the offline ledger keeps of long sessions, beside other ways at equal bytes and real summaries."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from slowwave.compaction.ledger import LedgerSettings, ledger_of, rendered
from slowwave.compaction.proof import KINDS, Loss, Probe, checked, probes_of
from slowwave.compaction.tokens import PI
from tests.quality.beside import CORPUS, missing
from tests.quality.compaction_baselines import BASELINES
from tests.quality.compaction_regions import Region, regions
from tests.quality.table import Must, Section, Table

LEDGER = "slowwave: the ledger, no model"
CLIENT = "the client's model, its own summary"
_LEAST_SESSIONS = 20
_BYTES = LedgerSettings().most_bytes


@dataclass(slots=True)
class Row:
    """What one way kept over all regions."""

    total: Counter[str] = field(default_factory=Counter[str])
    lost: Counter[str] = field(default_factory=Counter[str])
    scores: list[float] = field(default_factory=list[float])
    tokens: int = 0
    seconds: list[float] = field(default_factory=list[float])

    def add(self, loss: Loss, text: str, seconds: float) -> None:
        """Count one summary."""
        self.total.update(loss.total)
        self.lost.update(probe.kind for probe in loss.lost)
        self.scores.append(loss.score)
        self.tokens += PI.of_text(text)
        self.seconds.append(seconds)

    def retention(self, kind: str) -> float:
        """Return the share of all probes of a kind that was kept."""
        return 1 - self.lost[kind] / self.total[kind] if self.total[kind] else 1.0

    @property
    def score(self) -> float:
        """The mean score."""
        return sum(self.scores) / len(self.scores) if self.scores else 0.0


def measure(*, errors: bool = False) -> Section:
    """Measure what summaries keep."""
    absent = missing(CORPUS)
    if absent:
        return Section(skipped=absent)
    every = list(regions())
    plain, real = [r for r in every if not r.real], [r for r in every if r.real]
    section = Section(
        notes=[
            "probes are made by rules of their own from what goes away; what is exact must stand there word for word,",
            "asks, constraints, decisions and tasks count when half of their runs of five words or 60 % of their words",
            "stand within three lines; all ways but a client's summary have as many bytes as the ledger takes",
        ]
    )
    missed: list[str] = []
    for title, of in (("no summary known", plain), ("its client's model summarised it", real)):
        rows = _rows(of, missed)
        section.tables.append(table(f"{len(of)} regions of which {title}, {_tokens(of):,} tokens", rows))
        section.musts += _musts(title, rows)
    section.musts.append(Must("long sessions measured", len(every), _LEAST_SESSIONS))
    if errors:
        section.notes += missed
    return section


def _rows(every: Sequence[Region], missed: list[str]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for region in every:
        probes = probes_of(region.messages, region.cwd)
        began = time.perf_counter()
        most = len(region.real.encode()) if region.real else _BYTES
        text = rendered(ledger_of(region.messages, "", region.cwd, settings=LedgerSettings(most_bytes=most)))
        loss = count(rows, LEDGER, probes, text, began)
        missed += [f"  {region.name}: {probe.kind}: {probe.text[:120]}" for probe in loss.lost]
        # what is never left out may take more than was given
        most = max(most, len(text.encode()))
        for name, baseline in BASELINES.items():
            began = time.perf_counter()
            count(rows, name, probes, baseline(region.messages, most), began)
        if region.real:
            count(rows, CLIENT, probes, region.real, time.perf_counter())
    return rows


def count(rows: dict[str, Row], name: str, probes: Sequence[Probe], text: str, began: float) -> Loss:
    """Count what one way kept of one region, and the time since it began."""
    seconds = time.perf_counter() - began
    loss = checked(probes, text)
    rows.setdefault(name, Row()).add(loss, text, seconds)
    return loss


def table(title: str, rows: dict[str, Row]) -> Table:
    """Return the rows by kind of probe, with the number of probes first."""
    header = ("", *KINDS, "score", "tokens", "ms median")
    numbers = next(iter(rows.values())).total if rows else Counter[str]()
    lines = [("probes", *(str(numbers[kind]) for kind in KINDS), "", "", "")]
    for name, row in rows.items():
        shares = (f"{row.retention(kind):.1%}" for kind in KINDS)
        ms = "" if name == CLIENT else f"{1000 * median(row.seconds):.0f}"
        lines.append((name, *shares, f"{row.score:.3f}", f"{row.tokens:,}", ms))
    return Table(title, header, lines)


def _musts(title: str, rows: dict[str, Row]) -> list[Must]:
    ledger = rows.get(LEDGER)
    if ledger is None:
        return []
    best = max(row.score for name, row in rows.items() if name != LEDGER)
    return [
        Must(f"changed files kept by the ledger, {title}", ledger.retention("modified"), 1.0),
        Must(f"errors kept by the ledger, {title}", ledger.retention("error"), 1.0),
        Must(f"score of the ledger less that of the best other, {title}", ledger.score - best, 0.1),
    ]


def _tokens(every: Sequence[Region]) -> int:
    return sum(region.tokens for region in every)
