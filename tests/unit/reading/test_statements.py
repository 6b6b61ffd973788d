"""Messages are cut where people and Markdown end a thought; what an entry stands under goes along."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.reading import Part, Said, Speaker, Statement, contents_of, points_back, sentences, statements


def said(text: str, speaker: Speaker = "person", *, pasted: str = "") -> list[Statement]:
    parts = (Part(text, is_pasted=False), *([Part(pasted, is_pasted=True)] if pasted else []))
    return statements(Said(0, (), "", None, "", speaker, parts))


def texts(text: str, speaker: Speaker = "person") -> list[str]:
    return [one.text for one in said(text, speaker)]


def test_a_person_states_one_thing_a_sentence_and_the_assistant_several() -> None:
    words = "Fix the parser. We use tabs here. Is it done?"
    assert texts(words) == ["Fix the parser.", "We use tabs here.", "Is it done?"]
    assert texts(words, "assistant") == [words]


def test_what_points_back_stays_with_the_sentence_before_it() -> None:
    assert texts("The lock is global. It breaks otherwise. Use tabs.") == [
        "The lock is global. It breaks otherwise.",
        "Use tabs.",
    ]
    assert points_back("This is why.")
    assert not points_back("Thistles grow.")


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("Use e.g. Redis. Then go.", 2),
        ("See no. 5 of the list. Then go.", 2),
        ("No. Use tabs here.", 2),
        ("Version 3. 2 is old.", 1),
        ("Ask Dr. Who. Then go.", 3),
        ("提交用英文。不要改迁移。", 2),
        ("one line without an end", 1),
        ('He said "use tabs." Then (always!) Go on.', 3),
        ("!* A", 2),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, cut: int) -> None:
    assert len(sentences(text)) == cut
    assert "".join(sentences(text)).replace(" ", "") == text.replace(" ", "")


def test_an_entry_knows_what_it_stands_under() -> None:
    found = said("## Rules\n\nFor tests:\n- use pytest\n- name them well\n\nDone.", "assistant")
    assert [(one.text, one.under, one.is_entry) for one in found] == [
        ("use pytest", ("Rules", "For tests"), True),
        ("name them well", ("Rules", "For tests"), True),
        ("Done.", ("Rules",), False),
    ]
    assert [(one.index, one.total) for one in found] == [(0, 3), (1, 3), (2, 3)]


@pytest.mark.parametrize("text", ["```\nuse tabs\n```", "| a | b |\n|---|---|\n| use | tabs |", "---", "123 456"])
def test_code_tables_and_rules_state_nothing(text: str) -> None:
    assert texts(text, "assistant") == []


def test_what_was_pasted_states_nothing() -> None:
    assert [one.text for one in said("Look at this.", pasted="always use tabs")] == ["Look at this."]


def test_a_document_in_one_sentence_is_no_statement() -> None:
    assert texts("word " * 200) == []


def test_contents_are_long_words_values_and_letters_of_unspaced_writing() -> None:
    assert contents_of("We use PNPM 9.1 for it, 提交") == {"pnpm", "9.1", "提交"}


@given(st.text(st.sampled_from("ab A.!?:-*#`|\n1。"), max_size=200), st.sampled_from(["person", "assistant"]))
def test_of_any_text_every_statement_is_one_line_of_it(text: str, speaker: Speaker) -> None:
    found = said(text, speaker)
    assert [one.index for one in found] == list(range(len(found)))
    assert all(one.total == len(found) and "\n" not in one.text for one in found)
    assert all("".join(one.text.split()) in "".join(text.split()) for one in found)
