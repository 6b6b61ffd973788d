"""Which sessions a backfill reads: by time, project, dialect, id and number; what it does with what was read before."""

import json
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slowwave.errors import NotFoundError, UsageError
from slowwave.extraction.selection import EXTRACTOR
from slowwave.memory.candidates import candidates_path, read_candidates
from slowwave.report import Report
from tests.unit.jobs.backfill.rig import NOW, World, filled


def read_of(world: World) -> set[str]:
    """Return the numbers of the sessions that were read."""
    folders = world.store.glob("*/memory")
    return {str(int(r.session.id[:8])) for folder in folders for r in read_candidates(folder)[1]}


@pytest.mark.parametrize(
    ("wanted", "read"),
    [
        ({"since": NOW - timedelta(days=30, hours=12)}, {"10", "11"}),
        ({"until": NOW - timedelta(days=38, hours=12)}, {"0", "1"}),
        ({"since": NOW - timedelta(days=38, hours=12), "until": NOW - timedelta(days=36, hours=12)}, {"2", "3"}),
        ({"projects": ["p1"], "limit": 3}, {"1", "3", "5"}),
        ({"project": "p0", "limit": 1}, {"0"}),
        ({"limit": 4}, {"0", "1", "2", "3"}),
        ({"sessions": ["00000007-0000-4000-8000-000000000001"]}, {"7"}),
        ({"dialects": ["claude"], "limit": 1}, {"0"}),
    ],
)
def test_the_range_is_what_is_read(tmp_path: Path, wanted: dict[str, Any], read: set[str]):
    world = filled(tmp_path)
    report = world.backfill(**wanted)
    assert read_of(world) == read
    assert report.counts["extracted"] == len(read)


def test_another_dialect_is_none_of_it(tmp_path: Path):
    report = filled(tmp_path).backfill(dialects=["codex"])
    assert report.counts["in_range"] == 0


def test_time_is_that_of_the_last_message_and_not_of_a_restored_file(tmp_path: Path):
    world = filled(tmp_path)
    for path in world.store.glob("*/*.jsonl"):
        path.touch()
    world.backfill(until=NOW - timedelta(days=38, hours=12), now=datetime.now().astimezone() + timedelta(days=1))
    assert read_of(world) == {"0", "1"}


def test_the_oldest_of_a_limit_are_so_by_their_messages_and_not_by_restored_files(tmp_path: Path):
    world = filled(tmp_path)
    for number, path in enumerate(sorted(world.store.glob("*/*.jsonl"), reverse=True)):
        at = (NOW - timedelta(days=20 - number)).timestamp()
        os.utime(path, (at, at))
    world.backfill(limit=2)
    assert read_of(world) == {"0", "1"}


def test_a_folder_means_no_project_of_the_same_name_in_another_store(tmp_path: Path):
    world, other = filled(tmp_path, sessions=2, projects=1), World(tmp_path / "other")
    path = other.add(9, "Always use ruff.", project="p0")
    path.write_bytes(path.read_bytes().replace(b"/home/ada/code/p0", b"/home/ada/code-p0"))
    world.backfill(store=[world.store, other.store], projects=["code/p0"])
    assert (read_of(world), read_of(other)) == ({"0", "1"}, set())


def test_steps_of_a_limit_come_to_everything(tmp_path: Path):
    world, whole = filled(tmp_path / "steps"), filled(tmp_path / "whole")
    for step in range(5):
        world.backfill(f"b{step}", limit=3)
    whole.backfill()
    assert read_of(world) == read_of(whole)
    ids = [{c.id for p in w.store.glob("*/memory") for c in read_candidates(p)[0]} for w in (world, whole)]
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("wanted", "error", "words"),
    [
        ({"projects": ["nothere"]}, NotFoundError, "nothere"),
        ({"sessions": ["none"]}, NotFoundError, "no session none"),
        ({"since": NOW, "until": NOW - timedelta(days=1)}, UsageError, "before it begins"),
        ({"backfill": "b0"}, UsageError, "run is about no earlier backfill"),
        ({"action": "resume"}, UsageError, "needs the run id"),
        ({"action": "resume", "backfill": "b0", "limit": 3}, UsageError, "leave 'Limit' out"),
        ({"action": "resume", "backfill": "b0", "dry_run": True}, UsageError, "leave 'Only plan' out"),
        ({"action": "pause", "backfill": "b0", "overrides": ["a.b=1"]}, UsageError, "leave 'Settings for this run'"),
    ],
)
def test_a_range_that_means_nothing_is_refused(
    tmp_path: Path, wanted: dict[str, Any], error: type[Exception], words: str
):
    with pytest.raises(error, match=words):
        filled(tmp_path, sessions=2).backfill(**wanted)


