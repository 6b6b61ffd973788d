"""A model's narrative: what it is asked, when it is not taken, and what happens when it does not answer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from slowwave.compaction.book import read_book
from slowwave.compaction.summary import by_model
from slowwave.models.base import (
    Answer,
    Ask,
    ContextOverflowError,
    MalformedAnswerError,
    ModelRefusedError,
    ModelUnavailableError,
    Usage,
)
from tests.unit.compaction.job.talks import Talk, compacted, job


class Scripted:
    """A model that answers with the next of its answers, or raises it; the last one for ever."""

    name = "scripted"

    def __init__(self, *answers: str | Exception | Callable[[Ask], str]) -> None:
        self.answers = list(answers)
        self.asked: list[Ask] = []

    def answer(self, ask: Ask) -> Answer:
        self.asked.append(ask)
        given = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(given, Exception):
            raise given
        text = given if isinstance(given, str) else given(ask)
        return Answer({"summary": text}, text, "schema", Usage(1, 1), self.name)


def summary_of(talk: Talk) -> str:
    return next(m.text for m in talk.context() if m.origin == "summary")


def test_the_narrative_stands_in_the_sections_beside_the_ledger(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(6)
    model = Scripted("## Goal\nThe SHOP is to be rebuilt.\n\n## Next Steps\n1. Paint the door blue.")
    assert compacted(talk, job(tmp_path, summarise=by_model(model))).counts["compacted"] == 1
    text = summary_of(talk)
    assert "The SHOP is to be rebuilt." in text
    assert "src/step1.py" in text
    (done,) = read_book(job(tmp_path).folder, talk.id, "pi", talk.path).compactions
    assert done.source == "model"
    assert "[User]: please do step 1 " in model.asked[0].user


@pytest.mark.parametrize(
    "fault",
    [
        ModelUnavailableError("nobody there"),
        ModelRefusedError("no"),
        MalformedAnswerError("cut off"),
        ContextOverflowError("too long"),
        "   ",
    ],
)
def test_whatever_the_model_does_the_ledger_is_written(tmp_path: Path, fault: str | Exception):
    talk = Talk(tmp_path / "store", "pi").grow(6)
    report = compacted(talk, job(tmp_path, summarise=by_model(Scripted(fault))))
    assert (report.counts["compacted"], report.failures) == (1, [])
    (done,) = read_book(job(tmp_path).folder, talk.id, "pi", talk.path).compactions
    assert done.source == "ledger"
    assert any(note.startswith("no narrative: ") for note in done.notes)


def test_what_is_too_long_is_asked_again_without_its_oldest_half(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(8)
    model = Scripted(ContextOverflowError("too long"), "## Goal\nA SHORT one")
    compacted(talk, job(tmp_path, summarise=by_model(model)))
    first, second = (ask.user for ask in model.asked[:2])
    assert len(second) < len(first)
    assert "please do step 1 " in first
    assert "please do step 1 " not in second
    assert "A SHORT one" in summary_of(talk)


def marked(text: str) -> str:
    return text.replace("please", "[mark]")


def test_no_secret_is_sent(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(6)
    model = Scripted("## Goal\nx")
    compacted(talk, job(tmp_path, summarise=by_model(model), redact=marked))
    assert "please" not in model.asked[0].user
    assert "[mark]" in model.asked[0].user


def test_the_second_time_the_model_brings_the_summary_up_to_date(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(6)
    model = Scripted("## Goal\nThe SHOP is to be rebuilt.")
    compacted(talk, job(tmp_path, summarise=by_model(model)))
    talk.grow(5)
    compacted(talk, job(tmp_path, summarise=by_model(model)))
    assert "<previous-summary>" in model.asked[-1].user or "<previous-summary>" in model.asked[-2].user


def test_what_the_answers_cost_is_told(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(6)
    model = Scripted("## Goal\nThe SHOP is to be rebuilt.")
    paid: list[Usage] = []
    compacted(talk, job(tmp_path, summarise=by_model(model, paid=paid.append)))
    assert paid == [Usage(1, 1)] * len(model.asked) != []
