"""The harness itself: figures that are known beforehand, and demands that can be missed."""

import math
from collections.abc import Callable, Sequence

import pytest

from tests.quality import run
from tests.quality.intervals import bootstrap, wilson
from tests.quality.reliability import Claim, ece, equal_mass, equal_width, floor
from tests.quality.reliability_picture import picture
from tests.quality.table import Must, Section, Table


def claims(confidence: float, right: int, wrong: int) -> list[Claim]:
    return [Claim(confidence, n < right) for n in range(right + wrong)]


def test_wilsons_interval_is_the_published_one():
    low, high = wilson(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.49, 0.943)
    assert wilson(0, 0) == (0.0, 1.0)


def test_the_bootstrap_draws_whole_groups_and_is_the_same_every_time():
    groups = [(1, 1)] * 5 + [(0, 10)] * 5

    def share(drawn: Sequence[tuple[int, int]]) -> float:
        return sum(a for a, _ in drawn) / sum(b for _, b in drawn)

    low, high = bootstrap(groups, share)
    assert low < share(groups) < high
    assert bootstrap(groups, share) == (low, high)
    assert all(math.isnan(x) for x in bootstrap([], share))


def test_calibration_error_is_what_confidence_is_off_by():
    sound = claims(0.8, 8, 2) + claims(0.3, 3, 7)
    assert ece(equal_width(sound)) == pytest.approx(0)
    assert ece(equal_mass(sound, bins=2)) == pytest.approx(0)
    assert ece(equal_width(claims(0.9, 5, 5))) == pytest.approx(0.4)


def test_equal_confidences_stay_in_one_bin():
    assert [len(part) for part in equal_mass(claims(0.5, 30, 30) + claims(0.9, 5, 0))] == [60, 5]


def test_few_claims_look_badly_calibrated_by_chance():
    assert floor(claims(0.7, 7, 3)) > 5 * floor(claims(0.7, 700, 300))


@pytest.mark.parametrize(("value", "at_least", "holds"), [(0.6, True, True), (0.59, True, False), (1, False, False)])
def test_a_demand_holds_or_is_missed(value: float, at_least: bool, holds: bool):
    must = Must("figure", value, 0.6, at_least=at_least, aim=0.8)
    assert must.holds is holds
    assert str(must).startswith("holds" if holds else "MISSED")
    assert str(must).endswith("not reached")


def test_tables_have_columns_of_fixed_width():
    lines = str(Table("t", ("", "a"), [("x" * 90, "1"), ("y", "22")])).splitlines()
    assert len({len(line) for line in lines[1:]}) == 1


def test_the_exit_code_tells_of_a_missed_demand(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    sections = {"good": Section(musts=[Must("m", 1, 1)]), "bad": Section(musts=[Must("n", 0, 1)])}
    sections["absent"] = Section(skipped="the data does not lie beside the checkout")
    monkeypatch.setattr(run, "SECTIONS", dict.fromkeys(sections, ""))

    def measure_of(name: str) -> Callable[..., Section]:
        def measure(*, errors: bool) -> Section:
            return Section(notes=["errors"]) if errors else sections[name]

        return measure

    monkeypatch.setattr(run, "measure_of", measure_of)
    assert run.main(["--section", "good", "--section", "absent"]) == 0
    assert run.main([]) == 1
    out = capsys.readouterr().out
    assert "SKIPPED: the data does not lie beside" in out
    assert "bad: n" in out


def test_every_section_can_be_measured():
    assert all(callable(run.measure_of(name)) for name in run.SECTIONS)


def test_the_picture_shows_every_bin_with_its_claims():
    drawn = picture(equal_width([*claims(0.3, 1, 3), *claims(0.9, 9, 1)]), "said & right")
    assert drawn.count("<circle") == 2
    assert "said 0.90, right 0.90 (0.60..0.98), 10 claims" in drawn
    assert "said &amp; right" in drawn
    assert "14 claims in 2 bins, expected calibration error 0.014" in drawn
