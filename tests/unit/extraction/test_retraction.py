"""What a person takes back is named, in many languages; what names nothing, asks or is for now takes nothing back."""

# ruff: noqa: RUF001 - sentences of many languages

import pytest

from slowwave.extraction.retraction import not_any_more, taken_back


@pytest.mark.parametrize(
    ("text", "thing"),
    [
        ("forget what I said about pnpm", "pnpm"),
        ("ok, scrap the pnpm rule, it was a mistake", "pnpm"),
        ("never mind the Friday rule", "Friday"),
        ("the rule about Fridays no longer applies", "Fridays"),
        ("Could you forget our convention about tabs?", "tabs"),
        ("you no longer have to squash commits", "squash commits"),
        ("emojis are allowed again", "emojis"),
        ("I changed my mind about the emojis", "emojis"),
        ("vergiss, was ich über Tabs gesagt habe", "Tabs"),
        ("die Tabs-Regel gilt nicht mehr", "Tabs"),
        ("oublie ce que j'ai dit sur les tabulations", "tabulations"),
        ("olvida lo que dije sobre los tabuladores", "tabuladores"),
        ("esquece o que eu disse sobre os tabs", "tabs"),
        ("dimentica la regola sui tab", "tab"),
        ("vergeet wat ik over tabs heb gezegd", "tabs"),
        ("забудь правило про табы", "табы"),
        ("tabs kuralını unut", "tabs"),
    ],
)
def test_what_is_taken_back_is_named(text: str, thing: str) -> None:
    assert taken_back(text) == thing


@pytest.mark.parametrize(
    "text",
    [
        "scrap that",
        "forget it, I found the reason",
        "never mind, I did it myself",
        "ignore the pnpm rule for now, just this once",
        "maybe forget the pnpm rule",
        "shall I forget the pnpm rule?",
        "drop the yarn cache please",
        "remove the rule about tabs from the linter config",
        "always use pnpm",
        "the tests are allowed to fail now",
    ],
)
def test_what_names_nothing_guesses_asks_or_is_for_now_takes_nothing_back(text: str) -> None:
    assert taken_back(text) == ""


@pytest.mark.parametrize(
    ("text", "thing"),
    [
        ("we don't squash commits any more", "squash commits"),
        ("we no longer use yarn", "use yarn"),
        ("we've stopped deploying on Fridays", "deploying on Fridays"),
        ("we squash commits", ""),
    ],
)
def test_what_is_not_done_any_more(text: str, thing: str) -> None:
    assert not_any_more(text) == thing
    assert taken_back(text) == ""


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["forget ", "what I said about ", "the rule ", "no longer ", "我们不再", ", "])
def test_text_made_to_be_slow_is_read_in_time(piece: str) -> None:
    assert len(taken_back(piece * (700 // len(piece)))) < 200
    not_any_more(piece * (700 // len(piece)))
