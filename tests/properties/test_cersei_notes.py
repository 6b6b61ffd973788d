"""What was counted of a Cersei session is never wrong later, however the session goes on or is changed meanwhile."""

import json
import random
from pathlib import Path

import pytest

from slowwave.formats import SessionFiles
from slowwave.formats import tail as formats_tail
from slowwave.formats.cersei import dialect as cersei_tail
from slowwave.formats.registry import by_name, read_for_context
from slowwave.formats.tail import MOST, FileNotes
from tests.properties.damage import damaged
from tests.properties.test_cersei_tail import session
from tests.properties.test_tail_context import forms

CERSEI = by_name("cersei")


class SpiedNotes(FileNotes):
    """Notes that count how many were of use."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.hits = self.puts = 0

    def get(self, name: str) -> bytes | None:
        """Count what was found."""
        note = super().get(name)
        self.hits += note is not None
        return note

    def put(self, name: str, note: bytes) -> None:
        """Count what was kept."""
        self.puts += 1
        super().put(name, note)


def same_with_notes(files: SessionFiles, notes: FileNotes, seed: int) -> bool:
    """Compare the context from notes with that of the whole session; return whether an end was enough."""
    short = read_for_context(CERSEI, files, notes)
    assert forms(CERSEI.context(short)) == forms(CERSEI.context(CERSEI.read(files))), seed
    return short.is_tail


def changed(chance: random.Random, raw: bytes, seed: int) -> bytes:
    """Return a session that was rewritten: a line less, a line twice, or damaged."""
    lines = raw.splitlines(keepends=True)
    match chance.randrange(3):
        case 0 if len(lines) > 1:
            del lines[chance.randrange(len(lines))]
        case 1 if lines:
            lines.insert(chance.randrange(len(lines)), chance.choice(lines))
        case _:
            return damaged(raw, seed)
    return b"".join(lines)


def replaced(path: Path, raw: bytes) -> None:
    """Write a file as every careful writer does: a new one takes its place."""
    other = path.with_name("new")
    other.write_bytes(raw)
    other.replace(path)


@pytest.mark.parametrize("block", range(4))
def test_sessions_that_grow_give_the_same_with_notes_of_before(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats_tail, "STEP_BYTES", 200)
    monkeypatch.setattr(cersei_tail, "LEAST_BYTES", 1)
    tails = hits = 0
    for seed in range(block * 40, block * 40 + 40):
        chance = random.Random(seed)
        monkeypatch.setattr(cersei_tail, "_BLOCK_BYTES", chance.choice((1, 100, 400, 1 << 17)))
        monkeypatch.setattr(cersei_tail, "_ODD_LINES", chance.choice((1, 2, 100)))
        raw = b"".join(session(chance) for _ in range(3))
        raw = damaged(raw, seed) if chance.random() < 0.4 else raw
        notes = SpiedNotes(tmp_path / f"notes{seed}")
        paths = [tmp_path / f"s{seed}.jsonl"]
        paths[0].touch()
        for cut in [*sorted(chance.randrange(len(raw) + 1) for _ in range(5)), len(raw)]:
            begin = sum(path.stat().st_size for path in paths)
            if chance.random() < 0.15:
                paths.append(tmp_path / f"s{seed}_part{len(paths) + 1}.jsonl")
            with paths[-1].open("ab") as file:
                file.write(raw[begin:cut])
            if chance.random() < 0.1:
                replaced(paths[-1], changed(chance, paths[-1].read_bytes(), seed))
            files = SessionFiles("s", tuple(paths))
            tails += same_with_notes(files, notes, seed)
            tails += same_with_notes(files, notes, seed)
        hits += notes.hits
        assert not notes.warnings
    assert tails >= 60
    assert hits >= 60


def line_of(number: int, length: int = 900) -> bytes:
    """Return a message with so many characters."""
    record = {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": "x" * length}}
    return json.dumps(record).encode() + b"\n"


def lines_of(count: int, first: int = 0) -> bytes:
    """Return messages, each of 1 kB."""
    return b"".join(line_of(number) for number in range(first, first + count))


def summary_of(count: int, uuid: str) -> bytes:
    """Return a summary that hides some messages."""
    record = {"type": "summary", "uuid": uuid, "summary": uuid, "messages_compacted": count}
    return json.dumps(record).encode() + b"\n"


def tombstone_of(uuid: str) -> bytes:
    """Return a tombstone."""
    return json.dumps({"type": "tombstone", "deleted_uuid": uuid}).encode() + b"\n"


def counted_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which the place is added at which each look at a file begins."""
    starts: list[int] = []
    add_file = cersei_tail.Glance.add_file

    def spying(self: cersei_tail.Glance, path: Path, stop: int | None, *, start: int = 0) -> bool:
        starts.append(start)
        return add_file(self, path, stop, start=start)

    monkeypatch.setattr(cersei_tail.Glance, "add_file", spying)
    return starts


