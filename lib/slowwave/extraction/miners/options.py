"""Options and values that a program does not take: refused once, and the same call works without them."""

import re
from collections.abc import Iterator, Sequence

from slowwave.extraction.events import Command, Events
from slowwave.extraction.found import Found
from slowwave.extraction.miners.needs import told
from slowwave.shell.commands import Proven

NAME = "option"
_LOOK_AHEAD = 10
_UNKNOWN = re.compile(
    r"(?:unknown|unrecognized|invalid|no such|illegal|unexpected|flag provided but not defined:?) ?"
    r"(?:long |short |command[- ]line )?(?:flags?|options?|arguments?"
    r"|switch)?:? *(?:-- )?[\"'`]?(?P<option>--?[A-Za-z][\w-]*)",
    re.IGNORECASE,
)
_RULES = re.compile(r"\b(?:must|only|not allowed|expected|not supported|unsupported|has to|should)\b", re.IGNORECASE)
# a thing that is not there says nothing about what is taken
_ABSENT = re.compile(
    r"not found|no such|does(?:n't| not) exist|cannot find|fail(?:ed|ure|ing)? |assert|expect\(", re.IGNORECASE
)
_LEAST_VALUE = 4
_SUBCOMMAND = re.compile(r"^[a-z][\w-]+$")


def mine_options(events: Events) -> Iterator[Found]:
    """Yield each option and value that a program refused, where the same call without it went well soon after."""
    seen: set[tuple[str, str]] = set()
    for index, failed in enumerate(events.commands):
        unknown = _UNKNOWN.search(failed.setup_error or failed.error)
        if failed.ok:
            continue
        if not unknown:
            value = _value(failed, events.commands[index + 1 : index + 1 + _LOOK_AHEAD])
            if value:
                yield value
            continue
        option = unknown["option"]
        step = next((s for s in failed.steps if f" {option}" in s.text or option in failed.line), None)
        head = _head(step) if step and "=" not in step.text.split()[0] else ""
        works = _works(head, option, events.commands[index + 1 : index + 1 + _LOOK_AHEAD]) if head else None
        if works and (head, option) not in seen:
            seen.add((head, option))
            error = failed.setup_error or failed.error
            text = f"`{head}` does not take `{option}` here ({told(error)}); it works without"
            yield Found(NAME, "pattern", text, 0.55, "command_outcome", (failed, works), error)


def _value(failed: Command, later: Sequence[Command]) -> Found | None:
    """Take a call whose error names one of its values and a rule for it, and that works with another one."""
    if not _RULES.search(failed.error) or _ABSENT.search(failed.error):
        return None
    for step in failed.steps:
        values = (word for word in step.text.split()[1:] if len(word) >= _LEAST_VALUE and not word.startswith("-"))
        refused = [word for word in values if word in failed.error]
        works = _works(_head(step), refused[-1], later) if refused else None
        if works and not step.text.startswith("git "):
            head = _head(step)
            text = f"`{head}` does not take `{refused[-1]}` here ({told(failed.error)}); it works with another value"
            return Found(NAME, "constraint", text, 0.5, "command_outcome", (failed, works), failed.error)
    return None


def _works(head: str, option: str, later: Sequence[Command]) -> Command | None:
    for command in later:
        proved = any(_head(step) == head and step.outcome == "succeeded" for step in command.steps)
        if proved and option not in command.line:
            return command
    return None


def _head(step: Proven) -> str:
    """Return the program with its subcommand, if it has one."""
    words = step.text.split()
    return " ".join(words[:2]) if len(words) > 1 and _SUBCOMMAND.match(words[1]) else words[0]
