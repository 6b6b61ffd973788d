"""docs/scale.md says what was measured: ``make scale RECORD=1`` writes it and its record anew."""

import json
import math

import pytest

from tests.benchmarks.scale_fit import farthest, fitted
from tests.benchmarks.scale_night import Cost, World, night
from tests.benchmarks.scale_page import PAGE, RECORD, page_of

COSTS = {
    "read": Cost(0.0, 1e-7),
    "land": Cost(1e-3, 0.0),
    "dream": Cost(1e-3, 0.0),
    "plan": Cost(0.0, 1e-8),
}


def test_the_page_says_what_the_record_says() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert PAGE.read_text(encoding="utf-8") == page_of(record), "run: make scale RECORD=1"


def test_a_fit_finds_the_costs_that_made_the_times() -> None:
    cost = Cost(2e-3, 5e-9)
    shapes = [{"sessions": s, "bytes": b, "seconds": {"x": cost.of(s, b)}} for s, b in ((10, 10**6), (400, 10**7))]
    found = fitted(shapes, "x")
    assert found == pytest.approx(cost)
    assert farthest(shapes, "x", found) < 1e-9


def test_no_cost_is_below_nothing() -> None:
    shapes = [{"sessions": s, "bytes": b, "seconds": {"x": t}} for s, b, t in ((100, 10**6, 1.0), (1, 10**7, 12.0))]
    assert fitted(shapes, "x").session == 0


def test_a_dead_host_loses_no_shard_and_costs_no_less_than_none() -> None:
    shards, projects = [(100, 256_000_000)] * 400, [(400, 10**9)] * 100
    one = night(World(40_000, 102_400_000_000, shards, projects), 100, COSTS)
    assert one.repeated > 0
    assert one.read > one.read_evenly
    assert one.landed >= one.landing == pytest.approx(40.0)
    assert one.dreamt > one.landed
    assert math.isfinite(one.planned)


def test_the_same_night_comes_out_every_time() -> None:
    what = World(1_000, 10**9, [(100, 10**8)] * 10, [(10, 10**7)] * 100)
    assert night(what, 10, COSTS) == night(what, 10, COSTS)
