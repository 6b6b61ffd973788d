"""Taking a backfill back: the bytes from before where nobody wrote since, and never what others wrote."""

from pathlib import Path

import pytest

from slowwave.errors import UsageError
from slowwave.jobs.backfill import landing
from slowwave.jobs.parameters import ConsolidateParameters, run_of
from slowwave.jobs.story import run_job
from slowwave.memory.candidates import read_candidates
from slowwave.memory.undo import undo
from tests.unit.jobs.backfill.rig import NOW, World, filled


def take_back(world: World):
    return world.backfill(action="rollback", backfill="b1")


def dream(world: World) -> str:
    given = ConsolidateParameters.model_validate({"store": [world.store], "now": NOW, "run_id": "d1", "force": True})
    report = run_job("consolidate", run_of(given, world.environ))
    assert report.failures == []
    return report.dream_ids[0]


def test_it_leaves_the_bytes_from_before(tmp_path: Path):
    world = filled(tmp_path)
    world.extract(project="p1")
    (world.memory("p1") / "notes.md").write_bytes(b"my own\r\nnotes")
    before = world.memories()
    world.add(70, "We use ruff as our linter and never flake8.", project="p1")
    assert world.backfill().counts["candidates"] > 5
    assert world.memories() != before
    report = take_back(world)
    assert (report.failures, report.counts["rolled_back"]) == ([], 2)
    assert world.memories() == before
    assert not world.memory("p0").exists()


def test_a_folder_that_a_killed_run_had_made_goes_and_an_empty_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    world = filled(tmp_path)
    world.memory("p1").mkdir()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(landing, "write_record", killed)
        with pytest.raises(KeyboardInterrupt):
            world.backfill()
    assert (world.memory("p0") / ".slowwave").is_dir()
    world.backfill(action="resume", backfill="b1")
    assert take_back(world).failures == []
    assert not world.memory("p0").exists()
    assert world.memory("p1").is_dir()


def test_after_it_the_same_backfill_brings_the_same_again(tmp_path: Path):
    world = filled(tmp_path)
    world.backfill()
    brought = world.memories()
    take_back(world)
    world.backfill("b2")
    assert world.memories() == brought


def test_a_second_one_changes_nothing_and_says_so(tmp_path: Path):
    world = filled(tmp_path)
    world.backfill()
    take_back(world)
    assert "taken back already" in take_back(world).warnings[0]


@pytest.mark.parametrize("order", [("b1", "b2"), ("b2", "b1")])
def test_two_are_taken_back_in_any_order(tmp_path: Path, order: tuple[str, str]):
    world = filled(tmp_path, projects=1)
    world.backfill("b1", limit=5)
    world.backfill("b2")
    assert [world.backfill(action="rollback", backfill=one).failures for one in order] == [[], []]
    # the second was planned with the files of the first, which are empty where they are not gone
    assert set(world.memories().values()) <= {b""}


def test_what_a_night_wrote_since_stays(tmp_path: Path):
    world = filled(tmp_path, projects=1)
    world.backfill()
    world.add(70, "We use ruff as our linter and never flake8.", project="p0")
    world.extract()
    (world.memory("p0") / "extracted.md").open("ab").write(b"- my own line\n")
    assert take_back(world).failures == []
    left = read_candidates(world.memory("p0"))
    assert {c.session.id[:8] for c in left[0]} == {r.session.id[:8] for r in left[1]} == {"00000070"}
    text = (world.memory("p0") / "extracted.md").read_text()
    assert "ruff" in text
    assert "- my own line" in text
    assert "pnpm" not in text


def test_memories_that_a_dream_made_of_it_are_not_torn_from_their_candidates(tmp_path: Path):
    world = filled(tmp_path, projects=1)
    before = world.memories()
    world.backfill()
    dreamt = dream(world)
    held = world.memories()
    report = take_back(world)
    assert "dreams have dealt with" in report.failures[0]
    assert world.memories() == held
    undo(world.memory("p0"), dreamt, now=NOW)
    assert take_back(world).failures == []
    left = {name for name in world.memories() if "/.slowwave/" not in name}
    assert read_candidates(world.memory("p0"))[:2] == ([], [])
    assert not (world.memory("p0") / "extracted.md").exists()
    assert (before, {name for name in left if "MEMORY" in name}) == ({}, set())


def test_what_an_erasure_changed_is_refused_by_name(tmp_path: Path):
    world = filled(tmp_path, projects=1)
    world.backfill()
    path = world.memory("p0") / ".slowwave" / "candidates.jsonl"
    path.write_bytes(path.read_bytes().replace(b"pnpm", b"****"))
    changed = world.memories()
    assert "was changed within" in take_back(world).failures[0]
    assert world.memories() == changed


def test_one_that_shall_only_be_planned_is_refused_and_takes_nothing_back(tmp_path: Path):
    world = filled(tmp_path, sessions=2)
    world.backfill()
    before = world.memories()
    with pytest.raises(UsageError, match="Only plan"):
        world.backfill(action="rollback", backfill="b1", dry_run=True)
    assert world.memories() == before != {}


@pytest.mark.parametrize("action", ["resume", "rollback", "pause"])
def test_a_run_that_is_not_there_is_named_with_those_that_are(tmp_path: Path, action: str):
    world = filled(tmp_path, sessions=2)
    world.backfill()
    with pytest.raises(Exception, match="no backfill 'b9'; there are: b1"):
        world.backfill(action=action, backfill="b9")
