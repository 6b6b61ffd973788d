"""How a score becomes a confidence, and that the weights which are shipped are whole."""

import random

import msgspec
import pytest

from slowwave.extraction.classifier import Head, Phrasing, Weights, endings_of, phrases_of, weights
from slowwave.memory import CATEGORIES

STEPS = ((-1.0, 0.1), (0.0, 0.1), (1.0, 0.5), (2.0, 0.9))
KNOWN = Weights(
    worth=Head(0.5, {"a": 1.0, "b": -2.0}),
    choice=Head(0.0, {}),
    typed=Phrasing(0.0, {"always": 6.0, "now": -6.0}, {"ab": 2.0, "bc": 1.0}),
    document=Head(0.0, {}, {"xy": 2.0, "yz": 1.0}),
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
    assert KNOWN.wish("always") > KNOWN.told({"a"}) == 0.2


def test_pieces_of_words_count_as_much_in_a_long_text_as_in_a_short_one() -> None:
    assert KNOWN.document.score((), {"xy"}) == KNOWN.document.score((), {"xy", "never seen"}) == 2.0
    assert KNOWN.document.score((), {"xy", "yz"}) == pytest.approx(3.0 / 2**0.5)


def test_a_sentence_is_worth_what_its_phrases_and_the_pieces_of_its_words_say() -> None:
    assert KNOWN.wish("nothing known") == KNOWN.wish("") == 0.1
    assert KNOWN.wish("always") == 0.9
    assert KNOWN.wish("always now") == 0.1


def test_the_place_of_a_sentence_adds_to_its_words() -> None:
    known = msgspec.structs.replace(KNOWN, place=Head(-1.0, {"p|p:channel=refusal": 2.5}))
    assert known.wish("nothing known", {"p|p:channel=refusal"}) == pytest.approx(0.7)
    assert known.wish("nothing known", {"p|p:channel=typed"}) == known.wish("nothing known") == 0.1


def test_why_a_call_was_refused_is_worth_more_than_the_same_words_in_a_message() -> None:
    known, words = weights(), "the disk of the build machine is small"
    assert known.wish(words, {"p|p:channel=refusal"}) > known.wish(words, {"p|p:channel=typed"})


def test_what_is_not_known_makes_the_rest_count_less() -> None:
    scores = [KNOWN.typed.score(text) for text in ("always", "always so", "always so and so on")]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0


def test_a_sentence_is_its_words_its_runs_and_its_beginning() -> None:
    assert phrases_of("Run `make` now") == {
        *("run", "<code>", "now", "run <code>", "<code> now", "run <code> now", "^run", "^run <code>")
    }
    assert endings_of("ab") == {" a", "ab", "b ", " ab", "ab ", " ab "}


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
    # what people type most of is worth nothing weeks later
    assert (
        known.wish("run it again")
        < known.wish("the disk of the build machine is small")
        < known.wish("Always use tabs")
    )
