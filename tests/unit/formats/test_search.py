"""A pass over raw lines loses no byte."""

from pathlib import Path

import pytest

from slowwave.errors import UnreadableError
from slowwave.formats.lines import raw_lines

DATA = b'needle\n\nx needle needle\nnothing\n{"a":"needle"}' + b"y" * 90 + b"\n" + b"z" * 70 + b"\nneedle"


def test_raw_lines_are_the_whole_file_with_offsets(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(DATA)
    lines = list(raw_lines(path))
    assert b"".join(line for _, line in lines) == DATA
    assert all(DATA[at:].startswith(line) for at, line in lines)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        list(raw_lines(tmp_path))
