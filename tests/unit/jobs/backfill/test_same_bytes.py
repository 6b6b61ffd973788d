"""A backfill leaves the bytes that extraction leaves, whatever it was cut into, and twice is once."""

from pathlib import Path

import pytest

from slowwave.jobs.backfill import plan
from slowwave.report import Report
from tests.unit.jobs.backfill.rig import filled


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
