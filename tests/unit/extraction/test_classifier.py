"""How a score becomes a confidence, and that the weights which are shipped are whole."""

import random

import msgspec
import pytest

from slowwave.extraction.classifier import Head, Weights, weights
from slowwave.memory.model import CATEGORIES

STEPS = ((-1.0, 0.1), (0.0, 0.1), (1.0, 0.5), (2.0, 0.9))
KNOWN = Weights(
    worth=Head(0.5, {"a": 1.0, "b": -2.0}),
    choice=Head(0.0, {}),
    rule=Head(0.0, {"a": 0.5}, {"xy": 2.0, "yz": 1.0}),
    typed=Head(0.0, {"order": -2.0}),
    document=Head(0.0, {}),
    categories={c: Head(-float(n), {c: 10.0}) for n, c in enumerate(CATEGORIES)},
    theirs=Head(0.0, {}),
    steps={"typed": STEPS, "told": ((0.0, 0.2),), "chosen": STEPS},
)


def test_a_score_is_the_sum_of_what_is_known() -> None:
    assert KNOWN.worth.score({"a", "b", "never seen"}) == pytest.approx(-0.5)
    assert KNOWN.worth.score(()) == 0.5


def test_the_order_of_features_makes_no_difference() -> None:
    head = weights().worth
    names = list(head.weights)
    shuffled = random.Random(7).sample(names, len(names))
    assert head.score(names) == head.score(shuffled) == head.score(set(names))


@pytest.mark.parametrize(("bias", "confidence"), [(-9, 0.1), (0, 0.1), (0.5, 0.3), (1.5, 0.7), (2, 0.9), (9, 0.9)])
def test_between_two_steps_confidence_rises_and_beyond_them_it_stays(bias: float, confidence: float) -> None:
    known = msgspec.structs.replace(KNOWN, choice=Head(bias, {}))
    assert known.settles((), ()) == pytest.approx(confidence)


def test_the_same_score_is_worth_what_its_voice_was_worth() -> None:
    assert KNOWN.wish({"a"}, {"xy"}) > KNOWN.told({"a"}) == 0.2


def test_pieces_of_words_count_as_much_in_a_long_text_as_in_a_short_one() -> None:
    assert KNOWN.rule.score((), {"xy"}) == KNOWN.rule.score((), {"xy", "never seen"}) == 2.0
    assert KNOWN.rule.score((), {"xy", "yz"}) == pytest.approx(3.0 / 2**0.5)


def test_what_is_typed_has_to_sound_like_a_rule_and_unlike_an_order_of_the_moment() -> None:
    assert KNOWN.wish({"b"}, ()) == KNOWN.wish((), ()) == 0.1
    assert KNOWN.wish({"b"}, {"xy"}) == 0.9
    assert KNOWN.wish({"b", "order"}, {"xy"}) == 0.1


def test_the_likeliest_category_of_those_that_are_allowed() -> None:
    assert KNOWN.category({CATEGORIES[2]}) == CATEGORIES[2]
    assert KNOWN.category({CATEGORIES[2]}, CATEGORIES[3:]) == CATEGORIES[3]


def test_the_weights_that_are_shipped_are_whole() -> None:
    known = weights()
    assert set(known.categories) == set(CATEGORIES)
    assert set(known.steps) == {"typed", "told", "chosen"}
    for steps in known.steps.values():
        scores, shares = zip(*steps, strict=True)
        assert list(scores) == sorted(scores)
        assert list(shares) == sorted(shares)
        assert 0 <= shares[0] <= shares[-1] <= 1
    # who types a thing means it more often than who recounts it
    assert known.wish((), ()) >= known.told(())
