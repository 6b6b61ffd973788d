"""Whether memories prove themselves: the bytes are where they were, elsewhere, changed or gone."""

import hashlib
from pathlib import Path

import pytest
import zstandard

from slowwave.memory import Evidence, evidence
from slowwave.memory.book import read_book
from slowwave.memory.evidence import check_all, totals, verify
from tests.unit.consolidation.dreams import House


def _findings(house: House) -> list[str]:
    memories = read_book(house.memory).active
    return [c.finding for v in verify(memories, [house.folder]) for c in v.evidence]


def _house(tmp_path: Path) -> House:
    house = House(tmp_path)
    house.session("s1", "something before it")
    house.extract(house.candidate("Use npm for installs"))
    house.dream()
    return house


def test_untouched_evidence_is_ok(tmp_path: Path) -> None:
    house = _house(tmp_path)
    results = verify(read_book(house.memory).active, [])
    assert totals(results) == {
        "checked": 1, "ok": 1, "moved": 0, "changed": 0, "lost": 0, "archived": 0, "memories": 1, "unproven": 0,
    }  # fmt: skip


def test_evidence_at_another_place_in_the_file_has_moved(tmp_path: Path) -> None:
    house = _house(tmp_path)
    path = house.folder / "s1.jsonl"
    path.write_bytes(b'{"new": 1}\r\n  ' + path.read_bytes())
    assert _findings(house) == ["moved"]


def test_a_file_that_was_moved_within_the_project_is_found_by_its_name(tmp_path: Path) -> None:
    house = _house(tmp_path)
    (house.folder / "archive[1]").mkdir()
    (house.folder / "s1.jsonl").rename(house.folder / "archive[1]" / "s1.jsonl")
    assert _findings(house) == ["moved"]


def test_other_bytes_are_changed_and_no_file_is_lost(tmp_path: Path) -> None:
    house = _house(tmp_path)
    path = house.folder / "s1.jsonl"
    path.write_bytes(path.read_bytes().replace(b"npm", b"bun"))
    assert _findings(house) == ["changed"]
    path.unlink()
    assert _findings(house) == ["lost"]
    assert not verify(read_book(house.memory).active, [])[0].is_proven


def test_a_packed_file_is_unpacked_once_for_all_pieces_and_each_keeps_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f'{{"n": {number}}}'.encode() for number in range(100)]
    path, other = tmp_path / "s.jsonl.zst", tmp_path / "t.jsonl"
    path.write_bytes(zstandard.compress(b"\n".join(lines)))
    other.write_bytes(b"\n".join(lines))
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(100)]
    every = [
        Evidence(str(file), str(n + 1), starts[n], len(lines[n]), hashlib.sha256(lines[n]).hexdigest())
        for n in range(100)
        for file in (path, other)
    ]
    opened: list[Path] = []
    real = evidence.open_plain

    def counted(file: Path, *, most: int) -> object:
        opened.append(file)
        return real(file, most=most)

    monkeypatch.setattr(evidence, "open_plain", counted)
    checked = check_all(every)
    assert [c.evidence for c in checked] == every
    assert {c.finding for c in checked} == {"ok"}
    assert sorted(opened) == [path, other]


def test_records_of_a_renamed_a_split_and_a_copied_session_have_moved(tmp_path: Path) -> None:
    house = _house(tmp_path)
    path = house.folder / "s1.jsonl"
    for name, keep in (("renamed.jsonl", b""), ("s1_part2.jsonl", b'{"first": 1}\n'), ("copy.jsonl", b'{"x": 1}')):
        path = path.rename(house.folder / name)
        path.write_bytes(keep + path.read_bytes())
        assert _findings(house) == ["moved"], name
    path.unlink()
    assert _findings(house) == ["lost"]


def test_a_file_is_read_from_beginning_to_end_once_for_all_pieces_that_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f'{{"n": {number}, "pad": "{"x" * (number % 7)}"}}'.encode() for number in range(300)]
    path = tmp_path / "s.jsonl"
    every = [
        Evidence(str(path), "", 40 * n, len(line), hashlib.sha256(line).hexdigest()) for n, line in enumerate(lines)
    ]
    path.write_bytes(b"".join(line + b"\r\n" for line in reversed(lines[:250])))
    searched: list[Path] = []
    real = evidence.PlainFiles.search

    def counted(self: evidence.PlainFiles, file: Path, pieces: list[Evidence]) -> dict[str, int]:
        searched.append(file)
        return real(self, file, pieces)

    monkeypatch.setattr(evidence.PlainFiles, "search", counted)
    checked = check_all(every, [tmp_path / "none"])
    assert [c.finding for c in checked] == ["moved"] * 250 + ["changed"] * 50
    assert searched == [path]
    data = path.read_bytes()
    assert all(data[c.offset : c.offset + c.evidence.length] == lines[n] for n, c in enumerate(checked[:250]))
