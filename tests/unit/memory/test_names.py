"""Names with bytes that are not UTF-8: kept in JSON, and read back as they were."""

import json
import os

from hypothesis import given
from hypothesis import strategies as st

from slowwave.memory import name_from_json, name_to_json, printable


@given(st.binary(max_size=40).map(lambda raw: raw.replace(b"\0", b"")))
def test_every_name_comes_back_and_fits_into_json(raw: bytes):
    name = os.fsdecode(raw)
    text = name_to_json(name)
    assert name_from_json(json.loads(json.dumps(text))) == name
    text.encode()
    printable(text).encode()


def test_a_plain_name_stays_as_it_is():
    assert name_to_json("/srv/Größe \u2603%ff.jsonl") == "/srv/Größe \u2603%ff.jsonl"


def test_what_people_see_has_no_control_characters():
    assert printable(name_to_json("x\udcff.jsonl")) == "x\\xff.jsonl"
    assert printable("x\udcff.jsonl") == "x\\xff.jsonl"
