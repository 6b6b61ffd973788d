"""The judge of words near names of secrets: its sums, what it leans to, and what rules know better."""

import math

import msgspec
import pytest

from slowwave.secrets import judge
from slowwave.secrets.finder import find_secrets
from slowwave.secrets.redactor import LEANING

TEXTS = (
    "the printer asks for a word, it is magnolia",
    "root / Kupfer_89\nand then: 4711",
    "密码是向日葵 别忘了",
    "비밀번호는 해바라기 라고",
)


@pytest.mark.parametrize("text", TEXTS)
def test_sums_are_those_of_all_that_is_known_of_a_word(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = msgspec.structs.replace(judge.weights(), least_look=-99)
    monkeypatch.setattr(judge, "weights", lambda: weights)
    every = judge.words_of(text, 0, len(text))
    expected = [
        weights.bias + math.fsum(weights.by_name.get(name, 0.0) for key in keys for name in judge.names_of(key))
        for keys in judge.keys_of(text, every)
    ]
    assert judge.scores(text, every) == pytest.approx(expected)


def test_memory_leans_to_a_word_too_many_and_nothing_else_does() -> None:
    text = "when sudo asks, type magnolia"
    assert "magnolia" not in LEANING(text)
    assert len(find_secrets(text)) <= len(find_secrets(text, leaning=True))


def test_weights_are_small() -> None:
    weights = judge.weights()
    assert weights.least_leaning < weights.least
    assert len(weights.by_name) < 25_000


def test_who_tells_no_secret_keeps_every_word_in_memory() -> None:
    redact = LEANING
    for text in (
        "the password is too short",
        "pass the token to the client",
        "密码错误",
        "run the tests with make test",
    ):
        assert redact(text) == text
