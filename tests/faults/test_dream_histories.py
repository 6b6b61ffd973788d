"""Undo of whole histories: dreams, extractions and people in random order, then back step by step, byte for byte."""

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from slowwave.errors import RefusedError
from slowwave.memory.book import read_book
from slowwave.memory.folder import visible_files
from slowwave.memory.undo import undo
from tests.unit.consolidation.dreams import House, no_fsync

FULL = os.environ.get("DRILLS") == "full"
TOOLS = ("npm", "pnpm", "yarn", "bun")
NOTES = (b"- a note\n", b"no newline at the end", b"\xff\xfe odd bytes\n", b"crlf\r\n- line\r\n", b"")


@pytest.fixture(autouse=True)
def _without_disk(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Nothing here depends on what survives a power cut."""
    monkeypatch.setattr(os, "fsync", no_fsync)


def _random_extraction(house: House, chance: random.Random) -> None:
    day = house.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    made = [
        house.candidate(
            f"Use {tool} for installs", session=f"s{chance.randrange(40)}", key="pref:pm", value=tool, at=day
        )
        for tool in chance.sample(TOOLS, chance.randrange(3))
    ]
    made += [
        house.candidate(
            f"The service number {chance.randrange(12)} listens on a socket",
            session=f"s{chance.randrange(40)}",
            category="project",
            confidence=chance.choice((0.4, 0.7, 0.9)),
            at=day,
        )
        for _ in range(chance.randrange(4))
    ]
    house.extract(*made)


def _person(house: House, chance: random.Random) -> None:
    """A person writes somewhere."""
    name = chance.choice(("MEMORY.md", "preferences.md", "project.md", "notes.md"))
    path = house.memory / name
    old = path.read_bytes() if path.exists() else b""
    lines = old.split(b"\n")
    kind = chance.randrange(3)
    if kind == 0 and len(lines) > 1:
        del lines[chance.randrange(len(lines))]
        path.write_bytes(b"\n".join(lines))
    elif kind == 1:
        path.write_bytes(chance.choice(NOTES) + old)
    else:
        path.write_bytes(old + chance.choice(NOTES))


@pytest.mark.parametrize("histories", [1_000 if FULL else 30])
def test_undoing_a_random_history_gives_back_every_byte(tmp_path: Path, histories: int) -> None:
    undone = 0
    for number in range(histories):
        chance = random.Random(number)
        house = House(tmp_path / str(number))
        before: dict[str, dict[str, bytes]] = {}
        for _ in range(chance.randint(1, 4)):
            _random_extraction(house, chance)
            if before and chance.random() < 0.3 and not number % 2:
                _person(house, chance)
                before.clear()  # what a person changes is not undone: only later dreams are
            state = visible_files(house.memory)
            for dream in house.dream().dream_ids:
                before[dream] = state
            house.clock.advance(days=1)
        if not before:
            continue
        target = chance.choice(sorted(before))
        expected = before[target]
        now, book = visible_files(house.memory), read_book(house.memory)
        done = undo(house.memory, target, house.clock.now())
        again = undo(house.memory, target, house.clock.now(), again=True)
        assert again.dreams == done.dreams
        assert visible_files(house.memory) == now, number
        assert replace(read_book(house.memory), undone_at="") == replace(book, undone_at=""), number
        done = undo(house.memory, target, house.clock.now())
        assert visible_files(house.memory) == _with_later_extractions(expected, house), (number, done)
        assert target in read_book(house.memory).undone_dreams
        undone += 1
    assert undone > histories // 2


def _with_later_extractions(expected: dict[str, bytes], house: House) -> dict[str, bytes]:
    """Candidates that were extracted after the dream stay in extracted.md; everything else is as it was."""
    found = visible_files(house.memory).get("extracted.md")
    old = expected.get("extracted.md", b"")
    assert found is not None
    new = [line for line in found.split(b"\n") if line not in old.split(b"\n")]
    assert all(line.startswith((b"- **[", b"### Session memories")) or not line for line in new), new
    assert [line for line in old.split(b"\n") if line not in found.split(b"\n")] == []
    if not new:
        assert found == old
    return {**expected, "extracted.md": found}


def test_an_undo_refuses_when_a_person_changed_a_file_since(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(house.candidate("Use npm for installs"))
    dream = house.dream().dream_ids[0]
    (house.memory / "MEMORY.md").write_bytes(b"mine\n")
    before = visible_files(house.memory)
    with pytest.raises(RefusedError, match=r"MEMORY\.md .* changed since"):
        undo(house.memory, dream, house.clock.now())
    assert visible_files(house.memory) == before
    done = undo(house.memory, dream, house.clock.now(), force=True)
    assert done.edited == ("MEMORY.md",)
    assert set(visible_files(house.memory)) == {"extracted.md"}
    kept = house.memory / ".slowwave" / "undo" / done.id / "edited" / "MEMORY.md"
    assert kept.read_bytes() == b"mine\n"


def test_an_edit_between_two_dreams_is_not_lost_by_undoing_both(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(house.candidate("Use npm for installs", session="a"))
    first = house.dream().dream_ids[0]
    with (house.memory / "MEMORY.md").open("a") as file:
        file.write("- typed by hand\n")
    house.clock.advance(days=1)
    house.extract(house.candidate("Never push on a Friday", session="b"))
    house.dream()
    with pytest.raises(RefusedError, match=r"MEMORY\.md"):
        undo(house.memory, first, house.clock.now())


def test_candidates_of_an_undone_dream_are_not_taken_again_but_new_evidence_is(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(house.candidate("Use npm for installs", session="a"))
    undo(house.memory, house.dream().dream_ids[0], house.clock.now())
    again = house.dream()
    assert not again.dream_ids
    assert next(i.reason for i in again.items if i.action == "skip").startswith("undone by a person")
    house.extract(house.candidate("Use npm for installs", session="b"))
    assert house.dream().dream_ids
    assert "- Use npm for installs" in house.read("MEMORY.md")
