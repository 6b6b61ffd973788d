"""A phrase is found in every form, exactly where it stands, and nowhere else."""

import base64
import json
import random
from collections.abc import Callable
from html.entities import codepoint2name
from unicodedata import normalize
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.retention.erase.subjects import Asked, Needle, Subjects
from slowwave.secrets import Redactor

PHRASES = [
    "Ada Lovelace", "Jürgen Groß", "山田 太郎", "o'Neill \"Bob\"", "ada@example.org",
    "Zoë/😀 Smith", "+49 30 1234-567", "C:\\Users\\ada",
]  # fmt: skip
Form = Callable[[str], bytes]


def plain(text: str) -> bytes:
    return text.encode()


def in_json(text: str) -> bytes:
    return json.dumps(text).encode()


def in_json_as_it_is(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


def in_json_twice(text: str) -> bytes:
    return json.dumps(json.dumps({"said": text})).encode()


def in_address(text: str) -> bytes:
    return b"https://example.org/?q=" + quote(text, safe="").encode()


def in_form(text: str) -> bytes:
    return b"name=" + quote_plus(text).encode() + b"&x=1"


def in_base64(text: str) -> bytes:
    return base64.b64encode(text.encode())


def in_base64_of_addresses(text: str) -> bytes:
    return base64.urlsafe_b64encode(b"> " + text.encode() + b"~~?").rstrip(b"=")


def in_hex(text: str) -> bytes:
    return text.encode().hex().encode()


def in_lines_of_base64(text: str) -> bytes:
    return base64.encodebytes(b"x" * 70 + text.encode() + b"x" * 80)


def in_lines_of_base64_in_json(text: str) -> bytes:
    return json.dumps(in_lines_of_base64(text).decode()).replace("/", "\\/").encode()


def in_two_signs(text: str) -> bytes:
    return normalize("NFD", text).encode()


def in_address_in_address(text: str) -> bytes:
    return quote(quote(text, safe=""), safe="").encode()


def as_python_shows_bytes(text: str) -> bytes:
    return "".join(f"\\x{byte:02x}" if byte > 126 else chr(byte) for byte in text.encode()).encode()


def as_git_shows_names(text: str) -> bytes:
    return "".join(f"\\{byte:03o}" if byte > 126 else chr(byte) for byte in text.encode()).encode()


def in_mail(text: str) -> bytes:
    return "".join(f"={byte:02X}" if byte > 126 else chr(byte) for byte in text.encode()).encode()


def in_page(text: str) -> bytes:
    return "".join(f"&{codepoint2name[ord(one)]};" if ord(one) in codepoint2name else one for one in text).encode()


def in_utf_16(text: str) -> bytes:
    return f"\ufeff1 {text}\r\n".encode("utf-16-le")


def in_utf_16_of_networks(text: str) -> bytes:
    return f"1 {text}\n".encode("utf-16-be")


def in_json_with_nuls(text: str) -> bytes:
    return json.dumps({"stdout": f"1 {text}\n".encode("utf-16-le").decode("latin-1")}).encode()


FORMS: list[Form] = [
    in_utf_16, in_utf_16_of_networks,
    in_two_signs, in_address_in_address, as_python_shows_bytes, as_git_shows_names, in_mail, in_page,
    plain, in_json, in_json_as_it_is, in_json_twice, in_address, in_form, in_base64, in_base64_of_addresses, in_hex,
    in_lines_of_base64, in_lines_of_base64_in_json,
]  # fmt: skip


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize("form", FORMS)
def test_a_phrase_is_found_in_every_form(phrase: str, form: Form) -> None:
    needle = Needle(phrase)
    for changed in (phrase, phrase.upper(), phrase.lower()):
        for before in ("", "x", "ab ", "abc: "):
            assert needle.occurs_in(b'{"a":1,' + form(f"{before}{changed} said it") + b"}")
            assert needle.find(b"..." + form(before + changed) + b"...")


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize("inner", [plain, in_json, in_address])
def test_also_in_base64_of_another_form_at_any_place(phrase: str, inner: Form) -> None:
    for size in range(4):
        coded = base64.b64encode(b"y" * size + inner(phrase) + b" and more")
        assert Needle(phrase).occurs_in(b"/home/ab/" + coded)
        assert Needle(phrase).occurs_in(base64.b64encode(b"data:" + coded))


@pytest.mark.parametrize("phrase", ["Ada Lovelace", "Jürgen Groß", "+49 30 1234-567"])
def test_also_as_json_shows_utf_16(phrase: str) -> None:
    assert Needle(phrase).occurs_in(in_json_with_nuls(phrase))


@pytest.mark.parametrize(
    ("phrase", "form"),
    [
        ("Ada Lovelace", in_utf_16),
        ("Ada Lovelace", in_utf_16_of_networks),
        ("山田 太郎", in_utf_16),
        ("Ada Lovelace", in_json_with_nuls),
    ],
)
def test_utf_16_keeps_its_form_without_the_phrase(phrase: str, form: Form) -> None:
    data = form(phrase)
    (hit, *more) = Subjects(Asked(persons=(phrase,)), Redactor(b"k" * 32)).hits(data)
    left = data[: hit.start] + hit.fill + data[hit.stop :]
    stars = form("*" * len(phrase))
    assert not more
    assert left == stars or (form is in_json_with_nuls and json.loads(left)["stdout"].count("*") > len(phrase))


@pytest.mark.parametrize("space", [" ", "  ", "\n", "\t ", "\u00a0"])
def test_any_space_is_one_space(space: str) -> None:
    # in hex and UTF-16 the phrase is looked for as it is written
    for form in (one for one in FORMS if one not in (in_hex, in_utf_16, in_utf_16_of_networks)):
        assert Needle("Ada Lovelace").occurs_in(form(f"Ada{space}Lovelace"))


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_what_is_found_is_exactly_what_stands_there(seed: int) -> None:
    chance = random.Random(seed)
    phrase = chance.choice(PHRASES)
    form = chance.choice([plain, in_json, in_json_as_it_is])
    other = b'{"n": 12, "text": "nothing of that kind, Ada L. and Gross"} '
    quoted = form(phrase)
    inside = quoted[1:-1] if form is not plain else quoted
    data = other * chance.randrange(3) + quoted + b", " + other
    at = data.index(inside)
    assert Needle(phrase).find(data) == [(at, at + len(inside))]


def test_ranges_in_base64_cover_whole_groups_and_the_phrase() -> None:
    for size in range(12):
        coded = base64.b64encode(b"z" * size + b"Ada Lovelace" + b"z" * 9)
        ((start, stop),) = Needle("ada lovelace").find(b'"' + coded + b'"')
        assert ((start - 1) % 4, (stop - 1) % 4) == (0, 0)
        shown = base64.b64decode(coded[start - 1 : stop - 1])
        assert b"Ada Lovelace" in shown
        assert len(shown) <= len("Ada Lovelace") + 4


@pytest.mark.parametrize("text", ["Ada", "Lovelace Ada", "AdaLovelace", "Ada X Lovelace", "Ad\u0430 Lovelace"])
def test_what_is_not_the_phrase_is_not_found(text: str) -> None:
    for form in FORMS:
        assert Needle("Ada Lovelace").find(form(text)) == []


@pytest.mark.parametrize("phrase", ["", "  ", "--", "\n"])
def test_a_phrase_that_would_be_everywhere_is_refused(phrase: str) -> None:
    with pytest.raises(ValueError, match="letter or digit"):
        Needle(phrase)
