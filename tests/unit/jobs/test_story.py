"""The story of a job: chosen projects, steps in order, failures contained, twice is once."""

import errno
import logging
import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace as replace_in

from slowwave.cli.screen import lines
from slowwave.cli.status import every, short
from slowwave.consolidation.gates import render_state
from slowwave.context import FixedClock, Run
from slowwave.errors import NotFoundError, UnreadableError
from slowwave.jobs import steps
from slowwave.jobs.conclusion import outcome_of
from slowwave.jobs.status import standings
from slowwave.jobs.story import run_job
from slowwave.memory import Candidate
from slowwave.memory.candidates import read_candidates
from slowwave.memory.transaction import replace_state
from slowwave.memory.undo import undo
from slowwave.observability.lessons import Learned, planned
from slowwave.report import Report, in_wait
from slowwave.samples import build
from slowwave.settings import load_settings
from slowwave.stores.projects import Project

NOW = datetime(2026, 11, 20, 22, 0, tzinfo=UTC)


def sample_run(home: Path, *, at: datetime = NOW, project: str = "", dry_run: bool = False) -> Run:
    build(home, NOW)
    environ: Mapping[str, str] = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    return Run("r1", load_settings(environ, cwd=home), FixedClock(at), environ, project=project, dry_run=dry_run)


def memory_files(home: Path) -> dict[str, bytes]:
    return {str(p.relative_to(home)): p.read_bytes() for p in home.rglob("memory/*.md")}


def test_a_night_leaves_memories_and_a_second_one_nothing(tmp_path: Path):
    run = sample_run(tmp_path)
    first = run_job("nightly", run)
    assert first.failures == []
    assert first.counts["candidates"] > 10
    assert len(first.dream_ids) == 2
    files = memory_files(tmp_path)
    assert any(name.endswith("MEMORY.md") for name in files)
    second = run_job("nightly", run)
    assert second.dream_ids == []
    assert second.counts.get("candidates", 0) == 0
    assert second.counts.get("bytes_read", 0) == 0
    assert any(gate.gate == "time" and not gate.passed for gate in second.gates)
    assert memory_files(tmp_path) == files


def test_no_planted_secret_or_hostile_line_reaches_a_memory_folder(tmp_path: Path):
    from slowwave.samples import secrets  # noqa: PLC0415 - only here

    run_job("nightly", sample_run(tmp_path))
    everything = b"".join(p.read_bytes() for p in tmp_path.rglob("memory/**/*") if p.is_file())
    assert everything
    for name, secret in secrets().items():
        assert secret.encode() not in everything, name
    assert b"| sh" not in everything


def test_a_dry_run_changes_nothing_and_shows_the_candidates(tmp_path: Path):
    report = run_job("nightly", sample_run(tmp_path, dry_run=True))
    assert any(item.action == "candidate" for item in report.items)
    assert not list(tmp_path.rglob("memory"))


def shown(learned: Learned) -> list[tuple[str, str, str, str, float]]:
    return sorted((c.kind, c.project, c.memory, c.text, c.confidence) for c in learned.changes)


@pytest.mark.parametrize("waits", [True, False])
def test_a_dry_run_asks_the_gates_and_learns_what_the_night_after_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: bool
):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    real = sample_run(tmp_path / "home")
    if waits:  # nothing but how long a fact waits opens the gate
        limits = replace_in(real.settings.consolidation, min_sessions=1000, max_wait=timedelta(days=1))
        real = replace(real, settings=replace_in(real.settings, consolidation=limits))
    dry = run_job("nightly", replace(real, dry_run=True))
    assert not list((tmp_path / "home").rglob("memory"))
    assert not list(scratch.iterdir())
    night = run_job("nightly", real)
    would = planned(dry)
    assert len(would.changes) > 10
    assert shown(would) == shown(msgspec.convert(night.learned, Learned))
    asked = [[(g.gate, g.project, g.passed) for g in one.gates if g.gate != "lock"] for one in (dry, night)]
    assert asked[0] == asked[1]
    assert {"time", "sessions"} <= {gate for gate, _, _ in asked[0]}
    # and when everything was read, both find nothing more
    later = replace(real, clock=FixedClock(NOW + timedelta(days=2)))
    assert planned(run_job("nightly", replace(later, dry_run=True))).changes == []
    assert run_job("nightly", later).counts.get("added", 0) == 0


