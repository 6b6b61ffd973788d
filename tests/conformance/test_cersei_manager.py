"""Cersei's own tests of ``manager.rs``, ``claudemd.rs``, ``graph_migrate.rs`` and the rest of ``memdir.rs``, by name.

Without a counterpart, since slowwave writes memories and leaves it to the agents to read them:

- ``claudemd.rs``: it loads no instruction file and expands no ``@include``. What must hold instead is that none of
  these files is ever changed or taken for a memory; the eight tests ask that.
- ``graph_migrate.rs``: there is no graph, so there is nothing to migrate (``test_check_version_fresh_graph``,
  ``test_migration_and_recheck``, ``test_migration_idempotent``), and a memory does not fade: it holds until something
  newer supersedes it. The tests of decay ask that time changes nothing, and that confidence stays between 0 and 1.
- ``memdir.rs``: ages in words (``test_memory_age``, ``test_freshness_warning``) are made by the agent that reads.
- ``auto_dream.rs``: ``test_consolidation_prompt``: no model is asked; the phases are steps of the job.
"""

from pathlib import Path

import pytest

from slowwave.consolidation.facts import combined
from slowwave.context import FixedClock
from slowwave.library import Sessions
from slowwave.memory.book import read_book
from slowwave.memory.ledger import Sighting
from slowwave.settings import Settings
from slowwave.stores.discovery import find_projects
from slowwave.stores.projects import spelled
from tests.unit.consolidation.dreams import T0, House
from tests.unit.stores.store_builder import cersei, write


def scan(memory: Path) -> list[Path]:
    """Return what Cersei's scan lists: Markdown files but for the index."""
    return sorted(p for p in memory.glob("*.md") if p.name != "MEMORY.md")


def recall(memory: Path, query: str) -> list[Path]:
    """Return what Cersei's recall finds without its graph: files that hold the words, in any case."""
    return [p for p in scan(memory) if query.lower() in p.read_text().lower()]


def sighting(confidence: float, session: str = "s", at: str = "2026-11-19T10:00:00Z") -> Sighting:
    return Sighting("claude", session, f"{session}.jsonl", "user_explicit", confidence, at)


def test_manager_basic(tmp_path: Path) -> None:
    assert read_book(tmp_path / "memory").active == []
    assert Sessions(tmp_path / "sessions").list() == []


