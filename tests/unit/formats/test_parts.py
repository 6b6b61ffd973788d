"""Sessions of Cersei that lie in several files."""

from pathlib import Path

import pytest

from slowwave.errors import UnreadableError
from slowwave.formats.sessions import numbered_parts, session_stem


def folder_with(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).touch()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("abc.jsonl", ("abc", 1)),
        ("abc", ("abc", 1)),
        ("abc_part2.jsonl", ("abc", 2)),
        ("abc_part12", ("abc", 12)),
        ("abc_part10.jsonl", ("abc", 10)),
        ("abc_part1.jsonl", ("abc_part1", 1)),
        ("abc_part0.jsonl", ("abc_part0", 1)),
        ("abc_part02.jsonl", ("abc_part02", 1)),
        ("_part2.jsonl", ("_part2", 1)),
        ("a_part2_part3.jsonl", ("a_part2", 3)),
        ("abc_part\u0663.jsonl", ("abc_part\u0663", 1)),
    ],
)
def test_only_the_endings_that_cersei_writes_are_part_numbers(name: str, expected: tuple[str, int]) -> None:
    assert session_stem(name) == expected


def test_parts_are_told_from_what_lies_beside_them(tmp_path: Path) -> None:
    names = ["s.jsonl", *(f"s_part{n}.jsonl" for n in range(2, 12))]
    folder_with(tmp_path, *names, "s_part1.jsonl", "s_part2.txt", "s2.jsonl", "s2_part2.jsonl", "s_part3.jsonl.bak")
    assert numbered_parts(tmp_path / "s.jsonl") == dict(enumerate(names, 1))


def test_parts_behind_a_gap_keep_their_numbers(tmp_path: Path) -> None:
    folder_with(tmp_path, "s_part3.jsonl", "s_part7.jsonl")
    assert numbered_parts(tmp_path / "s.jsonl") == {3: "s_part3.jsonl", 7: "s_part7.jsonl"}
    assert numbered_parts(tmp_path / "other.jsonl") == {}


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="No such file"):
        numbered_parts(tmp_path / "missing" / "s.jsonl")