def test_one_project_and_several_are_all_of_them(tmp_path: Path):
    world = filled(tmp_path, sessions=6, projects=3)
    world.backfill(project="p0", projects=["p2"])
    assert {name.partition("/")[0][-2:] for name in world.memories()} == {"p0", "p2"}


# the version before this one
BEFORE = f"offline/{int(EXTRACTOR.partition('/')[2]) - 1}"


def older(world: World, version: str = BEFORE) -> None:
    """Let an older version have read everything that was read."""
    for folder in world.store.glob("*/memory"):
        path = candidates_path(folder)
        path.write_bytes(path.read_bytes().replace(f'"{EXTRACTOR}'.encode(), f'"{version}'.encode()))


def test_an_upgrade_reads_what_an_older_version_read_and_nothing_else(tmp_path: Path):
    world = filled(tmp_path)
    world.backfill(limit=5)
    older(world)
    world.backfill("b2", sessions=["00000005-0000-4000-8000-000000000001"])
    known = {c.id for p in world.store.glob("*/memory") for c in read_candidates(p)[0]}
    report = world.backfill("b3", upgrade=True)
    assert (report.counts["extracted"], report.counts.get("candidates", 0)) == (5, 0)
    assert report.counts["not_unread"] == 6
    assert {c.id for p in world.store.glob("*/memory") for c in read_candidates(p)[0]} == known
    assert world.backfill("b4", upgrade=True).counts["in_range"] == 12
    assert "none was read by rules older than" in world.backfill("b5", upgrade=True).warnings[0]


def test_force_reads_all_of_the_range_again_and_adds_only_what_was_not_found(tmp_path: Path):
    world = filled(tmp_path)
    world.backfill()
    before = world.memories()
    assert any("--force reads all of it again" in item.reason for item in world.backfill("b2").items)
    report = world.backfill("b3", force=True)
    assert (report.counts["forced"], report.counts["extracted"]) == (12, 12)
    assert not report.counts.get("candidates")
    assert world.memories() == before
    # what was lost of the facts is found again, and taken back with the run
    path = candidates_path(world.memory("p0"))
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if not json.loads(line).get("category")]
    path.write_bytes(b"".join(kept))
    report = world.backfill("b4", force=True)
    assert report.counts["candidates"] == len(lines) - len(kept) > 0
    world.backfill(action="rollback", backfill="b4")
    assert path.read_bytes() == b"".join(kept)


def test_a_preview_says_which_version_read_what_and_what_is_read_again(tmp_path: Path):
    world = filled(tmp_path)
    world.backfill(limit=5)
    older(world, "offline/2")
    world.backfill("b2", sessions=["00000005-0000-4000-8000-000000000001", "00000006-0000-4000-8000-000000000001"])
    path = candidates_path(world.memory("p1"))
    path.write_bytes(path.read_bytes().replace(f'"{EXTRACTOR}'.encode(), f'"{BEFORE}'.encode()))
    for upgrade in (True, False):
        report = world.backfill("p", action="preview", upgrade=upgrade)
        words = {item.target: item.reason for item in report.items if item.action == "version"}
        assert list(words) == sorted(["offline/2", BEFORE])
        assert words["offline/2"].startswith("offline/2: 5 sessions")
        assert "all miners changed since; they are read again" in words["offline/2"]
        assert words[BEFORE].startswith(f"{BEFORE}: 1 session, ")
        assert report.counts["read_again"] == 6


def test_the_books_of_a_session_that_is_named_are_shown(tmp_path: Path):
    world = filled(tmp_path, sessions=3)
    world.backfill(limit=1)
    older(world, "offline/2")
    names = [f"0000000{number}-0000-4000-8000-000000000001" for number in (0, 2)]
    shown = {item.target: item.reason for item in covered(world, sessions=names).items if item.action == "session"}
    assert shown[names[0]].endswith("in the books: offline/2")
    assert shown[names[1]] == "not read yet; in the books: nothing"


