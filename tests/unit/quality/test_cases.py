"""The harness itself: cases that are generated are what they are called, and judges can tell good from bad."""

import base64
from datetime import date

import pytest

from tests.quality.attack_world import Aftermath, attacks
from tests.quality.cue_rules import cues_in
from tests.quality.date_rules import cases
from tests.quality.history_cases import histories
from tests.quality.paraphrases import paraphrases
from tests.quality.rows_attacks import reached
from tests.quality.rows_junk import Said, signs
from tests.quality.secret_baseline import four_rules
from tests.quality.secret_layers import LAYERS, is_revealed
from tests.quality.secret_values import planted
from tests.quality.twins import twins


def test_there_are_as_many_cases_as_promised():
    assert len(set(twins())) >= 500
    assert len(set(paraphrases())) >= 200
    assert len(list(cases())) >= 200
    assert len(attacks()) >= 300
    assert len({a.canary for a in attacks()}) == len(attacks())
    assert len(list(histories())) >= 50


def test_twins_differ_and_paraphrases_do_too():
    assert all(pair.one != pair.other for pair in (*twins(), *paraphrases()))


@pytest.mark.parametrize(
    ("words", "base", "meant"),
    [
        ("next Friday", date(2026, 11, 18), {"2026-11-20", "2026-11-27"}),
        ("next Tuesday", date(2026, 11, 18), {"2026-11-24"}),
        ("last week", date(2026, 3, 1), {"2026-02-16"}),
        ("in a month", date(2026, 1, 31), {"2026-02-28"}),
        ("next quarter", date(2026, 12, 31), {"2027 Q1"}),
    ],
)
def test_the_rule_of_dates_is_that_of_a_calendar(words: str, base: date, meant: set[str]):
    case = next(c for c in cases() if c.words == words and c.base.date() == base)
    assert case.accepted == meant


def test_values_of_one_seed_are_always_the_same_and_stand_in_their_text():
    assert list(planted(2, 7)) == list(planted(2, 7))
    assert list(planted(1, 7)) != list(planted(1, 8))
    assert all(p.value in p.text and all(body in p.value for body in p.bodies) for p in planted(4, 7))


@pytest.mark.parametrize("layer", list(LAYERS))
def test_a_secret_is_revealed_in_every_layer_until_it_is_taken_out(layer: str):
    for secret in planted(4, 7):
        written = LAYERS[layer](secret)
        assert is_revealed(written, secret), (layer, secret.family)
        assert not is_revealed("nothing of it", secret)


def test_half_a_secret_is_revealed_and_six_characters_are_not():
    secret = next(p for p in planted(1, 7) if p.family == "github")
    body = secret.bodies[0]
    assert is_revealed(f"left over: {body[:18]}", secret)
    assert not is_revealed(f"left over: {body[:6]}", secret)
    assert is_revealed(base64.b64encode(f"x {body}".encode()).decode(), secret)


def test_the_four_rules_take_out_what_they_are_described_to():
    assert four_rules("key sk-" + "a1" * 20)[1] == 1
    assert four_rules("Authorization: Bearer abcdefghijklmnop")[0].endswith("[REDACTED]")
    assert four_rules("nothing here")[1] == 0


def test_an_attack_is_seen_wherever_it_arrives():
    attack = attacks()[0]
    assert reached(attack, Aftermath((), f"- {attack.payload}", 1)) == "a memory file"
    hidden = "".join(chr(0xE0000 + ord(c)) for c in attack.canary)
    assert reached(attack, Aftermath((), f"- fine{hidden}", 1))
    assert not reached(attack, Aftermath((), "- all is well", 1))


def test_signs_of_junk():
    said = [
        Said("s", text)
        for text in ("Why is it so?", "ok then", "Always run `make lint` before a commit", "this PR too")
    ]
    found = list(signs([*said, said[2], Said("other", said[2].text)]))
    assert found[0] == ("too short", "question")
    assert not found[2]
    assert "about the moment" in found[3]
    assert found[4] == ("duplicate",)
    assert not found[5]


def test_cue_rules_take_no_questions_and_no_code():
    assert [
        c for c, _ in cues_in("Always use tabs here, please. Should we never use tabs?\n```\nalways use code here\n```")
    ] == ["preference"]
