"""Errors that come back: the same call of a tool, or the same kind of command, fails in the same way again."""

import re
from collections.abc import Iterator

from slowwave.extraction.events import Command, Events, Failure
from slowwave.extraction.found import Found
from slowwave.extraction.miners.needs import LOOKING, told

NAME = "recurrent"
_ENOUGH = 2
# what clients themselves answer to a call made in the wrong order, and what is over by itself, teach nothing
_PASSING = re.compile(
    r"tool_use_error|not been read yet|string to replace|file (?:does not|doesn'?t) exist|user (?:doesn'?t|rejected)"
    r"|interrupted|cancell?ed|temporarily|try again|rate limit|too many requests|overloaded|quota|exceeds maximum"
    r"|file (?:not found|content)|no (?:matches|files) found|has been (?:modified|unexpectedly)|status code|[45]\d\d\b"
    r"|unknown skill|invalid patch|exact text|old_?string|syntaxerror|sibling tool|permission to use|hook error"
    r"|traceback|total: ",
    re.IGNORECASE,
)
_VARYING = re.compile(r"\d+|'[^']*'|\"[^\"]*\"|(?:[A-Za-z]:)?[\\/][\w.\\/-]+")
_LEAD = re.compile(r"^(?:/usr)?/bin/\w+: (?:line \d+: )?|^\(eval\):\d+: ?|^(?:bash|zsh|sh): (?:line )?\d*:? ?")
_WORD = re.compile(r"(?<!\S)[A-Za-z]{2,}[.,:;]?(?!\S)")
# lines of minified sources that a stack trace shows
_CODE = re.compile(r"[{};]\s*\w*[=(]|=>|\)\}|\$\{")
_MIN_WORDS = 3


def mine_recurrent(events: Events) -> Iterator[Found]:
    """Yield errors that came at least twice, other things having been done in between."""
    failed: dict[tuple[str, str], list[Command | Failure]] = {}
    for event in sorted([*events.failures, *events.commands], key=lambda e: e.order):
        error = event.setup_error if isinstance(event, Command) else event.error
        if not error or _PASSING.search(error) or (isinstance(event, Command) and (event.ok or _just_looks(event))):
            continue
        if len(_WORD.findall(_LEAD.sub("", error))) >= _MIN_WORDS and not _CODE.search(error):
            failed.setdefault((_tool(event), _kind(error)), []).append(event)
    for (tool, _), alike in failed.items():
        # one line that is tried again at once is one mistake
        apart = [e for e, before in zip(alike, [None, *alike], strict=False) if before is None or _is_apart(before, e)]
        if len(apart) >= _ENOUGH:
            yield _found(tool, apart)


def _found(tool: str, alike: list[Command | Failure]) -> Found:
    last = alike[-1]
    error = last.setup_error if isinstance(last, Command) else last.error
    who = "Commands fail" if isinstance(last, Command) else f"`{tool}` fails"
    text = f"{who} here again and again with: {told(_LEAD.sub('', error))}"
    confidence = 0.5 if len(alike) == _ENOUGH else 0.6
    return Found(NAME, "pattern", text, confidence, "command_outcome", tuple(alike[:4]), error)


def _just_looks(command: Command) -> bool:
    """Say whether a line only looks at files: a path that is not there teaches nothing."""
    return bool(command.steps) and all(step.program in LOOKING for step in command.steps)


def _tool(event: Command | Failure) -> str:
    # shells differ in nothing here; what other tools say is told apart by the server that has them
    return "" if isinstance(event, Command) else event.tool.rpartition("__")[0] or event.tool


def _kind(error: str) -> str:
    return _VARYING.sub("#", _LEAD.sub("", error)).casefold()


def _is_apart(before: Command | Failure, after: Command | Failure) -> bool:
    return not (isinstance(before, Command) and isinstance(after, Command) and before.line == after.line)
