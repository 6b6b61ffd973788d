"""Appending: one whole line in one write, behind a newline, under the lock of the file itself."""

import fcntl
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest

from slowwave import files
from slowwave.errors import LockHeldError, UnreadableError
from slowwave.formats.changes import append_forking, append_record, append_records
from slowwave.formats.sessions import numbered_parts


def in_child(work: Callable[[], None]) -> int:
    """Run ``work`` in a forked process and return its exit code (99 when it raised)."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def count_writes(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    written: list[bytes] = []
    real = os.write

    def write(fd: int, data: bytes) -> int:
        written.append(bytes(data))
        return real(fd, data)

    monkeypatch.setattr(os, "write", write)
    return written


def test_a_new_file_is_private_and_holds_the_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    assert append_record(path, b'{"a":1}', fsync=True) == 0
    assert append_record(path, b'{"a":2}') == 8
    assert path.read_bytes() == b'{"a":1}\n{"a":2}\n'
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_record_is_one_write_also_when_a_newline_is_missing_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a":1}\n{"torn')
    written = count_writes(monkeypatch)
    assert append_record(path, b'{"a":2}') == 15
    assert written == [b'\n{"a":2}\n']
    assert path.read_bytes() == b'{"a":1}\n{"torn\n{"a":2}\n'


@pytest.mark.parametrize("line", [b"", b"{}\n", b'{"a":1}\n{"a":2}'])
def test_what_is_not_one_line_is_refused_before_anything_is_touched(tmp_path: Path, line: bytes) -> None:
    for write in (append_record, append_forking):
        with pytest.raises(ValueError, match="without a newline"):
            write(tmp_path / "s.jsonl", line)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_nothing_of_the_record_behind(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a":1}\n')

    def write_beyond_the_limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with pytest.raises(OSError, match="File too large"):
            append_record(path, b'{"a":"a line that does not fit"}')

    assert in_child(write_beyond_the_limit) == 0
    assert path.read_bytes() == b'{"a":1}\n'


def test_a_short_write_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write

    def write_five(fd: int, data: bytes) -> int:
        return real(fd, data[:5])

    monkeypatch.setattr(os, "write", write_five)
    path = tmp_path / "s.jsonl"
    assert append_record(path, b'{"a":"longer than five bytes"}') == 0
    assert path.read_bytes() == b'{"a":"longer than five bytes"}\n'


def test_bytes_that_a_client_wrote_behind_a_failed_write_are_not_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.jsonl"
    real = os.write
    calls: list[int] = []

    def write(fd: int, data: bytes) -> int:
        calls.append(fd)
        if len(calls) == 1:
            count = real(fd, data[:4])
            with path.open("ab") as client:
                client.write(b"client")
            return count
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space"):
        append_record(path, b'{"a":1}')
    assert path.read_bytes() == b'{"a"client'


def test_the_lock_is_the_one_of_filelock_and_a_held_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with path.open("ab") as other:
        assert filelock.lock_descriptor(other.fileno())
        with pytest.raises(LockHeldError, match=r"s\.jsonl"):
            append_record(path, b"{}", timeout_s=0.01)
    append_record(path, b"{}", timeout_s=0.01)


def test_a_file_that_was_replaced_while_the_writer_waited_gets_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a":1}\n')
    real = fcntl.flock
    locked: list[int] = []

    def flock(fd: int, operation: int) -> None:
        if not locked:  # somebody rewrites the file between open and lock
            files.atomic_write(path, b'{"new":1}\n')
        locked.append(fd)
        real(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    append_record(path, b'{"a":2}')
    assert path.read_bytes() == b'{"new":1}\n{"a":2}\n'
    assert len(locked) == 2


def test_what_cannot_be_appended_to_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in [".", "pipe", "missing/s.jsonl"]:
        with pytest.raises(UnreadableError, match=f"^{tmp_path}"):
            append_record(tmp_path / name, b"{}")


def test_a_session_forks_exactly_where_cersei_forks(tmp_path: Path) -> None:
    base = tmp_path / "s.jsonl"
    # 8 + 8 bytes fit into 16; one more byte does not
    assert append_forking(base, b'{"a":1}', 16) == (base, 0)
    assert append_forking(base, b'{"a":2}', 16) == (base, 8)
    assert append_forking(base, b'{"a":3}', 16) == (tmp_path / "s_part2.jsonl", 0)
    assert append_forking(base, b'{"a":4}', 16) == (tmp_path / "s_part2.jsonl", 8)
    assert append_forking(base, b'{"a":5}', 16)[0].name == "s_part3.jsonl"
    parts = [base.with_name(name) for _, name in sorted(numbered_parts(base).items())]
    assert b"".join(p.read_bytes() for p in parts) == b"".join(b'{"a":%d}\n' % n for n in range(1, 6))


def test_a_record_larger_than_a_part_gets_a_part_of_its_own(tmp_path: Path) -> None:
    base = tmp_path / "s.jsonl"
    assert append_forking(base, b"x" * 16, 16)[0].name == "s_part2.jsonl"
    assert append_forking(base, b"x" * 16, 16)[0].name == "s_part3.jsonl"


def test_behind_a_gap_the_record_still_comes_last(tmp_path: Path) -> None:
    base = tmp_path / "s.jsonl"
    base.write_bytes(b"{}\n")
    (tmp_path / "s_part4.jsonl").write_bytes(b"{}\n")
    assert append_forking(base, b'{"a":1}', 100) == (tmp_path / "s_part4.jsonl", 3)
    assert append_forking(base, b'{"a":1}', 12)[0].name == "s_part5.jsonl"


def test_the_size_of_a_part_of_cersei_is_fifty_million_bytes(tmp_path: Path) -> None:
    base = tmp_path / "s.jsonl"
    base.touch()
    os.truncate(base, 50_000_000 - 8)
    assert append_forking(base, b'{"a":12}')[0].name == "s_part2.jsonl"


def test_records_that_belong_together_are_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a":1}\n{"torn')
    written: list[bytes] = []
    whole = os.write

    def counted(fd: int, data: bytes) -> int:
        written.append(data)
        return whole(fd, data)

    monkeypatch.setattr(os, "write", counted)
    assert append_records(path, lambda: [b'{"b":2}', b'{"c":3}']) == 15
    assert written == [b'\n{"b":2}\n{"c":3}\n']
    assert path.read_bytes() == b'{"a":1}\n{"torn\n{"b":2}\n{"c":3}\n'


@pytest.mark.parametrize("lines", [[], [b""], [b"{}", b"{}\n{}"]])
def test_records_that_are_no_lines_are_refused(tmp_path: Path, lines: list[bytes]) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"{}\n")
    with pytest.raises(ValueError, match="record"):
        append_records(path, lambda: lines)
    assert path.read_bytes() == b"{}\n"


def test_records_are_not_appended_to_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        append_records(tmp_path / "s.jsonl", lambda: [b"{}"])
    append_records(tmp_path / "s.jsonl", lambda: [b"{}"], create=True)
    assert (tmp_path / "s.jsonl").read_bytes() == b"{}\n"


def test_a_record_of_parts_is_made_under_the_lock(tmp_path: Path) -> None:
    base = tmp_path / "s.jsonl"
    base.write_bytes(b"{}\n")

    def made() -> bytes:
        with base.open("rb") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return b'{"a":1}'

    assert append_forking(base, made, 8) == (tmp_path / "s_part2.jsonl", 0)
