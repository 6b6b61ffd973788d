"""What a memory counts today: it fades with the project's own time, is doubted, is used, and ranks by it."""

from datetime import timedelta
from pathlib import Path

from slowwave.memory.book import Memory, read_book
from slowwave.memory.model import Category
from slowwave.memory.standing import standing_of
from slowwave.settings import ConsolidationSettings
from tests.unit.consolidation.dreams import House
from tests.unit.consolidation.nights import Nights, said

HALF = ConsolidationSettings().half_lives


def _by_text(nights: Nights) -> dict[str, Memory]:
    return {m.text: m for m in nights.book.memories.values()}


def _index(data: bytes) -> list[str]:
    return [line for line in data.decode().splitlines() if line.startswith("- ") and "](" not in line]


def test_what_no_session_shows_any_more_fades_by_the_half_life_of_its_kind() -> None:
    nights = Nights()
    nights.dream([said("Use tabs for code", "2024-11-01T00:00:00Z"), said("Use dots", "2026-11-01T00:00:00Z")])
    for category, expected in (("preference", 0.45), ("pattern", 0.9 * 0.5 ** (730 / 180))):
        half: dict[Category, timedelta] = {"preference": HALF[category]}
        standing = standing_of(nights.book, half)
        assert abs(standing.confidence(_by_text(nights)["Use tabs for code"]) - expected) < 0.001
        assert standing.confidence(_by_text(nights)["Use dots"]) == 0.9


def test_a_project_that_rests_forgets_nothing_and_a_new_sighting_makes_fresh_again() -> None:
    nights = Nights()
    nights.dream([said("Use tabs for code", "2020-11-01T00:00:00Z")])
    assert standing_of(nights.book, HALF).confidence(_by_text(nights)["Use tabs for code"]) == 0.9
    nights.dream([said("Use dots", "2026-11-01T00:00:00Z")])
    assert _index(nights.files["MEMORY.md"]) == ["- Use dots", "- Use tabs for code"]
    nights.dream([said("Use tabs for code", "2026-11-02T00:00:00Z")])
    assert standing_of(nights.book, HALF).confidence(_by_text(nights)["Use tabs for code"]) > 0.9


def test_sessions_that_show_something_else_in_vain_leave_a_doubt() -> None:
    nights = Nights()
    rule = said("Tests are run with `make test`", "2026-11-01T00:00:00Z", key="cmd:test", value="make test")
    seen = said(
        "Tests are run with `npm test`", "2026-11-05T00:00:00Z", key="cmd:test", value="npm test",
        origin="command_outcome", category="pattern",
    )  # fmt: skip
    nights.dream([rule, seen])
    memory = _by_text(nights)[rule.text]
    assert memory.status == "active"
    assert standing_of(nights.book, {}).confidence(memory) == 0.765


def test_a_session_that_reads_a_memory_file_is_counted_once_and_never_alone_a_reason_to_dream(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.memory.mkdir(parents=True)
    (house.memory / "MEMORY.md").write_text("- filled\n" * 200)
    house.extract(house.candidate("Use npm for installs", session="a"))
    house.dream()
    house.session("reader", f"Read {house.memory}/preferences.md")
    house.clock.advance(days=1)
    assert not house.dream().dream_ids
    house.session("reader", "and more")
    house.clock.advance(days=1)
    house.session("reader", "and more")
    house.extract(house.candidate("The cache is slow", session="b", category="project"))
    assert house.dream().dream_ids
    assert read_book(house.memory).uses == {"preferences.md": {"reader"}}
    standing = standing_of(read_book(house.memory), HALF)
    used, other = sorted(read_book(house.memory).active, key=lambda m: m.file)
    assert standing.worth(used) > standing.confidence(used)
    assert standing.worth(other) == standing.confidence(other)
