"""A waiting line that a person took out of ``extracted.md`` is refused for their sake; what else they did stands."""

from pathlib import Path

import pytest

from slowwave.memory.book import read_book
from slowwave.memory.candidates import REMOVED, REWORDED, candidate_line, reconcile
from tests.unit.consolidation.dreams import House

RULE, OTHER = "never edit generated files by hand", "always write commit messages in English"


def take_out(house: House, line: str, instead: str = "") -> None:
    path = house.memory / "extracted.md"
    path.write_text(path.read_text().replace(f"{line}\n", instead))


def test_a_removed_waiting_line_is_refused_with_that_reason(tmp_path: Path):
    house = House(tmp_path)
    first, second = house.candidate(RULE), house.candidate(OTHER)
    house.extract(first, second)
    take_out(house, candidate_line(first))
    report = house.dream()
    assert [(i.action, i.reason) for i in report.items if i.target == first.id] == [("drop", REMOVED)]
    assert [m.text for m in read_book(house.memory).active] == [OTHER]
    assert RULE not in house.read("extracted.md")
    assert not reconcile(house.memory, read_book(house.memory).done)


def test_the_same_fact_of_a_later_session_is_refused_as_well(tmp_path: Path):
    house = House(tmp_path)
    first, second = house.candidate(RULE), house.candidate(OTHER)
    house.extract(first, second)
    take_out(house, candidate_line(first))
    house.dream()
    later = house.candidate(RULE, session="s2")
    house.extract(later)
    assert RULE not in house.read("extracted.md")
    house.dream()
    assert [m.text for m in read_book(house.memory).active] == [OTHER]


def test_a_reworded_waiting_line_stays_as_the_person_left_it(tmp_path: Path):
    house = House(tmp_path)
    first = house.candidate(RULE)
    house.extract(first)
    mine = f"- {RULE}, except for the lock file\n"
    take_out(house, candidate_line(first), mine)
    report = house.dream()
    assert [i.reason for i in report.items if i.target == first.id] == [REWORDED]
    assert mine in house.read("extracted.md")
    assert read_book(house.memory).active == []


RULES = (
    "always run the linter first", "never push on Fridays", "use uv for installs", "keep functions short",
    "write dates in ISO form", "prefer composition", "log in JSON", "test with real files",
)  # fmt: skip


@pytest.mark.parametrize("left", ["", "## Auto-extracted memories\n", "# My notes\n\nnothing of it\n"])
def test_a_file_that_lost_all_its_lines_at_once_refuses_nothing(tmp_path: Path, left: str):
    house = House(tmp_path)
    house.extract(*[house.candidate(rule) for rule in RULES])
    (house.memory / "extracted.md").write_text(left)
    report = house.dream()
    assert [i.reason for i in report.items if i.reason in (REMOVED, REWORDED)] == []
    assert {m.text for m in read_book(house.memory).active} == set(RULES)
    assert [w for w in report.warnings if "8 waiting lines were gone" in w]


def test_what_was_lost_stands_there_again_and_is_said(tmp_path: Path):
    house = House(tmp_path)
    house.extract(*[house.candidate(rule) for rule in RULES])
    path = house.memory / "extracted.md"
    whole = path.read_bytes()
    path.write_bytes(b"")
    assert "8 waiting lines were gone" in reconcile(house.memory, ())
    assert path.read_bytes() == whole
    assert reconcile(house.memory, ()) == ""


@pytest.mark.parametrize(("removed", "max_loss"), [(1, 0.25), (3, 0.25), (4, 0.5), (8, 1.0)])
def test_a_few_removed_lines_and_as_many_as_are_allowed_are_a_persons_word(
    tmp_path: Path, removed: int, max_loss: float
):
    house = House(tmp_path)
    candidates = [house.candidate(rule) for rule in RULES]
    house.extract(*candidates)
    for candidate in candidates[:removed]:
        take_out(house, candidate_line(candidate))
    before = house.read("extracted.md")
    assert reconcile(house.memory, (), max_loss) == ""
    assert house.read("extracted.md") == before


def test_more_than_the_allowed_share_is_an_accident(tmp_path: Path):
    house = House(tmp_path)
    candidates = [house.candidate(rule) for rule in RULES]
    house.extract(*candidates)
    for candidate in candidates[:4]:
        take_out(house, candidate_line(candidate))
    assert reconcile(house.memory, (), 0.25)
    assert all(rule in house.read("extracted.md") for rule in RULES)
