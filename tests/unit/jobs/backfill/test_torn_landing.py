"""A landing whose write was torn: what is missing is added, and nothing twice, also where others wrote behind it."""

from pathlib import Path

import pytest

from slowwave.jobs.backfill import landing
from slowwave.jobs.backfill.landing import append_rest, block_of, place_of, without, written
from slowwave.memory.candidates import candidates_path, read_candidates
from tests.unit.jobs.backfill.rig import World, filled

LINES = [b'{"a": 1}', b'{"b": 2}']


@pytest.mark.parametrize("before", [None, b"", b'{"old": 0}\n', b'{"torn'])
def test_of_a_torn_block_only_the_rest_is_added(tmp_path: Path, before: bytes | None):
    path = tmp_path / "lines.jsonl"
    if before is not None:
        path.write_bytes(before)
    block, data = block_of(path, LINES)
    assert data.endswith(b'{"a": 1}\n{"b": 2}\n')
    for there in range(len(data) + 1):
        path.write_bytes((before or b"") + data[:there])
        assert written(path, block, data) == (there, True)
        append_rest(path, data, there)
        assert path.read_bytes() == (before or b"") + data
        assert place_of(path, block) == block.offset
        assert without(path, block, block.offset) == (before or b"")


@pytest.mark.parametrize("between", [b"", b'{"torn'])
def test_a_block_is_found_again_where_what_stood_before_it_is_gone(tmp_path: Path, between: bytes):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"old": 0}\n{"a": 1}\n' + between)
    block, data = block_of(path, LINES)
    append_rest(path, data, 0)
    path.write_bytes(path.read_bytes().removeprefix(b'{"old": 0}\n') + b'{"new": 3}\n')
    at = len(b'{"a": 1}\n' + between)
    assert place_of(path, block) == at
    assert without(path, block, at) == b'{"a": 1}\n' + between + b'{"new": 3}\n'
    path.write_bytes(path.read_bytes().replace(b'"b"', b'"*"'))
    assert place_of(path, block) is None


def test_what_others_wrote_shows(tmp_path: Path):
    path = tmp_path / "lines.jsonl"
    block, data = block_of(path, LINES)
    path.write_bytes(data[:5] + b"\n{}\n")
    assert written(path, block, data) == (5, False)
    path.write_bytes(data + b"{}\n")
    assert written(path, block, data) == (len(data), False)
    path.write_bytes(b"X")
    assert written(path, block, data) == (0, False)


def torn(world: World, monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """Run a backfill that is killed in the middle of the write of its candidates."""
    append = landing.append_rest

    def half(path: Path, data: bytes, there: int) -> None:
        if path.name != "candidates.jsonl":
            append(path, data, there)
            return
        append(path, data[: int(share * len(data))], there)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(landing, "append_rest", half)
        with pytest.raises(KeyboardInterrupt):
            world.backfill()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.77, 1.0])
def test_a_torn_landing_is_completed_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float):
    world, whole = filled(tmp_path / "torn", projects=1), filled(tmp_path / "whole", projects=1)
    whole.backfill()
    torn(world, monkeypatch, share)
    world.backfill(action="resume", backfill="b1")
    assert {n: d.replace(b"/torn/", b"/whole/") for n, d in world.memories().items()} == whole.memories()


@pytest.mark.parametrize("share", [0.3, 0.77, 1.0])
def test_where_a_night_wrote_behind_it_nothing_is_there_twice_and_a_rollback_leaves_the_night(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
):
    world, whole = filled(tmp_path / "torn", projects=1), filled(tmp_path / "whole", projects=1)
    whole.backfill()
    torn(world, monkeypatch, share)
    world.add(70, "We use ruff as our linter and never flake8.", project="p0")
    world.extract(project="p0")
    report = world.backfill(action="resume", backfill="b1")
    assert report.failures == []
    memory = world.memory("p0")
    found, ranges, _ = read_candidates(memory)
    lines = candidates_path(memory).read_bytes().split(b"\n")
    assert len(found) == len({c.id for c in found}) == sum(line.startswith(b'{"id"') for line in lines if _whole(line))
    assert len(ranges) == len({(r.session.id, r.start, r.stop) for r in ranges}) == 13
    assert {c.id for c in found} >= {c.id for c in read_candidates(whole.memory("p0"))[0]}
    assert world.backfill(action="rollback", backfill="b1").failures == []
    left = read_candidates(memory)[1]
    assert {r.session.id[:8] for r in left} >= {"00000070"}


def test_what_was_cut_and_not_yet_set_aside_still_lands_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    world = filled(tmp_path, projects=1)
    torn(world, monkeypatch, 0.3)
    world.add(70, "We use ruff as our linter and never flake8.", project="p0")
    world.backfill("b2", sessions=["00000070-0000-4000-8000-000000000001"])

    def killed(kind: str, _path: object) -> None:
        if kind == "rename":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(landing, "at_fault_point", killed)
        with pytest.raises(KeyboardInterrupt):
            world.backfill(action="resume", backfill="b1")
    assert world.backfill(action="resume", backfill="b1").failures == []
    assert len({r.session.id for r in read_candidates(world.memory("p0"))[1]}) == 13


@pytest.mark.parametrize("share", [0.0, 0.3, 0.77, 1.0])
def test_a_torn_landing_is_taken_back_to_the_bytes_from_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
):
    world = filled(tmp_path, projects=1)
    torn(world, monkeypatch, share)
    assert world.backfill(action="rollback", backfill="b1").failures == []
    assert world.memories() == {}


def test_what_was_written_behind_a_torn_landing_stays_when_it_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    world = filled(tmp_path, projects=1)
    torn(world, monkeypatch, 0.3)
    world.add(70, "We use ruff as our linter and never flake8.", project="p0")
    world.backfill("b2", sessions=["00000070-0000-4000-8000-000000000001"])
    assert world.backfill(action="rollback", backfill="b1").failures == []
    assert {r.session.id[:8] for r in read_candidates(world.memory("p0"))[1]} == {"00000070"}


def test_a_landing_that_was_killed_before_it_was_noted_as_done_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    world = filled(tmp_path, projects=1)

    def killed(*_given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(landing, "close_record", killed)
        with pytest.raises(KeyboardInterrupt):
            world.backfill()
    assert world.backfill(action="rollback", backfill="b1").failures == []
    assert world.memories() == {}


def _whole(line: bytes) -> bool:
    return line.endswith(b"}")
