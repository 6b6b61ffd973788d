"""Which repositories the calibration has seen; what it knows is judged on the others only."""


def fitted_on() -> frozenset[str]:
    """Return the folders of the repositories, as the real sessions lie in them, that confidences were fitted on."""
    return frozenset()