def covered(world: World, **wanted: Any) -> Report:
    return world.backfill("c", action="coverage", **wanted)


def test_coverage_says_who_read_what_and_when_it_is_everything(tmp_path: Path):
    world = filled(tmp_path)
    world.add(80, project="p0", chatter=4)
    assert covered(world).items[-1].reason.startswith("0.0 % of 13 sessions; 13 are left (13 not read yet)")
    world.backfill(limit=5)
    older(world)
    world.backfill("b2", limit=3, projects=["p1"], sessions=["00000007-0000-4000-8000-000000000001"])
    words = " ".join(item.reason for item in covered(world).items)
    assert f"read by the rules in version {BEFORE.partition('/')[2]} only" in words
    assert f"read by the rules in version {EXTRACTOR.partition('/')[2]}" in words
    world.backfill("b3")
    report = covered(world)
    assert report.items[-1].reason.startswith("100 % of 13 sessions")
    assert report.counts == {"sessions": 13, "covered": 13, "projects": 2}


def test_what_is_no_session_to_anybody_is_told_beside_the_percentage(tmp_path: Path):
    world = filled(tmp_path, sessions=2)
    (world.store / "-home-ada-code-p0" / "00000099-0000-4000-8000-000000000001.jsonl").write_bytes(b"broken{{{\n")
    world.backfill()
    said = covered(world).items[-1].reason
    assert (said.startswith("100 % of 2 sessions"), "1 more were left out of the stores" in said) == (True, True)


def test_coverage_changes_nothing(tmp_path: Path):
    world = filled(tmp_path)
    covered(world)
    assert world.memories() == {}


def test_what_could_not_be_read_is_set_aside_and_read_when_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    world = filled(tmp_path)
    from slowwave.extraction import job  # noqa: PLC0415 - patched right here

    whole = job._lines

    def broken(session: object, batch: object) -> object:
        if "00000003" in str(getattr(session, "id", "")):
            raise ValueError("a planted bug")
        return whole(session, batch)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(job, "_lines", broken)
    report = world.backfill()
    assert (report.counts["failed"], report.counts["extracted"]) == (1, 11)
    assert "a planted bug" in report.failures[0]
    for step in range(2):
        world.backfill(f"again{step}")
    assert world.backfill("b2").counts["given_up"] == 1
    assert "could not be read three times" in str(covered(world).items)
    monkeypatch.undo()
    assert world.backfill("b3").counts["in_range"] == 12
    assert "3" not in read_of(world)
    assert world.backfill("b4", retry_failed=True).counts["extracted"] == 1
    assert "3" in read_of(world)
    assert covered(world).items[-1].reason.startswith("100 %")


def test_a_session_that_changes_after_the_plan_is_left_to_the_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    world = filled(tmp_path)
    from slowwave.jobs import backfill  # noqa: PLC0415 - patched right here

    begin = backfill.begin

    def and_then(*given: object) -> object:
        begun = begin(*given)  # pyright: ignore[reportArgumentType]
        with next(world.store.glob("*/00000004*.jsonl")).open("ab") as file:
            file.write(b"{}\n")
        return begun

    monkeypatch.setattr(backfill, "begin", and_then)
    report = world.backfill()
    assert (report.counts["moved"], report.counts["extracted"]) == (1, 11)
    assert "4" not in read_of(world)


def test_what_a_night_reads_meanwhile_is_not_taken_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    world = filled(tmp_path)
    from slowwave.jobs import backfill  # noqa: PLC0415 - patched right here

    land = backfill.land_shard

    def after_a_night(*given: object) -> Report:
        world.extract(project="p1")
        return land(*given)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(backfill, "land_shard", after_a_night)
    report = world.backfill()
    assert report.counts["read_meanwhile"] == 6
    for folder in world.store.glob("*/memory"):
        found, ranges, problems = read_candidates(folder)
        assert len({c.id for c in found}) == len(found) > 0
        assert (len(ranges), problems) == (6, [])
