"""Fit the weights of confidence: ``python -m tests.quality.fit_calibration [--write]``.

The facts of :mod:`tests.quality.judged` give a logistic model over the features of
:mod:`slowwave.extraction.calibration.features`. Every weight is pulled towards leaving the miner's prior as it is, so
that a miner with few judged facts stays near what its author thought. What is printed was predicted for repositories
that the fit did not see: each of them in turn is left out.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slowwave.extraction.calibration.features import PRIOR
from slowwave.extraction.calibration.model import BIAS, Steps, score, stepped
from slowwave.extraction.miners import NAMES
from tests.quality.judged import Judged, judged_facts, unmatched
from tests.quality.logistic import fitted, steps_of
from tests.quality.table import Table

COEFFICIENTS = Path(__file__).parents[2] / "lib" / "slowwave" / "extraction" / "calibration" / "coefficients.py"
# how far data may move a weight away from a prior taken as it is
SPREAD = {BIAS: 0.5, PRIOR: 0.5}
_OF_MINER, _OF_FEATURE = 0.4, 0.1
# steps of fewer facts follow chance
LEAST_STEP = 60
# fewer facts of a miner say too little of its best
LEAST_TOP = 8
DRAWN_BY = 4
BINS = 10


@dataclass(frozen=True, slots=True)
class Model:
    """Weights of the features, how often facts with such scores are right, and how certain a miner's facts may be."""

    weights: dict[str, float]
    steps: list[tuple[float, float]]
    caps: dict[str, float]

    def predict(self, fact: Judged) -> float:
        """Return the probability that a fact is right."""
        return min(stepped(score(fact.features, self.weights), self.steps), self.caps.get(fact.miner, 1.0))


def fit(facts: Sequence[Judged]) -> Model:
    """Return the model that judged facts give; its steps come from scores of repositories that were left out."""
    scores = [
        (score(fact.features, weights), fact.right)
        for repository in _repositories(facts)
        for weights in [_weights([f for f in facts if f.repository != repository])]
        for fact in facts
        if fact.repository == repository
    ]
    weights, steps = _weights(facts), steps_of(scores, LEAST_STEP)
    return Model(weights, steps, caps_of(facts, weights, steps))


def held_out(facts: Sequence[Judged]) -> list[tuple[Judged, float]]:
    """Return each fact with the probability from a model that did not see its repository, neither weights nor steps."""
    return [
        (fact, model.predict(fact))
        for repository in _repositories(facts)
        for model in [fit([f for f in facts if f.repository != repository])]
        for fact in facts
        if fact.repository == repository
    ]


def _weights(facts: Sequence[Judged]) -> dict[str, float]:
    names = [BIAS, *sorted({name for fact in facts for name in fact.features})]
    spread = {n: SPREAD.get(n, _OF_MINER if n.startswith("miner:") else _OF_FEATURE) for n in names}
    return fitted([(fact.features, fact.right) for fact in facts], names, {PRIOR: 1.0}, spread)


def caps_of(facts: Sequence[Judged], weights: dict[str, float], steps: Steps) -> dict[str, float]:
    """Return for each miner the greatest share that was right among its best facts.

    The best facts are those with the highest scores: all of them, or any number down to :data:`LEAST_TOP`. The share
    is drawn by :data:`DRAWN_BY` facts to what the steps say of them, so that two or three facts cap little.
    """
    by_miner: dict[str, list[tuple[float, bool]]] = {}
    for fact in facts:
        by_miner.setdefault(fact.miner, []).append((stepped(score(fact.features, weights), steps), fact.right))
    return {miner: _cap(sorted(said, reverse=True)) for miner, said in sorted(by_miner.items())}


def _cap(said: Sequence[tuple[float, bool]]) -> float:
    tops = [said[:size] for size in range(min(LEAST_TOP, len(said)), len(said) + 1)]
    return max(
        (sum(right for _, right in top) + DRAWN_BY * sum(p for p, _ in top) / len(top)) / (len(top) + DRAWN_BY)
        for top in tops
    )


def _repositories(facts: Sequence[Judged]) -> list[str]:
    return sorted({fact.repository for fact in facts})


