"""Calibration: is "0.8" right in eight of ten cases, on sessions of repositories that it was not fitted on."""

from collections import defaultdict
from collections.abc import Sequence

from tests.quality.beside import CORPUS, GOLD, missing
from tests.quality.gold_found import ours
from tests.quality.gold_labels import by_session, labels, merged
from tests.quality.intervals import bootstrap, interval
from tests.quality.reliability import Claim, brier, ece, equal_mass, equal_width, floor, plot, rows
from tests.quality.rows_gold import judged
from tests.quality.seen import fitted_on
from tests.quality.table import Must, Section, Table

ECE = 0.05


def measure(*, errors: bool = False) -> Section:
    """Measure how far confidences are from outcomes."""
    absent = missing(GOLD, CORPUS)
    if absent:
        return Section(skipped=absent)
    known = by_session(merged(labels()))
    sessions = judged(known, ours(tuple(known)))
    every = [
        Claim(f.confidence, right, s.session.parent.name)
        for s in sessions
        for right, of in ((True, s.right), (False, s.wrong))
        for f in of
    ]
    seen = fitted_on()
    unseen = [c for c in every if c.group not in seen]
    header = ("", "claims", "ECE mass", "95 %", "ECE width", "Brier", "by chance")
    systems = {
        "slowwave, repositories not fitted on": unseen,
        "slowwave, all labelled sessions": every,
        "baseline: share of the other repositories": _constant(every),
        "baseline: always 0.9": [Claim(0.9, c.right, c.group) for c in every],
    }
    groups: dict[str, list[Claim]] = defaultdict(list)
    for claim in every:
        groups[f"  {claim.group}{' (fitted on)' if claim.group in seen else ''}"].append(claim)
    parts = equal_mass(unseen)
    section = Section(
        [
            Table("Expected calibration error", header, [_row(*item) for item in (*systems.items(), *groups.items())]),
            Table("Reliability, bins of equal mass", ("confidence", "claims", "said", "right", "95 %"), rows(parts)),
        ],
        [Must("ECE on repositories not fitted on", ece(parts), ECE, at_least=False)],
        [
            plot(parts),
            "by chance: the ECE that exactly right confidences would show with so few claims; a must below it says little",
        ],
    )
    if errors:
        section.notes += [f"  {c.confidence:.3f} {'right' if c.right else 'wrong'} {c.group}" for c in every]
    return section


def _constant(claims: Sequence[Claim]) -> list[Claim]:
    """Claim of everything the share that was right in the other repositories."""
    said: list[Claim] = []
    for claim in claims:
        others = [c.right for c in claims if c.group != claim.group] or [True]
        said.append(Claim(sum(others) / len(others), claim.right, claim.group))
    return said


def _row(name: str, claims: Sequence[Claim]) -> tuple[str, ...]:
    if not claims:
        return name, "0", "-", "-", "-", "-", "-"
    within = interval(*bootstrap(claims, lambda drawn: ece(equal_mass(drawn)), rounds=300))
    mass, width = ece(equal_mass(claims)), ece(equal_width(claims))
    return name, str(len(claims)), f"{mass:.3f}", within, f"{width:.3f}", f"{brier(claims):.3f}", f"{floor(claims):.3f}"
