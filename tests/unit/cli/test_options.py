"""Options have to be written whole: the beginning of one that deletes would be taken for it."""

import argparse
from collections.abc import Iterator
from typing import Any, cast

import pytest

from slowwave.cli import COMMANDS, _parser, main


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        choices: Any = action.choices
        if isinstance(choices, dict):
            for below in cast("dict[str, argparse.ArgumentParser]", choices).values():
                yield from parsers(below)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_parser_takes_the_beginning_of_an_option_for_it(command: str):
    every = [p for p in parsers(_parser([command])) if p.prog.startswith(f"slowwave {command}")]
    assert every
    assert [p.prog for p in every if p.allow_abbrev] == []


@pytest.mark.parametrize(
    "words", [("run", "retain", "--ap"), ("sessions", "rm", "x", "--for"), ("memory", "list", "--al")]
)
def test_a_beginning_is_refused(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert f"unrecognized arguments: {words[-1]}" in capsys.readouterr().err
