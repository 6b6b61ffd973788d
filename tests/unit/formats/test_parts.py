"""Sessions of Cersei that lie in several files."""

from pathlib import Path

import pytest

from slowwave.errors import UnreadableError
from slowwave.formats.append import part_paths, session_stem


def folder_with(folder: Path, *names: str, size: int = 0) -> Path:
    for name in names:
        (folder / name).write_bytes(b"x" * size)
    return folder


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


def test_parts_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    names = ["s.jsonl", *(f"s_part{n}.jsonl" for n in range(2, 12))]
    folder_with(tmp_path, *names, "s_part1.jsonl", "s_part2.txt", "s2.jsonl", "s2_part2.jsonl", "s_part3.jsonl.bak")
    assert part_paths(tmp_path / "s.jsonl") == ([tmp_path / name for name in names], [])


def test_a_gap_is_reported_and_hides_nothing(tmp_path: Path) -> None:
    folder_with(tmp_path, "s.jsonl", "s_part3.jsonl", "s_part7.jsonl")
    paths, problems = part_paths(tmp_path / "s.jsonl")
    assert [p.name for p in paths] == ["s.jsonl", "s_part3.jsonl", "s_part7.jsonl"]
    assert [(p.kind, p.path.name) for p in problems] == [("gap", "s_part2.jsonl"), ("gap", "s_part4.jsonl")]
    assert "parts 4 to 6 are missing" in str(problems[1])


def test_a_missing_base_file_is_a_gap(tmp_path: Path) -> None:
    paths, problems = part_paths(folder_with(tmp_path, "s_part2.jsonl") / "s.jsonl")
    assert [p.name for p in paths] == ["s_part2.jsonl"]
    assert [p.kind for p in problems] == ["gap"]


def test_a_session_that_is_not_there_has_no_files_and_no_problems(tmp_path: Path) -> None:
    assert part_paths(tmp_path / "s.jsonl") == ([], [])


def test_more_bytes_than_cersei_loads_are_reported_and_still_read(tmp_path: Path) -> None:
    folder_with(tmp_path, "s.jsonl", "s_part2.jsonl", size=50)
    assert part_paths(tmp_path / "s.jsonl", warn_bytes=100)[1] == []
    paths, problems = part_paths(tmp_path / "s.jsonl", warn_bytes=99)
    assert len(paths) == 2
    assert [(p.kind, p.length) for p in problems] == [("too-large", 100)]


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="No such file"):
        part_paths(tmp_path / "missing" / "s.jsonl")
