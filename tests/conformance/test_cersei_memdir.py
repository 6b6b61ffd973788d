"""Cersei's own tests of its memory folder, by name, as far as they are about what a writer must leave behind."""

import re
from pathlib import Path

from slowwave.memory.folder import TOPICS
from tests.unit.consolidation.dreams import House

# what Cersei's scan accepts, in the first 30 lines of a file
_TYPES = {"user", "feedback", "project", "reference"}


def _front_matter(text: str) -> dict[str, str]:
    head = text.splitlines()[:30]
    assert head[0] == "---"
    end = head.index("---", 1)
    return dict(re.fullmatch(r"(\w+): (.+)", line).groups() for line in head[1:end])  # type: ignore[union-attr]


def _load_index(memory: Path) -> str:
    """Read the index as Cersei does: 200 lines, 25,000 bytes, a note when something was cut."""
    path = memory / "MEMORY.md"
    text = path.read_text() if path.exists() else ""
    lines = text.splitlines()
    if len(lines) <= 200 and len(text.encode()) <= 25_000:
        return text
    return "\n".join(lines[:200])[:25_000] + f"\n\n<!-- MEMORY.md truncated: {len(lines)} total lines -->"


def _full(tmp_path: Path) -> House:
    """Return a house whose index a person has filled: what is remembered stands on pages."""
    house = House(tmp_path)
    house.memory.mkdir(parents=True)
    (house.memory / "MEMORY.md").write_text("- my own\n" * 200)
    return house


def test_scan_memory_dir_finds_topic_files_with_front_matter_and_skips_the_index(tmp_path: Path) -> None:
    house = _full(tmp_path)
    house.extract(
        *(house.candidate(f"Fact of the kind {c}", session=c, category=c) for c in TOPICS),
    )
    house.dream()
    files = {p.name for p in house.memory.glob("*.md")} - {"MEMORY.md", "extracted.md"}
    assert files == {topic.file for topic in TOPICS.values()}
    for name in files:
        found = _front_matter(house.read(name))
        assert set(found) == {"name", "description", "type"}
        assert found["type"] in _TYPES


def test_load_memory_index_is_never_truncated_by_what_we_write(tmp_path: Path) -> None:
    house = House(tmp_path)
    words = [
        f"{a}{b}{c}" for a in "bcdfghjk" for b in "aeiou" for c in ("lora", "mint", "sand", "tree", "wolf", "yard")
    ]
    house.extract(*(house.candidate(f"Module {w} does {w * 12}", session="s", category="project") for w in words))
    house.dream()
    assert "truncated" not in _load_index(house.memory)
    assert len(house.read("MEMORY.md").splitlines()) == 200
    assert len(words) > 200


def test_load_memory_index_missing_is_none(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(house.candidate("The cache is slow", category="project", confidence=0.45))
    house.dream()
    assert _load_index(house.memory) == ""


def test_files_without_front_matter_are_left_as_they_are(tmp_path: Path) -> None:
    house = _full(tmp_path)
    (house.memory / "project.md").write_text("no front matter\n")
    house.extract(house.candidate("The cache is slow", category="project"))
    house.dream()
    assert house.read("project.md") == "no front matter\n- The cache is slow\n"