def test_a_dry_run_shows_the_words_behind_what_it_would_remember(tmp_path: Path):
    would = planned(run_job("nightly", sample_run(tmp_path, dry_run=True)))
    assert any(change.said and change.said not in change.text for change in would.changes)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "memory: No space left on device; make room"),
        (PermissionError(errno.EACCES, "Permission denied", "/a/b"), ": /a/b: Permission denied; let this user write"),
        (OSError(errno.EIO, "Input/output error", "/a/b"), ": /a/b: Input/output error"),
        (OSError("odd"), "memory: odd"),
    ],
)
def test_an_error_of_the_system_names_the_place_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, words: str
):
    def broken(_project: Project, _run: Run) -> Report:
        raise error

    monkeypatch.setitem(steps.STEPS, "extract", (broken,))
    failures = run_job("extract", sample_run(tmp_path)).failures
    assert failures
    assert all(words in failure and ": : " not in failure for failure in failures)


def test_a_broken_project_does_not_cost_the_others_their_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(project: Project, run: Run) -> Report:
        if "tern" in project.key:
            raise ZeroDivisionError("a bug")
        return steps.extract(project, run)

    monkeypatch.setitem(steps.STEPS, "extract", (broken,))
    report = run_job("extract", sample_run(tmp_path))
    assert len(report.failures) == 1
    assert "tern" in report.failures[0]
    assert "ZeroDivisionError: a bug" in report.failures[0]
    assert any("quill" in item.project for item in report.items if item.action == "candidate")


def test_an_interrupt_is_not_contained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(_project: Project, _run: Run) -> Report:
        raise KeyboardInterrupt

    monkeypatch.setitem(steps.STEPS, "extract", (interrupted,))
    with pytest.raises(KeyboardInterrupt):
        run_job("extract", sample_run(tmp_path))


def test_only_the_asked_project_is_worked_on(tmp_path: Path):
    report = run_job("extract", sample_run(tmp_path, project="quill"))
    assert report.counts["projects"] == 1
    assert {item.project for item in report.items if item.project} == {"-home-ana-quill"}


def test_a_project_that_nobody_knows_is_an_error_that_names_the_known_ones(tmp_path: Path):
    with pytest.raises(NotFoundError, match=r"found: .*tern"):
        run_job("extract", sample_run(tmp_path, project="nothing like it"))


def test_a_store_that_is_missing_is_an_error(tmp_path: Path):
    run = sample_run(tmp_path)
    gone = Run("r", run.settings.with_roots([tmp_path / "gone"]), run.clock, run.environ)
    with pytest.raises(UnreadableError, match="gone"):
        run_job("nightly", gone)


def test_a_home_without_transcripts_is_said(tmp_path: Path):
    environ = {"HOME": str(tmp_path)}
    report = run_job("nightly", Run("r", load_settings(environ, cwd=tmp_path), FixedClock(NOW), environ))
    assert any(str(tmp_path / ".claude") in warning and "--store" in warning for warning in report.warnings)


def test_standing_tells_what_is_due_and_why_not(tmp_path: Path):
    run = sample_run(tmp_path)
    whole, _ = standings(run.settings, run.environ, run.clock)
    assert {row.project: row.due for row in whole} == {"-home-ana-quill": True, "-home-ana-tern": True}
    # without the sessions of Codex and pi one project has too few
    run = replace(run, settings=run.settings.with_roots([tmp_path / ".claude"]))
    before, _ = standings(run.settings, run.environ, run.clock)
    assert {row.project: row.due for row in before} == {"-home-ana-quill": False, "-home-ana-tern": True}
    run_job("nightly", run)
    later = FixedClock(NOW + timedelta(hours=1))
    after, _ = standings(run.settings, run.environ, later)
    tern = next(row for row in after if "tern" in row.project)
    assert tern.last_dream == "2026-11-20T22:00:00Z"
    assert tern.memories > 5
    assert not tern.due
    due = "not before 2026-11-21 18:00 UTC"
    assert any(gate.gate == "time" and gate.reason.startswith(due) for gate in tern.gates)
    quill = next(row for row in after if "quill" in row.project)
    assert quill.waiting > 0
    assert quill.last_dream is None


