"""Commands that a project is tested, checked and built with, seen to work; repetition makes them certain."""

import re
from collections import Counter
from collections.abc import Iterator

from slowwave.extraction.events import Command, Events
from slowwave.extraction.found import Found
from slowwave.shell.commands import Proven

NAME = "routine"
_WHAT = {
    "test": "Tests are run",
    "lint": "Linting is done",
    "format": "Code is formatted",
    "typecheck": "Types are checked",
    "check": "Changes are checked",
    "build": "Builds are made",
}
# what a project defines itself; any agent tries `go test ./...` without being told
_OWN = re.compile(
    r"^(?:(?:npm|pnpm|yarn|bun) (?:run )?(?!test$|install|build$)|npm run|pnpm run|yarn run|bun run|make|just|task|mise"
    r"|tox|nox|rake|composer|\./|poe|invoke|hatch run|pdm run|uv run (?!pytest$)|docker)",
    re.IGNORECASE,
)
# what any agent tries without being told
_ANYWHERE = re.compile(
    r"^(?:go (?:build|vet|test)(?: -[\w=]+)* (?:\./\.\.\.|\.)|cargo (?:build|test|check|fmt|clippy)|npm (?:test"
    r"|run build|run test)"
    r"|pytest|tsc|dotnet (?:build|test)|make)$",
    re.IGNORECASE,
)
_FILE = re.compile(r"\.\w{1,5}$")
_MAX_WORDS = 5
_ENOUGH_RUNS = 2
# that it is run again and again is proved by its runs
_MOST_SHOWN = 6
_SHARE = 0.03


def mine_routines(events: Events) -> Iterator[Found]:
    """Yield the commands that were run at least twice in this session for a known purpose, and work.

    A check that fails and later passes is one that the work is held to, so failed runs count as well; what proves it
    are the runs in which it succeeded.
    """
    runs: dict[tuple[str, str], list[Command]] = {}
    proved: dict[str, list[Command]] = {}
    for command in events.commands:
        for step in command.steps:
            general = _general(step)
            if general:
                runs.setdefault((step.purpose, general), []).append(command)
                if step.outcome == "succeeded":
                    proved.setdefault(general, []).append(command)
    best: dict[str, tuple[str, list[Command]]] = {}
    for (purpose, line), commands in runs.items():
        if line in proved and len(commands) > len(best.get(purpose, ("", []))[1]):
            best[purpose] = (line, commands)
    runners = Counter(_runner(line) for line, _ in best.values())
    for purpose, (line, commands) in best.items():
        # in a long session a check that was made now and then is a small part of the work
        if len(commands) < _SHARE * len(events.commands):
            continue
        # one runner for several purposes is the project's own, also where each was needed just once
        if len(commands) >= _ENOUGH_RUNS or runners[_runner(line)] >= _ENOUGH_RUNS:
            yield _routine(purpose, line, proved[line])


def _runner(line: str) -> str:
    """Return what runs a project's own commands; a tool that is the same everywhere counts for itself only."""
    words = line.split()
    return words[0] if _OWN.match(line) else line


def _routine(purpose: str, line: str, proved: list[Command]) -> Found:
    text = f"{_WHAT[purpose]} with `{line}`"
    confidence = 0.55 if _OWN.match(line) else 0.15 if _ANYWHERE.match(line) else 0.5
    shown = (*proved[:-1][: _MOST_SHOWN - 1], proved[-1])
    return Found(NAME, "pattern", text, confidence, "command_outcome", shown, line, f"cmd:{purpose}", line)


def _general(step: Proven) -> str:
    """Return the command as it fits any day: nothing that names a single file or case; "" when nothing is left."""
    if step.purpose not in _WHAT or len(step.text) > 80:  # noqa: PLR2004 - longer lines are one-off
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
