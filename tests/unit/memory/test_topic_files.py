"""The files that agents read: index limits, people's choices in it, topic files and their front matter."""

from pathlib import Path

from slowwave.memory.book import read_book
from slowwave.memory.folder import visible_files
from tests.unit.consolidation.dreams import House


def _house(tmp_path: Path) -> House:
    house = House(tmp_path)
    house.extract(
        house.candidate("Use npm for installs", session="a"),
        house.candidate("The queue lives in Redis", session="b", category="project"),
    )
    house.dream()
    house.clock.advance(days=1)
    return house


def test_a_line_that_a_person_takes_out_of_the_index_stays_out_and_the_memory_stays(tmp_path: Path) -> None:
    house = _house(tmp_path)
    index = house.memory / "MEMORY.md"
    pointer = next(line for line in index.read_text().splitlines() if "project.md" in line)
    index.write_text(index.read_text().replace("- Use npm for installs\n", "").replace(f"{pointer}\n", ""))
    assert house.dream().dream_ids
    house.extract(house.candidate("Never push on a Friday", session="c"))
    house.dream()
    assert "Use npm" not in index.read_text()
    assert "project.md" not in index.read_text()
    assert "Never push on a Friday" in index.read_text()
    assert "- Use npm for installs" in house.read("preferences.md")


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
    words = [f"{a}{b}" for a in "bcdfghjklmnpqrst" for b in ("ara", "emi", "ido", "ulo")]
    house.extract(
        *(house.candidate(f"Module {w} führt über {w * 9} 日本語", session=w, category="project") for w in words)
    )
    house.dream(index_lines=40, index_bytes=2000)
    data = (house.memory / "MEMORY.md").read_bytes()
    assert len(data) <= 2000
    assert data.count(b"\n") <= 40
    assert data.endswith(b"\n")
    shown = [line for line in data.decode().splitlines() if line.startswith("- Module")]
    assert shown
    assert set(shown) <= set(house.read("project.md").splitlines())
    assert len(house.read("project.md").splitlines()) == 6 + len(words)


def test_a_topic_file_of_a_person_is_woven_into_and_carriage_returns_are_followed(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.memory.mkdir(parents=True)
    (house.memory / "preferences.md").write_bytes(b"# Mine\r\n- short lines\r\n")
    house.extract(house.candidate("Use npm for installs"))
    house.dream()
    assert (house.memory / "preferences.md").read_bytes() == b"# Mine\r\n- short lines\r\n- Use npm for installs\r\n"
    (house.memory / "preferences.md").write_bytes(b"# Mine\n- Use npm for installs\n- short lines\n")
    assert house.dream().dream_ids == []


def test_a_memory_is_one_line_whatever_its_text_holds(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(house.candidate("Use\u2028npm\r\n# for ---\n installs"))
    house.dream()
    assert "\n- Use npm # for --- installs\n" in house.read("preferences.md")


def test_a_deleted_topic_file_means_that_its_memories_were_removed(tmp_path: Path) -> None:
    house = _house(tmp_path)
    (house.memory / "project.md").unlink()
    house.dream()
    assert "project.md" not in visible_files(house.memory)
    assert "Redis" not in house.read("MEMORY.md")
    assert [m.text for m in read_book(house.memory).active] == ["Use npm for installs"]
