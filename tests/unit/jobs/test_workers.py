"""Portions of a manifest: the same bytes over several processes, and a worker that dies costs its own projects only."""

import os
import re
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slowwave.context import FixedClock, Run
from slowwave.jobs import portions
from slowwave.jobs.portions import (
    Reports,
    extract_portion,
    group_portion,
    manifest_of,
    read_manifest,
    write_manifest,
)
from slowwave.jobs.steps import consolidate
from slowwave.jobs.story import chosen_projects, run_job
from slowwave.observability.progress import LeftBy, watched_by
from slowwave.report import Report
from slowwave.samples import build
from slowwave.settings import load_settings
from slowwave.stores.projects import Project

NOW = datetime(2026, 3, 9, 6, 30, tzinfo=UTC)


def planned(home: Path, **overrides: str) -> Path:
    """Build the sample and return the manifest of a run over it."""
    store = build(home, NOW).home
    items = [f"{key.replace('__', '.')}={value}" for key, value in overrides.items()]
    items.append(f"secrets.key_file={home.parent / 'key'}")  # marks that can be compared across homes
    run = Run("r1", load_settings({}, overrides=items).with_roots([store]), FixedClock(NOW), {"HOME": str(home)})
    projects, _ = chosen_projects("extract", run)
    return write_manifest(manifest_of(run, projects), {"HOME": str(home)})


def tree(home: Path) -> dict[str, bytes]:
    """Return the memory folders; where the home lies is the only difference between two of them."""
    files = sorted(p for p in home.rglob("memory/**/*") if p.is_file() and "lock" not in p.name)
    return {str(p.relative_to(home)): p.read_bytes().replace(os.fsencode(home), b"HOME") for p in files}


def counted(reports: Reports) -> dict[str, dict[str, int]]:
    return {key: report.counts for key, report in reports.items()}


def without_digests(found: dict[str, bytes]) -> dict[str, bytes]:
    return {name: re.sub(rb'"(id|sha256)":"[0-9a-f]+"', b"", data) for name, data in found.items()}


def test_several_processes_leave_what_one_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = extract_portion(planned(tmp_path / "a"), 0, {"HOME": str(tmp_path / "a")})
    monkeypatch.setattr(portions, "PAYS_FROM_BYTES", 0)
    monkeypatch.setattr(portions.os, "cpu_count", lambda: 2)
    started: list[int] = []
    pool = portions.ProcessPoolExecutor

    def counting_pool(processes: int, **options: Any) -> Any:
        started.append(processes)
        return pool(processes, **options)

    monkeypatch.setattr(portions, "ProcessPoolExecutor", counting_pool)
    together = extract_portion(planned(tmp_path / "b"), 0, {"HOME": str(tmp_path / "b")})
    assert started == [2]
    assert counted(together) == counted(alone)
    assert sum(counts["candidates"] for counts in counted(alone).values()) > 0
    assert without_digests(tree(tmp_path / "b")) == without_digests(tree(tmp_path / "a"))


def test_a_cancellation_ends_the_processes_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cancelled(*_: object) -> Reports:
        raise KeyboardInterrupt

    monkeypatch.setattr(portions, "PAYS_FROM_BYTES", 0)
    monkeypatch.setattr(portions.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(portions, "_outcome", cancelled)
    ended: list[int] = []
    real = portions.active_children

    def seen() -> list[Any]:
        children = real()
        ended.append(len(children))
        return children

    monkeypatch.setattr(portions, "active_children", seen)
    with pytest.raises(KeyboardInterrupt):
        extract_portion(planned(tmp_path), 0, {"HOME": str(tmp_path)})
    assert ended == [0, 2]
    assert real() == []


def test_a_small_portion_starts_no_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(portions, "ProcessPoolExecutor")
    assert extract_portion(planned(tmp_path), 0, {"HOME": str(tmp_path)})


def test_portions_of_a_project_add_up_to_the_whole(tmp_path: Path) -> None:
    whole = extract_portion(planned(tmp_path / "a"), 0, {"HOME": str(tmp_path / "a")})
    manifest = planned(tmp_path / "b", extraction__batch_sessions="3")
    parts = [
        extract_portion(manifest, index, {"HOME": str(tmp_path / "b")})
        for index in range(len(read_manifest(manifest).batches))
    ]
    for key, report in whole.items():
        total = Report.total("extract", "r1", [part[key] for part in parts if key in part])
        assert total.counts == report.counts
    assert without_digests(tree(tmp_path / "b")) == without_digests(tree(tmp_path / "a"))


def test_a_group_dreams_over_each_of_its_projects(tmp_path: Path) -> None:
    manifest = planned(tmp_path, consolidation__min_sessions="1")
    extract_portion(manifest, 0, {"HOME": str(tmp_path)})
    done = group_portion(manifest, consolidate, 0, {"HOME": str(tmp_path)})
    assert {key: len(report.dream_ids) for key, report in done.items()} == {"-home-ana-quill": 1, "-home-ana-tern": 1}


def test_a_worker_that_dies_costs_its_project_and_is_named() -> None:
    future: Future[Reports] = Future()
    future.set_exception(BrokenProcessPool("killed"))
    project = Project("p", "", (Path("/p"),), Path("/p/memory"), ())
    report = portions._outcome(future, project, "r1")["p"]
    assert report.failures == ["p: extract: the worker process died (killed); the next run tries again"]
    assert [item.action for item in report.items] == ["failed"]


class Heard:
    """Notes what is done of each step."""

    def __init__(self, heard: list[str]) -> None:
        self.heard = heard

    def plan(self, step: str, total: int, left: LeftBy | None = None) -> None:
        pass

    def done(self, step: str, what: str) -> None:
        self.heard.append(f"{step} {what}")


def test_a_job_of_one_process_reads_much_over_several_and_reports_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reported(home: Path) -> tuple[dict[str, Any], list[str]]:
        store = build(home, NOW).home
        settings = load_settings({}, overrides=[f"secrets.key_file={tmp_path / 'key'}"]).with_roots([store])
        heard: list[str] = []
        with watched_by(Heard(heard)):
            report = run_job("nightly", Run("r1", settings, FixedClock(NOW), {"HOME": str(home)}))
        assert list((home / ".local" / "state" / "slowwave" / "runs").iterdir()) == []
        told = report.to_builtins()
        return {name: told[name] for name in ("counts", "gates", "dream_ids", "failures", "warnings")}, heard

    alone = reported(tmp_path / "a")
    monkeypatch.setattr(portions, "PAYS_FROM_BYTES", 0)
    monkeypatch.setattr(portions.os, "cpu_count", lambda: 2)
    started: list[int] = []
    pool = portions.ProcessPoolExecutor

    def counting_pool(processes: int, **options: Any) -> Any:
        started.append(processes)
        return pool(processes, **options)

    monkeypatch.setattr(portions, "ProcessPoolExecutor", counting_pool)
    assert reported(tmp_path / "b") == alone
    assert started == [2]
    assert alone[0]["counts"]["candidates"] > 0
