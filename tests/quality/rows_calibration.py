"""Calibration: is "0.8" worth loading in eight of ten cases, for repositories that it was not fitted on.

What was fitted to every label flatters itself, so each statement is judged here by weights of the same making that have
not seen its repository. Worth is what the readers said: a clear yes counts in full, an arguable one as 0.6, as in the
fit. Beside it stands how far two readers of the same sessions agree, which no confidence can be better than.
"""

from collections.abc import Sequence
from functools import cache

from slowwave.extraction.classifier import pieces_of
from slowwave.settings import Settings
from tests.quality import train, unseen
from tests.quality.beside import CORPUS, missing
from tests.quality.intervals import bootstrap, counted, interval
from tests.quality.reliability import Claim, brier, ece, equal_mass, equal_width, floor, plot, rows
from tests.quality.reliability_picture import picture
from tests.quality.statement_labels import Judged, judged, marks
from tests.quality.table import Must, Section, Table

ECE, ABOVE = 0.05, 0.1
_SECOND = "second"
_HEADER = ("", "claims", "said", "right", "ECE width", "95 %", "ECE mass", "by chance", "Brier")
_SPEAKERS = {"p": "typed", "a": "told by the assistant", "c": "chosen in a dialog"}
# an arguable label counts so much, as in the fit
_WORTH = {None: 0.0, 1: 0.6, 2: 1.0}


def measure(*, errors: bool = False) -> Section:
    """Measure how far confidences are from outcomes, and how far two readers agree."""
    absent = missing(CORPUS) or unseen.missing()
    if absent:
        return Section(skipped=absent)
    claims = _claims()
    every = [c for of in claims.values() for c in of]
    limits = Settings()
    kept = [c for c in every if c.confidence >= limits.extraction.min_confidence]
    accepted = [c for c in every if c.confidence >= limits.consolidation.accept_confidence]
    systems = {"all statements": every} | {f"  {_SPEAKERS[speaker]}": of for speaker, of in claims.items()}
    systems |= {
        "what extraction keeps": kept,
        "what is accepted": accepted,
        "baseline: the same share of all": _constant(every),
    }
    for place in sorted({c.group for c in kept}):
        systems[f"  kept, {place}"] = [c for c in kept if c.group == place]
    header = ("confidence", "claims", "said", "right", "95 %")
    section = Section(
        [
            Table("Confidence and worth in repositories not seen", _HEADER, [_row(*item) for item in systems.items()]),
            *(Table(f"Bins of equal width: {_SPEAKERS[s]}", header, rows(equal_width(of))) for s, of in claims.items()),
            _agreement(),
        ],
        [
            Must("ECE on repositories not seen (10 bins of equal width)", ece(equal_width(every)), ECE, at_least=False),
            # so few that chance alone gives a larger ECE; their mean is surer
            Must("mean confidence of what is kept, above its worth", _above(kept), ABOVE, at_least=False),
        ],
        [
            plot(equal_width(every)),
            "by chance: the ECE (equal mass) that exactly right confidences show with so few claims",
        ],
    )
    section.picture = picture(equal_width(every), "Confidence and worth in repositories that the fit did not see")
    if errors:
        section.notes += [f"  {c.confidence:.3f} worth {c.right:.1f} {c.group}" for c in kept]
    return section


@cache
def _claims() -> dict[str, list[Claim]]:
    """Return by who said it what the confidence of each statement claims, and what its readers said."""
    known = unseen.unseen()
    found: dict[str, list[Claim]] = {speaker: [] for speaker in _SPEAKERS}
    real = [one for one in unseen.statements() if not train.is_written(one)]
    for one in real:
        weights = known[one.repository]
        if one.speaker == "a":
            found["a"].append(Claim(weights.told(one.features), _worth(one), one.repository))
        elif one.speaker == "c":
            found["c"].append(Claim(weights.settles(one.dialog, pieces_of(one.words)), _worth(one), one.repository))
    # what reads like a document waits, so that its confidence claims nothing
    for one in train.typed(real, {name: weights.document for name, weights in known.items()}):
        confidence = known[one.repository].wish(one.words, one.features)
        found["p"].append(Claim(confidence, _worth(one), one.repository))
    return found


def _worth(one: Judged) -> float:
    return _WORTH[one.mark.grade if one.mark else None]


def _above(claims: Sequence[Claim]) -> float:
    return sum(c.confidence - c.right for c in claims) / max(1, len(claims))


def _constant(claims: Sequence[Claim]) -> list[Claim]:
    """Claim of everything the share of all that was worth it."""
    said = sum(c.right for c in claims) / len(claims)
    return [Claim(said, c.right, c.group) for c in claims]


def _row(name: str, claims: Sequence[Claim]) -> tuple[str, ...]:
    if not claims:
        return name, "0", *("-" * 7)
    number = len(claims)
    said, right = sum(c.confidence for c in claims) / number, sum(c.right for c in claims) / number
    within = interval(*bootstrap(claims, lambda drawn: ece(equal_width(drawn)), rounds=100))
    errors = (ece(equal_mass(claims)), floor(claims, rounds=30), brier(claims))
    return (
        name,
        str(number),
        f"{said:.3f}",
        f"{right:.3f}",
        f"{ece(equal_width(claims)):.3f}",
        within,
        *(f"{figure:.3f}" for figure in errors),
    )


def _agreement() -> Table:
    """Return how far a second reader of the same sessions agrees with the first about what is worth a line."""
    pairs = [
        (one, other)
        for session in sorted(marks(_SECOND))
        for one, other in zip(judged(session), judged(session, _SECOND), strict=True)
    ]
    table: list[tuple[str, ...]] = []
    for speaker, name in {"": "all statements", **{s: f"  {n}" for s, n in _SPEAKERS.items()}}.items():
        of = [(a.mark is not None, b.mark is not None) for a, b in pairs if speaker in ("", a.speaker)]
        both, first, second = sum(map(all, of)), sum(a for a, _ in of), sum(b for _, b in of)
        f = f"{2 * both / (first + second):.3f}" if first + second else "-"
        table.append((name, str(len(of)), str(first), str(second), str(both), f, kappa(of)))
    clear = [(a, b) for a, b in pairs if a.mark and a.mark.grade > 1]
    again = sum(b.mark is not None for _, b in clear)
    same = [(a.mark.category, b.mark.category) for a, b in pairs if a.mark and b.mark]
    table.append(("  of what the first calls clear, worth it to both", *counted(again, len(clear)), "", "", ""))
    table.append(
        ("  of what both mark, in the same category", *counted(sum(a == b for a, b in same), len(same)), "", "", "")
    )
    header = ("", "statements", "first", "second", "both", "F", "kappa")
    return Table(f"Two readers of {len(marks(_SECOND))} sessions: what is worth a line", header, table)


def kappa(pairs: Sequence[tuple[bool, bool]]) -> str:
    """Return Cohen's kappa as a cell: agreement beyond what chance gives to two who say yes as often."""
    if not pairs:
        return "-"
    same = sum(a == b for a, b in pairs) / len(pairs)
    one, other = (sum(p[at] for p in pairs) / len(pairs) for at in (0, 1))
    chance = one * other + (1 - one) * (1 - other)
    return f"{(same - chance) / (1 - chance):.3f}" if chance < 1 else "-"
