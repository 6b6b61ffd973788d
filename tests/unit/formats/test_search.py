"""Searching raw bytes finds the same lines as looking at each of them."""

from pathlib import Path

import pytest

from slowwave.errors import UnreadableError
from slowwave.formats import lines
from slowwave.formats.lines import lines_with, raw_lines

DATA = b'needle\n\nx needle needle\nnothing\n{"a":"needle"}' + b"y" * 90 + b"\n" + b"z" * 70 + b"\nneedle"


@pytest.mark.parametrize("data", [b"", b"needle", b"\n\n", DATA, DATA + b"\n"])
@pytest.mark.parametrize("block", [1, 2, 7, 64, 1 << 20])
@pytest.mark.parametrize("needle", [b"needle", b"n", b'{"a":"needle"}', b"dle\n"])
def test_every_line_with_the_needle_is_found_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, block: int, needle: bytes
) -> None:
    monkeypatch.setattr(lines, "_BLOCK_BYTES", block)
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    expected: list[tuple[int, bytes]] = []
    at = 0
    for line in data.split(b"\n"):
        if needle in line:
            expected.append((at, line))
        at += len(line) + 1
    assert list(lines_with(path, needle)) == expected


def test_raw_lines_are_the_whole_file_with_offsets(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(DATA)
    lines = list(raw_lines(path))
    assert b"".join(line for _, line in lines) == DATA
    assert all(DATA[at:].startswith(line) for at, line in lines)


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        list(lines_with(tmp_path, b"x"))
    with pytest.raises(UnreadableError):
        list(raw_lines(tmp_path))
    with pytest.raises(ValueError, match="nothing"):
        list(lines_with(tmp_path / "s.jsonl", b""))
