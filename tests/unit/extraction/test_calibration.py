"""Confidence follows from how, where and how often a thing was said; its steps never fall."""

import itertools
from pathlib import Path

import pytest

from slowwave.dialects.registry import by_name
from slowwave.extraction.calibration.coefficients import CAPS, STEPS, WEIGHTS
from slowwave.extraction.calibration.features import PRIOR, features_of, surroundings_of
from slowwave.extraction.calibration.model import score, stepped
from slowwave.extraction.events import Events, events_of
from slowwave.extraction.miners import MINERS, NAMES
from slowwave.extraction.mining import facts, uncalibrated
from slowwave.extraction.redact import redactor_for
from tests.unit.extraction.talk import Talk

REDACT = redactor_for("shop")


def events(tmp_path: Path, talk: Talk) -> Events:
    return events_of(by_name("claude").read(talk.write(tmp_path).files).messages, REDACT)


def features(tmp_path: Path, talk: Talk) -> dict[str, float]:
    """Return the features of the last thing that is found."""
    seen = events(tmp_path, talk)
    found = uncalibrated(seen)
    return features_of(found[-1], surroundings_of(seen, found))


def test_without_numbers_the_prior_of_the_miner_stays():
    assert score({PRIOR: 0.0}, {}) == pytest.approx(0.5)
    assert score({PRIOR: 2.0, "guess": 1.0}, {}) == pytest.approx(0.881, abs=0.001)


def test_steps_never_fall_and_keep_the_order_of_scores():
    scores = [n / 200 for n in range(201)]
    said = [stepped(value, STEPS) for value in scores]
    assert all(one <= other for one, other in itertools.pairwise(said))
    assert 0 < said[0] < said[-1] < 1


def test_a_value_beyond_the_last_step_belongs_to_it():
    assert stepped(0.99, ((0.5, 0.2), (0.9, 0.8))) == pytest.approx(0.82)


def test_a_surer_prior_is_never_less_certain():
    assert WEIGHTS[PRIOR] > 0


def test_how_it_was_said_is_a_feature(tmp_path: Path):
    talk = Talk().person("go on").bash("make test").assistant("Done.")
    plain = features(tmp_path, talk.person("never write to stdout in `io.py`"))
    assert plain["named"] == plain["negated"] == plain["every"] == plain["after_work"] == 1.0
    assert "guess" not in plain
    unsure = features(tmp_path, talk.person("maybe we should always keep the old importer"))
    assert unsure["guess"] == 1.0


def test_what_the_person_settles_otherwise_later_is_revised(tmp_path: Path):
    first = "let's go with Postgres for the invoice archive"
    seen = events(tmp_path, Talk().person(first).assistant("ok").person("let's go with MySQL for the invoice archive"))
    found = uncalibrated(seen)
    around = surroundings_of(seen, found)
    assert [features_of(fact, around).get("revised", 0.0) for fact in found] == [1.0, 0.0]


def test_every_miner_has_the_name_that_its_facts_carry(tmp_path: Path):
    talk = Talk().person("remember that the cache is in Redis").assistant("ok").person("no, use pnpm instead of npm")
    talk.bash("make lint").bash("make lint").bash("node --version", "v22.1.0")
    seen = events(tmp_path, talk)
    names = {found.miner for miner in MINERS for found in miner(seen)}
    assert {"explicit", "preference", "routine", "version"} <= names <= set(NAMES)


def test_the_same_session_gives_the_same_facts_twice(tmp_path: Path):
    seen = events(tmp_path, Talk().person("remember that the cache is in Redis. never flush it by hand."))
    assert facts(seen) == facts(seen)


def test_no_fact_is_more_certain_than_its_miners_facts_have_proved_to_be(tmp_path: Path):
    talk = Talk().person("we can clean up the importer in a separate task because it is small and well tested already")
    (found,) = [f for f in facts(events(tmp_path, talk)) if f.miner == "task"]
    assert found.confidence <= round(CAPS["task"], 2) < 0.5
