"""The collector's thresholds around bulk loads."""

import gc

import pytest

from slowwave.formats.lines import relaxed_collector


def test_thresholds_are_raised_once_and_restored_in_the_end() -> None:
    before = gc.get_threshold()
    with relaxed_collector():
        raised = gc.get_threshold()
        with relaxed_collector():
            assert gc.get_threshold() == raised
        assert gc.get_threshold() == raised
    assert raised[0] > before[0]
    assert gc.get_threshold() == before


def test_a_failing_load_restores_them_too() -> None:
    before = gc.get_threshold()
    with pytest.raises(OSError, match="gone"), relaxed_collector():
        raise OSError("gone")
    assert gc.get_threshold() == before
