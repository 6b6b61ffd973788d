"""How the commands print, also names that are not UTF-8."""

import json

import pytest

from slowwave.cli.terminal import say, say_json, warn
from slowwave.quantities import counted

ODD = b"caf\xe9".decode("utf-8", "surrogateescape")


def test_a_name_that_is_not_utf8_is_shown_with_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    say(ODD)
    warn(ODD)
    assert capsys.readouterr() == ("caf\\udce9\n", "slowwave: caf\\udce9\n")


def test_a_warning_is_one_line_whatever_a_name_holds(capsys: pytest.CaptureFixture[str]) -> None:
    warn("a\nb \x1b[31m \u202e \r café")
    assert capsys.readouterr().err == "slowwave: a\\nb \\x1b[31m \\u202e \\r café\n"


def test_json_gives_such_a_name_back(capsys: pytest.CaptureFixture[str]) -> None:
    say_json([{"path": ODD}, {"path": "café"}])
    first, second = capsys.readouterr().out.splitlines()
    assert json.loads(first) == {"path": ODD}
    assert second == '{"path":"café"}'


def test_nothing_is_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    say_json([])
    assert capsys.readouterr().out == ""


def test_numbers_agree_with_their_noun() -> None:
    assert (counted(1, "part"), counted(0, "part"), counted(2, "part")) == ("1 part", "0 parts", "2 parts")
