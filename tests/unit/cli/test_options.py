"""What is mistyped is told in plain words; options have to be written whole, since the beginning of one may delete."""

import argparse
from collections.abc import Iterator
from typing import Any, cast

import pytest

from slowwave.cli import COMMANDS, command_line, main
from slowwave.jobs import JOBS


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        choices: Any = action.choices
        if isinstance(choices, dict):
            for below in cast("dict[str, argparse.ArgumentParser]", choices).values():
                yield from parsers(below)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_parser_takes_the_beginning_of_an_option_for_it(command: str):
    every = [p for p in parsers(command_line([command])) if p.prog.startswith(f"slowwave {command}")]
    assert every
    assert [p.prog for p in every if p.allow_abbrev] == []


def refused(capsys: pytest.CaptureFixture[str], line: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err


@pytest.mark.parametrize("line", ["run retain --ap", "sessions rm x --for", "memory list --al"])
def test_a_beginning_is_refused(line: str, capsys: pytest.CaptureFixture[str]):
    assert f"there is no option {line.rsplit(maxsplit=1)[-1]}" in refused(capsys, line)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("stauts", "slowwave: there is no command 'stauts'; did you mean status?"),
        ("memory lst", "slowwave memory: there is no action 'lst'; did you mean list?"),
        ("run nigthly", "slowwave run: there is no job 'nigthly'; did you mean nightly?"),
        ("status --prject x", "slowwave status: there is no option --prject; did you mean --project"),
        # the value of what is no option is not complained about instead
        ("run --prject tern nightly", "slowwave run: there is no option --prject; did you mean --project"),
        ("run nightly -x", "slowwave run: there is no option -x"),
        ("help runn", "slowwave: there is no command 'runn'; did you mean run?"),
        ("review acept x", "slowwave review: there is no word 'acept'; did you mean accept?"),
        ("dance", "slowwave: there is no command 'dance': write run, status,"),
        ("sessions list --kind x", "slowwave sessions list: --kind cannot be 'x': write main, subagent or fork"),
        ("--store x status", "slowwave: --store stands too early: options are written behind the command"),
        ("memory --json list", "slowwave memory: --json stands too early: options are written behind the action"),
        ("status --store", "slowwave status: --store needs a value"),
        ("status --json=1", "slowwave status: --json takes no value"),
        ("run nightly --direct --prefect", "slowwave run: --prefect and --direct do not go together"),
        ("memory show", "slowwave memory show: ID is missing"),
        ("memory show x y", "slowwave memory show: too many words: y"),
        ("sessions list --limit 0", "slowwave sessions list: --limit: '0' is not a whole number above 0"),
    ],
)
def test_what_is_mistyped_is_told_in_one_line(line: str, says: str, capsys: pytest.CaptureFixture[str]):
    told = refused(capsys, line)
    assert told.startswith(says)
    assert told.count("\n") == 1
    assert "--help tells more)" in told


@pytest.mark.parametrize("group", ["", "run", "memory", "sessions", "retain", "completion"])
def test_what_needs_a_word_shows_its_help_without_one(group: str, capsys: pytest.CaptureFixture[str]):
    told = refused(capsys, group)
    with pytest.raises(SystemExit) as ended:
        main(["help", *group.split()])
    assert ended.value.code == 0
    assert capsys.readouterr().out == told
    assert told.startswith(f"usage: slowwave {group}".rstrip())


def test_help_is_shown_of_an_action_and_of_a_job(capsys: pytest.CaptureFixture[str]):
    for line in ("memory list", "run erase"):
        for words in (["help", *line.split()], [*line.split(), "--help"]):
            with pytest.raises(SystemExit) as ended:
                main(words)
            assert ended.value.code == 0
        first, second = capsys.readouterr().out.split("usage: ")[1:]
        assert first == second
        assert first.startswith(f"slowwave {line} ")


def test_help_names_every_command_and_every_job(capsys: pytest.CaptureFixture[str]):
    told = refused(capsys, "")
    assert set(COMMANDS) <= set(told.split())
    assert all(job in told for job in JOBS)
    assert set(JOBS) <= set(refused(capsys, "run").split())