def calibration_error(predicted: Sequence[tuple[float, bool]], bins: int = BINS) -> float:
    """Return the expected calibration error over bins of equal width."""
    error = 0.0
    for inside in binned(predicted, bins):
        if inside:
            error += abs(sum(p for p, _ in inside) - sum(right for _, right in inside))
    return error / max(1, len(predicted))


def binned(predicted: Sequence[tuple[float, bool]], bins: int = BINS) -> list[list[tuple[float, bool]]]:
    """Return predictions by bins of equal width."""
    groups: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for p, right in predicted:
        groups[min(bins - 1, int(p * bins))].append((p, right))
    return groups


def brier(predicted: Sequence[tuple[float, bool]]) -> float:
    """Return the mean square of what the predictions are off by."""
    return sum((p - right) ** 2 for p, right in predicted) / max(1, len(predicted))


def tables_of(held: Sequence[tuple[Judged, float]]) -> list[Table]:
    """Return how predictions and outcomes agree, by confidence, by miner and by repository."""
    predicted = [(p, fact.right) for fact, p in held]
    reliability = [
        (f"{at / BINS:.1f}..{(at + 1) / BINS:.1f}", *_cells(inside)) for at, inside in enumerate(binned(predicted))
    ]
    return [
        Table("Predicted for repositories not seen", ("confidence", "facts", "predicted", "right"), reliability),
        *(
            Table(f"By {name}", (name, "facts", "predicted", "right"), _grouped(held, name))
            for name in ("miner", "repository")
        ),
    ]


def _grouped(held: Sequence[tuple[Judged, float]], name: str) -> list[tuple[str, ...]]:
    groups: dict[str, list[tuple[float, bool]]] = {}
    for fact, p in held:
        groups.setdefault(getattr(fact, name), []).append((p, fact.right))
    return [(group, *_cells(groups[group])) for group in sorted(groups)]


def _cells(inside: Sequence[tuple[float, bool]]) -> tuple[str, str, str]:
    if not inside:
        return "0", "-", "-"
    number = len(inside)
    return str(number), f"{sum(p for p, _ in inside) / number:.3f}", f"{sum(r for _, r in inside) / number:.3f}"


def main(arguments: list[str] | None = None) -> None:
    """Print how well confidence is calibrated, and write the weights where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    options = parser.parse_args(arguments)
    facts = judged_facts()
    held = held_out(facts)
    predicted = [(p, fact.right) for fact, p in held]
    for table in tables_of(held):
        print(f"{table}\n")
    print(f"{len(facts)} judged facts, {unmatched()} verdicts about facts that are not found any more")
    print(f"ECE {calibration_error(predicted):.4f}   Brier {brier(predicted):.4f}   " + _baseline(facts))
    if options.write:
        COEFFICIENTS.write_text(source_of(fit(facts)))
        print(f"written: {COEFFICIENTS.name}")


def _baseline(facts: Sequence[Judged]) -> str:
    """Say how well the miners' own priors do."""
    priors = [(1 / (1 + math.exp(-fact.features.get(PRIOR, 0.0))), fact.right) for fact in facts]
    return f"(miners' priors as they are: ECE {calibration_error(priors):.4f}, Brier {brier(priors):.4f})"


def source_of(model: Model) -> str:
    """Return the module that holds the numbers of a model."""
    missing = sorted({f"miner:{name}" for name in NAMES} - set(model.weights))
    note = f"# no judged fact came from: {', '.join(name[6:] for name in missing)}\n" if missing else ""
    weights = "\n".join(f'    "{name}": {weight:.4f},' for name, weight in model.weights.items())
    steps = "\n".join(f"    ({upper:.4f}, {share:.4f})," for upper, share in model.steps)
    caps = "\n".join(f'    "{miner}": {cap:.4f},' for miner, cap in model.caps.items())
    return (
        '"""Weights, shares that were right, caps of the miners: written by '
        '``tests/quality/fit_calibration.py``."""\n\n'
        f"{note}WEIGHTS: dict[str, float] = {{\n{weights}\n}}\n\n"
        f"STEPS: tuple[tuple[float, float], ...] = (\n{steps}\n)\n\n"
        f"CAPS: dict[str, float] = {{\n{caps}\n}}\n"
    )


if __name__ == "__main__":
    main()
