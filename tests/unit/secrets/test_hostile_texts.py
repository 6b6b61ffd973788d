"""No text makes the search slow, and none breaks it."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.secrets import Redactor
from slowwave.secrets.finder import find_secrets

PIECES = [
    "password=",
    "sk-",
    "eyJ",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "-----BEGIN ",
    "://a:",
    "\\",
    "\\u0041",
    "%41",
    "%",
    "&quot;",
    "\x1b[31m",
    "\x1b[",
    "QUFB",
    "QUJD/",
    "Cookie: a=b;",
    "seed phrase: abc ",
    "token=aaaaaaaaaaaaaaaaaaaa",
    "login a password ",
    "mysql -p ",
    ":5432:",
    "key is ",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
    "\\\n",
    "basic ",
    "--token ",
    "xoxb-",
    '"auth": "',
    "0123456789abcdef",
    "DB_PASSWORD\n  value: ",
    "\xe9",
    "\u0130",
    "\ud800",
    "passwordpassword",
    "q~",
    "azdo",
]


@pytest.mark.timeout(10)
@pytest.mark.parametrize("piece", PIECES)
def test_a_text_made_to_be_slow_is_read_in_time(piece: str) -> None:
    find_secrets(piece * (60_000 // len(piece)))


@pytest.mark.timeout(10)
@pytest.mark.parametrize("piece", ["--token ", "-----BEGIN RSA PRIVATE KEY-----", "Cookie=a=b; ", "password=******"])
def test_what_begins_anew_all_the_time_costs_no_more_than_its_length(piece: str) -> None:
    find_secrets(piece * (400_000 // len(piece)))


@pytest.mark.timeout(20)
def test_no_mixture_of_such_pieces_is_slow() -> None:
    chance = random.Random(1)
    for _ in range(100):
        find_secrets("".join(chance.choice(PIECES) for _ in range(30)))


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=30), max_size=30).map("".join))
def test_findings_lie_in_the_text_in_order_and_marks_are_not_found_again(text: str) -> None:
    found = find_secrets(text)
    places = [place for one in found for place in (one.start, one.stop)]
    assert places == sorted(places)
    assert all(0 <= one.start < one.stop <= len(text) for one in found)
    redact = Redactor(b"k")
    once = redact(text)
    assert all("[secret:" not in one.secret for one in find_secrets(once))
