"""Calibration: is "0.8" right in eight of ten cases, for repositories that it was not fitted on.

The confidence that ships was fitted on every judged fact, so its own figures on the labelled sessions flatter it. What
the demand is on comes from models of the same making, each of which predicts the one repository that it did not see.
"""

from collections import defaultdict
from collections.abc import Sequence

from slowwave.extraction.calibration.features import PRIOR
from slowwave.extraction.calibration.model import score
from tests.quality.beside import CORPUS, GOLD, missing
from tests.quality.fit_calibration import held_out
from tests.quality.gold_found import ours
from tests.quality.gold_labels import by_session, labels, merged
from tests.quality.intervals import bootstrap, interval
from tests.quality.judged import judged_facts
from tests.quality.reliability import Claim, brier, ece, equal_mass, equal_width, floor, plot, rows
from tests.quality.reliability_picture import picture
from tests.quality.rows_gold import judged
from tests.quality.table import Must, Section, Table

ECE = 0.05
# what extraction keeps
_KEPT = 0.5
_LOGISTIC = {PRIOR: 1.0}
_HEADER = ("", "claims", "ECE width", "95 %", "ECE mass", "by chance", "Brier")


def measure(*, errors: bool = False) -> Section:
    """Measure how far confidences are from outcomes."""
    absent = missing(GOLD, CORPUS)
    if absent:
        return Section(skipped=absent)
    held = held_out(judged_facts())
    unseen = [Claim(p, fact.right, fact.repository) for fact, p in held]
    labelled = {str(path.relative_to(CORPUS)) for path in by_session(labels())} | {str(p) for p in by_session(labels())}
    on_labels = [Claim(p, fact.right, fact.repository) for fact, p in held if fact.session in labelled]
    systems = {
        "repositories not seen": unseen,
        "  of it, what extraction keeps (>= 0.5)": [c for c in unseen if c.confidence >= _KEPT],
        "  of it, sessions with labels": on_labels,
        "as shipped, fitted on these": _shipped(),
        "baseline: the miners' own priors": [
            Claim(score(f.features, _LOGISTIC), f.right, f.repository) for f, _ in held
        ],
        "baseline: share of the other repositories": _constant(unseen),
        "baseline: always 0.9": [Claim(0.9, c.right, c.group) for c in unseen],
    }
    groups: dict[str, list[Claim]] = defaultdict(list)
    for claim in unseen:
        groups[f"  {claim.group}"].append(claim)
    mass = equal_mass(unseen)
    header = ("confidence", "claims", "said", "right", "95 %")
    section = Section(
        [
            Table("Expected calibration error", _HEADER, [_row(*item) for item in (*systems.items(), *groups.items())]),
            Table("Repositories not seen, bins of equal mass", header, rows(mass)),
            Table("Repositories not seen, bins of equal width", header, rows(equal_width(unseen))),
        ],
        [Must("ECE on repositories not seen (10 bins of equal width)", ece(equal_width(unseen)), ECE, at_least=False)],
        [plot(mass), "by chance: the ECE (equal mass) that exactly right confidences show with so few claims"],
    )
    section.picture = picture(mass, "Confidence and outcome in repositories that the fit did not see")
    if errors:
        section.notes += [f"  {c.confidence:.3f} {'right' if c.right else 'wrong'} {c.group}" for c in unseen]
    return section


def _shipped() -> list[Claim]:
    known = by_session(merged(labels()))
    return [
        Claim(f.confidence, right, s.session.parent.name)
        for s in judged(known, ours(tuple(known)))
        for right, of in ((True, s.right), (False, s.wrong))
        for f in of
    ]


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
    within = interval(*bootstrap(claims, lambda drawn: ece(equal_width(drawn)), rounds=300))
    mass, width = ece(equal_mass(claims)), ece(equal_width(claims))
    return name, str(len(claims)), f"{width:.3f}", within, f"{mass:.3f}", f"{floor(claims):.3f}", f"{brier(claims):.3f}"
