"""Values of other types than text, put into texts as JavaScript does."""

from functools import reduce

import pytest

from slowwave.formats.pi.records import as_written

WRITTEN: list[tuple[object, str]] = [
    ("x", "x"),
    (True, "true"),
    (None, "null"),
    (5, "5"),
    (5.0, "5"),
    (-0.5, "-0.5"),
    (1e21, "1e+21"),
    (1e308, "1e+308"),
    (float("inf"), "Infinity"),
    (-(10**400), "-Infinity"),
    ([], ""),
    ([1, [2, []], None, [[]], "x"], "1,2,,,,x"),
    ({"a": 1}, "[object Object]"),
]


@pytest.mark.parametrize(("value", "text"), WRITTEN, ids=[text or "nothing" for _, text in WRITTEN])
def test_a_value_is_written_as_javascript_writes_it(value: object, text: str) -> None:
    assert as_written(value) == text


def test_lists_in_lists_are_written_however_deep_they_are() -> None:
    deep: list[object] = reduce(lambda inner, _: [inner], range(5_000), ["x"])
    assert as_written([deep, 1]) == "x,1"
