"""The fuzzer's seeds and past findings, checked without it; and mutations of them, the same ones every time."""

import random
from pathlib import Path

import pytest

from tests.fuzz.invariants import check_listing, check_records, check_session
from tests.fuzz.layout import written
from tests.fuzz.mutation import mutated
from tests.fuzz.seeds import MOST_BYTES, TARGETS, seeds

MUTATIONS = 60
pytestmark = pytest.mark.timeout(60)


def check(target: str, data: bytes, folder: Path) -> None:
    folder.mkdir()
    paths = written(target, data, folder)
    if target == "records":
        check_records(paths[0])
    else:
        check_session(target, paths)
        check_listing(target, paths[0])


@pytest.mark.parametrize("target", TARGETS)
def test_every_seed_keeps_the_promises_of_reading(target: str, tmp_path: Path) -> None:
    found = seeds(target)
    assert found
    for number, data in enumerate(found):
        check(target, data, tmp_path / str(number))


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_seeds_keep_the_promises_of_reading(target: str, tmp_path: Path) -> None:
    small = [data for data in seeds(target) if len(data) < 12_000]
    rng = random.Random(f"slowwave {target} 2")
    for number in range(MUTATIONS):
        data = mutated(rng.choice(small), MOST_BYTES, rng, rng.choice(small))
        check(target, data, tmp_path / str(number))
