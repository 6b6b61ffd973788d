"""From features to a probability: a logistic score, read off how often facts with such scores were right.

Both were fitted on judged facts (``tests/quality/fit_calibration.py``). The weights were pulled towards leaving a
miner's own prior as it is, so that little evidence changes little; the steps come from isotonic regression over facts
of repositories that the weights had not seen. No miner's fact is more certain than the best of that miner's facts have
proved to be.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from slowwave.extraction.calibration.coefficients import CAPS, STEPS, WEIGHTS
from slowwave.extraction.calibration.features import PRIOR, Surroundings, features_of
from slowwave.extraction.found import Found

BIAS = "bias"
# facts on one step keep the order of their scores, a little apart
TILT = 0.04
# up to which score, and how often such facts were right
Steps = Sequence[tuple[float, float]]


def calibrated(found: Found, around: Surroundings) -> float:
    """Return the probability that a careful reader would want a fact kept."""
    likely = stepped(score(features_of(found, around), WEIGHTS), STEPS)
    return round(min(likely, CAPS.get(found.miner, 1.0)), 2)


def score(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the logistic score of features, between 0 and 1."""
    total = weights.get(BIAS, 0.0) + sum(
        # a weight that was not fitted leaves the prior as it is
        value * weights.get(name, 1.0 if name == PRIOR else 0.0)
        for name, value in features.items()
    )
    return 1 / (1 + math.exp(-total))


def stepped(value: float, steps: Steps) -> float:
    """Return how often facts with a score were right; without steps the score itself."""
    if not steps:
        return value
    at = min(bisect_left([upper for upper, _ in steps], value), len(steps) - 1)
    lower = steps[at - 1][0] if at else 0.0
    upper, share = steps[at]
    within = min(1.0, (value - lower) / (upper - lower)) if upper > lower else 0.5
    # never past the middle between two steps, which may lie closer together than the tilt
    least = max(share - TILT / 2, (share + steps[at - 1][1]) / 2) if at else share - TILT / 2
    most = min(share + TILT / 2, (share + steps[at + 1][1]) / 2) if at + 1 < len(steps) else share + TILT / 2
    return least + (most - least) * within
