"""Kill -9 at any moment: a torn tail at most, healed by the next append; a rewrite leaves the old or the new file."""

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from slowwave import files
from slowwave.formats import Problem
from slowwave.formats.changes import append_forking, append_record, rewrite_without
from slowwave.formats.lines import read_records
from slowwave.formats.tail import lines_backward

ROUNDS = 200 if os.environ.get("DRILLS") == "full" else 15
BODY = b"x" * 6_000_000  # long enough for a kill to fall into the middle of the write


class Entry(msgspec.Struct, gc=False):
    number: int = -1


DECODER = msgspec.json.Decoder(Entry)


def forked(work: Callable[[], None]) -> int:
    """Start ``work`` in a child process and return its id."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(70)
    return child


def read(path: Path) -> tuple[list[int], list[Problem]]:
    problems: list[Problem] = []
    return [entry.number for _, entry in read_records(path, DECODER, problems)], problems


def kill_oneself_at(event: str, count: int) -> Callable[[str, str], None]:
    """Return a fault hook that kills the process at the ``count``-th occurrence of ``event``."""
    seen: list[str] = []

    def hook(now: str, _path: str) -> None:
        seen.extend([now] * (now == event))
        if len(seen) == count:
            os.kill(os.getpid(), signal.SIGKILL)

    return hook


@pytest.mark.drill
def test_a_writer_killed_at_a_random_moment_leaves_a_torn_tail_at_most(tmp_path: Path) -> None:
    chance = random.Random(7)
    torn = 0
    for number in range(ROUNDS):
        path = tmp_path / f"{number}.jsonl"
        append_record(path, b'{"number":0}')
        receive, send = os.pipe()

        def write(path: Path = path, send: int = send) -> None:
            for n in range(1, 1000):
                append_record(path, b'{"number":%d,"body":"%b"}' % (n, BODY))
                os.write(send, b".")

        child = forked(write)
        os.close(send)
        stop_at = chance.randrange(100, 3 * len(BODY))
        while path.stat().st_size < stop_at:
            pass
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        done = len(os.read(receive, 100_000))
        os.close(receive)
        found, problems = read(path)
        assert found in (list(range(done + 1)), list(range(done + 2)))
        assert [p.kind for p in problems] in ([], ["torn"])
        torn += len(problems)
        append_record(path, b'{"number":-7}', timeout_s=1)
        healed, problems_then = read(path)
        assert healed == [*found, -7]
        assert next(lines_backward(path))[1] == b'{"number":-7}'  # on a line of its own, also for other readers
        assert [(p.offset, p.length) for p in problems_then] == [(p.offset, p.length) for p in problems]
        path.unlink()
    assert torn > 0  # otherwise the drill never hit a write


@pytest.mark.parametrize("append", [append_record, append_forking])
def test_a_lock_dies_with_its_holder(tmp_path: Path, append: Callable[[Path, bytes], object]) -> None:
    path = tmp_path / "s.jsonl"

    def die_in_write() -> None:
        files.fault_hook = kill_oneself_at("write", 1)
        append(path, b'{"number":1}')

    _, status = os.waitpid(forked(die_in_write), 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    append_record(path, b'{"number":2}', timeout_s=0.01)
    assert read(path) == ([2], [])


@pytest.mark.parametrize(("event", "count"), [("write", 1), ("fsync", 1), ("rename", 1), ("fsync", 2)])
def test_a_rewrite_killed_at_any_step_leaves_the_old_or_the_new_file(tmp_path: Path, event: str, count: int) -> None:
    path = tmp_path / "s.jsonl"
    old, new = b'{"number":1}\n{"number":2}\n', b'{"number":2}\n'
    path.write_bytes(old)

    def die() -> None:
        files.fault_hook = kill_oneself_at(event, count)
        rewrite_without(path, [(0, 12)])

    _, status = os.waitpid(forked(die), 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    assert path.read_bytes() == (new if (event, count) == ("fsync", 2) else old)
    others = [entry.name for entry in tmp_path.iterdir() if entry != path]
    assert all(files.is_leftover(name) and not name.endswith(".jsonl") for name in others)
    append_record(path, b'{"number":3}', timeout_s=0.01)
    assert read(path)[0][-1] == 3
