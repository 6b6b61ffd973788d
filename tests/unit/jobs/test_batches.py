"""Cutting a run into portions, and writing down who does what."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.context import FixedClock, Run, SystemClock
from slowwave.formats import SessionFiles
from slowwave.formats.sessions import StoredSession
from slowwave.jobs.portions import Share, manifest_of, plan_batches, plan_groups, read_manifest, write_manifest
from slowwave.settings import Settings, load_settings
from slowwave.stores.projects import Project

MIB = 1 << 20


def session(name: str, size: int = 1000) -> StoredSession:
    folder = Path("/store/projects/p")
    return StoredSession("claude", SessionFiles(name, (folder / f"{name}.jsonl",)), "main", folder, size, 1)


def project(key: str, sizes: list[int]) -> Project:
    folder = Path("/store/projects") / key
    sessions = tuple(session(f"{key}-{i}", size) for i, size in enumerate(sizes))
    return Project(key, "", (folder,), folder / "memory", sessions)


def a_run(**changes: object) -> Run:
    made = Run("r1", Settings(), SystemClock(), {})
    return Run(**{**{f: getattr(made, f) for f in Run.__dataclass_fields__}, **changes})  # pyright: ignore[reportArgumentType]


def test_a_batch_is_full_at_its_number_of_sessions() -> None:
    batches = plan_batches([project("a", [1] * 5)], most_sessions=2)
    assert batches == [[Share(0, 0, 2)], [Share(0, 2, 4)], [Share(0, 4, 5)]]


def test_a_batch_is_full_at_its_bytes() -> None:
    batches = plan_batches([project("a", [40 * MIB] * 3)], most_sessions=500)
    assert batches == [[Share(0, 0, 2)], [Share(0, 2, 3)]]


def test_small_projects_share_a_batch() -> None:
    batches = plan_batches([project("a", [1]), project("b", [1, 1])], most_sessions=500)
    assert batches == [[Share(0, 0, 1), Share(1, 0, 2)]]


def test_a_project_without_sessions_has_its_say() -> None:
    assert plan_batches([project("a", [])], most_sessions=500) == [[Share(0, 0, 0)]]


def test_a_hundred_thousand_sessions_stay_far_below_what_a_server_records() -> None:
    many = [project(f"p{i}", [100 * MIB] * 1000) for i in range(100)]
    assert len(plan_batches(many, most_sessions=1)) <= 400
    assert len(plan_groups(100_000)) <= 400


@given(st.lists(st.lists(st.integers(0, 100 * MIB), max_size=12), max_size=6), st.integers(1, 7))
def test_every_session_is_in_exactly_one_batch_in_order(sizes: list[list[int]], most: int) -> None:
    projects = [project(f"p{i}", given_sizes) for i, given_sizes in enumerate(sizes)]
    shares = [share for batch in plan_batches(projects, most_sessions=most) for share in batch]
    for index, one in enumerate(projects):
        mine = [share for share in shares if share.project == index]
        assert [i for s in mine for i in range(s.start, s.stop)] == list(range(len(one.sessions)))
        assert len(mine) >= 1


@given(st.integers(0, 3000), st.integers(1, 40))
def test_every_project_is_in_exactly_one_group(projects: int, size: int) -> None:
    assert [i for group in plan_groups(projects, size=size) for i in group] == list(range(projects))


def test_a_manifest_reads_back_as_it_was_written(own_home: Path) -> None:
    settings = load_settings({}, overrides=["extraction.idle=90s", "store.roots=/a:/b"])
    run = a_run(settings=settings, clock=FixedClock(datetime(2026, 11, 7, 3, 30, tzinfo=UTC)), force=True)
    odd = os.fsdecode(b"/store/projects/\xff\xfe")
    manifest = manifest_of(run, [project("a", [1, 2]), project(odd, [3])])
    path = write_manifest(manifest, {"XDG_STATE_HOME": str(own_home / "state")})
    assert path.is_relative_to(own_home / "state" / "slowwave")
    assert read_manifest(path) == manifest
    again = read_manifest(path).run({"HOME": "/h"})
    assert again.settings.extraction.idle == timedelta(seconds=90)
    assert again.settings.store.roots == (Path("/a"), Path("/b"))
    assert (again.id, again.force, again.dry_run, again.clock.now()) == ("r1", True, False, run.clock.now())


def test_a_manifest_says_who_does_what_and_nothing_else(own_home: Path) -> None:
    path = own_home / "m.json"
    path.write_text('{"run_id": "r1"}')
    with pytest.raises(msgspec.ValidationError, match="settings"):
        read_manifest(path)


def test_a_manifest_that_was_written_anew_is_read_anew(own_home: Path) -> None:
    environ = {"HOME": str(own_home)}
    first = write_manifest(manifest_of(a_run(), [project("a", [1])]), environ)
    assert read_manifest(first) is read_manifest(first)
    write_manifest(manifest_of(a_run(force=True), [project("b", [1])]), environ)
    again = read_manifest(first)
    assert (again.force, again.projects[0].key) == (True, "b")
