"""What the shells offer at the press of a key: told by the parsers, and asked for by each shell's own machinery."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from slowwave.cli import COMMANDS, main
from slowwave.cli.completion import offered
from slowwave.jobs import JOBS

# what each shell is asked: the words of a line, the last one unfinished, and what has to be offered for it
LINES = {
    "slowwave stat": ["status"],
    "slowwave run ni": ["nightly"],
    "slowwave run nightly --dr": ["--dry-run"],
    "slowwave memory li": ["list"],
    "slowwave memory list --fo": ["--foreign"],
    "slowwave sessions list --kind m": ["main"],
    "slowwave status --set extraction.i": ["extraction.idle="],
    "slowwave status --config sett": ["settings.toml"],
}
DRIVERS = {
    "bash": """
eval "$(slowwave completion bash)"
compopt() { :; }  # it only works while a line is edited
read -ra COMP_WORDS <<< "$LINE"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_slowwave
printf '%s\\n' "${COMPREPLY[@]}"
""",
    "zsh": """
compdef() { :; }
_describe() { shift; print -l -- ${${(P)2}%%:*}; }
_files() { print -l -- $words[CURRENT]*; }
eval "$(slowwave completion zsh)"
words=(${(z)LINE}); CURRENT=$#words
_slowwave
""",
    "fish": """
slowwave completion fish | source
complete -C "$LINE" | string replace -r '\\t.*' ''
""",
}


def words_of(line: str) -> list[str]:
    return [word for word, _ in offered(line.split(" ")[1:])]


def test_everything_that_can_follow_is_offered() -> None:
    assert words_of("slowwave ") == list(COMMANDS)
    assert words_of("slowwave run ") == list(JOBS)
    assert {"list", "why", "undo"} <= set(words_of("slowwave memory "))
    assert words_of("slowwave help memory li") == ["list"]
    assert words_of("slowwave review ") == ["list", "show", "accept", "reject", "edit", "undo"]
    assert words_of("slowwave completion ") == ["bash", "zsh", "fish"]


def test_a_job_has_its_own_options_and_those_of_every_job() -> None:
    assert "--secrets" in words_of("slowwave run erase --")
    assert "--secrets" not in words_of("slowwave run nightly --")
    assert "--dry-run" in words_of("slowwave run nightly --")


@pytest.mark.parametrize("line", ["slowwave dance ", "slowwave memory dance ", "slowwave status --project "])
def test_nothing_is_offered_where_nothing_is_known(line: str) -> None:
    assert words_of(line) == []


def test_bash_breaks_words_at_each_equals_sign_and_the_value_of_a_setting_is_not_completed() -> None:
    assert offered(["status", "--set", "extraction.idle", "="]) == []
    assert offered(["status", "--set", "extraction.idle", "=", "3"]) == []
    assert [word for word, _ in offered(["status", "--set", "extraction.idle", "=", "3h", "--js"])] == ["--json"]


def test_the_shell_looks_for_files_and_folders_itself() -> None:
    assert words_of("slowwave status --config x") == [":files"]
    assert words_of("slowwave status --store x") == [":folders"]


def test_each_is_told_with_what_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "words", "--", "run", "erase", "--top"]) == 0
    assert capsys.readouterr().out == "--topic\ta phrase\n"


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("shell", DRIVERS)
def test_a_shell_offers_it(shell: str, line: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed here")
    (tmp_path / "settings.toml").touch()
    command = tmp_path / "bin" / "slowwave"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m slowwave "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    environ = {"HOME": str(tmp_path), "LINE": line, "PATH": f"{command.parent}:{os.environ['PATH']}"}
    run = [shell, "--norc", "-c"] if shell == "bash" else [shell, "-c"]
    done = subprocess.run(
        [*run, DRIVERS[shell]], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.split() == LINES[line]
