"""Commands that a project is tested, checked and built with, seen to work; repetition makes them certain."""

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
    if len(words) > _MAX_WORDS or any(
        w.startswith(("/", "~", "'", '"', "$", "<")) or "::" in w or "[secret:" in w for w in words
    ):
        return ""
    if any(w in ("-k", "-run", "--run", "-t", "--filter", "--grep", "-c", "-e") for w in words) or words[-1] in (
        "--help",
        "--version",
    ):
        return ""
    return " ".join(words)
