"""What a person asks to be remembered or takes back is named, in many languages; what asks or is for now is neither."""

# ruff: noqa: RUF001 - sentences of many languages

import pytest

from slowwave.extraction.phrases import for_good, not_any_more, taken_back


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


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Remember that the build box has no network", "the build box has no network"),
        ("please remember: we squash", "we squash"),
        ("ok, from now on, two reviewers a change", "two reviewers a change"),
        ("keep in mind that Ada reviews the schema", "Ada reviews the schema"),
        ("For the record, port 9000 is taken", "port 9000 is taken"),
        ("Merk dir, dass wir Bazel nehmen", "wir Bazel nehmen"),
        ("ab jetzt bitte ohne Semikolon", "bitte ohne Semikolon"),
        ("désormais les tests d'abord", "les tests d'abord"),
        ("recuerda que el puerto es 9000", "el puerto es 9000"),
        ("d'ora in poi niente emoji", "niente emoji"),
        ("a partir de agora só commits pequenos", "só commits pequenos"),
        ("voortaan eerst een plan", "eerst een plan"),
        ("od teraz bez skrótów", "bez skrótów"),
        ("впредь только маленькие коммиты", "только маленькие коммиты"),
        ("bundan sonra önce plan", "önce plan"),
        ("今後はコメントを英語で", "コメントを英語で"),
        ("以后提交信息用英文", "提交信息用英文"),
        ("앞으로 커밋은 작게", "커밋은 작게"),
    ],
)
def test_what_is_asked_to_be_remembered_is_named(text: str, asked: str) -> None:
    assert for_good(text) == asked


@pytest.mark.parametrize(
    "text",
    [
        "remember the crash of this morning",
        "remember to close the file in that branch",
        "remember when this worked",
        "do you remember that we had two of these?",
        "from now on?",
        "keep in mind that for now the server is down",
        "I always remember that too late",
        "what happens from now on is up to the scheduler",
        "Remember",
    ],
)
def test_what_is_of_the_moment_or_asks_is_not(text: str) -> None:
    assert for_good(text) == ""
