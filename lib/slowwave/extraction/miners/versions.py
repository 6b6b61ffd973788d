"""Versions of tools, as the tools themselves told when they were asked."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Command, Events
from slowwave.extraction.found import Found

NAME = "version"
_NUMBER = re.compile(r"(?<![\w.])v?(\d+\.\d+(?:\.\d+)*(?:[-+][\w.]+)?)")


def mine_versions(events: Events) -> Iterator[Found]:
    """Yield the last version that each tool told."""
    told: dict[str, tuple[Command, str]] = {}
    for command in events.commands:
        number = _NUMBER.search(command.answer)
        if number and command.steps:
            told[command.steps[0].program] = (command, number[1])
    for program, (command, version) in told.items():
        text = f"`{program}` is version {version} here"
        yield Found(
            NAME, "project", text, 0.2, "command_outcome", (command,), command.answer, f"version:{program}", version
        )
