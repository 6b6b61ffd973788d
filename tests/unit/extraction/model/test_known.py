"""What a model is told beside the session: bounded, without secrets, under names that stay."""

from pathlib import Path

from slowwave.extraction.model.prompts import instructions_of, known_of
from slowwave.extraction.model.verification import Accepted
from slowwave.memory.book import Book
from slowwave.models.base import estimated_tokens
from slowwave.secrets import NAMELESS
from tests.model_server.scripted import note
from tests.unit.consolidation.nights import said
from tests.unit.extraction.model.shown import checks_of, memory, verified
from tests.unit.extraction.talk import Talk

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def book(*ids: str) -> Book:
    return Book(memories={one: memory(f"rule number {one}", one) for one in ids})


def test_memories_and_waiting_notes_are_shown_by_name_and_notes_that_were_dreamt_keep_theirs():
    new, old = said("use yarn", "2026-11-02T09:00:00Z"), said("use make", "2026-11-02T09:00:00Z")
    given = book("m1a2b3c4d5e6")
    given.done[old.id] = "add m9"
    known = known_of(given, [new, old], "CLAUDE.md:\nbe brief", 0.5)
    assert list(known.memories) == ["Mm1a2b3"]
    assert set(known.notes) == {f"C{new.id[:6]}", f"C{old.id[:6]}"}
    memories, notes, instructions = known.blocks
    assert "Mm1a2b3 (constraint): rule number m1a2b3c4d5e6" in memories
    assert new.text in notes
    assert old.text not in notes
    assert instructions.endswith("CLAUDE.md:\nbe brief")
    assert known_of(Book(), [], "", 0.5).blocks == ()


def test_a_name_means_the_same_another_night_and_never_one_of_two():
    one = known_of(book("m1a2b3c4d5e6", "m7777777"), [], "", 0.5).memories
    later = known_of(book("m8888888", "m1a2b3c4d5e6", "m7777777"), [], "", 0.5).memories
    assert one.items() <= later.items()
    twins = known_of(book("m1a2b3c4d5e6", "m1a2b3ffffff"), [], "", 0.5).memories
    assert {name: m.id for name, m in twins.items()} == {
        "Mm1a2b3c4d5e6": "m1a2b3c4d5e6",
        "Mm1a2b3ffffff": "m1a2b3ffffff",
    }


def test_what_an_answer_of_another_night_says_about_twins_changes_neither(tmp_path: Path):
    memories = known_of(book("m1a2b3c4d5e6", "m1a2b3ffffff"), [], "", 0.5).memories
    checks = checks_of(tmp_path, Talk().person("rule number one is over"), memories=memories)
    found: Accepted = verified(checks, note("over", (1, "rule number one is over"), op="retire", memory="Mm1a2b3"))
    assert (found.notes, found.left) == ([], ["memory"])


def test_only_as_many_memories_are_shown_as_there_is_room_for():
    long = {f"m{n:011d}": memory("long words " * 40, f"m{n:011d}") for n in range(400)}
    known = known_of(Book(memories=long), [], "", 0.5)
    assert 10 < len(known.memories) < 400
    assert estimated_tokens(known.blocks[0]) < 8_000


def test_instructions_are_shown_without_secrets_also_where_they_are_cut(tmp_path: Path):
    (tmp_path / "CLAUDE.md").write_text(f"{'x ' * 2_990}token {TOKEN} and more{' y' * 9_000}")
    (tmp_path / "AGENTS.md").write_text("use make\u200b test")
    shown = instructions_of(str(tmp_path), NAMELESS)
    assert shown.startswith("CLAUDE.md:\n")
    assert TOKEN[:14] not in shown
    assert "AGENTS.md:\nuse make test" in shown
    assert len(shown) <= 12_000


def test_each_file_is_shown_once_and_none_from_outside_the_project(tmp_path: Path):
    root = tmp_path / "repository"
    root.mkdir()
    (tmp_path / "credentials").write_text("private words")
    (root / "AGENTS.md").symlink_to(tmp_path / "credentials")
    (root / "CLAUDE.md").mkdir()
    assert instructions_of(str(root), NAMELESS) == ""
    (root / "AGENTS.md").unlink()
    (root / "CLAUDE.md").rmdir()
    (root / "AGENTS.md").write_text("be brief")
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    assert instructions_of(str(root), NAMELESS) == "CLAUDE.md:\nbe brief"
    assert instructions_of("", NAMELESS) == instructions_of(str(tmp_path / "gone"), NAMELESS) == ""


def test_a_drop_of_a_note_that_was_dreamt_already_is_still_understood(tmp_path: Path):
    old = said("use make", "2026-11-02T09:00:00Z")
    given = Book(done={old.id: "add m9"})
    known = known_of(given, [old], "", 0.5)
    checks = checks_of(tmp_path, Talk().person("use make"), notes=known.notes)
    (dropped,) = verified(checks, note("not worth it", op="drop", notes=[f"C{old.id[:6]}"])).dropped
    assert dropped.value == old.id
