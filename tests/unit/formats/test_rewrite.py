"""Rewriting by byte ranges: kept bytes stay, the file is the old or the new one, nobody's append is lost."""

import errno
import os
from pathlib import Path

import pytest

from slowwave import files
from slowwave.errors import MovedError, UnreadableError
from slowwave.formats import changes
from slowwave.formats.changes import FileState, append_record, file_state, rewrite_without

A, B, C = b'{"a":1}', b'{"b":2}', b'{"c":3}'


def written(folder: Path, data: bytes) -> Path:
    path = folder / "s.jsonl"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "drop", "insert", "expected"),
    [
        pytest.param(A + b"\n" + B + b"\n" + C + b"\n", [(8, 7)], [], A + b"\n" + C + b"\n", id="a line in the middle"),
        pytest.param(A + b"\n" + B + b"\n", [(0, 7)], [], B + b"\n", id="the first line"),
        pytest.param(A + b"\n" + B, [(8, 7)], [], A + b"\n", id="the last line without newline"),
        pytest.param(A + b"\r\n" + B + b"\r\n", [(9, 7)], [], A + b"\r\n", id="CRLF goes with its line"),
        pytest.param(b"  " + A + b" \n" + B + b"\n", [(2, 7)], [], B + b"\n", id="white space goes with its line"),
        pytest.param(A + B + b"\n", [(0, 7)], [], B + b"\n", id="one of two glued objects"),
        pytest.param(A + B + b"\n", [(7, 7)], [], A + b"\n", id="the other one"),
        pytest.param(A + B + b"\n" + C + b"\n", [(0, 7), (7, 7)], [], C + b"\n", id="both glued objects"),
        pytest.param(A + b" " + B + b"\n" + C, [(8, 7), (0, 7)], [], C, id="both, in any order, with space"),
        pytest.param(A + b"\n" + B + b"\n", [(0, 7), (8, 7)], [], b"", id="everything"),
        pytest.param(A + b"\n" + B + b"\n", [], [], A + b"\n" + B + b"\n", id="nothing"),
        pytest.param(A + b"\n" + C + b"\n", [], [(8, B)], A + b"\n" + B + b"\n" + C + b"\n", id="insert"),
        pytest.param(A + b"\n" + C + b"\n", [], [(0, B)], B + b"\n" + A + b"\n" + C + b"\n", id="insert at the start"),
        pytest.param(A + b"\n", [], [(8, B), (8, C)], A + b"\n" + B + b"\n" + C + b"\n", id="insert at the end"),
        pytest.param(A, [], [(7, B)], A + b"\n" + B + b"\n", id="insert heals a missing newline"),
        pytest.param(A + b"\n" + B + b"\n", [(0, 7)], [(0, C)], C + b"\n" + B + b"\n", id="replace"),
        pytest.param(A + b"\n" + B, [(8, 7)], [(8, C)], A + b"\n" + C + b"\n", id="replace the last"),
        pytest.param(b"", [], [(0, A)], A + b"\n", id="insert into an empty file"),
    ],
)
def test_lines_go_and_come_and_all_else_stays(
    tmp_path: Path, data: bytes, drop: list[tuple[int, int]], insert: list[tuple[int, bytes]], expected: bytes
) -> None:
    path = written(tmp_path, data)
    rewrite_without(path, drop, insert)
    assert path.read_bytes() == expected
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.jsonl"]


def test_mode_and_link_are_kept_and_the_time_if_wished(tmp_path: Path) -> None:
    path = written(tmp_path, A + b"\n" + B + b"\n")
    path.chmod(0o640)
    os.utime(path, ns=(1_000_000_000, 2_000_000_000))
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    rewrite_without(link, [(0, 7)], keep_mtime=True)
    assert link.is_symlink()
    assert path.read_bytes() == B + b"\n"
    assert (path.stat().st_mode & 0o777, path.stat().st_mtime_ns) == (0o640, 2_000_000_000)
    rewrite_without(path, [(0, 7)])
    assert path.stat().st_mtime_ns > 2_000_000_000


def test_a_file_that_changed_since_the_plan_is_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path, A + b"\n")
    plan = file_state(path)
    append_record(path, B)
    with pytest.raises(MovedError, match="changed since the plan"):
        rewrite_without(path, [(0, 7)], expect=plan)
    for field, value in [("size", 1), ("mtime_ns", 1), ("inode", 1)]:
        with pytest.raises(MovedError):
            rewrite_without(path, [(0, 7)], expect=file_state(path)._replace(**{field: value}))
    assert path.read_bytes() == A + b"\n" + B + b"\n"


def test_a_client_that_writes_meanwhile_stops_the_rewrite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, A + b"\n" + B + b"\n")

    def client_writes(event: str, _path: str) -> None:
        if event == "fsync":
            with path.open("ab") as client:
                client.write(C + b"\n")

    monkeypatch.setattr(files, "fault_hook", client_writes)
    with pytest.raises(MovedError, match="meanwhile"):
        rewrite_without(path, [(0, 7)])
    assert path.read_bytes() == A + b"\n" + B + b"\n" + C + b"\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.jsonl"]


@pytest.mark.parametrize("event", ["write", "fsync", "rename"])
def test_a_failure_at_any_step_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str) -> None:
    path = written(tmp_path, A + b"\n" + B + b"\n")

    def fail(now: str, _path: str) -> None:
        if now == event:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "fault_hook", fail)
    with pytest.raises(OSError, match="No space"):
        rewrite_without(path, [(0, 7)])
    assert path.read_bytes() == A + b"\n" + B + b"\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.jsonl"]


@pytest.mark.parametrize(
    ("drop", "insert"),
    [([(5, 100)], []), ([(0, 0)], []), ([(-1, 3)], []), ([(0, 7), (3, 2)], []), ([], [(3, B)]), ([], [(99, B)])],
)
def test_ranges_that_make_no_sense_are_refused(
    tmp_path: Path, drop: list[tuple[int, int]], insert: list[tuple[int, bytes]]
) -> None:
    path = written(tmp_path, A + b"\n" + B + b"\n")
    with pytest.raises(ValueError, match=r"range|offset"):
        rewrite_without(path, drop, insert)
    assert path.read_bytes() == A + b"\n" + B + b"\n"


def test_where_the_kernel_cannot_copy_a_buffer_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_options: object) -> int:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "copy_file_range", refuse)
    body = os.urandom(changes._BUFFER_BYTES + 17).replace(b"\n", b"")
    path = written(tmp_path, A + b"\n" + body + b"\n")
    rewrite_without(path, [(0, 7)])
    assert path.read_bytes() == body + b"\n"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        rewrite_without(tmp_path / "s.jsonl", [])
    with pytest.raises(UnreadableError):
        file_state(tmp_path / "s.jsonl")
    assert FileState.of(tmp_path.stat()).inode == tmp_path.stat().st_ino
