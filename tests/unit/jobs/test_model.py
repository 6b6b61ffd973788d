"""The model of a run: one for all of its projects, none in a dry run, and an account of everything that was charged."""

from datetime import timedelta
from pathlib import Path

from slowwave.context import FixedClock, Run
from slowwave.jobs.run import note_account
from slowwave.jobs.story import run_job
from slowwave.models import journal_of, language_model
from slowwave.models.base import Meter, Usage
from slowwave.report import Report
from slowwave.settings import ModelSettings, Settings
from tests.model_server.nights import settings, talk, told
from tests.model_server.scripted import said, serving
from tests.unit.extraction.talk import CWD, NOW

NAMED = Settings(model=ModelSettings(base_url="http://127.0.0.1:9/v1", name="m"))


def projects(home: Path, number: int) -> dict[str, str]:
    """Write a session for each of so many projects; return the environment of their home."""
    for at in range(1, number + 1):
        session = talk(at)
        folder = home / ".claude" / "projects" / f"-home-ada-code-{at}"
        session.write(folder).files.paths[0].write_bytes(session.data().replace(CWD.encode(), f"/srv/{at}".encode()))
    return {"HOME": str(home)}


def test_one_run_has_one_model_and_the_next_run_another(tmp_path: Path):
    environ = {"HOME": str(tmp_path)}
    first = language_model("a", NAMED, environ)
    assert first is not None
    assert language_model("a", NAMED, environ) is first
    assert language_model("b", NAMED, environ) is not first


def test_a_dry_run_and_a_run_without_settings_have_none(tmp_path: Path):
    environ = {"HOME": str(tmp_path)}
    assert language_model("a", NAMED, environ, dry_run=True) is None
    assert language_model("a", Settings(), environ) is None


def test_what_gave_no_usable_answer_is_in_the_account(tmp_path: Path):
    meter = Meter(NAMED.model, tmp_path / "r.json")
    meter.settle(meter.hold(100, 20), Usage(100, 20, 0.5))
    report = Report("extract", "r", counts={"model_prompt_tokens": 60})
    note_account(report, tmp_path / "r.json")
    assert report.items[0].reason == "the run was charged 120 tokens, 0.5000 USD, of which 60 gave no usable answer"
    assert report.counts["model_charged_tokens"] == 120


def test_a_command_is_named_with_its_version_and_who_counted(tmp_path: Path):
    meter = Meter(NAMED.model, tmp_path / "r.json")
    meter.note_program("claude 2.1")
    meter.settle(meter.hold(100, 20), Usage(1000, 20, 0.5))
    report = Report("extract", "r", counts={"model_prompt_tokens": 1020})
    note_account(report, tmp_path / "r.json")
    told = "claude 2.1 answered 1 times: 1,000 tokens of questions and 20 of answers, 0.5000 USD"
    assert [item.reason for item in report.items] == [f"{told} (as it reports them)"]
    meter.settle(meter.hold(100, 20), Usage(100, 20, is_estimated=True))
    report = Report("extract", "r", counts={"model_prompt_tokens": 1140})
    note_account(report, tmp_path / "r.json")
    assert "1 of the answers estimated" in report.items[0].reason


def test_a_command_reads_what_a_server_would(tmp_path: Path):
    script = tmp_path / "answerer"
    script.write_text("#!/bin/sh\ncat >> $0.asked\necho '{\"operations\": []}'\n")
    script.chmod(0o755)
    environ = projects(tmp_path, 2)
    given = settings("", command=(str(script),), name="")
    report = run_job("extract", Run("r", given, FixedClock(NOW + timedelta(days=9000)), environ))
    assert report.failures == []
    assert any(item.reason.startswith("answerer answered 2 times: ") for item in report.items)
    asked = Path(f"{script}.asked").read_bytes()
    run_job("extract", Run("s", given, FixedClock(NOW + timedelta(days=9000)), environ))
    assert Path(f"{script}.asked").read_bytes() == asked  # what it has read stands in the books under its name


def test_a_question_that_a_command_kept_as_a_session_is_nobodys_words(tmp_path: Path):
    environ = projects(tmp_path, 1)
    (transcript,) = (tmp_path / ".claude").rglob("*.jsonl")
    transcript.write_bytes(transcript.read_bytes().replace(b'"/srv/1"', b'"/tmp/slowwave-asks-x1"'))
    report = run_job("extract", Run("r", Settings(), FixedClock(NOW + timedelta(days=9000)), environ, force=True))
    assert (report.counts["sessions"], report.counts["untyped"], report.counts.get("candidates", 0)) == (1, 1, 0)


def test_a_run_shares_its_budget_among_projects(tmp_path: Path):
    environ = projects(tmp_path, 3)
    with serving(said({"operations": []}, usage=(2000, 100))) as server:
        given = settings(server.base_url, budget_tokens=6500)
        report = run_job("extract", Run("r", given, FixedClock(NOW + timedelta(days=9000)), environ))
    assert len(server.requests) == 1
    assert report.counts["model_postponed"] == 2
    assert Meter(given.model, journal_of("r", environ)).spent().prompt_tokens == 2000


def test_every_project_of_a_run_is_read(tmp_path: Path):
    environ = projects(tmp_path, 2)
    with serving(told) as server:
        report = run_job(
            "extract", Run("r", settings(server.base_url), FixedClock(NOW + timedelta(days=9000)), environ)
        )
    assert report.counts["model_candidates"] == 2


def test_a_damaged_account_ends_the_questions_and_not_the_run(tmp_path: Path):
    environ = projects(tmp_path, 1)
    journal = journal_of("r", environ)
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"{nonsense")
    with serving(told) as server:
        report = run_job(
            "nightly", Run("r", settings(server.base_url), FixedClock(NOW + timedelta(days=9000)), environ, force=True)
        )
    assert server.requests == []
    assert report.failures == []
    assert report.counts["model_postponed"] == 1
    assert sum("is not an account" in warning for warning in report.warnings) >= 2
    assert report.dream_ids
