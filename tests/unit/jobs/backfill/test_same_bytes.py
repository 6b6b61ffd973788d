"""A backfill leaves the bytes that extraction leaves, whatever it was cut into, and twice is once."""

from pathlib import Path

import pytest

from slowwave.errors import NotFoundError
from slowwave.jobs.backfill import plan
from slowwave.jobs.backfill.folder import Folder, the_one
from slowwave.observability.night import history_path
from slowwave.report import Report
from tests.unit.jobs.backfill.rig import filled
from tests.unit.jobs.backfill.test_pace import paused_after


def counted(report: Report) -> dict[str, int]:
    names = ("sessions", "extracted", "candidates", "failed")
    return {name: report.counts.get(name, 0) for name in names}


def test_a_backfill_of_everything_leaves_what_extraction_leaves(tmp_path: Path):
    one, other = filled(tmp_path / "one"), filled(tmp_path / "other")
    night, backfill = one.extract(), other.backfill()
    assert night.counts["candidates"] > 10
    assert counted(backfill) == counted(night)
    assert {n: d.replace(b"/one/", b"/other/") for n, d in one.memories().items()} == other.memories()


@pytest.mark.parametrize(("piece", "shard"), [(1, 1), (2, 5), (100, 3)])
def test_how_it_is_cut_makes_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int, shard: int):
    one, other = filled(tmp_path / "one"), filled(tmp_path / "other")
    one.backfill()
    monkeypatch.setattr(plan.cut, "__kwdefaults__", {"most_sessions": piece, "enough_bytes": 1 << 30})
    monkeypatch.setattr(plan.sharded, "__kwdefaults__", {"most_sessions": shard, "enough_bytes": 1 << 30})
    other.backfill()
    assert {n: d.replace(b"/one/", b"/other/") for n, d in one.memories().items()} == other.memories()


def test_a_second_one_finds_nothing_to_do_and_says_so(tmp_path: Path):
    world = filled(tmp_path)
    world.backfill()
    before = world.memories()
    again = world.backfill("b2")
    assert again.counts["read"] == again.counts["in_range"] == 12
    assert "nothing of the range is left to read" in again.warnings[0]
    told = {item.action: item.reason for item in again.items}
    # who did, what a further one would do, and how that is stopped and gone on with
    assert told["read"] == "12 sessions by backfill b1"
    assert told["again"].startswith("--force reads all of it again (")
    assert "--resume goes on" in told["pause"]
    assert world.memories() == before
    assert not (tmp_path / "state" / "slowwave" / "backfills" / "b2").exists()


def test_the_night_after_it_reads_nothing_again(tmp_path: Path):
    world = filled(tmp_path)
    world.backfill()
    before = world.memories()
    night = world.extract()
    assert (night.counts["unchanged"], night.counts.get("extracted", 0)) == (12, 0)
    assert world.memories() == before


def test_records_of_unknown_types_are_counted_as_extraction_counts_them(tmp_path: Path):
    one, other = filled(tmp_path / "one", sessions=3), filled(tmp_path / "other", sessions=3)
    for world in (one, other):
        path = world.add(50, project="p0", days_ago=2)
        path.write_bytes(path.read_bytes() + b'{"type": "hologram", "uuid": "h1", "message": {}}\n')
    night, backfill = one.extract(), other.backfill()
    assert backfill.unknown_types == night.unknown_types != {}


def test_where_nothing_is_left_it_says_which_runs_have_read_what_and_what_is_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan.cut, "__kwdefaults__", {"most_sessions": 1, "enough_bytes": 1 << 30})
    world = filled(tmp_path)
    night = world.extract()
    assert night.counts["extracted"] == 12
    paused_after(world, 5, monkeypatch, force=True)
    # what a history does not know has no name
    told = {item.action: item.reason for item in world.backfill("b2", dry_run=True).items}
    assert told["read"] == "12 sessions by extract night"
    assert told["paused"] == "b1: 5 of 12 sessions read; go on with slowwave run backfill --resume b1"
    history_path(world.environ).unlink()
    told = {item.action: item.reason for item in world.backfill("b2").items}
    assert told["read"] == "12 sessions by a run of 2026-11-03 that is not in the history"
    # whoever asks for something else is told of that alone
    assert {item.action for item in world.backfill("b3", upgrade=True).items} == {"read", "paused"}


def test_the_only_one_is_gone_on_with_without_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan.cut, "__kwdefaults__", {"most_sessions": 1, "enough_bytes": 1 << 30})
    world = filled(tmp_path)
    for action in ("resume", "pause"):
        with pytest.raises(NotFoundError, match="no backfill is "):
            the_one(action, world.environ)
    report = paused_after(world, 5, monkeypatch)
    # what was read has not landed, and is no session that is gone
    told = {words: number for number, words in plan.tally_of(report.counts, report.before)}
    assert told == {
        "sessions are in the range": 12, "were read, and are added when it goes on": 5, "are left": 7,
    }  # fmt: skip
    assert the_one("resume", world.environ) == "b1"
    with Folder.of("b1", world.environ).alone():
        assert the_one("pause", world.environ) == "b1"
    paused_after(world, 1, monkeypatch, run_id="b2")
    with pytest.raises(NotFoundError, match="several backfills are unfinished; name one: b1, b2"):
        the_one("resume", world.environ)
    for name in ("b1", "b2"):
        world.backfill("b3", action="resume", backfill=name)
    with pytest.raises(NotFoundError, match="no backfill is unfinished"):
        the_one("resume", world.environ)
