"""A dream with a model: what it proposes is judged, and whatever goes wrong the rules decide alone."""

from pathlib import Path
from typing import Any

import pytest

from slowwave.consolidation.job import consolidate_project
from slowwave.models.base import Answer, Ask, ContextOverflowError, MalformedAnswerError, ModelUnavailableError, Usage
from slowwave.report import Report
from slowwave.settings import ConsolidationSettings, Settings
from tests.unit.consolidation.dreams import House


class Scripted:
    """Gives one answer, or fails with one error, as often as it is asked; or takes the errors one by one."""

    name = "scripted"

    def __init__(self, *said: Any) -> None:
        self.said = list(said)
        self.asked: list[Ask] = []

    def answer(self, ask: Ask) -> Answer:
        self.asked.append(ask)
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if isinstance(said, Exception):
            raise said
        return Answer(said, "", "schema", Usage(1, 1), "scripted")


def _dream(house: House, model: Scripted, *, on: bool = True) -> Report:
    settings = Settings(consolidation=ConsolidationSettings(model="on" if on else "off"))
    return consolidate_project(house.project(), settings, house.clock, force=True, home=house.root, model=model)


def _house(tmp_path: Path) -> House:
    house = House(tmp_path)
    house.extract(
        house.candidate("Commit messages are short", session="a", at="2026-11-01T00:00:00Z"),
        house.candidate("Keep commit messages short", session="b", at="2026-11-02T00:00:00Z"),
    )
    return house


MERGE = {"operations": [{"op": "merge", "entries": [1, 2], "by": 0, "text": "Keep commit messages short"}]}


def test_a_merge_that_a_model_proposes_is_done_and_lasts(tmp_path: Path) -> None:
    house, model = _house(tmp_path), Scripted(MERGE)
    report = _dream(house, model)
    assert house.read("MEMORY.md") == "# Memory\n\n- Keep commit messages short\n"
    assert report.counts["model_followed"] == 1
    assert "1. [new, preference, 2026-11-01] Commit messages are short" in model.asked[0].user
    house.extract(house.candidate("Commit messages are short", session="c", at="2026-11-03T00:00:00Z"))
    assert house.dream().counts == {"merged": 1}


def test_a_night_without_news_asks_nothing_and_off_is_off(tmp_path: Path) -> None:
    house, model = _house(tmp_path), Scripted(MERGE)
    assert not _dream(house, model, on=False).counts.get("model_followed")
    assert model.asked == []
    _dream(house, model)
    assert model.asked == []


@pytest.mark.parametrize(
    "said",
    [ModelUnavailableError("no connection"), MalformedAnswerError("cut off"), None, "garbage", {"operations": 7}],
)
def test_a_model_that_fails_changes_nothing_and_the_report_says_so(tmp_path: Path, said: Any) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    house, alone = _house(tmp_path / "one"), _house(tmp_path / "two")
    report = _dream(house, Scripted(said))
    alone.dream()
    assert house.read("MEMORY.md") == alone.read("MEMORY.md")
    assert "model" in report.warnings[0]


def test_a_question_that_is_too_long_is_asked_about_half_of_the_entries(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extract(*(house.candidate(f"Fact {w} of the house", session=w, category="project") for w in "abcdefgh"))
    model = Scripted(ContextOverflowError("too long"), {"operations": []})
    assert len(_dream(house, model).dream_ids) == 1
    assert [ask.user.count("\n") + 1 for ask in model.asked] == [8, 4]


def test_what_it_cost_is_counted_and_no_secret_is_shown(tmp_path: Path) -> None:
    house, model = _house(tmp_path), Scripted(MERGE)
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    house.extract(house.candidate(f"Commit messages never hold {secret}", session="c", at="2026-11-03T00:00:00Z"))
    report = _dream(house, model)
    assert report.counts["model_answers"] == report.counts["model_prompt_tokens"] == 1
    assert secret not in model.asked[0].user
    assert "[secret:" in model.asked[0].user
