"""What a sample says: right on average, and its interval holds the truth as often as it says."""

import random
from pathlib import Path

import pytest

from slowwave.jobs.backfill.folder import Pace
from slowwave.jobs.backfill.plan import tally_of
from slowwave.jobs.backfill.preview import Estimate, estimated, groups_of, sample_order, slowest, spanned
from tests.unit.extraction.talk import Talk
from tests.unit.jobs.backfill.rig import World


def estimate_of(population: list[tuple[int, float]], most: int) -> Estimate:
    groups = groups_of(population, lambda one: one[0])
    sampled: list[list[tuple[int, float]]] = [[] for _ in groups]
    for group, one in sample_order(groups, most):
        sampled[group].append(one)
    return estimated([[size for size, _ in group] for group in groups], sampled)


def population(seed: int, number: int = 3_000) -> list[tuple[int, float]]:
    """Return sizes as those of sessions, many small and few large ones, and costs that follow them with a spread."""
    rng = random.Random(seed)
    sizes = [max(200, round(rng.lognormvariate(10, 1.2))) for _ in range(number)]
    return [(size, size * 0.002 * rng.lognormvariate(0, 0.4) + 3) for size in sizes]


def test_all_of_it_is_exact():
    things = population(1, 60)
    one = estimate_of(things, 10_000)
    assert (one.value, one.low, one.high) == pytest.approx((sum(value for _, value in things),) * 3)


def test_the_interval_holds_the_truth_nineteen_times_of_twenty():
    hits = close = 0
    for seed in range(200):
        things = population(seed)
        truth = sum(value for _, value in things)
        one = estimate_of(things, 240)
        hits += one.low <= truth <= one.high
        close += abs(one.value - truth) < 0.1 * truth
    assert hits >= 180
    assert close >= 195


def test_any_beginning_of_a_sample_is_spread_over_all_sizes():
    groups = groups_of(list(range(1, 801)), lambda size: size)
    order = sample_order(groups, 80)
    assert {group for group, _ in order[: len(groups)]} == set(range(len(groups)))
    assert len({thing for _, thing in order}) == 80
    assert order == sample_order(groups, 80)


@pytest.mark.parametrize("number", [0, 1, 2, 7, 9])
def test_few_things_are_all_in_the_sample_once(number: int):
    things = list(range(1, number + 1))
    groups = groups_of(things, lambda size: size)
    assert sorted(thing for _, thing in sample_order(groups, 240)) == things


def test_a_pace_makes_it_slower():
    assert slowest(Pace(), 1000, 10**9) == 0.0
    assert slowest(Pace(sessions=5), 1000, 10**9) == 200.0
    assert slowest(Pace(sessions=5, megabytes=2), 1000, 10**9) == 500.0


def test_a_range_of_one_figure_is_told_as_that_figure():
    assert spanned(Estimate(6.1, 5.9, 6.2)) == "0:00:06"
    assert spanned(Estimate(6.1, 4.0, 9.0)) == "0:00:06 (0:00:04 to 0:00:09)"


def test_a_preview_tells_of_sessions_that_are_not_ready_what_the_run_tells(tmp_path: Path):
    world = World(tmp_path)
    world.write(Talk(id="short").person("hi"), days_ago=0)
    world.add(1, "Always use pnpm for installs.")
    rest = ["extraction.idle=0s"]
    planned, done = world.backfill(action="preview", overrides=rest), world.backfill(overrides=rest)
    for report in (planned, done):
        (why,) = [item.reason for item in report.items if item.action == "not ready"]
        assert why.startswith("session short: 1 messages, 20 needed; all of it is read once ")
    told = [
        [(number, text.partition(" of them ")[0]) for number, text in tally_of(r.counts, {})] for r in (planned, done)
    ]
    assert told[0] == [
        (2, "sessions are in the range"),
        (1, "of them would be read"),
        (1, "is not ready yet: a night reads it later"),
    ]
    assert told[1][:3] == [told[0][0], (1, "of them was read"), told[0][2]]
