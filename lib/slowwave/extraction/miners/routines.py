"""Commands that a project is tested, checked and built with, seen to work; repetition makes them certain."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Command, Events
from slowwave.extraction.found import Found
from slowwave.extraction.shell import Step

NAME = "routine"
_WHAT = {
    "test": "Tests are run",
    "lint": "Linting is done",
    "format": "Code is formatted",
    "typecheck": "Types are checked",
    "build": "Builds are made",
}
_FILE = re.compile(r"\.\w{1,5}$")
_MAX_WORDS = 5
_ENOUGH_RUNS = 2


def mine_routines(events: Events) -> Iterator[Found]:
    """Yield the commands that succeeded at least twice in this session for a known purpose."""
    runs: dict[tuple[str, str], list[Command]] = {}
    for command in events.commands:
        if command.ok:
            for step in command.steps:
                general = _general(step)
                if general:
                    runs.setdefault((step.purpose, general), []).append(command)
    best: dict[str, tuple[str, list[Command]]] = {}
    for (purpose, line), commands in runs.items():
        if len(commands) >= _ENOUGH_RUNS and len(commands) > len(best.get(purpose, ("", []))[1]):
            best[purpose] = (line, commands)
    for purpose, (line, commands) in best.items():
        text = f"{_WHAT[purpose]} with `{line}`"
        yield Found(
            NAME, "pattern", text, 0.55, "command_outcome", tuple(commands[:_ENOUGH_RUNS]), line, f"cmd:{purpose}", line
        )


def _general(step: Step) -> str:
    """Return the command as it fits any day: nothing that names a single file or case; "" when nothing is left."""
    if step.purpose not in _WHAT or "|" in step.text or len(step.text) > 80:  # noqa: PLR2004 - longer lines are one-off
        return ""
    words = step.text.split()
    if len(words) > _MAX_WORDS or any(_is_particular(word) for word in words[1:]):
        return ""
    return " ".join(words)


def _is_particular(word: str) -> bool:
    """Say whether an argument picks a file, a folder, a case or a pattern rather than the whole project."""
    if word in ("./...", "."):
        return False
    return (
        word in ("-k", "-run", "--run", "-t", "--filter", "--grep", "-c", "-e", "-o", "--help", "--version")
        or "/" in word
        or "::" in word
        or "[secret:" in word
        or word.startswith(("~", "'", '"', "$", "<", "-run=", "-k="))
        or bool(_FILE.search(word))
    )
