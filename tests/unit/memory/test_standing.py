"""What a memory counts today: it fades with the project's own time, is doubted, is used, and ranks by it."""

from datetime import timedelta
from pathlib import Path

from slowwave.memory import Category
from slowwave.memory.book import Memory, read_book, standing_of
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
    nights.dream([said("Use tabs for code", "2024-11-01T00:00:00Z")])
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


def test_what_one_session_said_long_ago_and_nobody_used_leaves_the_index_then_its_page_and_never_the_ledger(
    tmp_path: Path,
) -> None:
    house = House(tmp_path)

    def fact(text: str, session: str, at: str) -> None:
        house.extract(house.candidate(text, session=session, category="project", at=f"{at}T10:00:00Z"))

    for n, text in enumerate(("The cache is cold", "The importer is slow", "The queue is short", "The API is old")):
        fact(text, f"a{n}", "2020-01-01")
    fact("The importer is slow", "b", "2020-01-02")
    house.dream()
    assert house.read("MEMORY.md").count("\n- ") == 4
    # two half-lives later
    fact("The docs are in English", "c", "2021-08-01")
    house.dream()
    assert "- The importer is slow" in house.read("MEMORY.md")
    assert "- The cache is cold" not in house.read("MEMORY.md")
    assert "- The cache is cold" in house.read("project.md")
    # four, and one night forgets no more than a dream may lose
    fact("The logs are rotated", "d", "2023-06-01")
    report = house.dream()
    assert report.counts["dropped"] == 1
    gone = next(i for i in report.items if i.action == "drop")
    assert gone.reason.startswith("faded: one session showed it, and nobody used it for 5 half-lives")
    book = read_book(house.memory)
    assert book.memories[gone.target].status == "dropped"
    assert gone.text not in house.read("MEMORY.md") + house.read("project.md")
    # without news nothing is forgotten, and what is said again is there again
    assert house.dream().dream_ids == []
    fact(gone.text, "e", "2023-06-02")
    house.dream(max_loss=0.0)
    assert f"- {gone.text}" in house.read("MEMORY.md")
    assert house.dream().dream_ids == []
