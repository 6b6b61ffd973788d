"""Bytes that a compaction stands for: digests, what became of them, and the short form for the record."""

import hashlib
from pathlib import Path

import pytest
import zstandard

from slowwave.compaction.book import Dropped, around, conditions, digested
from slowwave.errors import UnreadableError


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def two_parts(folder: Path) -> list[Path]:
    paths = [folder / "a.jsonl", folder / "a-2.jsonl"]
    for path, data in zip(paths, (b"0123456789", b"abcdef"), strict=True):
        path.write_bytes(data)
    return paths


def test_each_range_has_the_digest_of_its_own_bytes(tmp_path: Path):
    found = digested(two_parts(tmp_path), [(1, 2, 3), (0, 0, 2), (0, 8, 2)])
    assert found == [Dropped(0, 0, 2, sha(b"01")), Dropped(0, 8, 2, sha(b"89")), Dropped(1, 2, 3, sha(b"cde"))]


def test_a_file_that_is_gone_has_none(tmp_path: Path):
    with pytest.raises(UnreadableError):
        digested([tmp_path / "gone.jsonl"], [(0, 0, 1)])


def test_what_changed_what_is_gone_and_what_nobody_noted(tmp_path: Path):
    paths = two_parts(tmp_path)
    ranges = [*digested(paths, [(0, 0, 2), (0, 8, 2), (1, 0, 6)]), Dropped(0, 0, 2)]
    assert conditions(paths, ranges) == ["intact", "intact", "intact", "unknown"]
    paths[0].write_bytes(b"01234567")
    paths[1].write_bytes(b"abcdeF")
    assert conditions(paths, ranges) == ["intact", "changed", "changed", "unknown"]
    paths[0].unlink()
    assert conditions(paths, ranges) == ["changed", "changed", "changed", "unknown"]
    assert conditions([], ranges) == ["changed", "changed", "changed", "unknown"]


def test_a_file_that_its_client_packed_since_is_read_by_its_plain_bytes(tmp_path: Path):
    plain = tmp_path / "rollout.jsonl"
    plain.write_bytes(b"0123456789")
    ranges = digested([plain], [(0, 4, 3)])
    packed = tmp_path / "rollout.jsonl.zst"
    packed.write_bytes(zstandard.compress(plain.read_bytes()))
    assert conditions([packed], ranges) == ["intact"]


def test_around_is_one_range_a_part():
    assert around([(1, 5, 5), (0, 10, 5), (0, 3, 2), (1, 20, 1)]) == [(0, 3, 12), (1, 5, 16)]
    assert around([]) == []
