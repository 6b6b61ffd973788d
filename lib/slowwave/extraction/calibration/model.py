"""From features to a probability: a logistic model whose weights were fitted on judged facts.

The fit pulls every weight towards leaving a miner's own prior as it is, so that little evidence changes little
(``tests/quality/fit_calibration.py``).
"""

import math
from collections.abc import Mapping

from slowwave.extraction.calibration.coefficients import WEIGHTS
from slowwave.extraction.calibration.features import PRIOR, Surroundings, features_of
from slowwave.extraction.found import Found

# no words are certain, and none are nothing
LEAST, MOST = 0.02, 0.98

BIAS = "bias"


def calibrated(found: Found, around: Surroundings) -> float:
    """Return the probability that a careful reader would want a fact kept."""
    return round(min(MOST, max(LEAST, probability(features_of(found, around), WEIGHTS))), 2)


def probability(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the probability that features and weights give."""
    score = weights.get(BIAS, 0.0) + sum(
        # a weight that was not fitted leaves the prior as it is
        value * weights.get(name, 1.0 if name == PRIOR else 0.0)
        for name, value in features.items()
    )
    return 1 / (1 + math.exp(-score))
