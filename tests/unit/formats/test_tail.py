"""Reading from the end gives the same lines as reading from the start."""

from pathlib import Path

import pytest

from slowwave.errors import UnreadableError
from slowwave.formats import tail
from slowwave.formats.tail import find_last, line_around, lines_backward

CASES = [
    b"",
    b"\n",
    b"a",
    b"a\n",
    b"\na\n\n\nb",
    b"one\ntwo\nthree\n",
    b"x" * 50 + b"\nend",
    b"x\n" + b"y" * 200,
    b"first\n" + b"z" * 99 + b"\n",
    b"a\r\n\r\nb\r\n",
]


def forward(data: bytes) -> list[tuple[int, bytes]]:
    lines: list[tuple[int, bytes]] = []
    at = 0
    for line in data.split(b"\n"):
        if line.strip():
            lines.append((at, line))
        at += len(line) + 1
    return lines


@pytest.mark.parametrize("block", [1, 2, 3, 7, 64, 1 << 18])
@pytest.mark.parametrize("data", CASES)
def test_backward_is_forward_reversed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, block: int) -> None:
    monkeypatch.setattr(tail, "BLOCK_BYTES", block)
    monkeypatch.setattr(tail, "_LARGEST_BLOCK_BYTES", block * 2)
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    assert list(lines_backward(path)) == forward(data)[::-1]
    for end in range(len(data) + 1):
        assert list(lines_backward(path, end=end)) == forward(data[:end])[::-1]
    for words in ((b"n",), (b"wo", b"hr"), (b"zz",)):
        held = [line for line in forward(data)[::-1] if any(word in line[1] for word in words)]
        assert list(lines_backward(path, words=words)) == held


@pytest.mark.parametrize("block", [1, 3, 64])
def test_the_last_occurrence_is_found_across_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(tail, "BLOCK_BYTES", block)
    path = tmp_path / "s.jsonl"
    data = b'aaXYZaa\n{"XY":1}\nXYZ-Z\n' + b"b" * 40
    path.write_bytes(data)
    for needle in (b"XYZ", b"XY", b"a", b"b", b"nothing", b"\n"):
        for end in range(len(data) + 1):
            expected = data.rfind(needle, 0, end)
            assert find_last(path, needle, end=end) == (None if expected < 0 else expected)
    with pytest.raises(ValueError, match="nothing"):
        find_last(path, b"")


def test_the_line_around_a_byte_is_found(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"one\ntwo\nlast")
    found = [line_around(path, at) for at in range(12)]
    assert found == [(0, b"one")] * 4 + [(4, b"two")] * 4 + [(8, b"last")] * 4
    with pytest.raises(ValueError, match="outside"):
        line_around(path, 12)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    for read in (lambda: find_last(tmp_path, b"x"), lambda: line_around(tmp_path, 0)):
        with pytest.raises(UnreadableError):
            read()
