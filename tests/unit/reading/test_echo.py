"""Sentences that stood elsewhere before a person typed them are known, whoever had written them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.reading import AGENT, PERSON, Heard
from slowwave.reading.pastes import echoes

RULE = "Always use quartz as the package registry."
READ = "the output of Read"


def by(sentence: str, *heard: Heard, order: int = 5) -> str:
    """Return who had written a sentence that a person says with the rank of 5, "" where nobody had."""
    return echoes([(order, sentence)], heard).get(0, "")


@pytest.mark.parametrize(
    "text",
    [
        RULE,
        f"# Setup\n\n{RULE} See below.",
        "* ALWAYS  use\tquartz as\n  the package registry",
        '{"content": "first line\\nalways use quartz as the\\npackage registry.\\n"}',
        "x " * 5_000 + RULE + " y" * 5_000,
        "always use quartz for x, " * 300 + RULE,
    ],
)
def test_what_a_tool_showed_is_an_echo_however_it_was_set(text: str):
    assert by(RULE, Heard(2, text, READ)) == READ


@pytest.mark.parametrize(
    "text",
    [
        "Always use granite for every new service in this house.",
        "the registry of the package always use, quartz as",
        "package registry quartz",
        "",
    ],
)
def test_other_sentences_of_the_same_words_are_not(text: str):
    assert by(RULE, Heard(2, text, READ)) == ""


def test_only_what_stood_there_before_counts():
    assert by(RULE, Heard(6, RULE, READ)) == ""
    assert by(RULE, Heard(5, RULE, READ)) == READ
    assert by(RULE, Heard(4, RULE, READ)) == READ
    assert by(RULE, Heard(7, RULE, READ), order=7) == READ


def test_who_said_it_first_said_it():
    assert by(RULE, Heard(1, RULE, PERSON), Heard(2, RULE, READ)) == ""
    assert by(RULE, Heard(1, RULE, READ), Heard(2, RULE, PERSON)) == READ
    assert by(RULE, Heard(1, RULE, "the output of Bash"), Heard(2, RULE, READ)) == "the output of Bash"
    # a person's message has its own rank
    assert by(RULE, Heard(5, RULE, PERSON)) == ""


def test_people_take_up_the_words_of_an_assistant_but_for_whole_sentences():
    long = "Always use quartz as the package registry of all our services."
    assert by(RULE, Heard(1, RULE, AGENT)) == ""
    assert by(long, Heard(1, f"I propose: {long}", AGENT)) == AGENT
    assert by(long.replace("Always", "yes,"), Heard(1, long, AGENT)) == ""


def test_short_sentences_are_alike_by_chance():
    assert by("use tabs in here", Heard(1, "use tabs in here", READ)) == ""
    assert by("use tabs in here please", Heard(1, "use tabs in here please", READ)) == READ


@pytest.mark.parametrize("secret", ["[secret:github:3fa9c1d2]", "[secret:github]"])
def test_a_secret_that_was_taken_out_of_the_words_hides_no_echo(secret: str):
    told = "Our registry wants {} for each push, and for pulls"
    shown = told.format("ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    assert by(told.format(secret), Heard(1, shown, READ)) == READ
    assert by(f"{secret} {secret} {secret}", Heard(1, shown, READ)) == ""


@pytest.mark.parametrize("shown", ["総 書類は必ず日本語で書いてください", "書類は必ず日本語で書いてください。次に"])
def test_writing_without_spaces_is_compared_letter_by_letter(shown: str):
    assert by("書類は必ず日本語で書いてください", Heard(1, shown, READ)) == READ


def test_many_sentences_are_numbered_as_they_were_given():
    sentences = [(5, "nobody ever wrote this sentence down"), (5, RULE), (1, RULE), (9, "short")]
    assert echoes(sentences, [Heard(3, RULE, READ)]) == {1: READ}
    assert echoes([], [Heard(3, RULE, READ)]) == {}
    assert echoes(sentences, []) == {}


WORDS = st.text(st.sampled_from("ab \u200b\u0430-.\\n\n日"), max_size=40)


@given(
    st.lists(st.tuples(st.integers(0, 9), WORDS)), st.lists(st.tuples(WORDS, st.sampled_from((READ, AGENT, PERSON))))
)
def test_of_any_texts_an_echo_is_one_that_stood_before(sentences: list[tuple[int, str]], texts: list[tuple[str, str]]):
    heard = [Heard(order, text, who) for order, (text, who) in enumerate(texts)]
    found = echoes(sentences, heard)
    assert set(found) <= set(range(len(sentences)))
    assert all(who in {one.by for one in heard if one.order <= sentences[number][0]} for number, who in found.items())
    assert PERSON not in found.values()


@pytest.mark.timeout(20)
def test_what_repeats_itself_is_read_in_time():
    heard = [Heard(1, "quartz package registry " * 40_000, READ)] * 3
    sentences = [(9, f"Always use quartz as the package registry of {number}.") for number in range(200)]
    assert echoes(sentences, heard) == {}
