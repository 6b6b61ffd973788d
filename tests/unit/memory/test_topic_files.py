"""The files that agents read: index limits, people's choices in it, topic files and their front matter."""

from pathlib import Path

import pytest

from slowwave.memory.book import read_book
from slowwave.memory.folder import visible_files
from slowwave.memory.index import gathered, placed
from slowwave.memory.ledger import line_hash
from slowwave.memory.pages import statements
from slowwave.memory.undo import undo
from tests.unit.consolidation.dreams import House
from tests.unit.consolidation.folders import Folder

WORDS = [f"{a}{b}" for a in "bcdfghjklmnpqrst" for b in ("ara", "emi", "ido", "ulo")]


def _house(tmp_path: Path) -> House:
    house = House(tmp_path)
    house.extract(
        house.candidate("Use npm for installs", session="a"),
        house.candidate("The queue lives in Redis", session="b", category="project"),
    )
    house.dream()
    house.clock.advance(days=1)
    return house


def test_a_line_that_a_person_moves_to_a_page_stays_there_and_one_that_they_delete_is_gone(tmp_path: Path) -> None:
    house = _house(tmp_path)
    index = house.memory / "MEMORY.md"
    assert not {"preferences.md", "project.md"} & visible_files(house.memory).keys()
    index.write_text("# Memory\n")
    (house.memory / "preferences.md").write_text("- Use npm for installs\n")
    assert house.dream().dream_ids
    pointer = "- [Preferences](preferences.md): how the user wants things done: Use npm for installs (1 memory)\n"
    assert index.read_text() == f"# Memory\n{pointer}"
    index.write_text("# Memory\n")
    house.extract(house.candidate("Never push on a Friday", session="c"))
    house.dream()
    assert index.read_text() == "# Memory\n- Never push on a Friday\n"
    assert house.read("preferences.md") == "- Use npm for installs\n"
    assert [m.text for m in read_book(house.memory).active] == ["Use npm for installs", "Never push on a Friday"]


def test_lines_that_an_agent_wrote_over_go_to_their_page_and_many_that_are_gone_at_once_come_back(
    tmp_path: Path,
) -> None:
    folder = Folder(tmp_path)
    folder.extract(*(folder.candidate(f"Module {w} is old", session=w, category="project") for w in WORDS[:5]))
    folder.dream()
    before = folder.read("MEMORY.md")
    (folder.memory / "MEMORY.md").write_text("# Memory\n")
    assert "5 lines gone from MEMORY.md at once" in folder.dream().warnings[0]
    assert sorted(folder.read("MEMORY.md").split()) == sorted(before.split())
    folder.clock.advance(days=1)
    folder.agent_writes("MEMORY.md", "# Memory\n\n- The agent's own\n", at="2026-11-20T22:00:00.000Z")
    folder.dream()
    told = ", ".join(f"Module {word} is old" for word in WORDS[:3])
    pointer = f"- [Project](project.md): facts about this project: {told}, ... (5 memories)\n"
    assert folder.read("MEMORY.md") == f"# Memory\n\n- The agent's own\n{pointer}"
    assert folder.read("project.md").count("is old") == 5
    assert folder.dream().dream_ids == []


