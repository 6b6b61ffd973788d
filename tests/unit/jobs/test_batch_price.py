"""Extraction at a batch price over the sample week: asked by one night, remembered by the next."""

import re
import shutil
from collections.abc import Generator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slowwave.context import FixedClock, Run
from slowwave.jobs.conclusion import outcome_of
from slowwave.jobs.portions import extract_portion, whole_portion
from slowwave.jobs.steps import hand_over
from slowwave.jobs.story import Tally, plan_job, run_job
from slowwave.report import Report
from slowwave.samples import build
from slowwave.settings import load_settings
from tests.model_server.scripted import note
from tests.unit.models.batch_server import Provider, batch_server

NOW = datetime(2026, 11, 20, 22, 0, tzinfo=UTC)


class Machine:
    """A home with the sample week, and the server at which it asks."""

    def __init__(self, home: Path, server: Provider) -> None:
        build(home, NOW)
        self.home = home
        self.server = server
        self.environ = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_DATA_HOME": str(home / "data")}
        self.settings = load_settings(
            self.environ,
            cwd=home,
            overrides=[f"model.base_url={server.url}", "model.name=m", "model.batch=true"],
        ).with_roots([home])

    def run(self, night: int, *, dry_run: bool = False) -> Run:
        clock = FixedClock(NOW + timedelta(days=night))
        return Run(f"r{night}", self.settings, clock, self.environ, dry_run=dry_run)

    def night(self, night: int, *, dry_run: bool = False) -> Report:
        return run_job("extract", self.run(night, dry_run=dry_run))

    def answer_all(self, batch: str) -> int:
        """End a batch: each question gets the first person's words that it shows as a memory; return how many do."""
        answers = {q["custom_id"]: _noted(q["body"]["messages"][1]["content"]) for q in self.server.questions(batch)}
        self.server.finish(batch, answers)
        return sum(bool(answer["operations"]) for answer in answers.values())


def _asked(server: Provider) -> list[str]:
    """Return what a batch asks, without what each machine names by itself: questions, secrets, notes with one."""
    own = re.compile(r"\[secret:[^\]]*\]|C[0-9a-f]{6}(?= \()")
    return sorted(own.sub("[own]", str(q["body"])) for q in server.questions("batch-0"))


def _noted(material: str) -> dict[str, Any]:
    said = re.search(r"^\[(\d+)\] person\b[^\n]*?: (.+)$", material.partition("The session:")[2], re.MULTILINE)
    if said is None:
        return {"operations": []}
    quote = said[2][:80]
    return {"operations": [note(f"It was said that {quote}", (int(said[1]), quote), category="project")]}


@pytest.fixture
def machine(tmp_path: Path) -> Generator[Machine]:
    with batch_server() as server:
        yield Machine(tmp_path, server)


def test_one_night_asks_and_the_next_one_remembers(machine: Machine):
    first = machine.night(0)
    asked = first.counts["model_batch_questions"]
    assert asked == first.counts["model_pending"] > 2
    assert first.counts.get("model_candidates", 0) == 0
    assert first.failures == []

    assert machine.answer_all("batch-0") > 2
    second = machine.night(1)
    assert second.counts["model_batch_answers"] == second.counts["model_answers"] == asked
    assert second.counts["model_batch_tokens"] == 120 * asked
    assert second.counts["model_candidates"] > 2
    # judged at once, and not a night later again
    assert second.counts["model_judgements"] > 1
    assert "model_unjudged" not in second.counts
    assert "model_pending" not in second.counts
    assert len(machine.server.batches) == 1


def test_a_third_night_asks_nothing(machine: Machine):
    machine.night(0)
    machine.answer_all("batch-0")
    machine.night(1)
    calls = len(machine.server.calls)

    third = machine.night(2)

    assert {name for name in third.counts if name.startswith("model_")} == set()
    assert len(machine.server.calls) == calls


def test_a_night_in_between_waits_without_asking_again(machine: Machine):
    asked = machine.night(0).counts["model_batch_questions"]

    between = machine.night(1)

    assert between.counts["model_batch_waiting"] == between.counts["model_pending"] == asked
    assert len(machine.server.batches) == 1


def test_half_an_answer_is_kept_and_the_other_half_asked_again(machine: Machine):
    asked = machine.night(0).counts["model_batch_questions"]
    questions = machine.server.questions("batch-0")
    answered: dict[str, Any] = {q["custom_id"]: {"operations": []} for q in questions[::2]}
    machine.server.finish("batch-0", answered, status="expired")

    second = machine.night(1)

    left = asked - len(answered)
    assert (second.counts["model_batch_failed"], second.counts["model_batch_questions"]) == (left, left)
    again = {q["custom_id"] for q in machine.server.questions("batch-1")}
    assert again == {q["custom_id"] for q in questions} - set(answered)


def test_a_dry_run_asks_nobody(machine: Machine):
    report = machine.night(0, dry_run=True)

    assert report.counts["model_questions"] > 2
    assert machine.server.calls == []
    assert not (machine.home / "state" / "slowwave" / "batches").exists()


def test_in_portions_the_same_questions_go_out(machine: Machine):
    asked = machine.night(0).counts["model_batch_questions"]
    shutil.rmtree(machine.home)
    machine.home.mkdir()
    with batch_server() as server:
        again = Machine(machine.home, server)
        tally = Tally(plan_job("extract", again.run(0)))
        for index in range(tally.plan.batches):
            tally.add(extract_portion(tally.plan.manifest, index, again.environ))
        tally.others.append(whole_portion(tally.plan.manifest, hand_over, again.environ))

        assert tally.total(again.environ).counts["model_batch_questions"] == asked
        assert _asked(again.server) == _asked(machine.server)


def test_a_server_that_is_away_costs_nothing_but_a_night(machine: Machine):
    machine.server.broken = {"/v1/"}
    first = machine.night(0)
    assert first.failures == []
    assert any("waits for another night" in warning for warning in first.warnings)
    machine.server.broken = set()

    assert machine.night(1).counts["model_batch_questions"] == first.counts["model_pending"]


def test_a_damaged_spool_is_a_failure_that_costs_the_miners_nothing(machine: Machine):
    machine.night(0)
    (sent,) = (machine.home / "state" / "slowwave" / "batches" / "sent").glob("*.json")
    sent.write_bytes(b"{")
    report = machine.night(1)
    assert {failure.partition(": ")[0] for failure in report.failures} == {"batches"}
    assert all(str(sent) in failure for failure in report.failures)
    assert report.counts["model_postponed"] > 2
    assert "model_given_up" not in report.counts


def test_a_night_that_only_asks_is_not_one_without_work(machine: Machine):
    report = machine.night(0)
    report.counts = {name: n for name, n in report.counts.items() if name.startswith("model_")}
    report.dream_ids.clear()
    assert outcome_of(report).name == "Completed"


def test_batches_that_nobody_reads_any_more_are_named(machine: Machine):
    machine.night(0)
    without = load_settings(machine.environ, cwd=machine.home).with_roots([machine.home])
    report = run_job("extract", replace(machine.run(1), settings=without))
    assert any("1 batch on the way" in warning for warning in report.warnings)
    machine.answer_all("batch-0")
    assert not any("on the way" in warning for warning in machine.night(2).warnings)
    report = run_job("extract", replace(machine.run(3), settings=without))
    assert not any("on the way" in warning for warning in report.warnings)
