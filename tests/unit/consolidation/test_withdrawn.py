"""A waiting line that a person took out of ``extracted.md`` is refused for their sake; what else they did stands."""

from pathlib import Path

from slowwave.memory.book import read_book
from slowwave.memory.extracted import candidate_line, reconcile
from slowwave.memory.waiting import REMOVED, REWORDED
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
