"""The audit log shows every change to it, whatever is changed, and survives a kill at any moment."""

import os
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowwave import files
from slowwave.errors import CorruptStateError
from slowwave.retention.audit import AuditLog, Entry

NOW = datetime(2026, 11, 22, 3, 30, tzinfo=UTC)


class _KilledError(BaseException):
    """Stands for the end of the process."""


def log_in(folder: Path, number: int = 0) -> AuditLog:
    log = AuditLog({"HOME": str(folder)})
    for at in range(number):
        log.append([entry(at)], NOW)
    return log


def entry(number: int) -> Entry:
    return Entry(action="trash", run="r1", session=f"s{number}", rule="max_age", files=1, size=number * 1000)


def test_lines_come_back_as_they_were_written(tmp_path: Path) -> None:
    log = log_in(tmp_path, 3)
    log.append([entry(3), Entry(action="free", item="x")], NOW)
    lines = list(log.lines())
    assert [line.n for line in lines] == [1, 2, 3, 4, 5]
    assert [(line.action, line.session) for line in lines[2:]] == [("trash", "s2"), ("trash", "s3"), ("free", "")]
    assert lines[0].at == NOW.isoformat()
    assert log.verify() == []
    assert oct(log.path.stat().st_mode & 0o777) == "0o600"


def test_no_log_has_no_flaw_and_nothing_is_written_for_nothing(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.append([], NOW)
    assert (log.verify(), list(log.lines()), list(tmp_path.iterdir())) == ([], [], [])


def changed_byte(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def line_out(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    return b"".join(lines)


def lines_swapped(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines) - 1)
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return b"".join(lines)


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def line_twice(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    return b"".join([*lines[: at + 1], *lines[at:]])


@pytest.mark.parametrize("change", [changed_byte, line_out, lines_swapped, cut, line_twice])
def test_every_change_shows(tmp_path: Path, change: Callable[[bytes, random.Random], bytes]) -> None:
    log = log_in(tmp_path, 6)
    data = log.path.read_bytes()
    for seed in range(120):
        log.path.write_bytes(change(data, random.Random(seed)))
        assert log.verify(), f"seed {seed}"
    log.path.write_bytes(data)
    assert log.verify() == []


@pytest.mark.parametrize("change", [line_out, cut])
def test_nothing_is_added_to_a_log_whose_end_was_changed(
    tmp_path: Path, change: Callable[[bytes, random.Random], bytes]
) -> None:
    log = log_in(tmp_path, 6)
    broken = change(log.path.read_bytes(), random.Random(1))
    log.path.write_bytes(broken)
    with pytest.raises(CorruptStateError, match="verify"):
        log.append([entry(7)], NOW)
    assert log.path.read_bytes() == broken


def test_a_removed_log_shows(tmp_path: Path) -> None:
    log = log_in(tmp_path, 2)
    log.path.unlink()
    assert log.verify()
    with pytest.raises(CorruptStateError):
        log.append([entry(1)], NOW)


def test_a_log_whose_end_nobody_notes_any_more_shows_then_and_later(tmp_path: Path) -> None:
    log = log_in(tmp_path, 4)
    (head,) = tmp_path.rglob("audit.head")
    head.unlink()
    log.path.write_bytes(b"".join(log.path.read_bytes().splitlines(keepends=True)[:2]))
    (flaw,) = log.verify()
    assert (flaw.line, str(head) in flaw.what) == (3, True)
    log.append([entry(4)], NOW)
    assert [(line.action, line.session) for line in log.lines()][2:] == [("head-lost", ""), ("trash", "s4")]
    assert log.verify() == []


def test_a_kill_at_any_step_leaves_a_log_that_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0

    def count(_event: str, _path: str) -> None:
        nonlocal steps
        steps += 1

    monkeypatch.setattr(files, "fault_hook", count)
    log_in(tmp_path / "counted", 2)
    for stop in range(1, steps + 1):
        left = stop

        def kill(_event: str, _path: str) -> None:
            nonlocal left
            left -= 1
            if not left:
                raise _KilledError

        monkeypatch.setattr(files, "fault_hook", kill)
        home = tmp_path / str(stop)
        with pytest.raises(_KilledError):
            log_in(home, 2)
        monkeypatch.setattr(files, "fault_hook", count)
        log = log_in(home, 1)
        assert log.verify() == []
        assert list(log.lines())[-1].session == "s0"


def test_a_line_written_in_part_is_taken_away(tmp_path: Path) -> None:
    log = log_in(tmp_path, 2)
    with log.path.open("ab") as file:
        file.write(b'{"n":3,"at":"20')
    assert log.verify() == []
    log.append([entry(2)], NOW)
    assert [line.n for line in log.lines()] == [1, 2, 3]
    assert log.verify() == []


def test_two_processes_write_one_chain(tmp_path: Path) -> None:
    children: list[int] = []
    for name in "ab":
        child = os.fork()
        if not child:
            log = AuditLog({"HOME": str(tmp_path)})
            for number in range(40):
                log.append([Entry(action="trash", session=f"{name}{number}")], NOW)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    log = AuditLog({"HOME": str(tmp_path)})
    assert log.verify() == []
    assert len(list(log.lines())) == 80