def test_manager_context_with_claude_md(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(house.candidate("I prefer tabs"))
    rules = house.folder / "CLAUDE.md"
    rules.write_text("# Project Rules\nUse Rust only.")
    house.dream()
    # what Cersei puts before a conversation: the instructions, then the index
    context = rules.read_text() + "\n\n" + house.read("MEMORY.md")
    assert "Use Rust only." in context
    assert "- I prefer tabs" in context


def test_manager_session_write_load(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "sessions", clock=FixedClock(T0), cwd="/p")
    uuid = sessions.write_user_message("s1", "Hello")
    sessions.write_assistant_message("s1", "Hi!", uuid)
    assert [m.text for m in sessions.load("s1")] == ["Hello", "Hi!"]


def _full(tmp_path: Path) -> House:
    """Return a house whose index a person has filled: what is remembered stands on pages."""
    house = House(tmp_path)
    house.memory.mkdir(parents=True)
    (house.memory / "MEMORY.md").write_text("- my own\n" * 200)
    return house


def test_manager_recall_fallback(tmp_path: Path) -> None:
    house = _full(tmp_path)
    house.extract(
        house.candidate("Always use clippy for linting", session="a", category="constraint"),
        house.candidate("I prefer ruff for linting Python", session="b"),
    )
    house.dream()
    (house.memory / "extracted.md").unlink()
    assert [p.name for p in recall(house.memory, "clippy")] == ["constraints.md"]
    assert [p.name for p in recall(house.memory, "LINTING")] == ["constraints.md", "preferences.md"]


def test_manager_scan(tmp_path: Path) -> None:
    house = _full(tmp_path)
    house.extract(house.candidate("I prefer tabs"))
    house.dream()
    assert [p.name for p in scan(house.memory)] == ["extracted.md", "preferences.md"]
    assert (house.memory / "MEMORY.md").is_file()


def test_manager_list_sessions(tmp_path: Path) -> None:
    write(tmp_path / "s1.jsonl", cersei("user", "a"))
    write(tmp_path / "s2.jsonl", cersei("user", "b"))
    (tmp_path / "not-a-session.txt").write_text("x")
    assert sorted(row.id for row in Sessions(tmp_path).list()) == ["s1", "s2"]


@pytest.mark.parametrize(
    ("test", "files"),
    [
        ("test_load_project_claude_md", {"CLAUDE.md": "# Rules\n\nI always want Rust."}),
        ("test_load_local_claude_md", {".claude/CLAUDE.md": "Never push to main."}),
        ("test_scope_ordering", {"CLAUDE.md": "We decided on Rust.", ".claude/CLAUDE.md": "We decided on Go."}),
        ("test_include_expansion", {"CLAUDE.md": "@include extra.md", "extra.md": "I prefer tabs, always."}),
        ("test_circular_include", {"CLAUDE.md": "@include b.md", "b.md": "@include CLAUDE.md"}),
        ("test_build_memory_prompt", {"rules/a.md": "Rule 1", "rules/b.md": "Rule 2"}),
        ("test_empty_file_skipped", {"CLAUDE.md": ""}),
        ("test_frontmatter_stripped", {"CLAUDE.md": "---\nscope: project\n---\n\nAlways use spaces."}),
    ],
)
def test_claude_md_is_neither_changed_nor_taken_for_a_memory(tmp_path: Path, test: str, files: dict[str, str]) -> None:
    house = House(tmp_path)
    house.extract(house.candidate("The cache is slow", category="project"))
    for name, text in files.items():
        path = house.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    house.dream()
    assert {name: (house.folder / name).read_text() for name in files} == files, test
    assert [m.text for m in read_book(house.memory).active] == ["The cache is slow"], test


def test_effective_confidence_no_decay() -> None:
    assert combined("preference", [sighting(0.9)]) == 0.9


def test_effective_confidence_with_decay_does_not_fade_with_the_years_here(tmp_path: Path) -> None:
    assert combined("preference", [sighting(0.9, at="2020-01-01T00:00:00Z")]) == 0.9
    house = House(tmp_path)
    house.extract(house.candidate("I prefer tabs"))
    house.dream()
    before = house.read("MEMORY.md")
    house.clock.advance(days=3650)
    house.dream()
    assert house.read("MEMORY.md") == before


def test_effective_confidence_recent() -> None:
    old, new = sighting(0.9, at="2020-01-01T00:00:00Z"), sighting(0.9, at="2026-11-20T00:00:00Z")
    assert combined("preference", [old]) == combined("preference", [new])


def test_effective_confidence_invalid_date() -> None:
    assert combined("preference", [sighting(0.8, at="not-a-date")]) == 0.8


def test_effective_confidence_clamps() -> None:
    assert combined("preference", []) == 0.0
    assert combined("preference", [sighting(0.95, session=str(n)) for n in range(50)]) == 0.99


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/Users/foo/project", "_Users_foo_project"),
        ("simple-name", "simple-name"),
        ("a/b:c", "a_b_c"),
        ("d_e.f g", "d_e.f_g"),
    ],
)
def test_sanitize_path_component(path: str, name: str) -> None:
    assert spelled(path, "cersei") == name


def test_auto_memory_path(tmp_path: Path) -> None:
    write(tmp_path / ".claude" / "projects" / "_p" / "s1.jsonl", cersei("user", "a"))
    (project,) = find_projects(Settings(), {"HOME": str(tmp_path)}).projects
    assert project.memory == tmp_path / ".claude" / "projects" / "_p" / "memory"


def test_load_index_of_ten_lines_is_not_truncated(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(*(house.candidate(f"I prefer {w} over all", session=w) for w in ("tabs", "pnpm", "vim")))
    house.dream()
    assert all(f"- I prefer {w} over all" in house.read("MEMORY.md").splitlines() for w in ("tabs", "pnpm", "vim"))


def test_build_memory_prompt_contains_both_entries(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(house.candidate("I prefer tabs"), house.candidate("The cache is slow", category="project"))
    house.dream()
    index = house.read("MEMORY.md").splitlines()
    assert "- I prefer tabs" in index
    assert "- The cache is slow" in index


def test_load_memory_file_strips_what_we_write_before_a_topics_lines(tmp_path: Path) -> None:
    house = _full(tmp_path)
    house.extract(house.candidate("I prefer tabs"))
    house.dream()
    # Cersei drops everything up to the second line of dashes
    _, front, body = house.read("preferences.md").split("---\n", 2)
    assert "name: " in front
    assert "name: " not in body
    assert "- I prefer tabs" in body.splitlines()
