"""Many processes write to one session at once: no record is lost, merged or doubled."""

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from slowwave.errors import MovedError
from slowwave.formats import Problem
from slowwave.formats.changes import append_forking, append_record, rewrite_without
from slowwave.formats.lines import read_records
from slowwave.formats.sessions import numbered_parts
from slowwave.library import Sessions

PROCESSES = 8
APPENDS = 5_000 if os.environ.get("DRILLS") == "full" else 500
FORK = multiprocessing.get_context("fork")


class Entry(msgspec.Struct, gc=False):
    writer: int = -1
    number: int = -1
    is_dead: bool = False


DECODER = msgspec.json.Decoder(Entry)


def line(writer: int, number: int) -> bytes:
    return b'{"writer":%d,"number":%d,"text":"%s"}' % (writer, number, b"x" * (number * 37 % 2000))


def run_together(*works: Callable[[], None]) -> None:
    """Run each work in a process of its own and wait until all have ended well."""
    processes = [FORK.Process(target=work) for work in works]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(works)


def entries(paths: list[Path]) -> list[tuple[int, int]]:
    """Read all living entries; nothing but clean lines is accepted."""
    problems: list[Problem] = []
    found = [entry for path in paths for _, entry in read_records(path, DECODER, problems)]
    assert problems == []
    return [(entry.writer, entry.number) for entry in found if not entry.is_dead]


def assert_complete(found: list[tuple[int, int]], writers: int, appends: int) -> None:
    """Every record is there once, and each writer's records are in the order in which they were written."""
    assert len(found) == writers * appends
    for writer in range(writers):
        assert [number for w, number in found if w == writer] == list(range(appends))


@pytest.mark.drill
def test_no_record_of_eight_processes_is_lost_or_merged(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    def write(writer: int) -> None:
        for number in range(APPENDS):
            append_record(path, line(writer, number))

    run_together(*(lambda w=w: write(w) for w in range(PROCESSES)))
    assert_complete(entries([path]), PROCESSES, APPENDS)


@pytest.mark.drill
def test_no_record_is_lost_while_the_session_forks_into_parts(tmp_path: Path) -> None:
    base = tmp_path / "s.jsonl"
    limit = APPENDS * 400

    def write(writer: int) -> None:
        for number in range(APPENDS):
            append_forking(base, line(writer, number), limit)

    run_together(*(lambda w=w: write(w) for w in range(PROCESSES)))
    numbers = numbered_parts(base)
    paths = [base.with_name(numbers[number]) for number in range(1, len(numbers) + 1)]
    assert len(paths) > 10
    assert all(path.stat().st_size <= limit for path in paths)
    assert_complete(entries(paths), PROCESSES, APPENDS)


@pytest.mark.drill
def test_no_record_is_lost_while_another_process_rewrites_the_file(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    appends = APPENDS // 2
    path.write_bytes(b'{"is_dead":true}\n')

    def write(writer: int) -> None:
        for number in range(appends):
            append_record(path, line(writer, number))
            if number % 5 == 0:
                append_record(path, b'{"is_dead":true}')

    def purge() -> None:
        for _ in range(20):
            problems: list[Problem] = []
            dead = [(s.offset, len(s.raw)) for s, e in read_records(path, DECODER, problems) if e.is_dead]
            try:
                rewrite_without(path, dead)
            except MovedError:
                raise SystemExit(1) from None  # every writer here takes the lock: nothing can move under it

    def purge_once() -> None:
        dead = [(s.offset, len(s.raw)) for s, e in read_records(path, DECODER, []) if e.is_dead]
        rewrite_without(path, dead)

    run_together(purge, *(lambda w=w: write(w) for w in range(4)))
    purge_once()
    assert_complete(entries([path]), 4, appends)
    assert b"is_dead" not in path.read_bytes()


@pytest.mark.parametrize("dialect", ["claude", "cersei"])
def test_a_resumed_run_sees_every_message_that_writers_added_together(tmp_path: Path, dialect: str) -> None:
    number = APPENDS // 10

    def write(writer: int) -> Callable[[], None]:
        def work() -> None:
            sessions = Sessions(tmp_path / "p", dialect, home=tmp_path, part_bytes=20_000)
            for i in range(number):
                add = sessions.write_assistant_message if i % 2 else sessions.write_user_message
                add("s1", f"{writer}-{i}.")

        return work

    run_together(*(write(writer) for writer in range(PROCESSES)))
    seen = "".join(str(message) for message in Sessions(tmp_path / "p", dialect, home=tmp_path).load("s1"))
    assert [f"{w}-{i}." for w in range(PROCESSES) for i in range(number) if f"'{w}-{i}." not in seen] == []
