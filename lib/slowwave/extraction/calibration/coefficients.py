"""Weights of the features, written by ``tests/quality/fit_calibration.py``; not to be edited by hand."""

WEIGHTS: dict[str, float] = {}