def test_a_dream_that_had_nothing_to_write_is_told_with_its_time_where_it_went(tmp_path: Path):
    run = sample_run(tmp_path)
    run_job("nightly", run)
    before = memory_files(tmp_path)
    forced = replace(run, force=True, project="tern", id="r2", clock=FixedClock(NOW + timedelta(hours=1)))
    assert outcome_of(run_job("nightly", forced)).message == "nightly r2 dreamt over 1 project: nothing new to write."
    assert memory_files(tmp_path) == before
    rows, _ = standings(run.settings, run.environ, FixedClock(NOW + timedelta(hours=2)))
    assert {row.project: (row.last_dream, row.looked_at) for row in rows} == {
        "-home-ana-quill": ("2026-11-20T22:00:00Z", ""),
        "-home-ana-tern": ("2026-11-20T22:00:00Z", "2026-11-20T23:00:00Z"),
    }
    told = "  last dream 2026-11-20 22:00; looked at again 2026-11-20 23:00, nothing new; the last that changed"
    assert told in "\n".join(every(rows))
    # it is the one that the gates name, here and at the end of a run
    (time,) = (gate.reason for row in rows if "tern" in row.project for gate in row.gates if gate.gate == "time")
    assert "the last dream (2026-11-20 22:00 UTC)" in time
    run_job("nightly", replace(forced, project="", id="r3", clock=FixedClock(NOW + timedelta(hours=3))))
    rows, _ = standings(run.settings, run.environ, FixedClock(NOW + timedelta(hours=4)))
    assert {(row.last_dream, row.looked_at) for row in rows} == {("2026-11-20T22:00:00Z", "2026-11-21T01:00:00Z")}
    assert not any(row.is_of_others for row in rows)


