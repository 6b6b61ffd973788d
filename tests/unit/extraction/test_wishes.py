"""Rules in weaker words: what a thing needs, what is asked for politely, what is said against a mistake."""

from pathlib import Path

import pytest

from slowwave.extraction.calibration.model import stepped
from tests.unit.extraction.talk import Talk
from tests.unit.extraction.test_miners import after_work, mined


def refused(words: str) -> Talk:
    return Talk().person("add the flag").assistant("I will edit main.").refused(words)


@pytest.mark.parametrize(
    ("words", "category"),
    [
        ("the exporter needs to be configurable per tenant", "decision"),
        ("every fixture needs a seed file, then we replay it", "decision"),
        ("https://example.test/pull/7 Instead of adding a second cache, document the existing one", "preference"),
        ("any chance we can use British spelling?", "preference"),
        ("can screenshots be saved to the media repo under a branch of their own", "preference"),
        ("can we make the detail view a page of its own always", "preference"),
        ("use the deploy-notes skill", "preference"),
        ("if a step is unclear we should improve the handbook and link it", "pattern"),
        ("the idea is that a run is resumed on another machine", "decision"),
        ("I want this command to print the short form", "decision"),
        ("the close event is not right, that is sent after every page", "project"),
        ("let's not leave all the tests to the end", "preference"),
        ("anything in the preview channel can be removed without notice", "constraint"),
        ("there should be no second scheduler", "constraint"),
        ("her address is ann@shop.test", "project"),
        ("why did you not claim the ticket (I had to do it myself)", "preference"),
    ],
)
def test_rules_in_weak_words_are_found(tmp_path: Path, words: str, category: str):
    (found,) = mined(tmp_path, after_work(words))
    assert found.category == category


@pytest.mark.parametrize(
    "words",
    [
        "can we use the large model for this use case?",
        "critical paths that should be tested include:",
        "the function must have been renamed last week",
        "the port is busy",
        "if it fails you should have a look",
        "can you mention that we are not always starting from scratch?",
        "we have a bunch of scripts in src",
        "use the deploy-notes skill on the readme",
    ],
)
def test_what_only_sounds_like_a_rule_is_not(tmp_path: Path, words: str):
    assert mined(tmp_path, after_work(words)) == []


@pytest.mark.parametrize("words", ["let's cut a branch first", "let's split the hook types for clarity"])
def test_the_reason_of_a_refused_call_says_how_it_is_done(tmp_path: Path, words: str):
    (found,) = mined(tmp_path, refused(words))
    assert found.origin == "user_correction"


@pytest.mark.parametrize("words", ["let's wait a moment", "let's not do that now"])
def test_a_refused_call_that_is_put_off_teaches_nothing(tmp_path: Path, words: str):
    assert mined(tmp_path, refused(words)) == []


def test_limits_of_the_order_that_opens_a_session_end_with_it(tmp_path: Path):
    brief = "Extend the glob to all pages. Keep fixes mechanical; don't rewrite prose meaning."
    assert mined(tmp_path, Talk().person(brief).bash("make lint").assistant("Done.")) == []
    reasoned = "Extend the glob. Don't rewrite prose because translators work from it."
    assert mined(tmp_path, Talk().person(reasoned).bash("make lint").assistant("Done."))


def test_one_target_for_all_checks_is_a_routine(tmp_path: Path):
    talk = Talk().person("go on").bash("npm run check").bash("npm run check").assistant("ok")
    assert [(c.key, c.value) for c in mined(tmp_path, talk, 0.0)] == [("cmd:check", "npm run check")]


def test_steps_that_lie_close_together_keep_the_order():
    close = ((0.4, 0.60), (0.6, 0.61), (0.9, 0.62))
    said = [stepped(n / 100, close) for n in range(101)]
    assert said == sorted(said)
