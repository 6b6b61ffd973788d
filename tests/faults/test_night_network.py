"""The network to the model is cut in the middle of a night: the rest is done offline, and asked the next night."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from slowwave.cli.status import of_nights
from slowwave.extraction.model.job import LEFT
from slowwave.jobs.status import lately
from slowwave.memory.candidates import read_candidates
from slowwave.models import journal_of
from slowwave.models.base import Account, read_account
from tests.faults.night_town import Town
from tests.model_server.nights import fact, told
from tests.model_server.scripted import Reply, ScriptedServer, said, verdicts
from tests.unit.consolidation.dreams import no_fsync

pytestmark = pytest.mark.drill


class Villagers(Town):
    """People who also say, in every session, something that only a model understands."""

    def _row(self, session: str, number: int) -> dict[str, object]:
        row = super()._row(session, number)
        if number == 2:
            row["message"] = {"role": "user", "content": fact(self.sessions)}
        return row


class Cut:
    """A model that goes away for good after so many answers: its listener is closed."""

    def __init__(self, answers: int) -> None:
        self.left = answers
        self.server = ScriptedServer(self._answer, verdicts())

    def _answer(self, asked: dict[str, Any]) -> Reply:
        self.left -= 1
        if not self.left:
            self.server._http.server_close()
        return told(asked) if "The session:" in asked["messages"][-1]["content"] else said({})


def by_model(town: Town) -> list[str]:
    memories = (town.root / ".claude" / "projects").glob("*/memory")
    found = (c for m in memories for c in read_candidates(m)[0] if c.extractor.startswith("model/"))
    return sorted(c.text for c in found if c.text != LEFT)


def offline(town: Town) -> list[str]:
    memories = (town.root / ".claude" / "projects").glob("*/memory")
    return sorted(c.text for m in memories for c in read_candidates(m)[0] if c.extractor.startswith("offline/"))


def settings(server: ScriptedServer) -> tuple[str, ...]:
    return (
        f"model.base_url={server.base_url}",
        "model.name=m",
        "model.retries=0",
        "model.concurrency=1",
        "consolidation.min_hours=0",
    )


def account(town: Town, run_id: str) -> Account:
    return read_account(journal_of(run_id, town.environ))


@pytest.mark.parametrize("answers", [1, 4, 9] if os.environ.get("DRILLS") else [4])
def test_a_night_without_its_model_ends_offline_and_the_next_one_asks_what_is_left(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, answers: int
) -> None:
    monkeypatch.setattr(os, "fsync", no_fsync)
    town = Villagers(own_home, projects=2)
    with Cut(-1).server as whole:
        town.direct("undisturbed", *settings(whole))
    expected, mined = by_model(town), offline(town)
    assert len(expected) == 10
    town.forget()

    cut = Cut(answers)
    with cut.server as server:
        report = town.direct("cut", *settings(server))
        first = set(server.asked)
    assert report.failures == []
    assert offline(town) == mined
    assert 0 < len(by_model(town)) < len(expected)
    assert report.counts["model_postponed"] > 0
    spent = account(town, "cut")
    # what was judged cost nothing here
    assert spent.calls >= answers
    assert (spent.prompt_tokens, spent.completion_tokens) == (100 * answers, 20 * answers)
    assert (spent.held_tokens, spent.held_usd) == (0, 0.0)
    (night,) = town.nights()
    assert (night.outcome, night.spent.prompt_tokens) == ("Completed", 100 * answers)
    assert "  model      " in status(town)
    assert "got no answer and wait for the next run; slowwave doctor --model asks whether it is there" in status(town)

    town.clock.at += timedelta(days=1)
    with Cut(-1).server as server:
        report = town.direct("next", *settings(server))
        # the other windows are the same in every session
        assert first.isdisjoint(asked for asked in server.asked if "staging cluster" in asked)
    assert (report.failures, report.counts.get("model_postponed", 0)) == ([], 0)
    assert (by_model(town), offline(town)) == (expected, mined)
    assert "  model      " not in status(town)


def status(town: Town) -> str:
    return "\n".join(of_nights(lately(town.settings().model, town.environ, town.clock.now())))
