"""What a model is asked for the summaries of each client: sections, rounds or prose; what it is shown, and a focus."""

from pathlib import Path

import pytest

from slowwave.compaction.book import read_book
from slowwave.compaction.plan import CLEARED
from slowwave.compaction.summary import by_model
from slowwave.models.base import ContextOverflowError
from tests.unit.compaction.job.talks import IDS, Talk, compacted, job
from tests.unit.compaction.job.test_narrative import Scripted, summary_of

GOAL = "## Goal\nThe SHOP is to be rebuilt."


@pytest.mark.parametrize("dialect", sorted(IDS))
def test_the_focus_of_a_person_is_asked_for_in_every_form(tmp_path: Path, dialect: str):
    talk = Talk(tmp_path / "store", dialect).grow(6)
    model = Scripted(GOAL)
    compacted(talk, job(tmp_path, summarise=by_model(model, focus="the door")))
    assert "the door" in model.asked[0].user


def test_cersei_is_asked_by_rounds_and_told_in_one_wrapped_summary(tmp_path: Path):
    talk = Talk(tmp_path / "store", "cersei").grow(6)
    numbers = iter(range(100))
    model = Scripted(lambda _ask: f"Round {next(numbers)} built a part of the SHOP.")
    compacted(talk, job(tmp_path, summarise=by_model(model)))
    assert len(model.asked) > 1
    # every message is in one question, and in no other
    for step in range(1, 5):  # the last two stay as they are
        assert sum(f"please do step {step} " in ask.user for ask in model.asked) == 1
    text = summary_of(talk)
    assert text.startswith("<context_summary>")
    assert text.rstrip().endswith("</context_summary>")
    at = [text.index(f"Round {number} built") for number in range(len(model.asked))]
    assert at == sorted(at)
    assert at[-1] < text.index("## Goal")
    assert "src/step1.py" in text


def test_a_round_that_is_too_long_is_asked_about_without_its_oldest_part_and_that_is_noted(tmp_path: Path):
    talk = Talk(tmp_path / "store", "cersei").grow(6)
    model = Scripted(ContextOverflowError("too long"), "The SHOP was built.")
    compacted(talk, job(tmp_path, "compaction.keep_recent_tokens=100000", summarise=by_model(model)))
    (done,) = read_book(job(tmp_path).folder, talk.id, "cersei", talk.path).compactions
    assert len(model.asked) == 2
    assert any("too long for the model" in note for note in done.notes)


def test_the_second_time_cersei_and_crabtalk_carry_on_what_was_told_before(tmp_path: Path):
    for dialect in ("cersei", "crabtalk"):
        talk = Talk(tmp_path / dialect / "store", dialect).grow(6)
        model = Scripted("The SHOP was built.")
        compacted(talk, job(tmp_path / dialect, summarise=by_model(model)))
        asked = len(model.asked)
        talk.grow(5)
        compacted(talk, job(tmp_path / dialect, summarise=by_model(model)))
        later = model.asked[asked:]
        assert ["<previous-summary>" in ask.user for ask in later] == [True] + [False] * (len(later) - 1)
        assert "The SHOP was built." in later[0].user
        assert "recent-messages" not in later[0].user


def test_crabtalk_is_told_in_prose_before_the_ledger(tmp_path: Path):
    talk = Talk(tmp_path / "store", "crabtalk", 1500).grow(6)
    model = Scripted("Ann rebuilds the SHOP.\n\nThe door is blue.")
    compacted(talk, job(tmp_path, summarise=by_model(model)))
    text = next(m.text for m in talk.context() if "SHOP" in m.text)
    assert "Ann rebuilds the SHOP.\n\nThe door is blue.\n\n## Goal" in text
    (ask,) = model.asked
    assert "without headings" in ask.user
    # results are cut to a kibibyte
    assert f"[Tool result]: {'r' * 1024}\n\n[... 476 more characters truncated]" in ask.user


def test_old_outputs_are_cleared_from_what_the_model_reads_and_stay_in_the_transcript(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi", 22_000).grow(9)
    before = talk.path.read_bytes()
    model = Scripted(GOAL)
    small = ("compaction.context_window=30000", "compaction.keep_recent_tokens=20000")
    compacted(talk, job(tmp_path, *small, summarise=by_model(model)))
    assert model.asked[0].user.count(CLEARED) > 1
    assert talk.path.read_bytes().startswith(before)
    (done,) = read_book(job(tmp_path).folder, talk.id, "pi", talk.path).compactions
    assert any("were cleared from what the model read" in note for note in done.notes)


def test_the_ten_most_recent_messages_of_cersei_are_always_preserved(tmp_path: Path):
    talk = Talk(tmp_path / "store", "cersei").grow(6)
    before = list(talk.context())
    compacted(talk, job(tmp_path))
    # two turns of five messages each
    after = list(talk.context())
    assert after[0].origin == "summary"
    assert [(m.id, m.text) for m in after[1:]] == [(m.id, m.text) for m in before[-10:]]
    assert "recent-messages" not in after[0].text


def test_a_split_turn_has_a_part_of_its_own_without_a_model_too(tmp_path: Path):
    talk = Talk(tmp_path / "store", "pi").grow(6)
    compacted(talk, job(tmp_path, "compaction.keep_recent_tokens=60"))
    text = summary_of(talk)
    turn = text.partition("**Turn Context (split turn):**")[2]
    assert "## Original Request\nplease do step 6 " in turn
    assert "- write" in turn
    assert turn.index("## Early Progress") < turn.index("<modified-files>")
    # the next summary does not carry it on
    talk.grow(4)
    compacted(talk, job(tmp_path))
    assert "please do step 6 w" not in summary_of(talk).partition("**Turn Context")[2]
    assert summary_of(talk).count("Turn Context") <= 1