def test_only_what_is_new_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cersei_tail, "LEAST_BYTES", 10_000)
    starts = counted_bytes(monkeypatch)
    path, notes = tmp_path / "s.jsonl", FileNotes(tmp_path / "notes")
    files = SessionFiles("s", (path,))
    path.write_bytes(lines_of(50) + summary_of(50, "s1") + lines_of(2, 50))
    summary_at = path.read_bytes().find(b'{"type": "summary"')
    assert same_with_notes(files, notes, 0)
    assert same_with_notes(files, notes, 0)
    with path.open("ab") as file:
        file.write(lines_of(3, 52) + summary_of(5, "s2") + lines_of(1, 55))
    assert same_with_notes(files, notes, 0)
    assert starts == [0, summary_at, summary_at]


def test_a_tombstone_that_comes_later_deletes_the_summary_of_a_note(tmp_path: Path) -> None:
    path, notes = tmp_path / "s.jsonl", SpiedNotes(tmp_path / "notes")
    files = SessionFiles("s", (path,))
    path.write_bytes(lines_of(5000) + summary_of(5000, "s1") + lines_of(10, 5000) + summary_of(10, "s2"))
    assert same_with_notes(files, notes, 0)
    with path.open("ab") as file:
        file.write(tombstone_of("s1"))
    assert not same_with_notes(files, notes, 0)
    assert (notes.puts, notes.hits) == (1, 1)


def test_a_tombstone_of_a_note_deletes_what_comes_later(tmp_path: Path) -> None:
    path, notes = tmp_path / "s.jsonl", SpiedNotes(tmp_path / "notes")
    files = SessionFiles("s", (path,))
    path.write_bytes(tombstone_of("u5001") + lines_of(5000) + summary_of(5000, "s1"))
    assert same_with_notes(files, notes, 0)
    with path.open("ab") as file:
        file.write(lines_of(3, 5000))
    assert same_with_notes(files, notes, 0)
    assert (notes.hits, len(CERSEI.context(read_for_context(CERSEI, files, notes)))) == (1, 3)


def test_a_note_counts_what_is_deleted_and_what_is_hidden_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cersei_tail, "LEAST_BYTES", 1)
    path, notes = tmp_path / "s.jsonl", SpiedNotes(tmp_path / "notes")
    files = SessionFiles("s", (path,))
    path.write_bytes(lines_of(5) + tombstone_of("u1") + summary_of(4, "s1") + lines_of(2, 5) + summary_of(2, "s2"))
    assert same_with_notes(files, notes, 0)
    with path.open("ab") as file:
        file.write(lines_of(1, 7) + summary_of(1, "s3"))
    assert same_with_notes(files, notes, 0)
    assert notes.hits == 1


def test_a_session_of_which_the_beginning_was_changed_in_place_is_counted_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cersei_tail, "LEAST_BYTES", 1)
    path, notes = tmp_path / "s.jsonl", SpiedNotes(tmp_path / "notes")
    files = SessionFiles("s", (path,))
    path.write_bytes(lines_of(2) + summary_of(2, "s1"))
    assert same_with_notes(files, notes, 0)
    room = len(lines_of(2)) - 3 * len(line_of(0, 0))
    more = line_of(2, 0) + line_of(3, 0) + line_of(4, room)  # as many bytes, and one message more
    assert len(more) == len(lines_of(2))
    path.write_bytes(more + summary_of(2, "s1") + lines_of(1, 5))  # the same inode
    assert same_with_notes(files, notes, 0)
    assert len(CERSEI.context(read_for_context(CERSEI, files, notes))) == 3


@pytest.mark.parametrize("note", [b"", b"\x00" * 40, b"\x95\x02\x90\x00\xc4\x00\x94\x00\x90\x90\x90"])
def test_a_note_that_says_nothing_is_written_anew(note: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cersei_tail, "LEAST_BYTES", 1)
    path, notes = tmp_path / "s.jsonl", FileNotes(tmp_path / "notes")
    path.write_bytes(lines_of(5) + summary_of(5, "s1"))
    assert same_with_notes(SessionFiles("s", (path,)), notes, 0)
    (kept,) = (tmp_path / "notes").iterdir()
    good = kept.read_bytes()
    kept.write_bytes(note)
    assert same_with_notes(SessionFiles("s", (path,)), notes, 0)
    assert kept.read_bytes() == good


def test_short_sessions_leave_nothing_behind(tmp_path: Path) -> None:
    path, notes = tmp_path / "s.jsonl", FileNotes(tmp_path / "notes")
    path.write_bytes(lines_of(5) + summary_of(5, "s1"))
    assert same_with_notes(SessionFiles("s", (path,)), notes, 0)
    assert not (tmp_path / "notes").exists()


def test_notes_that_cannot_be_kept_are_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    notes = FileNotes(tmp_path / "file" / "notes")
    notes.put("a", b"x")
    assert notes.get("a") is None
    assert len(notes.warnings) == 2


def test_the_oldest_notes_give_way(tmp_path: Path) -> None:
    notes = FileNotes(tmp_path)
    for number in range(MOST):
        (tmp_path / f"old{number:04}").touch()
    notes.put("new", b"x")
    assert len(list(tmp_path.iterdir())) == MOST
    assert notes.get("new") == b"x"
