"""Texts stand alone: with what an entry, a sentence that points back or an answer needs; nothing is reworded."""

import pytest

from slowwave.extraction.candidates import MAX_TEXT
from slowwave.extraction.offline import choice, plain, standing
from slowwave.reading.items import Chosen, Option, Part, Said, Speaker, statements

REDIS, RABBIT = Option("Redis (Recommended)", "already runs"), Option("RabbitMQ")


def stand(text: str, speaker: Speaker = "assistant") -> list[str]:
    parts = (Part(text, is_pasted=False),)
    return [standing(one) for one in statements(Said(0, (), "", None, "", speaker, parts))]


def chosen(question: str, answer: str, *options: Option, header: str = "", is_multiple: bool = False) -> str:
    return choice(Chosen(0, (), "", None, "", question, header, options, answer, is_multiple))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**Use** [the guide](https://x.test/a) `a__b`", "Use the guide `a__b`"),
        ("> ## quoted", "## quoted"),
        ("# heading\n  goes on", "heading goes on"),
    ],
)
def test_marks_of_markdown_are_left_out_and_words_stay(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_an_entry_takes_along_what_it_stands_under() -> None:
    assert stand("Storage of money:\n- integer cents\n- no floats") == [
        "Storage of money: integer cents",
        "Storage of money: no floats",
    ]


def test_an_entry_with_a_label_of_its_own_and_a_lead_that_says_nothing_stand_alone() -> None:
    assert stand("Decided:\n- **Money**: integer cents") == ["Money: integer cents"]
    assert stand("Here is what I found:\n- the lock is global") == ["the lock is global"]


def test_what_points_back_brings_the_sentence_before_it() -> None:
    long = f"{'The importer locks the ledger ' * 7}every night."
    text = f"We keep the lock. {long} This is why exports wait until it is done."
    assert stand(text)[-1].endswith("This is why exports wait until it is done.")
    assert stand("The lock is global. It breaks otherwise.", "person") == ["The lock is global. It breaks otherwise."]


def test_lines_that_a_person_began_without_a_full_stop_stay_apart_and_wrapped_ones_do_not() -> None:
    assert stand("use pnpm here\nnever npm\nand no yarn either. tests?", "person") == [
        "use pnpm here; never npm; and no yarn either.",
        "tests?",
    ]
    wrapped = "The importer locks the ledger while it reads the whole month of\nbookings, so exports wait"
    assert stand(wrapped, "person") == [wrapped.replace("\n", " ")]
    assert stand("The lock is\nglobal") == ["The lock is global"], "what an agent writes is Markdown, where lines go on"


def test_a_choice_has_its_question_and_what_the_option_was_said_to_mean() -> None:
    question = "Which queue shall it be?"
    assert chosen(question, "Redis (Recommended)", REDIS, RABBIT) == f"{question} → Redis (already runs)"
    assert chosen(question, "RabbitMQ", REDIS, RABBIT) == f"{question} → RabbitMQ"
    assert chosen(question, "none, write to disk", REDIS, RABBIT) == f"{question} → none, write to disk"
    assert chosen(question, "Disk (Recommended)") == f"{question} → Disk"


def test_a_choice_that_was_asked_in_a_word_is_told_by_its_title_and_its_meaning() -> None:
    option = Option("Free text (Recommended)", "The plan is stored as text that people read. Simpler to write.")
    assert chosen("Which one?", option.label, option, header="Plan format") == (
        "Plan format: Free text. The plan is stored as text that people read. Simpler to write."
    )
    assert chosen("For the plan, should it be stored as JSON or as text?", option.label, option, header="Format") == (
        "Format: Free text. The plan is stored as text that people read. Simpler to write."
        " (asked: For the plan, should it be stored as JSON or as text?)"
    )
    # what is meant is cut behind a sentence
    option = Option("Text", f"The plan is stored as text that people read. {'It is long. ' * 22}{'and longer ' * 9}")
    text = chosen("Which one?", "Text", option, header="Plan format")
    assert text.endswith("It is long.")
    assert len(text) <= MAX_TEXT
    # where nothing was said to be meant, the question stays
    assert chosen("Which one?", "Text", Option("Text"), header="Plan") == "Plan: Which one? \u2192 Text"


def test_several_answers_and_a_title_that_the_question_lacks() -> None:
    text = chosen("Which ones?", "Redis (Recommended), RabbitMQ", REDIS, RABBIT, header="Queues", is_multiple=True)
    assert text == "Queues: Which ones? → Redis (already runs); RabbitMQ"
    assert chosen("Which queue?", "RabbitMQ", RABBIT, header="Queue") == "Which queue? → RabbitMQ"


def test_of_a_long_question_what_is_asked_is_kept_and_what_it_is_about() -> None:
    told = "The worker loses events when it restarts. "
    asked = "Which queue shall the importer of the public ledger write to?"
    assert chosen(f"{told * 6}{asked}", "RabbitMQ", RABBIT) == f"{asked} → RabbitMQ"
    assert chosen(f"{told * 6}Which one?", "RabbitMQ", RABBIT) == f"{told}Which one? → RabbitMQ"