def test_a_page_goes_with_the_last_of_its_memories_and_undo_brings_it_back(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.extract(*(folder.candidate(f"Module {w} is old", session=w, category="project") for w in WORDS[:12]))
    folder.dream(index_lines=10)
    page, index = folder.read("project.md"), folder.read("MEMORY.md")
    assert page.count("is old") == 7
    report = folder.dream()
    assert "project.md" not in visible_files(folder.memory)
    assert folder.read("MEMORY.md").count("is old") == 12
    undo(folder.memory, report.dream_ids[0], folder.clock.now())
    assert (folder.read("project.md"), folder.read("MEMORY.md")) == (page, index)


def test_an_index_that_is_gone_is_made_again(tmp_path: Path) -> None:
    house = _house(tmp_path)
    before = house.read("MEMORY.md")
    (house.memory / "MEMORY.md").unlink()
    house.dream()
    assert house.read("MEMORY.md") == before


def test_people_who_fill_the_index_push_our_lines_out_and_are_told(tmp_path: Path) -> None:
    house = _house(tmp_path)
    index = house.memory / "MEMORY.md"
    mine = "".join(f"- my line {n}\n" for n in range(300))
    index.write_text(mine + index.read_text())
    report = house.dream()
    assert index.read_text() == mine + "# Memory\n\n"
    assert "fills it already" in report.warnings[0]
    assert house.dream().dream_ids == []
    assert len(read_book(house.memory).active) == 2


def test_the_index_stays_within_its_limits_at_whole_lines(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(
        *(house.candidate(f"Module {w} führt über {w * 9} 日本語", session=w, category="project") for w in WORDS)
    )
    house.dream(index_lines=40, index_bytes=2000)
    data = (house.memory / "MEMORY.md").read_bytes()
    assert len(data) <= 2000
    assert data.count(b"\n") <= 40
    assert data.endswith(b"\n")
    shown = [line for line in data.decode().splitlines() if line.startswith("- Module")]
    assert shown
    paged = house.read("project.md").splitlines()[6:]
    assert set(shown).isdisjoint(paged)
    assert len(shown) + len(paged) == len(WORDS)
    assert f"({len(paged)} memories)" in data.decode()


def test_a_topic_file_of_a_person_is_woven_into_and_carriage_returns_are_followed(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.memory.mkdir(parents=True)
    (house.memory / "preferences.md").write_bytes(b"# Mine\r\n- short lines\r\n")
    (house.memory / "MEMORY.md").write_bytes(b"- filled\n" * 199)
    house.extract(house.candidate("Use npm for installs"))
    house.dream()
    assert (house.memory / "preferences.md").read_bytes() == b"# Mine\r\n- short lines\r\n- Use npm for installs\r\n"
    (house.memory / "preferences.md").write_bytes(b"# Mine\n- Use npm for installs\n- short lines\n")
    assert house.dream().dream_ids == []


def test_a_memory_is_one_line_whatever_its_text_holds(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(house.candidate("Use\u2028npm\r\n# for ---\n installs"))
    house.dream()
    assert "\n- Use npm # for --- installs\n" in house.read("MEMORY.md")


def test_a_deleted_topic_file_means_that_its_memories_were_removed(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(*(house.candidate(f"Module {w} is old", session=w, category="project") for w in WORDS[:12]))
    house.dream(index_lines=10)
    (house.memory / "project.md").unlink()
    house.dream(index_lines=10)
    assert "project.md" not in visible_files(house.memory)
    assert len(read_book(house.memory).active) == 5


def test_a_list_that_comes_to_stand_below_an_entry_is_no_part_of_it() -> None:
    page = b"# M\n\n## X\n- A\n\n## Y\n- B\n\n## X\n1. first\n2. second\n"
    agents = {line_hash(line) for line in page.split(b"\n")}
    made, gone = gathered(page, agents, [], frozenset[str]())
    assert (made, gone) == (b"# M\n\n## X\n- A\n\n1. first\n2. second\n\n## Y\n- B\n", [b"## X"])
    assert "- A" in [one.line for one in statements(made)]


@pytest.mark.parametrize(
    ("page", "moved"),
    [
        (b"## X\n- A\n- C\n\n## Y\n- B\n", b"## X\n- C\n\n## Y\n- B\n- A\n"),
        # what would become a part of another one, stands twice, or would come behind code stays
        (b"## X\n- C\n- A\ntext\n\n## Y\n- B\n", None),
        (b"## X\n- A\n- A\n\n## Y\n- B\n", None),
        (b"## X\n- A\n\n## Y\n```\ncode\n", None),
        (b"## X\n- C\n  - A\n\n## Y\n- B\n", None),
        (b"## X\n- A\n\n## Z\n- B\n", None),
    ],
)
def test_an_entry_goes_below_another_heading_where_it_takes_nothing_along(page: bytes, moved: bytes | None) -> None:
    assert placed(page, {"- A": "y"}, []) == (moved or page)