def test_the_log_of_a_run_tells_projects_that_were_dreamt_over_from_those_that_are_not_due(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    run = sample_run(tmp_path)
    run_job("nightly", run)
    caplog.set_level(logging.INFO, "slowwave")
    run_job("nightly", replace(run, id="r2", clock=FixedClock(NOW + timedelta(hours=1))))
    assert "2 projects of 2: not due yet" in caplog.messages
    run_job("nightly", replace(run, id="r3", force=True, clock=FixedClock(NOW + timedelta(hours=2))))
    assert "2 projects of 2: dreamt over, and nothing new to write" in caplog.messages


def test_a_night_that_was_taken_back_is_told_as_such_until_a_session_follows_it(tmp_path: Path):
    run = sample_run(tmp_path)
    for dream in run_job("nightly", run).dream_ids:
        folder = next(path for path in tmp_path.rglob(".slowwave/undo/*") if path.name == dream).parents[2]
        undo(folder, dream, NOW + timedelta(hours=1))
    later = FixedClock(NOW + timedelta(hours=2))
    rows, _ = standings(run.settings, run.environ, later)
    assert [row.taken_back for row in rows] == ["2026-11-20T23:00:00Z"] * 2
    told = "\n".join([*short(rows, None), *every(rows)])
    assert told.count("taken back 2026-11-20 23:00: it learns again from new sessions") == 2
    assert told.count("last dream taken back 2026-11-20 23:00; ") == 2
    assert told.count("  next       nothing is due: a night looks at it again, and learns only from later") == 2
    assert "pass  " not in told
    assert "no earlier dream" not in told
    (tern,) = [row for row in rows if "tern" in row.project]
    assert tern.for_you is not None
    assert f"{in_wait(tern.waiting, tern.for_you)}, which that dream had not taken" in told
    assert "due for a dream" not in told
    for session in tmp_path.rglob("*tern/*.jsonl"):
        os.utime(session, ns=(0, int((NOW + timedelta(hours=1.2)).timestamp() * 1e9)))
    rows, _ = standings(run.settings, run.environ, later)
    assert {row.project: bool(row.taken_back) for row in rows} == {"-home-ana-quill": True, "-home-ana-tern": False}
    # a dream that other screens tell is not told as if it had never been
    (tern,) = [row for row in rows if "tern" in row.project]
    assert (tern.last_dream, tern.undone_dream) == (None, "2026-11-20T22:00:00Z")
    told = "\n".join(every([tern]))
    assert "  last dream none that stands; that of 2026-11-20 22:00 was taken back\n" in told
    assert "never" not in told


def test_a_dream_of_cersei_is_the_last_dream_and_told_as_none_of_slowwaves_runs(tmp_path: Path):
    run = sample_run(tmp_path)
    report = run_job("nightly", run)
    memory = Path(report.memories["-home-ana-tern"])
    replace_state(memory, render_state(int((NOW + timedelta(hours=2)).timestamp())))
    rows, _ = standings(run.settings, run.environ, FixedClock(NOW + timedelta(hours=3)))
    assert {row.project: (row.last_dream, row.is_of_others) for row in rows} == {
        "-home-ana-quill": ("2026-11-20T22:00:00Z", False),
        "-home-ana-tern": ("2026-11-21T00:00:00Z", True),
    }
    told = "\n".join(every(rows))
    assert told.count("by no run in the history: Cersei keeps the same clock") == 1
    assert "(2026-11-21 00:00 UTC)" in told


def test_a_dry_run_shows_what_would_wait_for_a_person(tmp_path: Path):
    # the second of these finds nothing new to read, and its dream is not due: what waits is there all the same
    for now in (NOW, NOW + timedelta(hours=1)):
        run = replace(sample_run(tmp_path), clock=FixedClock(now), id=f"r{now:%H}")
        plan = run_job("nightly", replace(run, dry_run=True))
        done = run_job("nightly", run)
        would, does = (msgspec.convert(report.learned, Learned).needs for report in (plan, done))
        # only a night makes the key that a secret is marked with
        about = [[(a.project, a.kind, a.why, a.text.partition("[secret:")[0]) for a in asks] for asks in (would, does)]
        assert about[0] == about[1] != []
        screen = "\n".join(lines(plan.to_builtins(), dry_run=True))
        assert f"\nWould wait for you: {len(does)}, the likeliest" in screen
        assert "after that run slowwave review asks you" in screen


@pytest.mark.parametrize("job", ["retain", "erase"])
def test_what_takes_something_out_of_one_project_names_those_that_are_called_like_it(tmp_path: Path, job: str):
    run = sample_run(tmp_path, project="tern", dry_run=True)
    tree = tmp_path / ".claude" / "projects" / "-home-ana-tern--worktrees-1"
    tree.mkdir()
    line = {"type": "user", "uuid": "u", "sessionId": "w", "message": {"role": "user", "content": "hi"}}
    (tree / "w.jsonl").write_bytes(msgspec.json.encode(line) + b"\n")
    report = run_job(job, run)
    named = [*report.warnings, *(f"{item.target}: {item.reason}" for item in report.items)]
    assert any("tern--worktrees-1: another project with 'tern' in its name" in one for one in named)
    assert report.counts["projects"] == 1


def test_standing_names_a_corrupt_state_and_never_calls_it_due(tmp_path: Path):
    run = sample_run(tmp_path)
    run_job("nightly", run)
    state = next(tmp_path.rglob("*tern/memory/.consolidation_state.json"))
    state.write_text("{broken")
    rows, _ = standings(run.settings, run.environ, run.clock)
    tern = next(row for row in rows if "tern" in row.project)
    assert not tern.due
    assert ".consolidation_state.json" in tern.problem


def test_the_week_shows_everything_that_can_happen_to_a_fact(tmp_path: Path):
    report = run_job("nightly", sample_run(tmp_path))
    by_action = {action: [i for i in report.items if i.action == action] for action in ("add", "merge", "supersede")}
    assert any("Redis" in item.text and "newer" in item.reason for item in by_action["supersede"])
    assert any("pnpm" in item.text and "says the same as" in item.reason for item in by_action["merge"])
    index = next(tmp_path.rglob("*tern/memory/MEMORY.md")).read_text()
    assert "Postgres" in index
    assert "on Redis streams, because" not in index
    assert len(by_action["add"]) == report.counts["added"]


def test_every_candidate_of_a_dream_is_accounted_for_exactly_once(tmp_path: Path):
    run = sample_run(tmp_path, project="tern")
    found = {c.id for c in _candidates(run_job("extract", run), tmp_path)}
    dreamt = run_job("consolidate", run)
    told = [part for item in dreamt.items for part in item.target.split(", ")]
    merged = [part for part in told if part in found]
    founders = sum(item.action == "add" for item in dreamt.items)
    superseded = sum(item.action == "supersede" for item in dreamt.items)
    assert len(merged) == len(set(merged))
    assert len(merged) + founders + superseded == len(found)


def _candidates(report: Report, home: Path) -> list[Candidate]:
    assert report.counts["candidates"] > 0
    return [c for folder in home.rglob("memory") for c in read_candidates(folder)[0]]


@pytest.mark.parametrize("error", [PermissionError(errno.EACCES, "Permission denied"), NotFoundError("gone")])
def test_a_step_about_all_projects_that_breaks_costs_no_other_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
):
    def broken(_projects: object, _run: object) -> Report:
        raise error

    broken.__name__ = "end_dreaming"
    monkeypatch.setattr(steps, "end_dreaming", broken)
    report = run_job("nightly", sample_run(tmp_path))
    assert [failure.partition(":")[0] for failure in report.failures] == ["end_dreaming"]
    assert len(report.dream_ids) == 2
