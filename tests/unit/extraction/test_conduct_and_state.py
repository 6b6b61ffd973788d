"""Reproaches, the state of things, requested commands, open tasks; and what must not be taken for them."""

from pathlib import Path

import pytest

from slowwave.dialects.registry import by_name
from slowwave.extraction.events import events_of
from slowwave.extraction.found import Found
from slowwave.extraction.mining import uncalibrated
from slowwave.extraction.redact import redactor_for
from tests.unit.extraction.talk import Talk

REDACT = redactor_for("shop")


def found_in(tmp_path: Path, talk: Talk) -> list[Found]:
    return uncalibrated(events_of(by_name("claude").read(talk.write(tmp_path).files).messages, REDACT))


def miners(tmp_path: Path, words: str) -> set[str]:
    talk = Talk().person("go on").bash("make test").assistant("Done.").person(words)
    return {found.miner for found in found_in(tmp_path, talk)}


@pytest.mark.parametrize(
    "words",
    [
        "why did you not read the contributing guide first",
        "you keep adding comments that nobody asked for",
        "I already told you where the fixtures are kept",
        "how can you say the docs are fine if you haven't compared them",
    ],
)
def test_what_the_assistant_is_reproached_with_is_kept(tmp_path: Path, words: str):
    assert "conduct" in miners(tmp_path, words)


@pytest.mark.parametrize(
    "words",
    ["did you run the tests?", "why is the importer slow?", "you can always restart it", "what do you think about it?"],
)
def test_a_question_is_no_reproach(tmp_path: Path, words: str):
    assert "conduct" not in miners(tmp_path, words)


def test_the_first_words_of_a_session_reproach_nothing(tmp_path: Path):
    talk = Talk().person("you keep adding comments that nobody asked for")
    assert "conduct" not in {found.miner for found in found_in(tmp_path, talk)}


@pytest.mark.parametrize(
    "words",
    [
        "the billing client is deprecated",
        "can you remove the legacy field since it's no longer supported",
        "the schema file is the single source of truth for this",
        "there are no users yet, so no backward compatibility",
        "in this repo we commit generated code",
        "I don't care about the duration of commands",
        "the exporter has nothing to do with billing",
    ],
)
def test_how_things_stand_is_kept(tmp_path: Path, words: str):
    assert "standing" in miners(tmp_path, words)


@pytest.mark.parametrize(
    "words", ["is the billing client deprecated?", "the log says it is deprecated and the build fails"]
)
def test_a_question_or_a_fault_is_no_state(tmp_path: Path, words: str):
    assert "standing" not in miners(tmp_path, words)


def test_a_command_that_a_person_asks_for(tmp_path: Path):
    assert "requested" in miners(tmp_path, "change the type and do a npm run check in the root")
    assert "requested" not in miners(tmp_path, "when I ran npm run check it failed")


@pytest.mark.parametrize("words", ["let's leave the cache for a later change", "let's do that as a separate PR"])
def test_what_is_put_off_is_an_open_task(tmp_path: Path, words: str):
    assert "task" in miners(tmp_path, words)


def test_names_with_numbers_are_words(tmp_path: Path):
    assert "surroundings" in miners(tmp_path, "I'm on Ubuntu 22.04.")


def test_only_what_stands_behind_a_refusal_is_the_rule(tmp_path: Path):
    talk = Talk().person("go").refused("This should not be changed, only the `--dev` flag should install the wrapper")
    (rule,) = [found for found in found_in(tmp_path, talk) if found.miner == "correction"]
    assert rule.text == "only the `--dev` flag should install the wrapper"
